"""The most that a call may use and cost, known before its request leaves. Not here: prices, and what a run may spend.

A bound, not a guess: it is charged where the outcome stays unknown, and a limit holds because of it.
"""

import json
from typing import Final

from pydantic_ai.messages import ModelResponse

from activities.adapting import ORIGIN
from activities.client import Request
from activities.contract import ModelCall
from activities.messages import files_of, parse
from activities.pricing import Tariff
from ledger.model import Frozen
from ledger.outcomes import Held, Usage

ADDED: Final = 1_024
"""Tokens that a vendor adds of its own: Anthropic's words about tools are 313 to 804, by model."""


class Quote(Frozen):
    """What one call may use at most, at its target's tariff."""

    tariff: Tariff
    most: Usage
    """Estimated; its cost is None where the price is unknown."""

    def held(self, call: ModelCall) -> Held | None:
        """Why the call may not be made; None: it may."""
        usd = self.most.cost_usd
        if usd is None:
            return None if call.unpriced else Held()
        return Held(bound_usd=usd) if call.allowance_usd is not None and usd > call.allowance_usd else None

    def unfinished(self, told: Usage | None) -> Usage:
        """What to charge for an outcome that stays unknown: input as the provider counted it, output to the full."""
        if told is None or not told.input_tokens:
            return self.most
        full = told.model_copy(update={"output_tokens": self.most.output_tokens, "estimated": True})
        return self.tariff.priced(full)


def quote(tariff: Tariff, request: Request, writer: str) -> Quote:
    """Bound a request before it leaves; `writer` is who would answer it (`identity.origin`)."""
    tokens_in = input_bound(request, writer)
    usd = tariff.most(tokens_in, request.max_tokens)
    most = Usage(input_tokens=tokens_in, output_tokens=request.max_tokens, cost_usd=usd, estimated=True)
    return Quote(tariff=tariff, most=most)


def input_bound(request: Request, writer: str) -> int:
    """Tokens of a request at most: a token covers one byte or more, and JSON says everything with more bytes.

    Where the last answer is the same writer's, with the same instructions and tools, its own count holds for all
    before it and only what came since is counted in bytes.
    """
    since = 0
    for body in reversed(request.messages):
        message = parse(body)
        if isinstance(message, ModelResponse):
            counted = message.usage.input_tokens + message.usage.output_tokens
            if message.usage.input_tokens > 0 and (message.metadata or {}).get(ORIGIN) == writer:
                return counted + since
            break
        since += _most_of(body)
    tools = sum(len(json.dumps(tool.model_dump(mode="json"), ensure_ascii=False).encode()) for tool in request.tools)
    told = len(request.instructions.encode()) + tools + _output(request)
    return ADDED + told + sum(map(_most_of, request.messages))


def _output(request: Request) -> int:
    """Tokens of the output schema at most: told twice where it stands in the instructions too, and closed by vendors.

    `"additionalProperties": false` and the like make an object longer than it was, but by far not as many tokens as
    it has bytes.
    """
    return 0 if request.output is None else 4 * len(json.dumps(request.output).encode())


def _most_of(body: bytes) -> int:
    """Tokens of one message at most, with the files that it names."""
    return len(body) + sum(file.tokens_at_most for file in files_of(body))
