"""Real bubblewrap: what a command in the sandbox can see, reach and leave behind. Without it these tests fail.

Each escape is tried by a command that prints what came of it, and once more outside, where it succeeds: so a test that
could not tell the difference fails.
"""

import asyncio
import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

from activities.command import Command, NotStarted, Ran, run_command
from activities.sandbox import Sandbox, SandboxUnusable, Seen, check, found, python_files

ROOT = Path(__file__).parents[2]
PROBE = f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from activities.sandbox import SandboxUnusable, check, found
try: asyncio.run(check(found()))
except SandboxUnusable as unusable: print(unusable)
"""


@pytest.fixture
def sandbox() -> Sandbox:
    return found()


@pytest.fixture
def place(tmp_path):
    """A run's workspace and scratch, beside what is none of its business."""
    for name in ("run/app", "run/.scratch", "run/other", "other/app"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("endstop.toml", "store.db", "run/other/secret", "other/app/secret"):
        (tmp_path / name).write_text("MARKER")
    return tmp_path


@pytest.fixture
def run(sandbox, place):
    """Run Python code in the sandbox, or outside it; `seen` changes what it sees."""

    async def ran(code, *, inside=True, timeout_s=60, around=sandbox, **seen):
        where = Seen(
            **{"folder": place / "run/app", "scratch": place / "run/.scratch", "readable": python_files()} | seen
        )
        return await run_command(
            Command(
                sandbox=around.around(where) if inside else (),
                argv=(sys.executable, "-ISc", code),
                folder=where.folder,
                environment={"PATH": "/usr/bin:/bin", "HOME": str(where.scratch)},
                timeout_s=timeout_s,
                output_bytes=65_536,
            )
        )

    ran.folder = place / "run/app"
    return ran


ALONE = "import os\nassert sum(name.isdigit() for name in os.listdir('/proc')) < 9\n"
"""Before a signal to all: where the sandbox is broken, it would reach the whole machine."""


async def told(running):
    ran = await running
    assert isinstance(ran, Ran), ran
    assert ran.exit_code == 0, ran.output
    return ran.output.strip()


def tried(expression):
    """Code that prints "done", or the name of the error."""
    return f"import os, socket, signal\ntry: {expression}; print('done')\nexcept OSError as e: print(type(e).__name__)"


# ---- what it sees


async def test_it_sees_its_workspace_under_the_same_path_and_may_write_it_and_its_home(run, place):
    code = "import os; open('made', 'w').write('x'); open(os.environ['HOME'] + '/kept', 'w'); print(os.getcwd())"
    assert await told(run(code)) == str(place / "run/app")
    assert (place / "run/app/made").read_text() == "x"
    assert (place / "run/.scratch/kept").exists()


@pytest.mark.parametrize("name", ["endstop.toml", "store.db", "run/other/secret", "other/app/secret"])
async def test_settings_store_and_other_workspaces_are_not_there(run, place, name):
    code = tried(f"open({str(place / name)!r}).read()")
    assert await told(run(code)) == "FileNotFoundError"
    assert await told(run(code, inside=False)) == "done"


async def test_of_the_folders_above_its_workspace_it_sees_nothing_but_the_way_there(run, place):
    code = f"import os; print([sorted(os.listdir(f)) for f in ({str(place)!r}, {str(place / 'run')!r})])"
    assert await told(run(code)) == "[['run'], ['.scratch', 'app']]"


async def test_it_has_a_temporary_folder_of_its_own(run):
    shown = {str(path).split("/")[2] for path in (run.folder, sys.prefix) if str(path).startswith("/tmp/")}
    code = "import os; print(set(os.listdir('/tmp')) <= {}); open('/tmp/{}', 'w').write('x')"
    name = f"endstop-test-{os.getpid()}"
    assert await told(run(code.format(shown or "set()", name))) == "True"
    assert not (await asyncio.to_thread(Path("/tmp", name).exists))


async def test_of_the_workers_home_it_sees_the_way_to_its_python_and_no_more(run):
    home = Path.home()
    python = (Path(prefix) for prefix in (sys.prefix, sys.base_prefix))
    way = [prefix.relative_to(home).parts[0] for prefix in python if prefix.is_relative_to(home)]
    listed = f"set(os.listdir({str(home)!r})) - set({way!r})"
    assert await told(run(f"import os; print(os.path.exists({str(home)!r}) and {listed} or 'no more')")) == "no more"


@pytest.mark.parametrize("path", ["/etc/shadow", "/home", "/var", "/run", "/sys", "/opt", "/srv"])
async def test_of_the_system_it_sees_what_programs_need_and_no_more(run, path):
    assert await told(run(f"import os; print(os.path.exists({path!r}))")) == "False"


async def test_what_is_hidden_is_covered_where_a_readable_folder_would_show_it(run, place, sandbox):
    """A worker whose settings lie in /usr/local, or beside a compiler in a folder that a gate may read."""
    tools = place / "tools"
    (tools / "runs" / "one").mkdir(parents=True)
    (tools / "endstop.toml").write_text("MARKER")
    (tools / "compiler").write_text("fine")
    (place / "alias").symlink_to(tools)
    aware = Sandbox(program=sandbox.program, hidden=(tools / "endstop.toml", tools / "runs", place / "not there"))
    for shown in (tools, place / "alias"):
        code = f"import os; t = {str(shown)!r}; print(open(t + '/compiler').read(), os.listdir(t + '/runs'))"
        secret = tried(f"open({str(shown / 'endstop.toml')!r}).read()")
        readable = (*python_files(), shown)
        assert await told(run(code, around=aware, readable=readable)) == "fine []"
        assert await told(run(secret, around=aware, readable=readable)) == "PermissionError"
        assert await told(run(code, readable=readable)) == "fine ['one']"
        assert await told(run(secret, readable=readable)) == "done"


async def test_a_workspace_inside_what_is_hidden_is_there_all_the_same(run, place, sandbox):
    aware = Sandbox(program=sandbox.program, hidden=(place,))
    code = f"import os; open('x', 'w').write('x'); print(os.listdir({str(place)!r}))"
    assert await told(run(code, around=aware, readable=(*python_files(), place))) == "['run']"
    assert (place / "run/app/x").exists()


async def test_the_interpreter_of_this_worker_runs_with_its_packages(run):
    assert await told(run("import site; site.main(); import pytest, pydantic; print('fine')")) == "fine"


async def test_a_python_that_is_called_by_a_link_elsewhere_is_found(run, place, monkeypatch):
    (place / "bin").mkdir()
    (place / "bin/python").symlink_to(Path(sys.base_prefix, "bin", "python3"))
    monkeypatch.setattr(sys, "executable", str(place / "bin/python"))
    assert await told(run("print('fine')", readable=python_files())) == "fine"


# ---- what it can write


@pytest.mark.parametrize(
    "path", ["/usr/x", "/etc/x", "/x", "/dev/x", "/proc/x", f"{sys.prefix}/x", f"{sys.base_prefix}/x"]
)
async def test_nothing_outside_its_workspace_can_be_written(run, path):
    assert await told(run(tried(f"open({path!r}, 'w')"))) in ("OSError", "FileNotFoundError", "PermissionError")


async def test_what_it_writes_beside_its_workspace_or_over_a_neighbour_goes_nowhere(run, place):
    code = f"import os\nos.makedirs({str(place / 'other/app')!r})\nopen({str(place / 'other/app/secret')!r}, 'w')\n"
    await run(code + f"open({str(place / 'x')!r}, 'w')")
    assert not (place / "x").exists()
    assert (place / "other/app/secret").read_text() == "MARKER"


async def test_no_file_of_the_kernel_can_be_opened_for_writing_although_the_worker_may_be_root(run):
    """/proc/sys/kernel/core_pattern, written by root, runs a program outside of any sandbox."""
    code = """
import os
for folder, folders, files in os.walk('/proc'):
    folders[:] = [name for name in folders if not name.isdigit() and name not in ('self', 'thread-self')]
    for name in files:
        path = os.path.join(folder, name)
        try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError: continue
        print(path)
"""
    assert await told(run(code)) == ""


async def test_it_has_no_capability_and_can_get_none(run):
    code = "print({line.split()[1] for line in open('/proc/self/status') if line.startswith('Cap')}, "
    code += "[line.split()[1] for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])"
    assert await told(run(code)) == "{'0000000000000000'} ['1']"


async def test_what_is_protected_can_be_read_and_neither_written_nor_replaced_nor_removed(run, place):
    app = place / "run/app"
    (app / "tests").mkdir()
    (app / "tests/test_a.py").write_text("kept")
    (app / "pyproject.toml").write_text("kept")
    tries = (
        "open('tests/test_a.py', 'w')",
        "open('tests/new', 'w')",
        "os.remove('tests/test_a.py')",
        "os.rename('tests', 'gone')",
        "os.remove('pyproject.toml')",
        "os.replace('own', 'pyproject.toml')",
        "os.chmod('pyproject.toml', 0o777)",
        "os.symlink('own', 'tests/link')",
    )
    protected = (app / "tests", app / "pyproject.toml")
    for attempt in tries:
        (app / "own").write_text("x")
        assert await told(run(tried(attempt), protected=protected)) != "done", attempt
    assert await told(run("print(open('tests/test_a.py').read())", protected=protected)) == "kept"
    assert await told(run(tried(tries[0]))) == "done"


# ---- whom it can reach


async def test_it_finds_no_process_and_no_environment_but_its_own(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "MARKER-0815")
    code = f"""
import glob, os
print(b'MARKER-0815' in b''.join(open(p, 'rb').read() for p in glob.glob('/proc/[0-9]*/environ')))
print(len(glob.glob('/proc/[0-9]*')) < 5, os.path.exists('/proc/{os.getpid()}/environ'))
"""
    assert await told(run(code)) == "False\nTrue False"


async def test_it_cannot_signal_the_worker_by_its_id_nor_by_all_of_them(run):
    assert await told(run(tried(f"os.kill({os.getpid()}, 0)"))) == "ProcessLookupError"
    assert await told(run(tried(f"os.kill({os.getpid()}, 0)"), inside=False)) == "done"
    assert isinstance(await run(f"{ALONE}os.kill(-1, 9)\nraise SystemExit(1)"), Ran)  # and this is still here to say so


async def test_it_reaches_no_port_of_this_machine_unless_its_gate_may(run):
    """The Temporal server's and the inbox's, as any other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = tried(f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)")
        assert await told(run(code)) == "ConnectionRefusedError"
        assert await told(run(code, network=True)) == "done"


async def test_it_reaches_no_socket_that_is_named_outside_of_the_file_system(run):
    name = f"endstop-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        code = tried(f"socket.socket(socket.AF_UNIX).connect('\\0{name}')")
        assert await told(run(code)) == "ConnectionRefusedError"
        assert await told(run(code, inside=False)) == "done"


async def test_it_inherits_no_descriptor_but_its_three_streams(run):
    code = "import os; print([f for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + f)])"
    kept = os.dup2(0, 200, inheritable=True)
    assert await told(run(code)) == "['0', '1', '2']"
    os.close(kept)


# ---- what it leaves behind


@pytest.fixture
async def alive(place):
    """The reading end of a pipe that processes in the sandbox hold: it ends when none of them is left."""
    os.mkfifo(place / "run/app/alive")
    stream = asyncio.StreamReader()
    pipe = os.fdopen(os.open(place / "run/app/alive", os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), pipe
    )
    yield stream
    transport.close()


HOLDS = "import os, signal\nos.write(os.open('alive', os.O_WRONLY), b'1')\n"
DAEMON = (
    HOLDS + "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        signal.pause()\n    os._exit(0)\n"
)
FORKS = HOLDS + "for _ in range(6): os.fork()\nos.setpgid(0, 0)\n"
"""64 processes, each in a group of its own: the end of the first one's group leaves them."""


@pytest.mark.parametrize(
    ("code", "limit"),
    [
        pytest.param(DAEMON + "print('done')", "", id="a daemon stays behind"),
        pytest.param(DAEMON + "signal.pause()", "time", id="a daemon, and it hangs"),
        pytest.param(FORKS + "signal.pause()", "time", id="it forks, and all hang"),
        pytest.param(FORKS + "while True: print('x' * 1000)", "output", id="it forks, and all flood"),
        pytest.param(DAEMON + "os.kill(os.getpid(), 9)", "", id="it is killed"),
        pytest.param(DAEMON + ALONE + "os.kill(-1, 9)", "", id="it kills all it finds"),
        pytest.param(
            HOLDS + "for n in range(1, 64): n == 9 or n == 19 or signal.signal(n, signal.SIG_IGN) if n not in (32, 33)"
            " else 0\nsignal.pause()",
            "time",
            id="it ignores every signal",
        ),
    ],
)
async def test_nothing_outlives_it(run, alive, code, limit):
    ran = await run(code, timeout_s=3)
    assert isinstance(ran, Ran)
    assert ran.limit == limit
    async with asyncio.timeout(30):
        assert await alive.read() != b""


async def test_nothing_outlives_a_worker_that_is_killed(sandbox, place, alive):
    seen = Seen(folder=place / "run/app", scratch=place / "run/.scratch", readable=python_files())
    words = (*sandbox.around(seen), "--", sys.executable, "-ISc", DAEMON + "signal.pause()")
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"import subprocess; subprocess.run({words!r}, start_new_session=True)"
    )
    async with asyncio.timeout(30):
        await alive.readexactly(1)
        worker.kill()
        await worker.wait()
        await alive.read()


# ---- what is told of a command that cannot be started, and of a machine that cannot make a sandbox


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("no-such-tool", "x"), "no-such-tool: no such file or directory"),
        (("./data",), "./data: permission denied"),
        (("/opt/acme/tool: x",), "/opt/acme/tool: x: no such file or directory"),
    ],
)
async def test_a_command_that_is_not_there_is_told_from_one_that_fails(sandbox, place, argv, reason):
    (place / "run/app/data").write_text("x")
    seen = Seen(folder=place / "run/app", scratch=place / "run/.scratch")
    command = Command(
        sandbox=sandbox.around(seen),
        argv=argv,
        folder=seen.folder,
        environment={"PATH": "/usr/bin"},
        timeout_s=60,
        output_bytes=4_096,
    )
    assert await run_command(command) == NotStarted(reason=reason)


async def test_a_command_that_only_says_so_has_failed(run):
    code = "print('bwrap: execvp python: No such file or directory'); raise SystemExit(1)"
    assert isinstance(await run(code), Ran)


async def test_exit_codes_are_those_of_the_command(run):
    assert (await run("raise SystemExit(7)")).exit_code == 7
    assert (await run("import os; os.kill(os.getpid(), 9)")).exit_code == 128 + 9


async def test_here_it_can_be_used(sandbox):
    await check(sandbox)


def test_without_the_program_one_line_names_the_package_and_the_choice(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnusable) as unusable:
        found()
    line = str(unusable.value)
    assert "install the package bubblewrap" in line
    assert 'sandbox = "none" in endstop.toml' in line
    assert "\n" not in line


async def test_in_a_container_that_forbids_namespaces_one_line_says_so_and_names_the_choice():
    """A real one: made by bubblewrap, without capabilities and with no namespace left to make."""
    container = (
        shutil.which("bwrap"),
        "--dev-bind",
        "/",
        "/",
        "--unshare-user",
        "--disable-userns",
        "--cap-drop",
        "ALL",
    )
    process = await asyncio.create_subprocess_exec(
        *container, "--", sys.executable, "-c", PROBE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    (line,) = output.decode().splitlines()
    assert "bubblewrap can make no sandbox here (Creating new namespace failed" in line
    assert 'sandbox = "none" in endstop.toml' in line
