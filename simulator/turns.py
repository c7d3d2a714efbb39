"""What becomes of a request to a model before it is answered: read, checked, given a reply, and put on record.

Whatever is refused here has used up no reply of the script. How a reply is carried out is in `delivery`.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pydantic import JsonValue

from simulator.dialect import Ask, AskError, Dialect
from simulator.lanes import Choice, Lanes
from simulator.log import Answered, Outcome, Received, masked
from simulator.replies import Error
from simulator.shelf import Shelf
from simulator.wire import BODY_LIMIT, Request, Wire

LANE_HEADER: Final = "x-endstop-run"
ATTEMPT_HEADER: Final = "x-endstop-attempt"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One request and what it gets."""

    ask: Ask
    choice: Choice
    record: Received


def take(request: Request, dialect: Dialect, lanes: Lanes, shelf: Shelf, seq: int) -> Turn:
    """Read the request and choose its reply; `seq` counts all requests from 1."""
    shelf.requests += 1
    ask = Ask(model="", stream=False, newest="", size=request.size)
    try:
        body = _parsed(request)
        ask = dialect.read(request.path, body, request.size)
        choice = _choose(request, dialect, lanes, shelf, ask, body)
    except AskError as problem:
        refusal = Error(error=problem.error, message=str(problem), param=problem.param, code=problem.code)
        choice = Choice(number=0, reply=refusal)
    return Turn(ask=ask, choice=choice, record=received(request, dialect.name, ask.model, choice.number, seq))


def _parsed(request: Request) -> dict[str, JsonValue]:
    if request.size > BODY_LIMIT:
        raise AskError(f"simulator: the request has {request.size} bytes; at most {BODY_LIMIT} are read", "too_large")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as problem:
        raise AskError("we could not parse the JSON body of your request") from problem
    if not isinstance(body, dict):
        raise AskError("the JSON body of your request must be an object")
    return body


def _choose(
    request: Request, dialect: Dialect, lanes: Lanes, shelf: Shelf, ask: Ask, body: dict[str, JsonValue]
) -> Choice:
    """The key first, then the vendor's rules, the files that are named, the model's window, then the script."""
    keys = lanes.script.keys
    if keys and dialect.key(request.headers) not in keys:
        return Choice(number=0, reply=Error(error="auth"))
    if lanes.script.strict:
        dialect.check(ask, body)
    for name in dialect.files(body):
        if shelf.get(dialect.vendor, name) is None:
            raise dialect.missing(name)
    if ask.tokens > lanes.script.windows.get(ask.model, ask.tokens):
        return Choice(number=0, reply=Error(error="too_large"))
    return lanes.choose(model=ask.model, lane=request.headers.get(LANE_HEADER, ""), newest=ask.newest)


def received(request: Request, dialect: str, model: str, number: int, seq: int) -> Received:
    """The record of a request, with its keys masked."""
    return Received(
        seq=seq,
        at=datetime.now(UTC),
        dialect=dialect,
        model=model,
        lane=request.headers.get(LANE_HEADER, ""),
        number=number,
        attempt=request.headers.get(ATTEMPT_HEADER, ""),
        method=request.method,
        path=request.path,
        headers=masked(request.headers),
        body_size=request.size,
        body_sha256=hashlib.sha256(request.body).hexdigest(),
        raw=request.body,
    )


def answered(turn: Turn, wire: Wire, outcome: Outcome) -> Answered:
    """The record of what became of the answer."""
    record = turn.record
    return Answered(
        seq=record.seq,
        at=datetime.now(UTC),
        model=record.model,
        lane=record.lane,
        number=record.number,
        attempt=record.attempt,
        reply="exhausted" if turn.choice.exhausted else turn.choice.reply.kind,
        status=wire.status,
        bytes_sent=wire.sent,
        outcome=outcome,
    )
