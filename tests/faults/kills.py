"""The kill matrix: at which steps of a call, a tool and a gate a worker is killed, and what must come of it.

Here: the table. Not here: bringing a run to a step (`steps`), killing, restarting and checking (`killing`), printing
(`benchmarks.kills`).
"""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from tests.faults.conftest import TEXT
from tests.faults.killing import Scene
from tests.faults.steps import (
    elsewhere_running,
    in_mid_stream,
    in_the_wait,
    its_own_worker,
    looking_at_arguments,
    no_answer_yet,
    nobody_took_it,
    not_begun,
    not_completed,
    not_stored,
    result_not_stored,
    result_not_told,
    result_stored_not_told,
    running,
    verdict_not_told,
)

Step = Callable[[Scene], AbstractAsyncContextManager[None]]
"""Within the block the run is at the step; leaving it lets go of what held it."""


@dataclass(frozen=True, kw_only=True)
class Kill:
    """One row: where the worker dies, and what must come of the run."""

    what: str
    step: str
    reach: Step
    script: list[dict[str, Any]]
    attempts: list[str]
    """The attempts of the journal: a kind, with "?" where the outcome is unknown, or "ok", with the attempt whose
    answer it found in the store."""
    requests: int = 1
    """What reached the provider."""
    ran: int = 0
    """How often the function, activity or command was begun."""
    settings: str = ""
    agent: dict[str, Any] = field(default_factory=dict)
    asks: str = ""
    """The question that the run asks a person; "": none."""
    word: dict[str, Any] = field(default_factory=dict)
    """The answer to it."""
    ran_after: int | None = None
    """How often it was begun after the answer; None: not again."""

    @property
    def name(self) -> str:
        return f"{self.what}: {self.step}"


# ---- a call of a model

LIMITED = {"kind": "raw", "status": 429, "headers": {"retry-after": "4"}, "body": {"error": {"message": "slow"}}}
HELD = TEXT | {"held_until": "locked"}
STALLS = {"kind": "cut", "after_events": 3, "ending": "stall", "answer": TEXT | {"chunks": 12}}


LOST = ["worker_lost?", "ok"]
CALLS = [
    Kill(
        what="model call",
        step="before it is sent",
        reach=in_the_wait,
        script=[LIMITED, TEXT],
        attempts=["rate_limited", *LOST],
        requests=2,
    ),
    Kill(
        what="model call",
        step="sent, no answer yet",
        reach=no_answer_yet,
        script=[{"kind": "hang"}, TEXT],
        attempts=LOST,
        requests=2,
    ),
    Kill(
        what="model call",
        step="in mid stream",
        reach=in_mid_stream,
        script=[STALLS, TEXT],
        attempts=LOST,
        requests=2,
    ),
    Kill(
        what="model call",
        step="after the answer, before it is stored",
        reach=not_stored,
        script=[HELD, TEXT],
        attempts=LOST,
        requests=2,
    ),
    Kill(
        what="model call",
        step="after it is stored, before completion",
        reach=not_completed,
        script=[HELD],
        attempts=["worker_lost?", "ok from 1.1.1"],
    ),
]

# ---- a tool


def _rings(hold: str) -> list[dict[str, Any]]:
    return [{"kind": "tool_calls", "calls": [{"name": "ring", "arguments": {"hold": hold}}]}, TEXT]


def _function(step: str, hold: str, reach: Step, *, idempotent: bool, **expected: Any) -> Kill:
    return Kill(
        what=f"function tool, {'may run twice' if idempotent else 'must not run twice'}",
        step=step,
        reach=reach,
        script=_rings(hold),
        attempts=["ok", "ok"],
        requests=2,
        settings=f'[tools.ring]\nfunction = "bells:ring"\nidempotent = {json.dumps(idempotent)}\n',
        agent={"tools": ["ring"]},
        **expected,
    )


def _elsewhere(step: str, reach: Step, *, idempotent: bool, timeout_s: float = 60, **expected: Any) -> Kill:
    return Kill(
        what=f"tool elsewhere, {'may run twice' if idempotent else 'must not run twice'}",
        step=step,
        reach=reach,
        script=_rings("while"),
        attempts=["ok", "ok"],
        requests=2,
        settings=f'[tools.ring]\nactivity = "Ring"\ntask_queue = "BELLS"\ndescription = "Ring."\n'
        f"idempotent = {json.dumps(idempotent)}\ntimeout_s = {timeout_s}\n",
        agent={"tools": ["ring"]},
        **expected,
    )


BEFORE, WHILE, AFTER = "before it ran", "while it runs", "after its result is stored, before completion"
ASKED = {"asks": "OutcomeUnknown"}
TRIES, SAYS = {"answer": "retry"}, {"answer": "reply", "text": "It rang."}

TOOLS = [
    _function(BEFORE, "before", looking_at_arguments, idempotent=True, ran=1),
    _function(WHILE, "while", running, idempotent=True, ran=2),
    _function(AFTER, "while", result_not_told, idempotent=True, ran=1),
    _function(
        BEFORE, "before", looking_at_arguments, idempotent=False, ran=0, asks="OutcomeUnknown", word=TRIES, ran_after=1
    ),
    _function(WHILE, "while", running, idempotent=False, ran=1, asks="OutcomeUnknown", word=SAYS),
    _function(AFTER, "while", result_not_told, idempotent=False, ran=1),
]
TOOLS += [
    kill
    for idempotent in (True, False)
    for kill in (
        _elsewhere("before a worker took it", nobody_took_it, idempotent=idempotent, ran=1),
        _elsewhere("while it runs, our worker dies", elsewhere_running, idempotent=idempotent, ran=1),
        _elsewhere("after it ran, before its result is stored", result_not_stored, idempotent=idempotent, ran=1),
        _elsewhere(AFTER, result_stored_not_told, idempotent=idempotent, ran=1),
    )
]
ITS_OWN = "while it runs, its own worker dies"
TOOLS += [
    _elsewhere(ITS_OWN, its_own_worker, idempotent=True, timeout_s=3, ran=2),
    _elsewhere(ITS_OWN, its_own_worker, idempotent=False, timeout_s=3, ran=1, asks="OutcomeUnknown", word=SAYS),
]

# ---- a gate


HOLDS = {"kind": "text", "text": "hold"}
COMMAND = """
import pathlib, time
with open("marks", "a") as marks:
    marks.write("ran\\n")
while pathlib.Path("marks").read_text().split().count("ran") == 1:
    time.sleep(0.02)
"""


def _gate(what: str, step: str, reach: Step, *, settings: str, ran: int, agent: dict[str, Any] | None = None) -> Kill:
    return Kill(
        what=what,
        step=step,
        reach=reach,
        script=[HOLDS | {"held_until": "locked"} if reach is not_begun else HOLDS],
        attempts=["ok"],
        settings=settings,
        agent={"gates": ["sound"]} | (agent or {}),
        ran=ran,
    )


_FUNCTION = '[gates.sound]\nfunction = "bells:sounds"\n'
_ACTIVITY = '[gates.sound]\nactivity = "Ring"\ntask_queue = "BELLS"\ntimeout_s = TIMEOUT\n'
_COMMAND = '[workspaces.app]\nsource = "project"\n[gates.sound]\ncommand = ["python", "check.py"]\n'
GATES = [
    _gate("gate, a function", BEFORE, not_begun, settings=_FUNCTION, ran=1),
    _gate("gate, a function", WHILE, running, settings=_FUNCTION, ran=2),
    _gate("gate, a function", "after it ended, before completion", verdict_not_told, settings=_FUNCTION, ran=2),
    _gate("gate, a command", WHILE, running, settings=_COMMAND, ran=2, agent={"workspace": "app"}),
    _gate("gate elsewhere", BEFORE, nobody_took_it, settings=_ACTIVITY.replace("TIMEOUT", "60"), ran=1),
    _gate(
        "gate elsewhere",
        "while it runs, our worker dies",
        elsewhere_running,
        settings=_ACTIVITY.replace("TIMEOUT", "60"),
        ran=1,
    ),
    _gate("gate elsewhere", ITS_OWN, its_own_worker, settings=_ACTIVITY.replace("TIMEOUT", "3"), ran=2),
]

KILLS = {kill.name: kill for kill in (*CALLS, *TOOLS, *GATES)}
