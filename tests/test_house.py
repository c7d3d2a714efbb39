"""The house is in order: style, types, directions of imports, a pure ledger, small modules, a lock that holds."""

import ast
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("activities", "commands", "encryption", "inbox", "ledger", "simulator", "store", "workflows")
TOP = ("cli", "logs", "settings", "worker")

SOURCES = sorted(
    [*(ROOT / f"{name}.py" for name in TOP), *(f for name in PACKAGES for f in (ROOT / name).rglob("*.py"))]
)
LEDGER = sorted((ROOT / "ledger").rglob("*.py"))
WORKFLOWS = sorted((ROOT / "workflows").rglob("*.py"))

PURE = frozenset(
    """
    blake3 collections contextlib dataclasses datetime decimal difflib email enum fractions functools hashlib html
    itertools json ledger math operator pydantic pydantic_core re statistics string textwrap types typing
    typing_extensions unicodedata xml
    """.split()  # noqa: SIM905 - a paragraph of words, not a column of them
)
"""What the ledger may import: values and text. Anything else has to be argued for here."""

SHELL = PURE | {"asyncio", "encryption", "activities", "google", "temporalio", "workflows"}
"""What workflow code may import: Temporal's loop stands behind `asyncio`; a test says what of `activities`."""

IMPURE_CALLS = frozenset(
    """
    open print input exec eval compile breakpoint globals hash id __import__
    now utcnow today fromtimestamp localtime formatdate make_msgid
    """.split()  # noqa: SIM905 - as above
)
"""Names that reach a clock, a file, a terminal, or what differs between processes (`hash` of text is salted)."""

BANNED_NAMES = frozenset({"utils", "helpers", "common", "manager", "engine", "core", "misc"})
MAX_MODULE = 300
MAX_FUNCTION = 45


def ran(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def script(name: str) -> str:
    return str(Path(sysconfig.get_path("scripts")) / name)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "command",
    [
        (script("ruff"), "check", "."),
        (script("ruff"), "format", "--check", "."),
        (script("mypy"),),
        (script("lint-imports"), "--no-logo", "--no-cache"),
    ],
    ids=["lint", "format", "types", "imports"],
)
def test_the_tree_is_clean(command):
    done = ran(*command)
    assert done.returncode == 0, done.stdout + done.stderr


def trees(files: list[Path]) -> Iterator[tuple[Path, ast.Module]]:
    for file in files:
        yield file.relative_to(ROOT), ast.parse(file.read_bytes())


def imported(tree: ast.Module) -> Iterator[str]:
    """First parts of all imported modules, wherever in the module they are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0] if node.level == 0 else "a relative import"


def called(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) != "workflow.now":  # Temporal's, the same in a replay
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute) and node.func.attr not in ("compile", "open"):
                yield node.func.attr  # `re.compile` is pure; `Path.open` needs an import that is refused


@pytest.mark.parametrize(("files", "allowed"), [(LEDGER, PURE), (WORKFLOWS, SHELL)], ids=["ledger", "workflows"])
def test_what_a_replay_runs_again_imports_no_clock_no_chance_and_no_file(files, allowed):
    odd = {str(file): sorted(set(imported(tree)) - allowed) for file, tree in trees(files)}
    assert {file: names for file, names in odd.items() if names} == {}


@pytest.mark.parametrize("files", [LEDGER, WORKFLOWS], ids=["ledger", "workflows"])
def test_what_a_replay_runs_again_calls_no_clock_no_file_and_nothing_that_differs_between_processes(files):
    odd = {str(file): sorted(set(called(tree)) & IMPURE_CALLS) for file, tree in trees(files)}
    assert {file: names for file, names in odd.items() if names} == {}


@pytest.mark.parametrize("name", ["logs", "settings", "worker"])
def test_what_stands_at_the_top_does_not_know_the_commands(name):
    tree = ast.parse((ROOT / f"{name}.py").read_bytes())
    assert not {"cli", "commands"} & set(imported(tree))


def test_no_module_outgrows_its_page():
    lines = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in SOURCES}
    assert {file: count for file, count in lines.items() if count >= MAX_MODULE} == {}


def test_no_function_outgrows_its_screen():
    long = {
        f"{file}:{node.name}": node.end_lineno - node.lineno + 1
        for file, tree in trees(SOURCES)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: count for name, count in long.items() if count > MAX_FUNCTION} == {}


def test_every_module_says_what_belongs_into_it():
    assert [str(file) for file, tree in trees(SOURCES) if tree.body and not ast.get_docstring(tree)] == []


def test_no_file_has_a_name_that_could_hold_anything():
    everywhere = [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert [str(file) for file in everywhere if file.stem in BANNED_NAMES] == []


@pytest.mark.parametrize("module", ["activities.contract", "workflows.messages", "ledger.ledger"])
def test_what_workflows_import_loads_no_provider_and_no_database(module):
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = ran(sys.executable, "-c", code)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & {
        "pydantic_ai",
        "openai",
        "anthropic",
        "sqlalchemy",
        "httpx2",
        "structlog",
        "store",
        "simulator",
    }


def locked() -> dict[str, tuple[str, list[str]]]:
    """The lock: name -> version and hashes."""
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    found = re.finditer(r"^(?P<name>[a-z0-9.-]+)==(?P<version>[^ ;]+)(?P<rest>.*)$", text, re.MULTILINE)
    return {
        line["name"]: (line["version"], re.findall(r"--hash=sha256:([0-9a-f]{64})", line["rest"])) for line in found
    }


def test_the_lock_pins_everything_by_hash_and_names_no_host():
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--index" not in text
    assert [name for name, (_, hashes) in locked().items() if not hashes] == []
    requirements = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(requirements) == len(set(requirements)) >= len(locked())


def test_the_lock_holds_all_that_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.match(r"[A-Za-z0-9-]+", one).group().lower() for one in asked} - {project["name"]}
    assert names - set(locked()) == set()


def test_a_package_swapped_for_another_of_the_same_version_is_not_installed(tmp_path):
    version, hashes = locked()["typing-extensions"]
    wheel = tmp_path / f"typing_extensions-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as swapped:
        swapped.writestr("typing_extensions.py", "import stealer\n")
        folder = f"typing_extensions-{version}.dist-info"
        swapped.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: typing-extensions\nVersion: {version}\n")
        swapped.writestr(
            f"{folder}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        swapped.writestr(f"{folder}/RECORD", "")
    (tmp_path / "lock").write_text(f"typing-extensions=={version} --hash=sha256:{hashes[0]}\n")
    pip = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--find-links")
    done = ran(*pip, str(tmp_path), "--target", str(tmp_path / "installed"), "-r", str(tmp_path / "lock"))
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "installed").exists()
