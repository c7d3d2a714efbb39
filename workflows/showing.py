"""What a run shows of itself: status, the open question, Current Details, search attributes. Names and numbers only."""

from collections.abc import Collection
from typing import Any, assert_never

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

from activities.contract import ATTRIBUTE_INTERVENTION, ATTRIBUTE_MODEL, ATTRIBUTE_SPEND, ATTRIBUTE_STATUS
from ledger.agent import Plan
from ledger.conversation import Conversation
from ledger.decisions import Ask, CallModel, Compact, Decision, Finish, RunGates, RunTools, Wait
from ledger.interventions import ApprovalNeeded, Open, Question
from ledger.state import Ledger, Step
from workflows.messages import Asked, ChildStatus, RunResult, RunStatus, Status

MAX_DETAILS = 4_000
"""Bytes of Current Details that the server keeps."""
SPEND_EVERY_TURNS = 10
"""EndstopSpendUsd is upserted at most this often (DESIGN section 5)."""

LISTED_FROM_S = 90
"""Waits up to this are no `waiting` in listings: longer than any retry's by default (60 s and its jitter)."""


class Display:
    """Shows a run in the Web UI and in listings, on change only and only by search attributes that exist."""

    def __init__(self, search_attributes: Collection[str]) -> None:
        self._exist = search_attributes
        self._shown: dict[str, str] = {}
        self._spend_shown_at = 0

    def show(self, status: Status, asked: Asked | None) -> None:
        """Set Current Details, and upsert the attributes that changed."""
        workflow.set_current_details(details(status, asked))
        wanted = {
            ATTRIBUTE_STATUS: _listed(status),
            ATTRIBUTE_INTERVENTION: status.intervention,
            ATTRIBUTE_MODEL: status.target,
        }
        changed = {k: v for k, v in wanted.items() if k in self._exist and self._shown.get(k, "") != v}
        updates: list[SearchAttributeUpdate[Any]] = [
            SearchAttributeKey.for_keyword(name).value_set(value) for name, value in changed.items()
        ]
        if self._spend_is_due(status):
            updates.append(SearchAttributeKey.for_float(ATTRIBUTE_SPEND).value_set(status.cost_usd or 0))
            self._spend_shown_at = status.turn
        if updates:
            workflow.upsert_search_attributes(updates)
            self._shown |= changed

    def _spend_is_due(self, status: Status) -> bool:
        ended = status.status in ("completed", "stopped", "cancelled")
        due = ended or status.turn >= self._spend_shown_at + SPEND_EVERY_TURNS
        return ATTRIBUTE_SPEND in self._exist and bool(status.cost_usd) and due


def _listed(status: Status) -> RunStatus:
    """What listings tell. A short wait would cost two events more than the retry it belongs to."""
    waits_s = (status.until or status.since) - status.since
    return "running" if status.status == "waiting" and waits_s <= LISTED_FROM_S else status.status


def run_status(decision: Decision | None) -> RunStatus:
    """The one word for where a run stands."""
    match decision:
        case None | CallModel() | Compact() | RunTools() | RunGates():
            return "running"
        case Wait():
            return "waiting"
        case Ask():
            return "needs_human"
        case Finish(status=status):
            return status
        case _:
            assert_never(decision)


def doing(decision: Decision | None) -> str:
    """What a run does now, in a few words."""
    match decision:
        case None:
            return "preparing"
        case CallModel():
            what = "asking for a summary from" if decision.summarise else "calling"
            return f"{what} {decision.target}, attempt {decision.attempt}"
        case Compact():
            return f"compacting the conversation for {decision.target}"
        case RunTools():
            return "running " + ", ".join(call.name or "an unknown tool" for call in decision.calls)
        case RunGates():
            return "checking " + ", ".join(gate for gate, _ in decision.gates)
        case Wait():
            return f"waiting for {decision.target} ({decision.reason})"
        case Ask():
            return f"waiting for a person: {decision.open.intervention.label}"
        case Finish():
            return decision.status
        case _:
            assert_never(decision)


def status_of(
    ledger: Ledger,
    plan: Plan | None,
    *,
    since: float,
    conversation: Conversation,
    journal: int,
    children: tuple[ChildStatus, ...] = (),
) -> Status:
    """The answer of query `status`; `plan` is None while the run is being prepared."""
    now = ledger.doing
    totals = ledger.totals
    return Status(
        status=run_status(now),
        agent=plan.agent if plan else "",
        stage=plan.stages[ledger.stage].name if plan else "",
        turn=ledger.turn.number,
        target=str(ledger.target or ""),
        doing=doing(now),
        since=since,
        until=_until(now, since),
        intervention=ledger.open.open.intervention.label if ledger.open else "",
        attempts=totals.attempts,
        failovers=totals.failovers,
        charges=totals.charges,
        input_tokens=totals.input_tokens,
        output_tokens=totals.output_tokens,
        cost_usd=totals.known_usd,
        unpriced=totals.unpriced,
        children=children,
        conversation=conversation,
        journal=journal,
    )


def _until(now: Decision | None, since: float) -> float | None:
    """When a wait ends, whether it is a timer or rides inside an attempt."""
    match now:
        case Wait():
            return now.until
        case CallModel() if now.wait_s:
            return since + now.wait_s
        case _:
            return None


def ledger_of(ledger: Ledger, since: float) -> dict[str, Any]:
    """The answer of query `ledger`: the ledger as it is carried, and the attempt in flight."""
    now = ledger.doing
    flying = {"id": now.id, "target": str(now.target), "since": since} if isinstance(now, CallModel) else None
    return {**ledger.model_dump(mode="json"), "in_flight": flying}


def asked_of(opened: Open, tools_ref: str = "") -> Asked:
    """The answer of query `intervention`."""
    return Asked(
        id=opened.id,
        digest=opened.digest,
        label=opened.intervention.label,
        text=_text(opened),
        facts=opened.intervention.model_dump(mode="json", exclude={"label"}),
        answers=opened.answers,
        at=opened.at,
        tools_ref=tools_ref if isinstance(opened.intervention, ApprovalNeeded) else "",
    )


def result_of(
    ended: Finish, answer: str | None, conversation: Conversation, ledger: Ledger, *, goes_on: bool
) -> dict[str, Any]:
    """The `RunResult` of a run that completed or was stopped."""
    result = RunResult(
        status="stopped" if ended.status == "stopped" else "completed",
        answer=answer,
        answer_cut=goes_on,
        conversation=conversation,
        by=ended.by,
        why=ended.why,
        turns=ledger.turn.number,
        totals=ledger.totals,
    )
    return result.model_dump(mode="json")


def event(step: Step) -> dict[str, str | int]:
    """The one flat log event of a decision: ids and numbers only."""
    totals = step.ledger.totals
    return {
        "decision": step.decision.do,
        "turn": step.ledger.turn.number,
        "attempts": totals.attempts,
        "failovers": totals.failovers,
        "charges": totals.charges,
        "records": len(step.records),
    }


def details(status: Status, asked: Asked | None) -> str:
    """Current Details: a short Markdown table with what is asked and how to answer it."""
    rows = [
        ("run", f"{_cell(status.agent)} · stage {_cell(status.stage)} · turn {status.turn}"),
        ("now", _cell(status.doing)),
        ("so far", f"{status.attempts} attempts · {status.failovers} failovers · {status.charges} charges"),
    ]
    rows += [("asks in a sub-agent", _cell(f"{c.intervention}: {c.id}")) for c in status.children if c.intervention]
    if asked:
        rows.append(("asks", _cell(f"{asked.label}: {asked.text}")))
        rows.append(("answers", ", ".join(asked.answers)))
        payload = f'{{"answer": "{asked.answers[0]}", "intervention": "{asked.id}", "digest": "{asked.digest}"}}'
        rows.append(("how", f"`endstop show {{workflowId}}` has the commands; or signal `intervene` with `{payload}`"))
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"| | |\n|---|---|\n{table}".encode()[:MAX_DETAILS].decode(errors="ignore")


def _text(opened: Open) -> str:
    """A question shows its own words; every other intervention its fixed sentence."""
    asked = opened.intervention
    return asked.text if isinstance(asked, Question) else str(asked)


def _cell(text: str) -> str:
    """Text inside a Markdown table: one line, no markup, at most 300 characters (FAULTS S10)."""
    flat = " ".join(text.split())[:300]
    return "".join(f"&#{ord(c)};" if c in "|<>[]()`*_\\{}&!#" else c for c in flat if c.isprintable())
