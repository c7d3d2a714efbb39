"""What an outage comes to by the agent's own policy, by the ledger that decides in every run: no wait is sat out.

Pure. What a trip to each target comes to during the outage is known, from a run that asked each of them once (`drill`).
The rest of such a run is decisions, and the time it would take is only a number.
"""

from collections.abc import Mapping
from typing import Final, Literal

from commands.outages import Outage
from commands.tallies import targets, time_spent
from ledger.agent import AgentSpec, Plan, StagePlan
from ledger.decisions import Ask, CallModel, Decision, Finish, Wait
from ledger.journal import Entry, JournalRecord
from ledger.ledger import Ledger, Moment, decide
from ledger.model import Frozen
from ledger.outcomes import Began, Fact, Trip, Waited
from ledger.records import AttemptRecord, FailoverRecord

MAX_REQUESTS: Final = 1_000
"""A policy of much patience goes on for days: then it is told that it does, not how long."""


class Row(Frozen):
    """What one outage comes to."""

    away: str
    """A target, a provider, or "all"."""
    fault: str
    whole: bool
    """All targets of the agent went away at once."""
    requests: dict[str, int]
    """By target, in the order in which they were asked."""
    failovers: int
    waited_s: float
    """All waits, before jitter, which shortens a scheduled one by up to 20 % and lengthens a stated one by up to 10."""
    end: Literal["answered", "asks", "goes_on"]
    answered_by: dict[str, str]
    """By stage, as far as the run came."""
    asks: str
    """Label of the intervention."""
    options: tuple[str, ...]
    """What a person may answer to it."""
    stage: str
    """The last one that the run came to."""


class Foretold(Frozen):
    """How a run would go: its records, and what it would do in the end."""

    records: tuple[JournalRecord, ...]
    decision: Decision
    stage: str


def plan_of(agent: AgentSpec) -> Plan:
    """The plan of an agent that has no gates and no workspace. No window is known, and none is needed."""
    stages = (StagePlan(name=stage.name, models=stage.models, turns=stage.limits.turns) for stage in agent.stages)
    return Plan(agent=agent.name, stages=tuple(stages), policy=agent.policy)


def foretell(plan: Plan, trips: Mapping[str, Trip]) -> Foretold:
    """Tell the ledger of trip after trip, and of each wait that it ran out, until the run ends or asks a person.

    `trips`: what a trip to each target comes to, for as long as the outage lasts.
    """
    now = 0.0
    step = decide(Ledger(), Began(), Moment(plan=plan, now=now))
    records = list(step.records)
    while not isinstance(step.decision, Ask | Finish) and step.ledger.totals.attempts < MAX_REQUESTS:
        fact, took_s = _came_of(step.decision, trips, now)
        now += took_s
        step = decide(step.ledger, fact, Moment(plan=plan, now=now))
        records += step.records
    stage = plan.stages[step.ledger.stage].name
    return Foretold(records=tuple(records), decision=step.decision, stage=stage)


def _came_of(decision: Decision, trips: Mapping[str, Trip], now: float) -> tuple[Fact, float]:
    """What carrying out a decision comes to, and the seconds it waits."""
    match decision:
        case CallModel(target=target, wait_s=wait_s):
            return trips[str(target)].model_copy(update={"waited_ms": int(wait_s * 1_000)}), wait_s
        case Wait(until=until):
            return Waited(slept_s=until - now), until - now
        case _:
            raise ValueError(f"an agent that is rehearsed has nothing to do but to ask models, not {decision.do}")


def row_of(outage: Outage, foretold: Foretold) -> Row:
    """Sum up an outage."""
    entries = [Entry(seq=seq, record=record) for seq, record in enumerate(foretold.records, 1)]
    attempts = [record for record in foretold.records if isinstance(record, AttemptRecord)]
    answered = {one.stage: f"{one.provider}:{one.model}" for one in attempts if one.failed is None}
    asked = foretold.decision.open if isinstance(foretold.decision, Ask) else None
    goes_on = "answered" if isinstance(foretold.decision, Finish) else "goes_on"
    return Row(
        away=outage.who,
        fault=outage.fault,
        whole=outage.whole,
        requests={tally.target: tally.attempts for tally in targets(entries)},
        failovers=sum(isinstance(record, FailoverRecord) for record in foretold.records),
        waited_s=time_spent(entries).waits_ms / 1_000,
        end="asks" if asked else goes_on,
        answered_by=answered,
        asks=asked.intervention.label if asked else "",
        options=asked.answers if asked else (),
        stage=foretold.stage,
    )
