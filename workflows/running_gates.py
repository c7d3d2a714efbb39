"""Carries out the gates of a stage: which activity, on which task queue, and what each reported.

Nothing is decided here: a gate that could not run is broken, which is a fact and no failure of the work.
"""

import asyncio
from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.exceptions import ActivityError

from activities.contract import RUN_GATE, GateDone, Prepared, RunGate
from ledger.conversation import Conversation
from ledger.decisions import RunGates
from ledger.outcomes import Broken, GateReport, GatesRan
from workflows.carrying_out import HEARTBEAT_TIMEOUT, IDEMPOTENT, PICKUP, decision_id

GATE_LIMIT = timedelta(hours=25)
"""Beyond the longest time an operator may declare for a gate (24 h); a dead worker shows by its heartbeat."""


async def run_gates(prepared: Prepared, decision: RunGates, conversation: Conversation) -> GatesRan:
    """All gates, in parallel."""
    gates = (_run_gate(prepared, gate, seq, conversation) for gate, seq in decision.gates)
    return GatesRan(reports=tuple(await asyncio.gather(*gates)))


async def _run_gate(prepared: Prepared, gate: str, seq: int, conversation: Conversation) -> GateReport:
    """One gate, on the worker that holds the workspace. A gate that cannot run is broken, which is no failure."""
    order = RunGate(gate=gate, seq=seq, run=conversation.id, workspace=prepared.workspace)
    try:
        raw: Any = await workflow.execute_activity(
            RUN_GATE,
            order.model_dump(mode="json", exclude_defaults=True),
            activity_id=decision_id(f"gate.{seq}", "run_gate", gate),
            task_queue=prepared.workspace_queue or None,
            result_type=dict,
            schedule_to_start_timeout=PICKUP,
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
