"""What a command that the operator declared is in a run's workspace: its environment, what it sees, its limits.

Here: the same for gates and for tools, since both run what a model wrote. Not here: running it (`command`), how a
sandbox is made (`sandbox`), or what its end means (`run_gate`, `command_tools`).
"""

import sys
from pathlib import Path
from typing import Final

from activities.command import FLOOD, Command, Ran
from activities.declared_gates import CommandGate
from activities.declared_tools import CommandTool
from activities.sandbox import Sandbox, Seen, python_files
from activities.workspace import Workspaces

STANDARD_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where commands are looked up, unless the composition root says otherwise."""

OWN_PYTHON: Final = "python"
"""As a command's first word: the interpreter that runs this worker."""


class WorkspaceCommands:
    """Makes the commands of one worker's gates and tools."""

    def __init__(self, workspaces: Workspaces, sandbox: Sandbox | None, path: str = STANDARD_PATH) -> None:
        self._workspaces = workspaces
        self._sandbox = sandbox
        self._path = path

    def made(self, declared: CommandGate | CommandTool, run: str, workspace: str, use: str) -> Command:
        """Return the command in a claimed workspace. Its scratch folder is made anew: one for each `use`.

        What any gate of the run protects is read-only for each: one that rewrote it would break the others. Raises
        `WorkspaceMissing` and `WorkspaceRefused`.
        """
        folder = self._workspaces.path(run, workspace)
        scratch = self._workspaces.scratch(run, use)
        return Command(
            sandbox=self._sandbox.around(self._seen(declared, run, folder, scratch)) if self._sandbox else (),
            argv=declared.command,
            folder=folder,
            environment=_environment(declared, scratch, self._path),
            timeout_s=declared.timeout_s,
            output_bytes=declared.output_bytes,
        )

    def _seen(self, declared: CommandGate | CommandTool, run: str, folder: Path, scratch: Path) -> Seen:
        """The worker's Python is seen by what runs that."""
        python = python_files() if declared.command[0] == OWN_PYTHON else ()
        kept = self._workspaces.protected(run, folder.name).values()
        return Seen(
            folder=folder,
            scratch=scratch,
            protected=tuple(place for protected in kept for place in protected.mounts(folder)),
            readable=(*python, *declared.readable),
            network=declared.network,
        )


def _environment(declared: CommandGate | CommandTool, scratch: Path, path: str) -> dict[str, str]:
    """All of it; none of the worker's own variables is in it.

    For the interpreter that runs this worker its folder comes first on PATH.
    """
    own_python = f"{Path(sys.executable).parent}:" if declared.command[0] == OWN_PYTHON else ""
    return {
        "PATH": f"{own_python}{path}",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def limit_line(declared: CommandGate | CommandTool, ran: Ran) -> str:
    """Say for which limit a command was ended; "" where it ended by itself."""
    match ran.limit:
        case "":
            return ""
        case "time":
            return f"error: {declared.name} timed out after {declared.timeout_s:g} s"
        case "output":
            return f"error: {declared.name} was stopped after {FLOOD * declared.output_bytes} bytes of output"
