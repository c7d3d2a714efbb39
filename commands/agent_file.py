"""What `start` is given: an agent file, a task, an id. Read and checked here, before anything is stored or started.

Every mistake is a BadInput of one line. What the operator declared is checked as far as this machine's settings tell;
the worker checks again, by its own settings.
"""

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from activities import spec
from activities.catalog import routes
from activities.toml_text import NotToml, read_toml
from commands.refusals import BadInput
from ledger.agent import AgentSpec

if TYPE_CHECKING:
    from settings import Settings

MAX_AGENT_BYTES: Final = 2**20
MAX_TEXT_BYTES: Final = 2**16
"""UTF-8 bytes of an answer's text."""
MAX_ID: Final = 200
"""Characters of a run's id; Temporal takes 1,000, tables and links do not."""


def read_agent(path: Path) -> AgentSpec:
    """Read an agent file. A single stage may be written flat."""
    try:
        return spec.read_agent(_document(path))
    except spec.InvalidSpec as error:
        raise BadInput(f"{path}: {error}") from None


def check_names(path: Path, agent: AgentSpec, settings: "Settings") -> None:
    """Check what the agent names against what the operator declared, and say by which file."""
    try:
        spec.check_agent(agent, settings.declared, routes(settings.declared))
    except spec.Undeclared as error:
        by = (
            f"declared by {settings.source}" if settings.source else "no endstop.toml is here: name one with --settings"
        )
        raise BadInput(f"{path}: {error} ({by})") from None
    except spec.InvalidSpec as error:
        raise BadInput(f"{path}: {error}") from None


def read_task(given: str) -> str:
    """The task: text, `@FILE`, or `-` for standard input."""
    task = read_text(given, "--task", spec.MAX_TASK_BYTES)
    try:
        spec.check_task(task)
    except spec.InvalidSpec as error:
        raise BadInput(f"--{error}") from None
    return task


def _document(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_AGENT_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); expected an agent file in TOML") from None
    if len(content) > MAX_AGENT_BYTES:
        raise BadInput(f"{path}: is larger than 1 MiB; an agent file is a few lines of TOML")
    try:
        return read_toml(content)
    except NotToml as problem:
        raise BadInput(f"{path}: {problem}") from None


def read_text(given: str, flag: str, limit: int = MAX_TEXT_BYTES) -> str:
    """The text itself, `@FILE`, or `-` for standard input; refused when it is empty, too long or not UTF-8."""
    content = _content(given, flag, limit)
    if len(content) > limit:
        raise BadInput(f"{flag}: is longer than {limit // 2**10:,} kiB; put large material into files of the workspace")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{flag}: is not UTF-8 text") from None
    if not text.strip():
        raise BadInput(f"{flag}: is empty; give the text, @FILE, or - for standard input")
    return text


def _content(given: str, flag: str, limit: int) -> bytes:
    if given == "-":
        return sys.stdin.buffer.read(limit + 1)
    if not given.startswith("@"):
        return given.encode(errors="surrogateescape")
    try:
        with Path(given[1:]).open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise BadInput(f"{flag} {given}: cannot be read ({error.strerror}); @ names a file") from None


def run_id(agent: AgentSpec, wanted: str | None) -> str:
    """The workflow id: the one that was asked for, else one that tells the agent and is not in use."""
    if wanted is None:
        return f"endstop-{agent.name}-{secrets.token_hex(3)}"
    if not wanted.isprintable() or not 0 < len(wanted) <= MAX_ID:
        raise BadInput(f"--id: should be 1 to {MAX_ID} printable characters")
    if wanted.startswith("-"):
        raise BadInput("--id: should not begin with a dash, as flags do")
    return wanted
