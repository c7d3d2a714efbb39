"""The bound of a call holds for whatever its provider counts, and is tight where the conversation is known."""

import json

from activities.adapting import ORIGIN
from activities.client import Request
from activities.declared import Model
from activities.files import IMAGE_TOKENS, NamedFile
from activities.messages import serialise, user_message
from activities.pricing import Tariff
from activities.quote import ADDED, input_bound, quote
from activities.tool_declaration import ToolDeclaration
from ledger.outcomes import Usage
from ledger.target import Target

PRICED = Model(input_usd_per_mtok=1, output_usd_per_mtok=10)


def answer(writer: str, tokens_in: int, tokens_out: int) -> bytes:
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.usage import RequestUsage

    said = ModelResponse(
        parts=[TextPart("x" * 5_000)], usage=RequestUsage(input_tokens=tokens_in, output_tokens=tokens_out)
    )
    said.metadata = {ORIGIN: writer}
    return serialise(said)


def request(*messages: bytes, instructions: str = "", tools: tuple[ToolDeclaration, ...] = ()) -> Request:
    return Request(model="m", instructions=instructions, messages=messages, tools=tools, max_tokens=500)


def test_a_first_request_is_bounded_by_its_bytes_instructions_and_tools_included() -> None:
    """A rare letter may be as many tokens as it has bytes."""
    tool = ToolDeclaration(name="look", description="漢" * 50, parameters={"type": "object"})
    bound = input_bound(request(user_message("字" * 100), instructions="語" * 1_000, tools=(tool,)), "me")
    assert bound >= ADDED + 300 + 3_000 + 150 + len(json.dumps(tool.parameters))


def test_what_the_same_writer_counted_holds_and_only_the_rest_is_counted_in_bytes() -> None:
    asked = (user_message("task" * 9_000), answer("me", 900, 40), user_message("go on"))
    assert input_bound(request(*asked), "me") == 940 + len(asked[-1])


def test_the_count_of_another_writer_or_of_one_who_told_none_is_not_trusted() -> None:
    """Every vendor cuts text into tokens in its own way; other instructions are other tokens."""
    for last in (answer("another", 900, 40), answer("me", 0, 0)):
        asked = (user_message("task" * 9_000), last, user_message("go on"))
        assert input_bound(request(*asked), "me") >= sum(map(len, asked))


def test_a_file_counts_by_its_kind_and_not_by_the_words_that_name_it() -> None:
    image = NamedFile(name="a.png", ref="0" * 64, media_type="image/png", bytes=70)
    assert input_bound(request(user_message("look", [image])), "me") > IMAGE_TOKENS
    asked = (user_message("task"), answer("me", 900, 40), user_message("look", [image]))
    assert input_bound(request(*asked), "me") > IMAGE_TOKENS


def test_an_outcome_that_stays_unknown_costs_its_whole_answer_after_the_input_that_was_told() -> None:
    tariff = Tariff(target=Target.parse("a:b"), provider=None, own=PRICED)
    bounded = quote(tariff, request(user_message("hello")), "me")
    assert bounded.unfinished(None) == bounded.most
    partly = bounded.unfinished(Usage(input_tokens=100, output_tokens=3))
    assert (partly.input_tokens, partly.output_tokens, partly.estimated) == (100, 500, True)
    assert partly.cost_usd == (100 + 500 * 10) / 1_000_000
