"""The example that the tour plays: its script really breaks one test by mending the other, and then repairs both."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from activities.builtin_tools import TOOLS
from activities.spec import check_agent
from commands.agent_file import read_agent
from ledger.fingerprint import fingerprint
from settings import load_settings
from simulator.replies import ToolCalls
from simulator.script import Script

EXAMPLE = Path(__file__).parent.parent / "examples" / "fix-tests"


def repairs() -> list[str]:
    """What the scripted model writes into calc.py: first the repair that needs guidance, then six wrong ones."""
    replies = Script.load(EXAMPLE / "script.toml").models["claude-sonnet-5-5"]
    calls = [reply.calls[0] for reply in replies if isinstance(reply, ToolCalls)]
    return [json.loads(call.arguments)["content"] for call in calls]


def gate(folder: Path, code: str) -> tuple[int, str]:
    """The gate's own command on the project with this calc.py."""
    declared = load_settings(EXAMPLE / "endstop.toml", {}).declared
    (folder / "calc.py").write_text(code)
    command = [sys.executable, *declared.gates["tests"].command[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE / "project", tmp_path / "project"))


def test_the_scripted_repairs_fail_in_two_alternating_ways(project: Path) -> None:
    failures = []
    for code in repairs()[1:]:
        exit_code, output = gate(project, code)
        assert exit_code == 1, output
        failures.append(fingerprint(output, exit_code=exit_code, root=str(project)).exact)
    a, b = failures[:2]
    assert failures == [a, b, a, b, a, b]
    assert a != b


def test_no_two_scripted_repairs_are_the_same_step() -> None:
    assert len(set(repairs())) == len(repairs())


def test_the_repair_that_follows_guidance_passes(project: Path) -> None:
    exit_code, output = gate(project, repairs()[0])
    assert exit_code == 0, output


def test_the_project_is_broken_as_it_comes(project: Path) -> None:
    assert gate(project, (EXAMPLE / "project" / "calc.py").read_text())[0] == 1


def test_the_agent_names_only_what_its_settings_declare() -> None:
    check_agent(read_agent(EXAMPLE / "agent.toml"), load_settings(EXAMPLE / "endstop.toml", {}).declared, TOOLS)
