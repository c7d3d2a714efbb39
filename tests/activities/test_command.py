"""Real processes. Each says what it does by the pipe `alive`: its reader sees the end when the last holder is gone."""

import asyncio
import os
import signal
import sys

import pytest

from activities import command as limits
from activities.command import Command, NotStarted, Ran, run_command

HOLD = "import os, signal; os.write(os.open('alive', os.O_WRONLY), b'1'); print('here', flush=True); signal.pause()"
"""Opens the pipe, says so, and never ends."""


@pytest.fixture
def folder(tmp_path):
    os.mkfifo(tmp_path / "alive")
    return tmp_path


def python(code, folder, *, timeout_s=60.0, output_bytes=65_536):
    return Command(
        argv=(sys.executable, "-ISc", code),
        folder=folder,
        environment={},
        timeout_s=timeout_s,
        output_bytes=output_bytes,
    )


class Alive:
    """The reading end of the pipe. The limits only turn a test that would hang into one that fails."""

    def __init__(self, stream):
        self._stream = stream

    async def held(self):
        async with asyncio.timeout(30):
            await self._stream.readexactly(1)

    async def gone(self):
        async with asyncio.timeout(30):
            await self._stream.read()


@pytest.fixture
async def alive(folder):
    stream = asyncio.StreamReader()
    pipe = os.fdopen(os.open(folder / "alive", os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), pipe
    )
    yield Alive(stream)
    transport.close()


def descriptors():
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count of names, no paths


async def test_both_streams_come_in_the_order_in_which_they_were_written(folder):
    code = (
        "import sys; [(print(n, file=s, flush=True)) for n, s in ((1, sys.stdout), (2, sys.stderr), (3, sys.stdout))]"
    )
    assert await run_command(python(code, folder)) == Ran(exit_code=0, output="1\n2\n3\n")


async def test_the_exit_code_and_the_signal_that_ended_it_are_told(folder):
    assert (await run_command(python("raise SystemExit(7)", folder))).exit_code == 7
    assert (await run_command(python("import os; os.kill(os.getpid(), 9)", folder))).exit_code == -9


@pytest.fixture
def typed_ahead():
    """Something to read on this process's own standard input."""
    reader, writer = os.pipe()
    os.write(writer, b"MARKER")
    os.close(writer)
    before = os.dup(0)
    os.dup2(reader, 0)
    yield
    os.dup2(before, 0)
    os.close(before)
    os.close(reader)


@pytest.mark.usefixtures("typed_ahead")
async def test_there_is_nothing_to_read_and_no_terminal(folder):
    code = "import sys; print(repr(sys.stdin.read()), sys.stdin.isatty())"
    assert (await run_command(python(code, folder))).output == "'' False\n"


async def test_no_shell_reads_the_words(folder):
    command = Command(
        argv=("/bin/echo", "$HOME", ";", "*"), folder=folder, environment={}, timeout_s=60, output_bytes=1024
    )
    assert (await run_command(command)).output == "$HOME ; *\n"


async def test_the_environment_is_what_is_given_and_nothing_else(folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "MARKER")
    command = Command(
        argv=("/usr/bin/env",), folder=folder, environment={"ONLY": "this"}, timeout_s=60, output_bytes=1024
    )
    assert (await run_command(command)).output == "ONLY=this\n"


async def test_a_command_that_hangs_is_ended_and_what_it_said_is_kept(folder, alive):
    ran = await run_command(python(HOLD, folder, timeout_s=2))
    assert (ran.limit, ran.output) == ("time", "here\n")
    await alive.gone()


async def test_children_end_with_a_command_that_hangs(folder, alive):
    ran = await run_command(python(f"import os; os.fork(); os.fork(); {HOLD}", folder, timeout_s=2))
    assert ran.limit == "time"
    await alive.gone()


async def test_children_that_a_finished_command_left_behind_are_ended_and_not_waited_for(folder, alive):
    leaves = "import os, signal; pipe = os.open('alive', os.O_WRONLY); child = os.fork(); child or signal.pause()"
    ran = await run_command(python(f"{leaves}; print('done')", folder))
    assert ran == Ran(exit_code=0, output="done\n")
    await alive.gone()


async def test_output_held_by_a_process_out_of_reach_is_not_waited_for(folder, monkeypatch):
    monkeypatch.setattr(limits, "DRAIN_S", 0.05)
    os.mkfifo(folder / "until")
    escapes = (
        "import os\nis_away, away = os.pipe()\n"
        "if os.fork() == 0: os.setsid(); os.write(away, b'.'); open('until').read()\n"
        "else: os.read(is_away, 1); print('done')"
    )
    ran = await run_command(python(escapes, folder))
    os.close(os.open(folder / "until", os.O_WRONLY))  # lets it go
    assert (ran.limit, ran.output) == ("", "done\n")


async def test_a_flood_is_ended_and_its_beginning_is_kept(folder, alive):
    floods = "import os; os.open('alive', os.O_WRONLY); print('first')\nfor _ in range(100_000): print('x' * 1000)"
    ran = await run_command(python(floods, folder, output_bytes=2_048))
    assert (ran.limit, ran.exit_code) == ("output", -signal.SIGKILL)
    assert ran.output.startswith("first\n")
    assert len(ran.output) < 2_048 + 100
    await alive.gone()


async def test_of_a_long_output_the_first_and_the_last_half_are_kept_and_the_rest_is_counted(folder):
    ran = await run_command(python("print('a' * 600 + 'b' * 5000 + 'c' * 600, end='')", folder, output_bytes=1_200))
    assert ran.output == "a" * 600 + "\n[5000 bytes left out]\n" + "c" * 600


@pytest.mark.parametrize("size", [0, 1, 1_199, 1_200])
async def test_an_output_within_the_limit_is_kept_whole(folder, size):
    ran = await run_command(python(f"print('z' * {size}, end='')", folder, output_bytes=1_200))
    assert ran.output == "z" * size


async def test_a_cancelled_command_is_ended_with_its_children(folder, alive):
    running = asyncio.create_task(run_command(python(f"import os; os.fork(); {HOLD}", folder)))
    await alive.held()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await alive.gone()


@pytest.mark.parametrize(
    ("argv", "where", "reason"),
    [
        pytest.param(("no-such-command",), ".", "no-such-command: no such file or directory", id="not found"),
        pytest.param(("./data",), ".", "./data: permission denied", id="not executable"),
        pytest.param(("./script",), ".", "./script: exec format error", id="no program"),
        pytest.param(("/bin/true",), "gone", "gone: no such file or directory", id="no folder"),
    ],
)
async def test_a_command_that_cannot_be_started_is_a_value_that_says_why(folder, argv, where, reason):
    (folder / "data").write_text("x")
    (folder / "script").write_bytes(b"\x00\x01")
    (folder / "script").chmod(0o755)
    command = Command(argv=argv, folder=folder / where, environment={}, timeout_s=60, output_bytes=1024)
    found = await run_command(command)
    assert isinstance(found, NotStarted)
    assert found.reason.endswith(reason)


async def test_no_descriptor_is_left_open(folder):
    await run_command(python("", folder))
    before = descriptors()
    for argv in ((sys.executable, "-c", ""), ("no-such-command",)):
        await run_command(Command(argv=argv, folder=folder, environment={}, timeout_s=60, output_bytes=1024))
    await asyncio.sleep(0)
    assert descriptors() == before


async def test_a_command_is_ended_although_the_cancellation_came_before_anybody_waited_for_it(folder, monkeypatch):
    pipes = []

    async def cancelled(*_: object) -> None:
        pipes.append(await asyncio.to_thread(os.open, folder / "alive", os.O_RDONLY))
        assert await asyncio.to_thread(os.read, pipes[0], 1) == b"1"
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "connect_read_pipe", cancelled)
        with pytest.raises(asyncio.CancelledError):
            await run_command(python(HOLD.replace("signal.pause()", "signal.alarm(20); signal.pause()"), folder))
    try:
        assert await asyncio.wait_for(asyncio.to_thread(os.read, pipes[0], 1), 5) == b""  # its last holder is gone
    finally:
        os.close(pipes[0])
