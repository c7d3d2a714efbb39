"""Real servers, made with the SDK: a program on its standard streams, and one on a port of this machine."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from activities.declared_tools import McpServer
from activities.mcp_session import CallLost
from activities.mcp_tools import open_mcp
from activities.tool import Asked, ToolResult
from activities.tool_unusable import ToolUnusable
from commands.server import free_port

PROGRAM = Path(__file__).parent / "mcp_program.py"
KEY = "token-marker-77"
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8", "SHOP_KEY": KEY, "OTHER_KEY": "x"}


def program(*tools: str, **more) -> McpServer:
    return McpServer(name="shop", command=(sys.executable, str(PROGRAM)), tools=tools, **more)


def at(port: int, *tools: str, **more) -> McpServer:
    return McpServer(name="shop", url=f"http://127.0.0.1:{port}/mcp", tools=tools, **more)


@asynccontextmanager
async def opened(server: McpServer, folder: Path = Path("/")):
    """Open the server; give a function that calls one of its tools."""
    async with open_mcp(server, ENVIRON, folder) as tools:

        async def call(tool: str, arguments: str = "{}") -> ToolResult:
            return await tools[server.known_as(tool)].run(Asked(arguments=arguments, run="r", key="r/1/0"))

        yield call


@asynccontextmanager
async def serving(port: int, *flags: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(sys.executable, str(PROGRAM), str(port), *flags)
    try:
        await listening(port)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def listening(port: int) -> None:
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        await asyncio.sleep(0.05)


async def there(path: Path) -> None:
    while not os.path.exists(path):  # noqa: ASYNC110, ASYNC240, PTH110 - another process makes it true
        await asyncio.sleep(0.02)


async def refusal(server: McpServer, environ=ENVIRON) -> str:
    with pytest.raises(ToolUnusable) as caught:
        async with open_mcp(server, environ, Path("/")):
            pass
    line = str(caught.value)
    assert "\n" not in line
    return line


async def test_exactly_the_declared_tools_are_taken_over_as_the_server_describes_them():
    server = program("add", "refuse", approval="always", timeout_s=9)
    async with open_mcp(server, ENVIRON, Path("/")) as tools:
        assert list(tools) == ["shop_add", "shop_refuse"]
        told = tools["shop_add"].declaration
        assert (told.name, told.description) == ("shop_add", "Add two numbers.")
        assert set(told.parameters["properties"]) == {"a", "b"}
        assert (told.handling.approval, told.handling.timeout_s, told.handling.idempotent) == ("always", 9, False)


async def test_a_tool_that_the_server_lacks_keeps_the_worker_from_starting():
    line = await refusal(program("add", "refus"))
    assert line == 'mcp shop: the server has no tool "refus"; did you mean "refuse"?'


@pytest.mark.parametrize(
    ("server", "line"),
    [
        pytest.param(
            McpServer(name="shop", command=("no-such-program",), tools=("add",)),
            "mcp shop: MCP server shop cannot be reached: FileNotFoundError: there is no program no-such-program; "
            "try it without Endstop, or take it out",
            id="no program",
        ),
        pytest.param(
            McpServer(name="shop", command=("true",), tools=("add",)),
            "mcp shop: MCP server shop cannot be reached: MCPError: Connection closed; "
            "try it without Endstop, or take it out",
            id="a program that ends at once",
        ),
        pytest.param(
            McpServer(name="shop", url="http://127.0.0.1:1/mcp", tools=("add",)),
            "mcp shop: MCP server shop cannot be reached: ConnectError: All connection attempts failed; "
            "try it without Endstop, or take it out",
            id="nobody listens",
        ),
        pytest.param(
            McpServer(name="shop", command=("true",), env=("SHOP_TOKEN",), tools=("add",)),
            "mcp shop: the variable SHOP_TOKEN is not set, and the server is to have it",
            id="a variable that is not set",
        ),
    ],
)
async def test_a_server_that_cannot_be_opened_is_one_line(server, line):
    assert await refusal(server) == line


async def test_a_result_is_what_the_server_said_and_its_error_is_a_failed_result():
    async with opened(program("add", "refuse")) as call:
        assert await call("add", '{"a": 1, "b": 2}') == ToolResult(text="3")
        refused = await call("refuse")
        assert (refused.failed, "the shop is closed" in refused.text) == (True, True)


async def test_arguments_that_do_not_fit_are_told_to_the_model():
    async with opened(program("add")) as call:
        misfit = await call("add", '{"a": "one"}')
        assert (misfit.failed, "valid integer" in misfit.text) == (True, True)
        assert await call("add", "[1]") == ToolResult(
            text="arguments of shop_add: should be a JSON object", failed=True
        )


async def test_what_is_no_text_is_named_and_none_of_it_dropped():
    async with opened(program("show", "count")) as call:
        assert (await call("show")).text.split("\n") == [
            "first",
            "[image image/png, which cannot be shown here]",
            "[resource file:///b: b]",
            "[resource file:///note]",
            "a note",
            "[resource file:///a.pdf application/pdf, which cannot be shown here]",
            "last",
        ]
        assert await call("count") == ToolResult(text='{"count":3}')


async def test_a_program_gets_three_variables_and_those_that_are_named_and_runs_in_the_settings_folder(tmp_path):
    async with opened(program("environment", "folder", env=("SHOP_KEY",)), tmp_path) as call:
        assert set((await call("environment")).text.split()) == {"PATH", "HOME", "LANG", "SHOP_KEY"}
        assert (await call("folder")).text == str(tmp_path)


async def test_a_program_that_died_between_two_calls_is_started_again_for_the_next():
    async with opened(program("add", "die", idempotent=True)) as call:
        lost = await call("die")
        assert lost == ToolResult(text="MCP server shop was lost in the middle of a call", failed=True)
        assert (await call("add", '{"a": 1, "b": 2}')).text == "3"


async def test_a_lost_call_of_a_tool_that_must_not_run_twice_is_no_result():
    async with opened(program("add", "die")) as call:
        with pytest.raises(CallLost):
            await call("die")
        assert (await call("add", '{"a": 1, "b": 2}')).text == "3"


async def test_calls_run_in_one_session_at_the_same_time(tmp_path):
    async with opened(program("add", "hang")) as call:
        hanging = asyncio.create_task(call("hang", f'{{"marks": "{tmp_path}"}}'))
        await there(tmp_path / "begun")
        assert (await call("add", '{"a": 1, "b": 2}')).text == "3"
        hanging.cancel()
        await asyncio.wait({hanging})


@pytest.mark.parametrize("way", ["program", "address"])
async def test_a_cancelled_call_is_cancelled_at_the_server_and_the_session_goes_on(tmp_path, way):
    port = free_port()
    async with serving(port):
        server = program("add", "hang") if way == "program" else at(port, "add", "hang")
        async with opened(server) as call:
            hanging = asyncio.create_task(call("hang", f'{{"marks": "{tmp_path}"}}'))
            await there(tmp_path / "begun")
            hanging.cancel()
            await there(tmp_path / "cancelled")
            assert (await call("add", '{"a": 1, "b": 2}')).text == "3"


async def test_a_program_is_gone_when_the_worker_has_closed_its_tools(tmp_path):
    script = tmp_path / "server.sh"
    script.write_text(f'#!/bin/sh\necho $$ > {tmp_path}/pid\nexec "{sys.executable}" "{PROGRAM}"\n')
    script.chmod(0o700)
    async with opened(McpServer(name="shop", command=("./server.sh",), tools=("add",)), tmp_path):
        pid = int((tmp_path / "pid").read_text())
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("flags", [(), ("--sessions",)], ids=["newest revision", "older revisions"])
async def test_over_http_the_token_goes_along_and_a_large_result_comes_whole(flags):
    port = free_port()
    async with serving(port, "--key", KEY, *flags), opened(at(port, "repeat", key_env="SHOP_KEY")) as call:
        result = await call("repeat", '{"text": "abcd", "times": 1300000}')
    assert (result.failed, result.text) == (False, "abcd" * 1_300_000)


async def test_a_wrong_token_keeps_the_worker_from_starting_and_is_not_shown():
    port = free_port()
    async with serving(port, "--key", "another"):
        line = await refusal(at(port, "add", key_env="SHOP_KEY"))
    assert line.startswith("mcp shop: MCP server shop cannot be reached: MCPError: ")
    assert KEY not in line


@pytest.mark.parametrize("flags", [(), ("--sessions",)], ids=["newest revision", "older revisions"])
async def test_a_server_that_was_restarted_takes_the_next_call_even_of_a_tool_that_must_not_run_twice(flags):
    port = free_port()
    async with serving(port, *flags) as first, opened(at(port, "add")) as call:
        assert (await call("add", '{"a": 1, "b": 2}')).text == "3"
        first.kill()
        await first.wait()
        async with serving(port, *flags):
            assert await call("add", '{"a": 2, "b": 2}') == ToolResult(text="4")


@pytest.mark.parametrize("flags", [(), ("--sessions",)], ids=["newest revision", "older revisions"])
async def test_a_server_that_is_away_took_nothing_which_is_a_result_even_of_a_tool_that_must_not_run_twice(flags):
    port = free_port()
    async with serving(port, *flags) as first, opened(at(port, "add")) as call:
        first.kill()
        await first.wait()
        result = await call("add", '{"a": 1, "b": 2}')
    assert result.failed
    assert result.text.startswith("MCP server shop cannot be reached: ")
    assert result.text.endswith("; nothing was done")


async def test_over_http_a_call_in_flight_when_the_server_dies_is_lost():
    port = free_port()
    async with serving(port), opened(at(port, "die")) as call:
        with pytest.raises(CallLost):
            await call("die")


def test_the_sdk_is_loaded_only_for_a_declared_server():
    code = "import sys, worker, activities.toolbox; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=PROGRAM.parents[2]).returncode == 0
