"""What the vendors refuse about structured output, the simulator refuses in strict mode, in the vendor's words."""

import httpx2
import pytest

from simulator import Script, Text

MESSAGES = [{"role": "user", "content": "Where?"}]
CONTENTS = [{"role": "user", "parts": [{"text": "Where?"}]}]
TOOLS = [{"functionDeclarations": [{"name": "look"}]}]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
OPEN = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPTIONAL = CITY | {"required": []}


def inside(schema):
    return CITY | {"properties": {"city": schema}}


def chat(form, **more):
    return "/v1/chat/completions", {"model": "m", "messages": MESSAGES, "response_format": form, **more}


def responses(form, **more):
    return "/v1/responses", {"model": "m", "input": MESSAGES, "text": {"format": form}, **more}


def claude(form, **more):
    body = {"model": "m", "max_tokens": 9, "messages": MESSAGES, "output_config": {"format": form}}
    return "/v1/messages", body | more


def gemini(config, *, model="m", **more):
    return f"/v1beta/models/{model}:generateContent", {"contents": CONTENTS, "generationConfig": config, **more}


def named(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": schema, **more}}


def flat(schema, **more):
    return {"type": "json_schema", "name": "city", "strict": True, "schema": schema, **more}


def form(schema):
    return {"type": "json_schema", "schema": schema}


JSON = {"type": "json_object"}
IN_JSON = [{"role": "user", "content": "Where? As JSON."}]
MIME = {"responseMimeType": "application/json"}

TAKEN = {
    "chat, strict": chat(named(CITY)),
    "chat, not strict": chat(named(OPTIONAL, strict=False)),
    "chat, any JSON": chat(JSON, messages=IN_JSON),
    "chat, text": chat({"type": "text"}),
    "chat, DeepSeek": chat(JSON, messages=IN_JSON, model="deepseek-chat"),
    "responses, strict": responses(flat(CITY)),
    "responses, any JSON": responses(JSON, input=IN_JSON),
    "Claude": claude(form(OPTIONAL)),
    "Claude, effort alone": ("/v1/messages", claude(None)[1] | {"output_config": {"effort": "low"}}),
    "Gemini": gemini(MIME | {"responseJsonSchema": OPEN}),
    "Gemini 3 with tools": gemini(MIME | {"responseJsonSchema": OPEN}, model="gemini-3-pro-preview", tools=TOOLS),
    "Gemini 2.5 without tools": gemini(MIME | {"responseSchema": OPEN}, model="gemini-2.5-flash"),
}


async def asked(simulate, path, body, *, strict=True):
    sim = await simulate(script=Script(strict=strict, default=Text(text="{}")))
    async with httpx2.AsyncClient(base_url=sim.url, headers={"x-api-key": "k", "authorization": "Bearer k"}) as http:
        return sim, await http.post(path, json=body)


@pytest.mark.parametrize(("path", "body"), TAKEN.values(), ids=TAKEN)
async def test_what_the_vendor_takes_is_taken_and_logged(simulate, path, body):
    sim, answer = await asked(simulate, path, body)
    assert answer.status_code == 200, answer.text
    assert sim.requests[0].body == body


NOT_CLOSED = "'additionalProperties' is required to be supplied and to be false"

REFUSED = {
    "chat, an unknown format": (chat({"type": "yaml"}), "Invalid value: 'yaml'"),
    "chat, no name": (
        chat({"type": "json_schema", "json_schema": {"schema": CITY}}),
        "response_format.json_schema.name",
    ),
    "chat, a name with a blank": (chat(named(CITY, name="a b")), "does not match pattern"),
    "chat, no schema": (chat(named(None)), "response_format.json_schema.schema"),
    "chat, strict and open": (chat(named(OPEN)), f"response_format 'city': In context=(), {NOT_CLOSED}"),
    "chat, strict and open inside": (chat(named(inside(OPEN))), f"In context=('properties', 'city'), {NOT_CLOSED}"),
    "chat, strict and optional": (chat(named(OPTIONAL)), "including every key in properties. Missing 'city'"),
    "chat, strict and no object": (chat(named({"type": "array", "items": CITY})), "got 'type: \\\"array\\\"'"),
    "chat, strict and a choice of one": (chat(named(inside({"oneOf": [{}]}))), "'oneOf' is not permitted"),
    "chat, strict and an array of anything": (chat(named(inside({"type": "array"}))), "array schema missing items"),
    "chat, a model before it": (chat(named(CITY), model="gpt-4-turbo"), "not supported with this model"),
    "chat, DeepSeek": (chat(named(CITY), model="deepseek-chat"), "This response_format type is unavailable now"),
    "chat, JSON without the word": (chat(JSON), "must contain the word 'json'"),
    "responses, strict and open": (responses(flat(OPEN)), NOT_CLOSED),
    "responses, no name": (responses({"type": "json_schema", "schema": CITY}), "text.format.name"),
    "responses, an unknown format": (responses({"type": "yaml"}), "Invalid value: 'yaml'"),
    "responses, JSON by instructions alone": (responses(JSON, instructions="JSON!"), "must contain the word 'json'"),
    "Claude, open": (claude(form(OPEN)), "For 'object' type, 'additionalProperties' must be explicitly set to false"),
    "Claude, a limit": (
        claude(form(inside({"type": "integer", "minimum": 1}))),
        "For 'integer' type, property 'minimum' is not supported",
    ),
    "Claude, another format": (claude({"type": "json_object"}), "Input should be 'json_schema'"),
    "Claude, no schema": (claude({"type": "json_schema"}), "Field required"),
    "Claude before it": (claude(form(CITY), model="claude-3-5-haiku-latest"), "does not support output_config.format"),
    "Gemini 2.5 with tools": (
        gemini(MIME | {"responseJsonSchema": CITY}, model="gemini-2.5-flash", tools=TOOLS),
        "Function calling with a response mime type: 'application/json' is unsupported",
    ),
    "Gemini, no JSON": (gemini({"responseSchema": CITY}), "response_mime_type"),
    "Gemini, two schemas": (
        gemini(MIME | {"responseSchema": CITY, "responseJsonSchema": CITY}),
        "response_json_schema",
    ),
}


@pytest.mark.parametrize(("ask", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_the_vendor_refuses_is_refused(simulate, ask, words):
    _, answer = await asked(simulate, *ask)
    assert (answer.status_code, words in answer.text) == (400, True), answer.text


async def test_without_strict_mode_a_schema_is_taken_as_it_is(simulate):
    _, answer = await asked(simulate, *chat(named(OPEN)), strict=False)
    assert answer.status_code == 200


async def test_both_of_openais_apis_name_the_place_of_a_bad_schema(simulate):
    _, answer = await asked(simulate, *chat(named(OPEN)))
    assert answer.json()["error"]["param"] == "response_format"
    _, answer = await asked(simulate, *responses(flat(OPEN)))
    assert (answer.json()["error"]["param"], answer.json()["error"]["code"]) == (
        "text.format.schema",
        "invalid_json_schema",
    )
