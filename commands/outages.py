"""What `endstop drill` rehearses: the faults, the outages of an agent's targets, and the agent without all else.

Pure: values in, values out. Not here: where it is rehearsed (`drill`), or what an outage comes to (`foretelling`).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from commands.refusals import BadInput
from ledger.agent import AgentSpec
from ledger.model import Frozen
from ledger.policy import AskPolicy, ContextPolicy
from ledger.reading import suggestion
from ledger.target import Target
from simulator.replies import Error, Raw, Refuse, Reply, Text
from simulator.script import Script

RETRY_AFTER_S: Final = 20.0
"""What a rate limit states: bearable for a retry by default (60 s), so that a drill shows these waits too."""


class Fault(Frozen):
    """One way in which models go away, for ever."""

    reply: Reply
    shared: bool = False
    """It is the provider's, or its key's: all of its models go away at once."""


FAULTS: Final = {
    "down": Fault(reply=Raw(status=503, body="Service Unavailable", repeat=True)),
    "rate_limited": Fault(reply=Error(error="rate_limited", retry_after_s=RETRY_AFTER_S, repeat=True)),
    "key_refused": Fault(reply=Error(error="auth", repeat=True), shared=True),
    "overloaded": Fault(reply=Error(error="overloaded", repeat=True)),
    "unreachable": Fault(reply=Refuse(repeat=True), shared=True),
    "quota_exhausted": Fault(reply=Error(error="quota_exhausted", repeat=True), shared=True),
    "billing": Fault(reply=Error(error="billing", repeat=True), shared=True),
    "model_unavailable": Fault(reply=Error(error="model_unavailable", repeat=True)),
    "content_refused": Fault(reply=Error(error="content_refused", repeat=True)),
}
USUAL: Final = ("down", "rate_limited", "key_refused")
"""Those that are rehearsed where none is named; the first of them is also rehearsed of all targets at once."""

ANSWER: Final = Text(text="Here.", repeat=True)
"""What a model that is there says."""


class Outage(Frozen):
    """Targets that go away at once, and how."""

    who: str
    """A target, a provider where the fault is shared, or "all"."""
    fault: str
    targets: tuple[Target, ...]
    whole: bool = False
    """All of the agent's targets: nobody expects an answer, so it does not count for the exit code."""

    def script(self, provider: str) -> Script:
        """What the simulated models of this provider answer."""
        away = {one.model: (FAULTS[self.fault].reply,) for one in self.targets if one.provider == provider}
        return Script(default=ANSWER, models=away)


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """The faults to rehearse, each once. BadInput: there is none of a name."""
    for name in names:
        if name not in FAULTS:
            raise BadInput(f"--fault {name}: no such fault; {suggestion(name, FAULTS)}")
    return tuple(dict.fromkeys(names)) or USUAL


def targets_of(agent: AgentSpec) -> tuple[Target, ...]:
    """All targets of all stages, each once, in their order."""
    return tuple(dict.fromkeys(target for stage in agent.stages for target in stage.models))


def outages(agent: AgentSpec, faults: tuple[str, ...]) -> tuple[Outage, ...]:
    """One outage for each target and fault, or for its provider; then one of all targets by the first fault."""
    targets = targets_of(agent)
    each = tuple(_each(targets, faults))
    if any(one.fault == faults[0] and one.targets == targets for one in each):
        return each
    return (*each, Outage(who="all", fault=faults[0], targets=targets, whole=True))


def _each(targets: tuple[Target, ...], faults: tuple[str, ...]) -> Iterator[Outage]:
    seen: set[str] = set()
    for target in targets:
        for fault in faults:
            if not FAULTS[fault].shared:
                yield Outage(who=str(target), fault=fault, targets=(target,))
            elif target.provider not in seen:
                same = tuple(one for one in targets if one.provider == target.provider)
                yield Outage(who=target.provider, fault=fault, targets=same)
        seen.add(target.provider)


def rehearsed(agent: AgentSpec) -> AgentSpec:
    """The agent with its stages, models, limits and policy, and nothing else: each stage is one answer."""
    plain = {"tools": (), "gates": (), "files": (), "output": None}
    policy = agent.policy.model_copy(update={"context": ContextPolicy(full="keep"), "capture": False})
    return agent.model_copy(
        update={
            "workspace": None,
            "workspace_ref": None,
            "policy": policy,
            "stages": tuple(stage.model_copy(update=plain) for stage in agent.stages),
        }
    )


def hurried(agent: AgentSpec) -> AgentSpec:
    """The agent that asks each target once and waits for nobody: its run ends by itself, in no time."""
    calls = agent.policy.calls.model_copy(update={"attempts": 1, "patience_s": 0})
    asks = AskPolicy(deadline_s=0, then="stop")
    return agent.model_copy(update={"policy": agent.policy.model_copy(update={"calls": calls, "ask": asks})})


def left_out(agent: AgentSpec) -> tuple[str, ...]:
    """What of the agent is not rehearsed, in words."""
    used = {
        "tools": any(stage.tools for stage in agent.stages),
        "gates": any(stage.gates for stage in agent.stages),
        "files": any(stage.files for stage in agent.stages),
        "output schema": any(stage.output is not None for stage in agent.stages),
        "workspace": agent.workspace is not None,
        "compaction": agent.policy.context is not None,
        "captured requests": agent.policy.capture,
        "deadline for answers": agent.policy.ask.deadline_s is not None,
    }
    return tuple(name for name, is_used in used.items() if is_used)
