"""`run_gate`: runs one gate that the operator declared, and says what it found as a value.

Here: what a command's end means for the work, the environment it gets, and what it sees. Not here: running it within
its limits (`command`), how a sandbox is made (`sandbox`), or what a failure costs (the ledger).

- Exit code 0 passes. Any other fails, one by a signal too: what the work does to its checker is the work's failure.
- A command that hangs or floods fails. Where it was cut depends on the machine, so its identity is the limit alone:
  every hang of a gate is the same failure, whatever was printed before it. The model is shown the output all the same.
- A command that cannot be started, or a workspace that is not here, is infrastructure: the gate is broken, and the
  reason is kept for people as a detail of the run.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from temporalio import activity

from activities.command import FLOOD, Command, NotStarted, Ran, run_command
from activities.contract import RUN_GATE, GateDone, RunGate
from activities.declared import CommandGate
from activities.heartbeat import heartbeats
from activities.sandbox import Sandbox, Seen, python_files
from activities.stored import Contents, Details
from activities.workspace import WorkspaceMissing, WorkspaceRefused, Workspaces
from ledger.fingerprint import fingerprint
from ledger.outcomes import Broken, Failing, Passed, Verdict

STANDARD_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where commands are looked up, unless the composition root says otherwise."""

OWN_PYTHON: Final = "python"
"""As a command's first word: the interpreter that runs this worker."""

ENDED_FOR_LIMIT: Final = 124
"""The exit code that timeout(1) gives a command whose time ran out."""


class GateStore(Contents, Details, Protocol):
    """What a gate needs of the store."""


class GateRunner:
    """The activity `run_gate` on the worker that holds the workspaces."""

    def __init__(
        self,
        store: GateStore,
        gates: Mapping[str, CommandGate],
        workspaces: Workspaces,
        *,
        sandbox: Sandbox | None,
        path: str = STANDARD_PATH,
    ) -> None:
        self._store = store
        self._gates = gates
        self._workspaces = workspaces
        self._sandbox = sandbox
        self._path = path

    @activity.defn(name=RUN_GATE)
    async def run_gate(self, request: RunGate) -> dict[str, Any]:
        """Return a `GateDone`; it may be run again, a gate decides nothing."""
        began = time.monotonic()
        async with heartbeats(lambda: {"phase": "gate"}):
            verdict = await self._verdict(request)
        done = GateDone(verdict=verdict, duration_ms=round((time.monotonic() - began) * 1_000))
        return done.model_dump(mode="json")

    async def _verdict(self, request: RunGate) -> Verdict:
        gate = self._gates.get(request.gate)
        if gate is None:
            return await self._broken(request, f"gate {request.gate} is not declared on this worker")
        try:
            command = await asyncio.to_thread(self._command, gate, request)
        except (WorkspaceMissing, WorkspaceRefused) as missing:
            return await self._broken(request, str(missing))
        ran = await run_command(command)
        if isinstance(ran, NotStarted):
            return await self._broken(request, f"gate {gate.name} cannot be started: {ran.reason}")
        if ran.exit_code == 0 and not ran.limit:
            return Passed()
        return await self._failing(gate, ran, command.folder)

    def _command(self, gate: CommandGate, request: RunGate) -> Command:
        workspace = self._workspaces.path(request.run, request.workspace)
        scratch = self._workspaces.scratch(request.run, gate.name)
        seen = seen_by(gate, workspace, scratch)
        return Command(
            sandbox=self._sandbox.around(seen) if self._sandbox else (),
            argv=gate.command,
            folder=workspace,
            environment=environment_for(gate, scratch, self._path),
            timeout_s=gate.timeout_s,
            output_bytes=gate.output_bytes,
        )

    async def _failing(self, gate: CommandGate, ran: Ran, workspace: Path) -> Failing:
        limit = _limit_line(gate, ran)
        output = await self._store.put("\n".join(part for part in (ran.output.rstrip("\n"), limit) if part) + "\n")
        found = await asyncio.to_thread(
            fingerprint,
            limit or ran.output,
            exit_code=ENDED_FOR_LIMIT if limit else ran.exit_code,
            root=str(workspace),
            at=datetime.now(UTC),
        )
        return Failing(
            version=found.version, exact=found.exact, family=found.family, items=len(found.items), output=output
        )

    async def _broken(self, request: RunGate, reason: str) -> Broken:
        await self._store.put_detail(request.run, f"gate:{request.gate}:{request.seq}", reason)
        return Broken()


def seen_by(gate: CommandGate, workspace: Path, scratch: Path) -> Seen:
    """Return what a gate's command sees in its sandbox: the worker's Python where it runs that."""
    python = python_files() if gate.command[0] == OWN_PYTHON else ()
    return Seen(folder=workspace, scratch=scratch, readable=(*python, *gate.readable), network=gate.network)


def environment_for(gate: CommandGate, scratch: Path, path: str) -> dict[str, str]:
    """Return the whole environment of a gate's command; none of the worker's own variables is in it.

    For the interpreter that runs this worker its folder comes first on PATH.
    """
    own_python = f"{Path(sys.executable).parent}:" if gate.command[0] == OWN_PYTHON else ""
    return {
        "PATH": f"{own_python}{path}",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _limit_line(gate: CommandGate, ran: Ran) -> str:
    match ran.limit:
        case "":
            return ""
        case "time":
            return f"error: {gate.name} timed out after {gate.timeout_s:g} s"
        case "output":
            return f"error: {gate.name} was stopped after {FLOOD * gate.output_bytes} bytes of output"
