"""The call that a person is asked about: only what the run asks about is shown, and it is shown for what it is."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, ToolCallPart

from activities.messages import serialise
from activities.tool_calls import arguments_digest
from inbox.asked_call import AskedCall, asked_call, offered
from ledger.answers import Edit
from ledger.conversation import Conversation
from ledger.decisions import RunTools
from ledger.interventions import ApprovalNeeded, Intervention, Open, OutcomeUnknown, Paused
from ledger.outcomes import ToolRequest
from ledger.state import Ledger
from store import ContentMissing
from workflows.messages import Asked
from workflows.showing import asked_of, ledger_of

ARGUMENTS = '{"order": "A", "amount": 40}'
DIGEST = arguments_digest(ARGUMENTS)
ANSWER = ModelResponse(
    parts=[ToolCallPart("look", "{}", "c1"), ToolCallPart("refund", ARGUMENTS, "c2")], provider_name="p"
)


@dataclass
class Kept:
    """A store with one conversation."""

    messages: list[bytes] = field(default_factory=lambda: [b"task", serialise(ANSWER)])
    contents: dict[str, bytes] = field(default_factory=dict)

    async def read(self, _: Conversation) -> list[bytes]:
        return self.messages

    async def get(self, ref: str) -> bytes:
        if ref not in self.contents:
            raise ContentMissing(ref, "is not in the store")
        return self.contents[ref]


@dataclass
class Run:
    """A run whose ledger holds up the round in which the call is."""

    said: Edit | None = None

    async def query(self, *_: object, **__: object) -> Any:
        call = ToolRequest(index=1, name="refund", arguments=DIGEST, said=self.said)
        return ledger_of(Ledger(resume=RunTools(turn=1, attempt_id="1.1.1", calls=(call,))), 0)


def asked(intervention: Intervention) -> Asked:
    return asked_of(Open(id="int-1", intervention=intervention, at=0))


async def seen(intervention: Intervention, kept: Kept | None = None, run: Run | None = None) -> AskedCall | None:
    handle: Any = run or Run()
    return await asked_call(handle, kept or Kept(), Conversation(id="c", length=2), asked(intervention))


async def test_the_arguments_are_those_of_the_call_that_the_run_asks_about() -> None:
    call = await seen(ApprovalNeeded(tool="refund", arguments=DIGEST, index=1))
    assert call == AskedCall(tool="refund", arguments=ARGUMENTS)
    assert offered(asked(ApprovalNeeded(tool="refund", arguments=DIGEST, index=1)), call)[0] == "approve"


@pytest.mark.parametrize(
    ("intervention", "why"),
    [
        pytest.param(ApprovalNeeded(tool="refund", arguments="0" * 16, index=1), "are not those", id="digest"),
        pytest.param(ApprovalNeeded(tool="refund", arguments="", index=1), "are not those", id="no digest"),
        pytest.param(ApprovalNeeded(tool="refund", arguments=DIGEST, index=0), "no call of refund", id="another call"),
        pytest.param(ApprovalNeeded(tool="refund", arguments=DIGEST, index=2), "no call of refund", id="past the end"),
        pytest.param(ApprovalNeeded(tool="refund", arguments=DIGEST, index=-1), "no call of refund", id="below 0"),
        pytest.param(OutcomeUnknown(tool="refund", arguments="0" * 16, index=1), "are not those", id="a lost call"),
    ],
)
async def test_what_the_run_does_not_ask_about_is_not_shown_and_cannot_be_let_run(
    intervention: Intervention, why: str
) -> None:
    call = await seen(intervention)
    assert call is not None
    assert why in call.trouble
    assert (call.arguments, call.value, call.pretty) == ("", None, "")
    assert not {"approve", "retry"} & set(offered(asked(intervention), call))


@pytest.mark.parametrize("messages", [[], [b'{"kind":"request","parts":[]}']], ids=["nothing", "no answer"])
async def test_a_store_without_the_answer_shows_nothing(messages: list[bytes]) -> None:
    call = await seen(ApprovalNeeded(tool="refund", arguments=DIGEST, index=1), Kept(messages))
    assert call is not None
    assert call.trouble


async def test_a_question_of_no_call_has_none_and_all_its_answers() -> None:
    assert await seen(Paused(by="ada")) is None
    assert offered(asked(Paused(by="ada")), None) == ("resume", "guide", "stop")


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        (None, ARGUMENTS),
        (Edit(text='{"amount": 7}'), '{"amount": 7}'),
        (Edit(ref="r1"), '{"amount": 8}'),
    ],
    ids=["as the model made it", "as a person wrote it", "as a person put it into the store"],
)
@pytest.mark.parametrize("digest", [DIGEST, ""], ids=["digest", "no digest"])
async def test_a_lost_call_is_shown_as_it_was_made(said: Edit | None, arguments: str, digest: str) -> None:
    lost = OutcomeUnknown(tool="refund", arguments=digest, index=1)
    assert await seen(lost, Kept(contents={"r1": b'{"amount": 8}'}), Run(said)) == AskedCall(
        tool="refund", arguments=arguments
    )


async def test_a_lost_call_whose_edited_arguments_are_not_in_the_store_is_not_shown_as_the_model_made_it() -> None:
    call = await seen(OutcomeUnknown(tool="refund", arguments=DIGEST, index=1), run=Run(Edit(ref="gone")))
    assert call is not None
    assert call.trouble


@pytest.mark.parametrize(
    "value",
    [{}, {"a": {"b": [1, 2.5, None, True]}}, {"é": "naïve 🙂 \u200d"}, {"x": "\x00\x1b[2J\x7f\x85\u202e\u2028\n"}],
    ids=["empty", "nested", "letters", "controls"],
)
def test_what_is_shown_means_what_was_written_and_prints_as_it_is(value: dict[str, Any]) -> None:
    call = AskedCall(tool="t", arguments=json.dumps(value, ensure_ascii=False))
    assert json.loads(call.pretty) == value == call.value
    assert all(char.isprintable() or char == "\n" for char in call.pretty)


@pytest.mark.parametrize(
    "written", ['{"a": 1, "a": 2}', '{"a": {"b": 1,\n"b": 2}}', '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}']
)
def test_what_json_readers_might_read_differently_is_shown_as_it_was_written(written: str) -> None:
    call = AskedCall(tool="t", arguments=written)
    assert call.odd
    assert call.pretty == written.replace("\n", "\\n")
    assert call.value == written


def test_no_arguments_are_an_empty_object() -> None:
    assert AskedCall(tool="t").pretty == "{}"
