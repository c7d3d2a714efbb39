"""Asks gates that are somebody's activities, or runs of a judge; what they say of the work goes into the store.

An activity's input and verdict stand in history, as they must. Not here: which gates there are, or keeping a verdict
(an activity of ours does).
"""

from datetime import timedelta
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, StrictBool, StrictStr, TypeAdapter, ValidationError
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from activities.contract import JUDGE_TASK, Child, Elsewhere, KeepVerdict, Parent, RunGate
from ledger.outcomes import Passed
from ledger.totals import Totals, of_gate
from workflows.carrying_out import local, read_answer
from workflows.running_tools import Round
from workflows.tools_elsewhere import call_elsewhere, why_failed

MAX_ANSWER: Final = 65_536
"""Bytes of an answer that another worker's gate gets; they stand in history."""


class _Told(BaseModel):
    """What a gate of another worker answers, if it says more than true or false."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    passed: StrictBool
    output: StrictStr = ""


TWICE: Final = RetryPolicy(maximum_attempts=2, initial_interval=timedelta(seconds=1))
"""A gate may be asked again, and is, once: its worker may have been restarted. Then a person learns of it."""

_TOLD: TypeAdapter[bool | _Told] = TypeAdapter(StrictBool | _Told)


async def asked_elsewhere(asked: RunGate, route: Elsewhere) -> Passed | KeepVerdict:
    """Ask an activity of somebody's worker."""
    if asked.answer is None:
        raise TypeError("a gate elsewhere is asked about an answer")
    answer, goes_on = await read_answer(asked.answer, MAX_ANSWER)
    if goes_on:  # its beginning may pass for the whole
        too_long = f"error: the answer has more than the {MAX_ANSWER:,} bytes that gate {asked.gate} can be given"
        return KeepVerdict(asked=asked, output=too_long)
    try:
        result: Any = await call_elsewhere(
            route,
            {"gate": asked.gate, "answer": answer},
            f"gate.{asked.seq}",
            asked.gate,
            again=TWICE,
            summary=f"gate {asked.gate} · report {asked.seq}",
        )
        told = _TOLD.validate_python(result)
    except ActivityError as error:
        reason = why_failed(error, route) or f"nobody knows what came of {route.activity}"
        return KeepVerdict(asked=asked, broken=reason)
    except ValidationError:
        expected = 'true, false or {"passed": true or false, "output": text}'
        return KeepVerdict(asked=asked, broken=f"{route.activity} answered something else than {expected}")
    if isinstance(told, bool):
        told = _Told(passed=told)
    return Passed() if told.passed else KeepVerdict(asked=asked, output=told.output)


async def judged(
    about: Round, asked: RunGate, route: Child, spend_usd: float | None
) -> tuple[KeepVerdict, Totals | None]:
    """Let another agent judge, in a run of its own. One that gives no verdict is broken; what it used counts."""
    order = asked.model_copy(update={"agent_ref": about.prepared.agent_ref, "stage": about.stage})
    task = str(await local(JUDGE_TASK, order))
    own = Parent(workflow_id=workflow.info().workflow_id, depth=about.prepared.plan.depth, spend_usd=spend_usd)
    ran = await about.children.run(of_gate(asked.seq), asked.gate, route, task, own)
    ended = ran.result
    if isinstance(ended, str):
        return KeepVerdict(asked=asked, broken=f"the judge failed: {ended}"), ran.totals
    if ended.status == "completed":
        return KeepVerdict(asked=asked, judgement=ended.conversation), ran.totals
    why = f"{ended.by or 'somebody'} stopped the judge: {ended.why or 'no reason given'}"
    return KeepVerdict(asked=asked, broken=why), ran.totals
