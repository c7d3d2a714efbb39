"""A stage with an output schema: what each vendor is sent, and what becomes of answers that fit and that do not."""

import json

import pytest

from activities.client import Request
from activities.declared import Provider
from activities.identity import answer_key, origin, sent
from activities.messages import text_of, user_message
from activities.quote import input_bound
from ledger.target import Target
from simulator import Script, Text, ToolCall, ToolCalls
from tests.activities.model_bench import bench

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 2}, "note": {"type": "string"}},
    "required": ["city"],
}
CLOSED = CITY | {"required": ["city", "note"], "additionalProperties": False}
OPEN = CITY | {"additionalProperties": {"type": "string"}}
FITS = '{"city": "Paris"}'
TOLD = "compatible with this schema"
"""Words of the instructions that hold a schema."""


async def one_trip(folder, api, model, *answers, output=CITY, tools=(), **provider):
    """The last trip of one call after another, the last request's body, and the bench's store after all."""
    script = Script(strict=True, models={model: tuple(Text(text=text) for text in answers)})
    async with bench(folder, api, script=script, **provider) as b:
        agent = {"models": [f"sim:{model}"], "instructions": "Be brief.", "tools": list(tools), "output": output}
        agent_ref = await b.agent(agent)
        target = Target(provider="sim", model=model)
        for number, _ in enumerate(answers):
            reply = await b.ask(f"1.1.{number + 1}", agent_ref=agent_ref, target=target)
        stored = (await b.store.read(reply.conversation))[-1]
        details = await b.store.get_details(b.conversation.id)
        return reply.trip, b.sim.requests[-1].body if b.sim.requests else None, text_of(stored), details


def schema_in(body):
    """The schema of a request and whether it is strict; None where it names none."""
    match body:
        case {"response_format": {"type": "json_schema", "json_schema": {"schema": schema, "strict": strict}}}:
            return schema, strict
        case {"text": {"format": {"type": "json_schema", "schema": schema, "strict": strict}}}:
            return schema, strict
        case {"output_config": {"format": {"type": "json_schema", "schema": schema}}}:
            return schema, True
        case {"generationConfig": {"responseJsonSchema": schema, "responseMimeType": "application/json"}}:
            return schema, None
        case _:
            return None


NATIVE = [
    ("openai-chat", "gpt-5", False),
    ("openai-responses", "gpt-5", False),
    ("anthropic-messages", "claude-haiku-4-5", True),
    ("google", "gemini-3-pro-preview", None),
]


@pytest.mark.parametrize("tools", [(), ("read_file",)], ids=["without tools", "with tools"])
@pytest.mark.parametrize(("api", "model", "strict"), NATIVE, ids=[api for api, *_ in NATIVE])
async def test_a_schema_goes_along_in_the_vendors_own_field(tmp_path, api, model, strict, tools):
    trip, body, answer, _ = await one_trip(tmp_path, api, model, FITS, tools=tools)
    assert (trip.outcome.outcome, answer) == ("answered", FITS)
    schema, told = schema_in(body)
    assert (schema["type"], schema["required"], told) == ("object", ["city"], strict)


@pytest.mark.parametrize(("api", "model"), [("openai-chat", "gpt-5"), ("openai-responses", "gpt-5")])
async def test_openai_is_held_to_a_schema_that_its_strict_mode_takes(tmp_path, api, model):
    plain = CLOSED | {"properties": {name: {"type": "string"} for name in ("city", "note")}}
    _, body, *_ = await one_trip(tmp_path, api, model, '{"city": "Paris", "note": ""}', output=plain)
    assert schema_in(body) == (plain, True)


PROMPTED = {
    "a model before it": ("openai-chat", "gpt-4-turbo", CITY, (), {}),
    "a model before it, by the newer API": ("openai-responses", "gpt-3.5-turbo", CITY, (), {}),
    "DeepSeek": ("openai-chat", "deepseek-chat", CITY, (), {}),
    "an endpoint declared without it": ("openai-chat", "gpt-5", CITY, (), {"without": ("response_format",)}),
    "an older Claude": ("anthropic-messages", "claude-3-5-haiku-latest", CITY, (), {}),
    "Claude, and an object that is open": ("anthropic-messages", "claude-haiku-4-5", OPEN, (), {}),
    "Claude, and a schema beyond its limits": (
        "anthropic-messages",
        "claude-haiku-4-5",
        CITY | {"properties": {f"p{n}": {"type": "string"} for n in range(30)} | CITY["properties"]},
        (),
        {},
    ),
    "Gemini 2.5 with tools": ("google", "gemini-2.5-flash", CITY, ("read_file",), {}),
}


@pytest.mark.parametrize(("api", "model", "output", "tools", "more"), PROMPTED.values(), ids=PROMPTED)
async def test_where_the_native_form_is_not_to_be_had_the_instructions_hold_the_schema(
    tmp_path, api, model, output, tools, more
):
    trip, body, answer, details = await one_trip(tmp_path, api, model, FITS, output=output, tools=tools, **more)
    assert (trip.outcome.outcome, answer, schema_in(body)) == ("answered", FITS, None), details
    assert TOLD in json.dumps(body)
    assert "Be brief." in json.dumps(body)


async def test_gemini_2_5_without_tools_gets_the_native_form(tmp_path):
    _, body, *_ = await one_trip(tmp_path, "google", "gemini-2.5-flash", FITS)
    assert schema_in(body) is not None
    assert TOLD not in json.dumps(body)


async def test_a_server_that_may_ignore_the_field_is_told_the_schema_twice(tmp_path):
    _, body, *_ = await one_trip(tmp_path, "openai-chat", "llama", FITS)
    assert schema_in(body) is not None
    assert TOLD in json.dumps(body)


@pytest.mark.parametrize(
    "bad",
    [
        "Paris, of course.",
        '{"city": "P"}',
        '{"town": "Paris"}',
        f"Here you are: {FITS}",
        f"```json\n{FITS}\n```\nand ```json\n{FITS}\n```",
    ],
    ids=["no JSON", "a value out of bounds", "another field", "words around it", "two blocks"],
)
async def test_an_answer_that_does_not_fit_is_bad_output_and_the_next_attempt_may_fit(tmp_path, bad):
    trip, _, _, details = await one_trip(tmp_path / "a", "anthropic-messages", "claude-haiku-4-5", bad)
    failure = trip.outcome.failure
    assert (failure.kind, failure.rule, failure.transient) == ("bad_output", "answer.schema", True)
    assert details["1.1.1"].startswith("the answer does not fit the output schema: ")
    trip, _, answer, _ = await one_trip(tmp_path / "b", "anthropic-messages", "claude-haiku-4-5", bad, FITS)
    assert (trip.outcome.outcome, answer) == ("answered", FITS)


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "\n```JSON  \n{}\n\n```\n"])
@pytest.mark.parametrize(("api", "model"), [("google", "gemini-2.5-flash"), ("openai-responses", "gpt-5")])
async def test_a_code_block_around_the_whole_answer_is_taken_off_before_it_is_stored(tmp_path, api, model, fence):
    trip, _, answer, _ = await one_trip(tmp_path, api, model, fence.replace("{}", FITS), tools=("read_file",))
    assert (trip.outcome.outcome, answer) == ("answered", FITS)


async def test_without_a_schema_an_answer_stays_as_it_came(tmp_path):
    trip, body, answer, _ = await one_trip(tmp_path, "openai-chat", "gpt-5", f"```json\n{FITS}\n```", output=None)
    assert (trip.outcome.outcome, answer) == ("answered", f"```json\n{FITS}\n```")
    assert TOLD not in json.dumps(body)


async def test_half_an_answer_is_cut_off_and_not_badly_formed(tmp_path):
    script = Script(models={"gpt-5": (Text(text='{"city": "Pa', finish_reason="length"),)})
    async with bench(tmp_path, "openai-chat", script=script) as b:
        agent_ref = await b.agent({"models": ["sim:gpt-5"], "output": CITY})
        trip = await b.trip(agent_ref=agent_ref, target=Target(provider="sim", model="gpt-5"))
        assert trip.outcome.failure.kind == "output_truncated"


async def test_words_beside_a_tool_call_need_not_fit(tmp_path):
    calls = ToolCalls(text="I will look.", calls=(ToolCall(name="read_file", arguments={"path": "a"}),))
    async with bench(tmp_path, "openai-chat", script=Script(models={"gpt-5": (calls,)})) as b:
        agent_ref = await b.agent({"models": ["sim:gpt-5"], "tools": ["read_file"], "output": CITY})
        trip = await b.trip(agent_ref=agent_ref, target=Target(provider="sim", model="gpt-5"))
        assert [call.name for call in trip.outcome.tool_calls] == ["read_file"]


async def test_a_stored_answer_to_another_schema_is_not_taken_for_this_one(tmp_path):
    script = Script(models={"gpt-5": (Text(text=FITS), Text(text='{"city": "Rome", "note": ""}'))})
    async with bench(tmp_path, "openai-chat", script=script) as b:
        target = Target(provider="sim", model="gpt-5")
        for number, output in enumerate((CITY, CITY, CLOSED)):
            agent_ref = await b.agent({"models": ["sim:gpt-5"], "output": output})
            trip = await b.trip(f"1.1.{number}", agent_ref=agent_ref, target=target)
            assert trip.outcome.outcome == "answered"
        assert len(b.sim.requests) == 2


PLAIN = Request(model="m", instructions="be brief", messages=(user_message("hi"),), max_tokens=10)
ASKED = PLAIN.model_copy(update={"output": CITY})
OTHER = PLAIN.model_copy(update={"output": CLOSED})
TARGET = Target(provider="p", model="m")
PROVIDER = Provider(name="p", api="google", base_url="https://a.test")


@pytest.mark.parametrize(
    "named",
    [
        pytest.param(lambda request: answer_key(TARGET, request), id="the key of its answer"),
        pytest.param(lambda request: origin(PROVIDER, request), id="who answers"),
        pytest.param(lambda request: sent(request, {}).digest.system_hash, id="the digest that is journaled"),
    ],
)
def test_another_schema_is_another_request(named):
    assert len({named(PLAIN), named(ASKED), named(OTHER)}) == 3


def test_a_request_without_a_schema_keeps_the_names_it_had():
    """As they were before there were schemas: stored answers and signed thoughts of running runs are found again."""
    plain = PLAIN.model_copy(update={"messages": ()})
    assert answer_key(TARGET, plain) == "2c1c5a5050c3bfef9404f46a"
    assert origin(PROVIDER, plain) == "5ccdd2eb25a1"
    assert sent(plain, {}).digest.system_hash == 6158169997885260617


def test_a_schema_counts_in_the_bound_of_what_a_request_may_cost():
    assert input_bound(ASKED, "") - input_bound(PLAIN, "") >= 2 * len(json.dumps(CITY))
