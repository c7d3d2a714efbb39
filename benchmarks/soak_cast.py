"""Who takes part in a soak: models whose faults are drawn by lot, an operator's functions, another team's worker.

Seeded: the same seed draws the same models, agents and words. What happens when is not: processes race. Not here: what
is broken meanwhile and what is checked in the end (`soak`).
"""

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

from temporalio import activity

CALLING, GATED, STOPPED = 0.5, 0.6, 0.05
"""Shares: of replies that call tools, of agents that have a gate, of answers that stop the run."""
MODELS: Final = 12
REPLIES: Final = 14
"""Replies of a model before it only says that it is done."""

FUNCTIONS: Final = '''
"""The operator's functions. `marks` has one line for every time that one of them began."""

import time
from pathlib import Path

MARKS = Path(__file__).parent / "marks"


def _mark(line: str) -> None:
    with MARKS.open("a") as marks:
        marks.write(line + "\\n")


def look(place: str) -> str:
    """Look at a place; it may be done twice."""
    time.sleep(0.2)
    return f"nothing at {place}"


def ship(article: str, idempotency_key: str) -> str:
    """Ship an article; it must not be done twice."""
    _mark(idempotency_key)
    time.sleep(0.2)
    return f"shipped {article}"


def sounds(answer: str) -> bool:
    """Say whether the work is good."""
    time.sleep(0.1)
    return "bad" not in answer
'''

SETTINGS: Final = """
[tools.look]
function = "soaked:look"
idempotent = true
[tools.ship]
function = "soaked:ship"
idempotent = false
[tools.refund]
activity = "Refund"
task_queue = "ELSEWHERE"
description = "Refund an order."
parameters = { type = "object", properties = { order = { type = "integer" } } }
timeout_s = 5
[tools.charge]
activity = "Charge"
task_queue = "ELSEWHERE"
description = "Charge an order."
parameters = { type = "object", properties = { order = { type = "integer" } } }
approval = "always"
timeout_s = 5
[gates.sound]
function = "soaked:sounds"
"""

TOOLS: Final = {
    "look": {"place": "here"},
    "ship": {"article": "nut"},
    "refund": {"order": 7},
    "charge": {"order": 8},
}
CALLS: Final = {"attempts": 3, "deadline_s": 5, "patience_s": 20, "bench_s": 10}
DONE: Final = {"kind": "text", "text": "done", "repeat": True}


class Shop:
    """Another team's worker. Both activities must not run twice; `ran` counts by run and activity."""

    def __init__(self) -> None:
        self.ran: Counter[tuple[str, str]] = Counter()

    def _count(self) -> None:
        info = activity.info()
        self.ran[info.workflow_id or "", info.activity_id] += 1

    @activity.defn(name="Refund")
    async def refund(self, order: dict[str, Any]) -> str:
        """Take a moment."""
        self._count()
        await asyncio.sleep(0.3)
        return f"refunded {order.get('order')}"

    @activity.defn(name="Charge")
    async def charge(self, order: dict[str, Any]) -> str:
        """Take a moment."""
        self._count()
        await asyncio.sleep(0.3)
        return f"charged {order.get('order')}"


def furnish(folder: Path) -> None:
    """Put the operator's module beside the settings."""
    (folder / "soaked.py").write_text(FUNCTIONS)


def script(lots: random.Random) -> dict[str, Any]:
    """What the models answer."""
    return {"models": {f"m{number}": [*_replies(lots), DONE] for number in range(MODELS)}}


def agent(lots: random.Random) -> dict[str, Any]:
    """An agent of two models."""
    first, second = lots.sample(range(MODELS), 2)
    gates = ["sound"] if lots.random() < GATED else []
    models = [f"openai:m{first}", f"anthropic:m{second}"]
    return {"models": models, "tools": [*TOOLS], "gates": gates, "policy": {"calls": CALLS}}


def word(lots: random.Random, asked: dict[str, Any]) -> dict[str, Any]:
    """A person's answer: any that the question takes, a stop now and then."""
    choices = [answer for answer in asked["answers"] if answer != "stop"]
    label = "stop" if lots.random() < STOPPED else lots.choice(choices)
    bound = {"answer": label, "intervention": asked["id"], "digest": asked["digest"], "by": "ann"}
    match label:
        case "guide" | "reply":
            return bound | {"text": "It is fine."}
        case "edit":
            return bound | {"text": '{"order": 9}'}
        case "raise":
            return bound | {"amount": 10}
        case _:
            return bound


def _replies(lots: random.Random) -> list[dict[str, Any]]:
    return [_reply(lots) for _ in range(REPLIES)]


def _reply(lots: random.Random) -> dict[str, Any]:
    """A call of tools half of the time, else an answer or a fault."""
    if lots.random() < CALLING:
        names = lots.sample([*TOOLS], lots.choice((1, 1, 2)))
        calls = [{"name": name, "arguments": json.dumps(TOOLS[name])} for name in names]
        return {"kind": "tool_calls", "calls": calls, "event_delay_s": lots.choice((0, 0, 0.1))}
    return lots.choice(_others(lots))


def _others(lots: random.Random) -> list[dict[str, Any]]:
    stated = {"retry_after_s": lots.choice((0, 0, 1, 3, 6))}
    text = {"kind": "text", "text": lots.choice(("good work", "bad work", "bad again"))}
    return [
        text,
        text | {"delay_s": lots.choice((0.5, 1, 2))},
        text | {"event_delay_s": 0.3},
        {"kind": "error", "error": lots.choice(("rate_limited", "overloaded")), **stated},
        {"kind": "raw", "status": 503, "headers": {"retry-after": "1"}, "body": {}},
        {"kind": "cut", "after_events": 2, "ending": lots.choice(("close", "reset", "clean", "stall"))},
        {"kind": lots.choice(("hang", "refuse"))},
    ]
