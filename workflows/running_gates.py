"""Carries out the gates of a stage: where each is asked, and what each reported.

Nothing is decided here: a gate that could not run is broken, which is a fact and no failure of the work.
"""

import asyncio
from datetime import timedelta
from typing import Any, assert_never

from pydantic import TypeAdapter, ValidationError
from temporalio import workflow
from temporalio.exceptions import ActivityError

from activities.contract import KEEP_VERDICT, RUN_GATE, Child, Elsewhere, GateDone, Here, KeepVerdict, RunGate
from ledger.decisions import RunGates
from ledger.outcomes import Broken, GateReport, GatesRan, Passed, Verdict
from workflows.carrying_out import HEARTBEAT_TIMEOUT, IDEMPOTENT, decision_id, local, pickup
from workflows.gates_elsewhere import asked_elsewhere, judged
from workflows.running_tools import IN_WORKSPACE, Round

GATE_LIMIT = timedelta(hours=25)
"""Beyond the longest time an operator may declare for a gate (24 h); a dead worker shows by its heartbeat."""

_VERDICT: TypeAdapter[Verdict] = TypeAdapter(Verdict)


async def run_gates(about: Round, decision: RunGates) -> GatesRan:
    """All gates, in parallel. Its judges share what the run may still spend."""
    routes = about.prepared.gate_routes
    judges = sum(isinstance(routes.get(gate), Child) for gate, _ in decision.gates)
    share = None if decision.allowance_usd is None or not judges else decision.allowance_usd / judges
    gates = (_run_gate(about, gate, seq, share) for gate, seq in decision.gates)
    return GatesRan(reports=tuple(await asyncio.gather(*gates)))


async def _run_gate(about: Round, gate: str, seq: int, share: float | None) -> GateReport:
    """One gate, where it is."""
    asked = RunGate(gate=gate, seq=seq, run=about.answer.id)
    match about.prepared.gate_routes.get(gate):
        case None:
            return await _here(about, asked, IN_WORKSPACE)
        case Here() as route:
            return await _here(about, asked.model_copy(update={"answer": about.answer}), route)
        case Elsewhere() | Child() as route:
            return await _elsewhere(about, asked.model_copy(update={"answer": about.answer}), route, share)
        case never:
            assert_never(never)


async def _elsewhere(about: Round, asked: RunGate, route: Elsewhere | Child, share: float | None) -> GateReport:
    """A gate that is not ours. What it says of the work goes into the store."""
    began = workflow.time()
    said: Passed | KeepVerdict
    if isinstance(route, Child):
        said, totals = await judged(about, asked, route, share)
    else:
        said, totals = await asked_elsewhere(asked, route), None
    verdict = said if isinstance(said, Passed) else _VERDICT.validate_python(await local(KEEP_VERDICT, said))
    duration_ms = round((workflow.time() - began) * 1_000)
    return GateReport(gate=asked.gate, seq=asked.seq, verdict=verdict, duration_ms=duration_ms, totals=totals)


async def _here(about: Round, order: RunGate, route: Here) -> GateReport:
    """A gate of our workers. One that cannot run is broken, which is no failure."""
    gate, seq = order.gate, order.seq
    if route.in_workspace:
        order = order.model_copy(update={"workspace": about.prepared.workspace})
    try:
        raw: Any = await workflow.execute_activity(
            RUN_GATE,
            order.model_dump(mode="json", exclude_defaults=True),
            activity_id=decision_id(f"gate.{seq}", "run_gate", gate),
            task_queue=(about.prepared.workspace_queue or None) if route.in_workspace else None,
            result_type=dict,
            schedule_to_start_timeout=pickup(about.prepared) if route.in_workspace else None,
            start_to_close_timeout=GATE_LIMIT,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=IDEMPOTENT,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"gate {gate} · report {seq}",
        )
        done = GateDone.model_validate(raw)
    except (ActivityError, ValidationError):
        return GateReport(gate=gate, seq=seq, verdict=Broken())
    return GateReport(gate=gate, seq=seq, verdict=done.verdict, duration_ms=done.duration_ms)
