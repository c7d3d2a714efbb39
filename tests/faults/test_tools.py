"""Whole runs with tools that the workers themselves carry out: functions, programs of other people, what was cut."""

import sys
from pathlib import Path
from typing import Any

import pytest

from ledger.conversation import digest
from tests.faults.conftest import ROOT, TEXT, Stage, eventually, records
from tests.test_worker import refused

PROGRAM = ROOT / "tests" / "activities" / "mcp_program.py"
AGENT = {"models": ["openai:gpt-5"]}
SHOP = '''
"""An operator's module, beside endstop.toml."""

def stock(article: str, pieces: int = 1) -> dict[str, int]:
    """Say how many pieces of an article there are."""
    return {article: 7 * pieces}

def history() -> str:
    """Tell all that ever happened."""
    return "".join(f"line {n}: {'x' * 40}\\n" for n in range(1, 100_001))
'''
HISTORY = "".join(f"line {n}: {'x' * 40}\n" for n in range(1, 100_001))


def calls(name: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "tool_calls", "calls": [{"name": name, "arguments": given} for given in arguments]}


def told(act: Stage) -> list[str]:
    """The results that stood in the model's last request, in order."""
    messages = act.simulator.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def declared(act: Stage, name: str) -> dict[str, Any]:
    """What the model was told of a tool."""
    tools = act.simulator.requests[0].body["tools"]
    return next(tool["function"] for tool in tools if tool["function"]["name"] == name)


@pytest.fixture
def module(tmp_path: Path) -> None:
    """The operator's module, there before the worker starts."""
    (tmp_path / "shop.py").write_text(SHOP)


STOCK = '[tools.stock]\nfunction = "shop:stock"\n'
MCP = f'[mcp.shop]\ncommand = ["{sys.executable}", "{PROGRAM}"]\n'


@pytest.mark.usefixtures("module")
async def test_a_function_beside_the_settings_is_a_tool_and_misfit_arguments_go_back_to_the_model(stage):
    script = [calls("stock", {"article": "nut", "pieces": "lots"}), calls("stock", {"article": "nut"}), TEXT]
    act = await stage({"models": {"gpt-5": script}}, STOCK)
    run = await act.start(AGENT | {"tools": ["stock"]})
    assert (await run.result())["status"] == "completed"
    assert declared(act, "stock")["description"] == "Say how many pieces of an article there are."
    assert declared(act, "stock")["parameters"]["required"] == ["article"]
    misfit, result = told(act)
    assert "arguments of stock: pieces: should be a valid integer" in misfit
    assert result == '{"nut":7}'
    batches = await records(run, "tools")
    assert [tool["status"] for batch in batches for tool in batch["calls"]] == ["error", "ok"]


async def test_a_tool_of_an_mcp_server_is_called_by_a_run(stage):
    script = [calls("shop_add", {"a": 20, "b": 22}, {"a": 1, "b": 1}), TEXT]
    act = await stage({"models": {"gpt-5": script}}, f'{MCP}tools = ["add"]\n')
    run = await act.start(AGENT | {"tools": ["shop_add"]})
    assert (await run.result())["status"] == "completed"
    assert told(act) == ["42", "2"]


async def test_a_call_lost_with_its_mcp_server_is_asked_about_and_never_made_twice(stage, tmp_path):
    script = [calls("shop_die", {}), TEXT]
    act = await stage({"models": {"gpt-5": script}}, f'{MCP}tools = ["die"]\n')
    run = await act.start(AGENT | {"tools": ["shop_die"]})

    async def asks() -> dict[str, Any] | None:
        asked: dict[str, Any] | None = await run.query("intervention")
        return asked

    asked = await eventually(asks)
    assert (asked["label"], asked["facts"]["tool"]) == ("OutcomeUnknown", "shop_die")
    said = {"answer": "reply", "text": "It was sold.", "intervention": asked["id"], "digest": asked["digest"]}
    await run.execute_update("answer", said)
    assert (await run.result())["status"] == "completed"
    assert told(act) == ["A person says:\nIt was sold."]


@pytest.mark.usefixtures("module")
async def test_a_result_of_5_mb_is_cut_for_the_model_which_reads_on_in_it(stage):
    ref = digest(HISTORY.encode())
    script = [calls("history", {}), calls("read_output", {"ref": ref, "start_line": 50_000, "lines": 2}), TEXT]
    act = await stage({"models": {"gpt-5": script}}, '[tools.history]\nfunction = "shop:history"\nidempotent = true\n')
    run = await act.start(AGENT | {"tools": ["history", "read_output"]})
    assert (await run.result())["status"] == "completed"
    cut, read = told(act)
    assert len(HISTORY) > 5_000_000
    assert len(cut) < 70_000
    assert f"the whole result is stored as {ref}" in cut
    assert read.startswith(f"line 50000: {'x' * 40}\nline 50001: ")
    assert read.endswith("[lines 50000 to 50001 of 100000; go on with start_line=50002]")
    history = await run.fetch_history()
    assert max(event.ByteSize() for event in history.events) < 4_096


@pytest.mark.parametrize("polling", [True, False])
@pytest.mark.usefixtures("module")
async def test_the_same_step_again_and_again_is_a_standstill_unless_its_tool_polls(stage, polling):
    script = [*[calls("stock", {"article": "nut"})] * 7, TEXT]
    act = await stage({"models": {"gpt-5": script}}, f"{STOCK}polling = {str(polling).lower()}\n")
    run = await act.start(AGENT | {"tools": ["stock"]})

    async def done_or_asks() -> str | None:
        asked = await run.query("intervention")
        return asked["label"] if asked else (await run.query("status"))["status"]

    async def settled() -> str | None:
        now = await done_or_asks()
        return now if now in ("NoProgress", "completed") else None

    assert await eventually(settled) == ("completed" if polling else "NoProgress")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        pytest.param(
            '[tools.stock]\nfunction = "no_such_shop:stock"\n',
            "tool stock: no_such_shop:stock cannot be imported (ModuleNotFoundError: No module named 'no_such_shop'); "
            "it is looked for beside endstop.toml too",
            id="function",
        ),
        pytest.param(
            f'{MCP}tools = ["ad"]\n', 'mcp shop: the server has no tool "ad"; did you mean "add"?', id="MCP server"
        ),
    ],
)
def test_a_worker_whose_tool_cannot_be_opened_does_not_start_and_says_why(tmp_path, temporal_server, settings, line):
    (tmp_path / "endstop.toml").write_text(settings)
    assert refused(tmp_path, 1, TEMPORAL_ADDRESS=temporal_server) == line
