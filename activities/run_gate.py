"""`run_gate`: asks one gate that our own workers carry out, and says what it found as a value.

Here: what a command's end means for the work. Not here: what it gets and sees (`workspace_command`), running it within
its limits (`command`), functions and schemas (`own_gates`), or what a failure costs (the ledger).

- Exit code 0 passes. Any other fails, one by a signal too: what the work does to its checker is the work's failure.
- A command that hangs or floods fails. Where it was cut depends on the machine, so its identity is the limit alone:
  every hang of a gate is the same failure, whatever was printed before it. The model is shown the output all the same.
- Where files that the gate protects were changed since the workspace was claimed, it fails as that, and is not run.
- A command that cannot be started, or a workspace that is not here, is infrastructure: the gate is broken, and the
  reason is kept for people as a detail of the run.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, assert_never

from temporalio import activity

from activities.command import NotStarted, Ran, run_command
from activities.contract import RUN_GATE, GateDone, RunGate
from activities.declared_gates import CommandGate, DeclaredGate, FunctionGate, SchemaGate
from activities.function_gates import Breaks, Fails
from activities.heartbeat import heartbeats
from activities.messages import text_of
from activities.own_gates import OwnGates
from activities.sandbox import Sandbox
from activities.stored import Transcript
from activities.verdicts import GateStore, Verdicts
from activities.workspace import WorkspaceMissing, WorkspaceRefused, Workspaces
from activities.workspace_command import STANDARD_PATH, WorkspaceCommands, limit_line
from ledger.outcomes import Failing, Passed, Verdict

MAX_TOLD: Final = 100
"""Paths that are named where protected files were changed."""

TAMPERED: Final = "Gate {} checks the work by these files: they have to be as they were when the run began."

NO_OWN: Final = OwnGates()

ENDED_FOR_LIMIT: Final = 124
"""The exit code that timeout(1) gives a command whose time ran out."""


class AnswerStore(GateStore, Transcript, Protocol):
    """What a gate needs of the store: the answer it checks, and keeping its verdict."""


class GateRunner:
    """The activity `run_gate`; commands run on the worker that holds the workspaces."""

    def __init__(
        self,
        store: AnswerStore,
        gates: Mapping[str, DeclaredGate],
        workspaces: Workspaces,
        *,
        sandbox: Sandbox | None,
        own: OwnGates = NO_OWN,
        path: str = STANDARD_PATH,
    ) -> None:
        self._store = store
        self._verdicts = Verdicts(store)
        self._gates = gates
        self._own = own
        self._workspaces = workspaces
        self._commands = WorkspaceCommands(workspaces, sandbox, path)

    @activity.defn(name=RUN_GATE)
    async def run_gate(self, request: RunGate) -> dict[str, Any]:
        """Return a `GateDone`; it may be run again, a gate decides nothing."""
        began = time.monotonic()
        async with heartbeats(lambda: {"phase": "gate"}):
            verdict = await self._verdict(request)
        done = GateDone(verdict=verdict, duration_ms=round((time.monotonic() - began) * 1_000))
        return done.model_dump(mode="json")

    async def _verdict(self, request: RunGate) -> Verdict:
        try:
            match self._gates.get(request.gate):
                case CommandGate() as gate:
                    return await self._command(gate, request)
                case FunctionGate() | SchemaGate():
                    return await self._own_gate(request)
                case _:
                    reason = f"gate {request.gate} is not declared on this worker as one that it can ask"
                    return await self._verdicts.broken(request, reason)
        except (WorkspaceMissing, WorkspaceRefused) as missing:
            return await self._verdicts.broken(request, str(missing))

    async def _own_gate(self, request: RunGate) -> Verdict:
        if request.answer is None:
            raise TypeError("a gate of ours is asked about an answer")
        folder = self._workspaces.path(request.run, request.workspace) if request.workspace else None
        *_, answer = await self._store.read(request.answer)
        match await self._own.found(request.gate, text_of(answer), folder):
            case None:
                return Passed()
            case Fails(text=text):
                return await self._verdicts.failing(text, root=str(folder or ""))
            case Breaks(reason=reason):
                return await self._verdicts.broken(request, f"gate {request.gate}: {reason}")
            case never:
                assert_never(never)

    async def _command(self, gate: CommandGate, request: RunGate) -> Verdict:
        if changed := await asyncio.to_thread(self._changed, request):
            return await self._tampered(gate, changed)
        command = await asyncio.to_thread(self._commands.made, gate, request.run, request.workspace, gate.name)
        ran = await run_command(command)
        if isinstance(ran, NotStarted):
            return await self._verdicts.broken(request, f"gate {gate.name} cannot be started: {ran.reason}")
        if ran.exit_code or ran.limit:
            return await self._failing(gate, ran, command.folder)
        if changed := await asyncio.to_thread(self._changed, request):  # by what it ran: its word is worth nothing
            return await self._tampered(gate, changed)
        return Passed()

    def _changed(self, request: RunGate) -> tuple[str, ...]:
        """What the gate protects and is not as it was when the workspace was claimed."""
        workspace = self._workspaces.path(request.run, request.workspace)
        protected = self._workspaces.protected(request.run, request.workspace).get(request.gate)
        return protected.changed(workspace) if protected else ()

    async def _tampered(self, gate: CommandGate, changed: tuple[str, ...]) -> Failing:
        """The work's failure: it changed what it is checked by. The same paths are the same failure."""
        lines = [f"error: protected file changed: {path}" for path in changed[:MAX_TOLD]]
        if len(changed) > MAX_TOLD:
            lines.append(f"error: {len(changed) - MAX_TOLD} more protected files changed")
        output = "\n".join((*lines, TAMPERED.format(gate.name)))
        return await self._verdicts.failing(output, identity="\n".join(lines))

    async def _failing(self, gate: CommandGate, ran: Ran, workspace: Path) -> Failing:
        limit = limit_line(gate, ran)
        return await self._verdicts.failing(
            "\n".join(part for part in (ran.output.rstrip("\n"), limit) if part),
            identity=limit or ran.output,
            exit_code=ENDED_FOR_LIMIT if limit else ran.exit_code,
            root=str(workspace),
        )
