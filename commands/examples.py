"""The examples that come with Endstop: which there are, what a folder of one holds, and a copy that can be played.

A folder holds what a user would write (`agent.toml`, `endstop.toml`, `task.md`, and what they name) and what plays it
without a key: `script.toml` (what the simulated models answer), `person.toml` (what a person answers where nobody can
type), and `worker.py` where a worker of another team belongs to it. Playing it is `demo`.
"""

import shutil
import tomllib
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from activities.declared import SandboxKind
from commands.refusals import BadInput, Refused
from ledger.model import Frozen
from ledger.reading import suggestion
from workflows.replies import Said

EXAMPLES: Final = Path(__file__).parent.parent / "examples"
VENDORS: Final = ("https://api.openai.com", "https://api.anthropic.com")
"""What the simulated models stand in for."""
_ANSWERS: Final = TypeAdapter(dict[str, tuple[Said, ...]])


class Example(Frozen):
    """One folder of `examples/`, as it comes or copied to be played."""

    name: str
    folder: Path

    @property
    def about(self) -> str:
        """What it shows: the first paragraph of its README."""
        return (self.folder / "README.md").read_text().split("\n\n")[1]

    @property
    def has_project(self) -> bool:
        """Whether it comes with a project to repair, which real pytest checks."""
        return (self.folder / "project").is_dir()

    @property
    def settings(self) -> Path:
        return self.folder / "endstop.toml"

    @property
    def script(self) -> Path:
        return self.folder / "script.toml"

    @property
    def worker(self) -> Path | None:
        """The other team's worker, where it has one."""
        file = self.folder / "worker.py"
        return file if file.is_file() else None

    @property
    def answers(self) -> tuple[Said, ...]:
        """What a person answers, question by question."""
        file = self.folder / "person.toml"
        return _ANSWERS.validate_python(tomllib.loads(file.read_text()))["answers"] if file.is_file() else ()

    def copied(self, into: Path, *, models: str, sandbox: SandboxKind | None) -> "Example":
        """A copy whose models are at the address `models`; `sandbox` None leaves that setting as it is.

        Nothing else of its settings changes.
        """
        copy = Example(name=self.name, folder=into / self.name)
        shutil.copytree(self.folder, copy.folder, ignore=shutil.ignore_patterns(".endstop", "__pycache__"))
        text = copy.settings.read_text()
        for vendor in VENDORS:
            text = text.replace(vendor, models)
        copy.settings.write_text(f'sandbox = "{sandbox}"\n{text}' if sandbox else text)
        return copy


def names() -> tuple[str, ...]:
    """All that can be played, in alphabetical order."""
    return tuple(sorted(file.parent.name for file in EXAMPLES.glob("*/script.toml")))


def example(name: str) -> Example:
    """Find an example. Refused: this is no checkout; BadInput: there is none of this name."""
    known = names()
    if not known:
        raise Refused(f"the examples are not here: {EXAMPLES} is part of a checkout of Endstop")
    if name not in known:
        raise BadInput(f"no example {name!r}; {suggestion(name, known)}")
    return Example(name=name, folder=EXAMPLES / name)
