"""What Gemini refuses, the simulator refuses in strict mode: status 400 and the vendor's words, at its own client."""

import base64

import pytest
from google.genai import errors, types

from simulator import Script
from simulator.signatures import seal

OWN = base64.b64decode(seal("google", "Hm."))
FOREIGN = base64.b64decode(seal("anthropic", "Hm."))
GO = {"role": "user", "parts": [{"text": "Go"}]}


def call(name="look", **more):
    return {"function_call": {"name": name, "args": {}}, **more}


def response(name="look"):
    return {"function_response": {"name": name, "response": {"output": "seen"}}}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def user(*parts):
    return {"role": "user", "parts": list(parts)}


TAKEN = {
    "a tool round": [GO, model({"text": "I look."}, call()), user(response())],
    "parallel calls": [GO, model(call(), call()), user(response(), response()), GO],
    "a response in its own role": [GO, model(call()), {"role": "function", "parts": [response()]}],
    "a signed call": [GO, model(call(thought_signature=OWN)), user(response())],
    "a signature on an empty text": [GO, model({"text": "", "thought_signature": OWN}), GO],
    "an image": [user({"inline_data": {"mime_type": "image/png", "data": b"x"}})],
}


@pytest.mark.parametrize("contents", TAKEN.values(), ids=TAKEN)
async def test_what_the_vendor_takes_is_taken(simulate, ask_gemini, contents):
    assert await ask_gemini(await simulate(script=Script(strict=True)), contents=contents)


REFUSED = {
    "a call without a response": ([GO, model(call()), GO], "number of function response parts is equal"),
    "a call at the end": ([GO, model(call())], "number of function response parts is equal"),
    "one response missing": (
        [GO, model(call(), call()), user(response())],
        "number of function response parts is equal",
    ),
    "a response too many": ([GO, model(call()), user(response(), response())], "number of function response parts"),
    "a response without a call": ([user(response())], "function response turn comes immediately after"),
    "a response too late": (
        [GO, model(call()), user(response()), GO, user(response())],
        "function response turn comes",
    ),
    "a call first": ([model(call()), user(response())], "function call turn comes immediately after a user turn"),
    "a call after the model's own turn": (
        [GO, model({"text": "x"}), model(call()), user(response())],
        "function call turn comes immediately after a user turn",
    ),
    "a model's turn last": ([GO, model({"text": "x"})], "single turn requests end with a user role"),
    "a foreign role": ([{"role": "assistant", "parts": [{"text": "x"}]}], "Please use a valid role: user, model."),
    "no parts": ([user()], "contents[0].parts: contents.parts must not be empty"),
    "an empty text": ([GO, model({"text": ""}), GO], "contents[1].parts[0].data: required oneof field 'data'"),
    "a function without a name": (
        [GO, model(call("")), user(response(""))],
        "function_call.name: Name cannot",
    ),
    "a foreign file": (
        [user({"file_data": {"file_uri": "file-1", "mime_type": "text/plain"}})],
        "Invalid or unsupported file uri: file-1",
    ),
    "a foreign signature": (
        [GO, model({"text": "x", "thought_signature": FOREIGN}), GO],
        "Corrupted thought signature",
    ),
}


@pytest.mark.parametrize(("contents", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_the_vendor_refuses_is_refused(simulate, ask_gemini, contents, words):
    sim = await simulate(script=Script(strict=True))
    with pytest.raises(errors.ClientError) as caught:
        await ask_gemini(sim, contents=contents)
    assert words in caught.value.message
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert sim.requests[0].number == 0
    sim.use(Script())
    assert await ask_gemini(sim, contents=contents)


UNKNOWN = {
    "of the request": ({"thinking": {}}, 'Unknown name "thinking": Cannot find field'),
    "of its settings": ({"generationConfig": {"max_tokens": 1}}, "\"maxTokens\" at 'generation_config'"),
    "of a turn": ({"contents": [{**GO, "name": "x"}]}, "Unknown name \"name\" at 'contents[0]'"),
    "of a part": (
        {"contents": [user({"text": "x", "type": "y"})]},
        "Unknown name \"type\" at 'contents[0].parts[0]'",
    ),
    "of a call": (
        {"contents": [GO, model({"functionCall": {"name": "f", "arguments": {}}}), GO]},
        "Unknown name \"arguments\" at 'contents[1].parts[0].function_call'",
    ),
}


@pytest.mark.parametrize(("extra", "words"), UNKNOWN.values(), ids=UNKNOWN)
async def test_an_unknown_field_is_refused(simulate, ask_gemini, extra, words):
    config = types.GenerateContentConfig(http_options=types.HttpOptions(extra_body=extra))
    with pytest.raises(errors.ClientError) as caught:
        await ask_gemini(await simulate(script=Script(strict=True)), config=config)
    assert words in caught.value.message


async def test_a_functions_name_has_its_alphabet(simulate, ask_gemini):
    function = types.FunctionDeclaration(name="2 looks", parameters_json_schema={"type": "object"})
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[function])])
    with pytest.raises(errors.ClientError, match="Invalid function name"):
        await ask_gemini(await simulate(script=Script(strict=True)), config=config)


SKIP = b"skip_thought_signature_validator"
SIGNED = {
    "its own": ([GO, model(call(thought_signature=OWN), call()), user(response(), response())], True),
    "the documented stand-in": ([GO, model(call(thought_signature=SKIP)), user(response())], True),
    "none": ([GO, model(call()), user(response())], False),
    "one on the second call only": (
        [GO, model(call(), call(thought_signature=OWN)), user(response(), response())],
        False,
    ),
    "none in the second step": (
        [GO, model(call(thought_signature=OWN)), user(response()), model(call()), user(response())],
        False,
    ),
    "none in an earlier turn": ([GO, model(call()), user(response()), model({"text": "x"}), GO], True),
}


@pytest.mark.parametrize(("contents", "taken"), SIGNED.values(), ids=SIGNED)
async def test_gemini_3_wants_the_signature_of_each_first_call_of_the_current_turn(
    simulate, ask_gemini, contents, taken
):
    sim = await simulate(script=Script(strict=True))
    if taken:
        assert await ask_gemini(sim, model="gemini-3-pro", contents=contents)
        return
    with pytest.raises(errors.ClientError, match="Function call is missing a thought_signature"):
        await ask_gemini(sim, model="gemini-3-pro", contents=contents)
    assert await ask_gemini(sim, model="gemini-2.5-pro", contents=contents)
