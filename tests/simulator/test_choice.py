"""Which reply a request gets: by number, by lane, by what it says, by its key, and none."""

import textwrap
import tomllib

import anthropic
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import Error, Raw, Script, ScriptError, Text, ToolCall, ToolCalls
from simulator import script as script_module
from simulator.lanes import Lanes

SCRIPT = """
keys = ["right"]

[default]
kind = "error"
error = "model_unavailable"

[[models."gpt-5.2"]]
kind = "error"
error = "rate_limited"
retry_after_s = 1

[[models."gpt-5.2"]]
kind = "tool_calls"
calls = [{ name = "write_file", arguments = { path = "a.py", content = "x = 1" } }]

[[models."gpt-5.2"]]
kind = "raw"
body = { error = { message = "lost" } }

[[models."gpt-5.2"]]
kind = "cut"
after_events = 2
answer = { kind = "text", text = "half" }
repeat = true
"""


def said(answer):
    return answer.choices[0].message.content


def user(text):
    return {"role": "user", "content": text}


async def test_replies_are_sent_in_order_and_the_repeating_one_for_ever(simulate, ask_openai):
    sim = await simulate(Text(text="one"), Text(text="two"), Text(text="rest", repeat=True))
    assert [said(await ask_openai(sim)) for _ in range(4)] == ["one", "two", "rest", "rest"]
    assert [record.number for record in sim.requests] == [1, 2, 3, 4]


async def test_a_request_beyond_a_models_window_is_refused_in_the_vendors_words(simulate, ask_openai, ask_anthropic):
    windows = {"m": 50}
    sim = await simulate(script=Script(windows=windows, models={"m": (Text(text="one"), Text(text="two"))}))
    assert said(await ask_openai(sim)) == "one"
    with pytest.raises(openai.BadRequestError) as at_openai:
        await ask_openai(sim, messages=[user("x" * 200)])
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        await ask_anthropic(sim, messages=[user("x" * 200)])
    assert at_openai.value.code == "context_length_exceeded"
    assert said(await ask_openai(sim)) == "two"


async def test_past_its_end_a_script_says_which_model_lane_and_number(simulate, ask_openai, ask_anthropic, caplog):
    sim = await simulate(Text(text="one"))
    await ask_openai(sim)
    with pytest.raises(openai.InternalServerError, match="no reply fits request 2 of model 'm' in lane ''"):
        await ask_openai(sim)
    with pytest.raises(anthropic.InternalServerError, match="no reply fits request 3 of model 'm'"):
        await ask_anthropic(sim)
    assert (await sim.finished(2)).reply == "exhausted"
    assert "script exhausted: model m" in caplog.text


async def test_each_model_and_each_run_starts_at_the_top_of_its_list(simulate, ask_openai):
    sim = await simulate(
        script=Script(models={"m": (Text(text="m1"), Text(text="m2")), "n": (Text(text="n1"), Text(text="n2"))})
    )
    answers = [
        said(await ask_openai(sim, model=model, extra_headers={"x-endstop-run": run}))
        for model, run in [("m", "a"), ("m", "b"), ("n", "a"), ("m", "a"), ("n", "a"), ("m", "b")]
    ]
    assert answers == ["m1", "m1", "n1", "m2", "n2", "m2"]
    assert [(r.model, r.lane, r.number) for r in sim.requests[:4]] == [
        ("m", "a", 1),
        ("m", "b", 1),
        ("n", "a", 1),
        ("m", "a", 2),
    ]


async def test_a_model_without_a_list_gets_the_default_every_time(simulate, ask_openai):
    sim = await simulate(script=Script(default=Text(text="canned"), models={"m": (Text(text="one"),)}))
    assert [said(await ask_openai(sim, model="other")) for _ in range(2)] == ["canned", "canned"]


async def test_an_empty_script_answers_any_model(simulate, ask_openai, ask_anthropic):
    sim = await simulate(script=Script())
    assert "simulator" in said(await ask_openai(sim, model="gpt-anything"))
    assert "simulator" in (await ask_anthropic(sim, model="claude-anything", stream=True)).content[0].text


async def test_a_reply_can_wait_for_what_the_newest_input_says(simulate, ask_openai):
    sim = await simulate(Text(text="fixed", when_contains="half to even"), Text(text="broken", repeat=True))
    history = [user("Round half to even, please?"), {"role": "assistant", "content": "half to even"}]
    answers = [
        said(await ask_openai(sim, messages=[*history, user(text)]))
        for text in ("still fails", "use round half to even", "use round half to even")
    ]
    assert answers == ["broken", "fixed", "broken"]


@pytest.mark.parametrize(
    "tail",
    [
        [user("the magic word"), user("and more")],
        [user([{"type": "text", "text": "the magic word"}])],
        [{"role": "tool", "tool_call_id": "c1", "content": "the magic word"}, user("and more")],
    ],
    ids=["not in the last message", "in a content part", "in a tool result"],
)
async def test_openai_input_after_the_last_answer_counts_as_newest(simulate, ask_openai, tail):
    sim = await simulate(Text(text="heard", when_contains="magic"), Text(text="deaf"))
    assert said(await ask_openai(sim, messages=[user("x"), {"role": "assistant", "content": "y"}, *tail])) == "heard"


async def test_anthropic_tool_results_count_as_newest_input(simulate, ask_anthropic):
    sim = await simulate(Text(text="heard", when_contains="magic"), Text(text="deaf"))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "the magic word"}]}
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
    answer = await ask_anthropic(sim, messages=[user("x"), called, {"role": "user", "content": [result]}])
    assert answer.content[0].text == "heard"


async def test_a_system_prompt_is_never_newest_input(simulate, ask_openai):
    sim = await simulate(Text(text="heard", when_contains="magic"), Text(text="deaf"))
    assert said(await ask_openai(sim, messages=[{"role": "system", "content": "magic"}, user("x")])) == "deaf"


@given(
    waits=st.lists(st.sampled_from([None, "a", "b"]), min_size=1, max_size=6),
    asked=st.lists(st.sampled_from(["", "a", "b", "ab"]), min_size=1, max_size=8),
)
def test_each_request_gets_the_first_unused_reply_that_fits(waits, asked):
    replies = tuple(Text(text=str(i), when_contains=wait) for i, wait in enumerate(waits))
    lanes = Lanes(Script(models={"m": replies}))
    left = list(replies)
    for number, newest in enumerate(asked, start=1):
        choice = lanes.choose(model="m", lane="", newest=newest)
        fits = [reply for reply in left if reply.when_contains is None or reply.when_contains in newest]
        assert choice.number == number
        assert choice.exhausted == (not fits)
        if fits:
            assert choice.reply is fits[0]
            left.remove(fits[0])


async def test_azures_header_carries_the_key_too(simulate, ask_openai):
    sim = await simulate(script=Script(keys=("right",)))
    assert await ask_openai(sim, key="unused", extra_headers={"api-key": "right"})


async def test_a_wrong_key_gets_the_vendors_401_and_uses_up_no_reply(simulate, ask_openai, ask_anthropic):
    sim = await simulate(script=Script(keys=("right",), models={"m": (Text(text="one"), Text(text="two"))}))
    with pytest.raises(openai.AuthenticationError, match="Incorrect API key provided"):
        await ask_openai(sim, key="wrong")
    with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
        await ask_anthropic(sim, key="wrong")
    assert said(await ask_openai(sim, key="right")) == "one"
    assert (await ask_anthropic(sim, key="right")).content[0].text == "two"
    assert [record.number for record in sim.requests] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"model": ""}, "you must provide a model parameter"),
        ({"messages": []}, "messages: expected a list with at least one message"),
        ({"messages": ["hello"]}, "messages: expected objects"),
    ],
    ids=["no model", "no messages", "messages that are no objects"],
)
async def test_a_request_without_what_the_api_needs_is_a_400_that_says_so(simulate, ask_openai, body, complaint):
    sim = await simulate(Text(text="one"))
    with pytest.raises(openai.BadRequestError, match=complaint):
        await ask_openai(sim, extra_body=body)
    assert said(await ask_openai(sim)) == "one"


def test_a_toml_file_says_the_same_as_python(tmp_path):
    file = tmp_path / "script.toml"
    file.write_text(SCRIPT)
    script = Script.load(file)
    assert script.keys == ("right",)
    assert script.default == Error(error="model_unavailable")
    limited, calls, raw, cut = script.models["gpt-5.2"]
    assert limited == Error(error="rate_limited", retry_after_s=1)
    assert calls == ToolCalls(calls=(ToolCall(name="write_file", arguments='{"path": "a.py", "content": "x = 1"}'),))
    assert raw == Raw(body='{"error": {"message": "lost"}}')
    assert cut.repeat
    assert cut.answer == Text(text="half")


def test_the_documented_example_is_a_script(tmp_path):
    indented = [line for line in script_module.__doc__.splitlines() if line.startswith("    ")]
    script = Script.parse(tomllib.loads(textwrap.dedent("\n".join(indented))))
    assert (script.strict, script.files_expire_after, script.uploads) == (True, 3, ("server_error",))
    assert [reply.kind for reply in script.models["gpt-5"]] == ["error", "tool_calls", "text", "text"]


def test_a_script_survives_json(tmp_path):
    file = tmp_path / "script.toml"
    file.write_text(SCRIPT)
    again = tmp_path / "script.json"
    again.write_text(Script.load(file).model_dump_json())
    assert Script.load(again) == Script.load(file)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[models.m]]\nkind = 'txt'", r"models\.m\.0: .*'txt'"),
        ("[[models.m]]\nkind = 'text'\ntxt = 'x'", r"models\.m\.0\.text\.txt: Extra inputs are not permitted"),
        ("[[models.m]]\nkind = 'hang'\ndelay_s = -1", r"models\.m\.0\.hang\.delay_s: .*greater than or equal to 0"),
        ("[[models.m]]\nkind = 'tool_calls'\ncalls = []", r"models\.m\.0\.tool_calls\.calls: .*at least 1 item"),
        ("[[models.m]]\nkind = 'hang'\nrepeat = true\n[[models.m]]\nkind = 'hang'", "reply 1 repeats for ever"),
        (
            "[default]\nkind = 'text'\nusage = { input_tokens = 1, output_tokens = 1, cached_tokens = 2 }",
            "cached_tokens is a part of input_tokens",
        ),
        ("default = { kind = 'hang', when_contains = 'x' }", "it answers every request"),
        ("default = { kind = 'raw', status = 204, body = 'x' }", "status 204 has no body"),
        ('default = { kind = "raw", headers = { x = "a\\r\\nb" } }', "HTTP cannot send this"),
        ("default = { kind = 'raw', body = { at = 2026-01-01 } }", "JSON cannot say this"),
        ("models = [", "cannot be read"),
    ],
    ids=[
        "kind",
        "field",
        "delay",
        "no calls",
        "unreachable",
        "cache",
        "conditional default",
        "body of a 204",
        "header",
        "date",
        "no toml",
    ],
)
def test_a_bad_script_is_one_line_that_names_the_place(tmp_path, text, complaint):
    file = tmp_path / "script.toml"
    file.write_text(text)
    with pytest.raises(ScriptError, match=complaint) as error:
        Script.load(file)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_script_is_a_script_error(tmp_path):
    with pytest.raises(ScriptError, match="cannot be read"):
        Script.load(tmp_path / "none.toml")
