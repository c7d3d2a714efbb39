"""Whether the tool calls of an answer may be carried out, or a person has to speak first, one call after the other.

Here: approvals, the model's questions, and what a person says of a call. Not here: what follows once the calls are
carried out (`rounds`).
"""

from ledger.answers import Approve, Edit, OfCall
from ledger.decisions import RunTools
from ledger.interventions import ApprovalNeeded, Intervention, OutcomeUnknown, Question
from ledger.outcomes import ToolRequest
from ledger.state import Ledger, Moment, Step
from ledger.turning import Records, allowance, ask, settle


def run_tools(ledger: Ledger, decision: RunTools, records: Records, moment: Moment) -> Step:
    """Carry out all calls at once, as soon as a person has spoken about each that needs it."""
    asked = next((found for call in decision.calls if (found := _asked_about(ledger, call))), None)
    if asked:
        return ask(ledger.having(resume=decision), (asked, *ledger.queue), records, moment)
    return settle(ledger.having(resume=None), decision, records, moment)


def with_children(
    ledger: Ledger, calls: tuple[ToolRequest, ...], moment: Moment
) -> tuple[Ledger, tuple[ToolRequest, ...]]:
    """Admit the sub-agents that an answer asks for, as many as may be, each with its share of what is left to spend."""
    policy = moment.plan.policy
    wanted = [call for call in calls if call.name in moment.plan.agents]
    free = 0 if moment.plan.depth >= policy.children.depth else max(0, policy.children.children - ledger.children)
    admitted = wanted[:free]
    left = allowance(ledger, policy.spend)
    share = None if left is None or not admitted else left / len(admitted)
    limit = "depth" if moment.plan.depth >= policy.children.depth else "children"

    def seen(call: ToolRequest) -> ToolRequest:
        if call in admitted:
            return call.model_copy(update={"spend_usd": share})
        return call.model_copy(update={"refused": limit}) if call in wanted else call

    return ledger.having(children=ledger.children + len(admitted)), tuple(map(seen, calls))


def of_call(ledger: Ledger, asked: Intervention, said: OfCall, records: Records, moment: Moment) -> Step:
    """Take a person's word on the call that was asked about; the others stand as they are."""
    held = ledger.resume
    if not isinstance(held, RunTools) or not isinstance(asked, ApprovalNeeded | Question | OutcomeUnknown):
        raise TypeError("a word on a tool call belongs to a question about one")
    call = next(call for call in held.calls if call.index == asked.index)
    if call.approval == "once" and isinstance(said, Approve | Edit):
        ledger = ledger.having(approved=(*ledger.approved, call.name))
    calls = tuple(call.model_copy(update={"said": said}) if c is call else c for c in held.calls)
    return run_tools(ledger, held.model_copy(update={"calls": calls}), records, moment)


def _asked_about(ledger: Ledger, call: ToolRequest) -> ApprovalNeeded | Question | None:
    if call.said or call.refused:
        return None
    if call.question:
        return call.question.model_copy(update={"index": call.index})
    approved = call.approval == "" or (call.approval == "once" and call.name in ledger.approved)
    return None if approved else ApprovalNeeded(tool=call.name, arguments=call.arguments, index=call.index)
