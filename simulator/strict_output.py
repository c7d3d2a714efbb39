"""What the vendors refuse about structured output: formats, schemas, and models that have none.

Sources: the guides to structured output at platform.openai.com/docs, platform.claude.com/docs and ai.google.dev; words
of public threads: dottxt-ai/outlines#844, mavam/pi-web-providers#14 and BerriAI/litellm#38211 (OpenAI's two APIs),
langchain-ai/langchain#31490 (models without it), llm-exe/llm-exe#662 (DeepSeek), veryfront/veryfront-code#3918 and
agentjido/req_llm#302 (Claude), googleapis/python-genai#867 (Gemini). What Claude says of older models, and Gemini
of fields that do not go together, is in our words.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from simulator.dialect import AskError
from simulator.strict import Object, text_of
from simulator.strict_openai import check_name, invalid_value, missing_parameter

FORMATS: Final = ("json_object", "json_schema", "text")
NOT_STRICT: Final = ("allOf", "not", "oneOf", "dependentRequired", "dependentSchemas", "if", "patternProperties")
"""Keywords that OpenAI's strict schemas may not have."""

NOT_CLAUDE: Final = frozenset(
    """
    exclusiveMaximum exclusiveMinimum maxItems maxLength maximum minLength minimum multipleOf patternProperties
    uniqueItems
    """.split()  # noqa: SIM905 - a paragraph of words, not a column of them
)

OPENAI_WITHOUT: Final = re.compile(r"gpt-3\.5.*|gpt-4(-.*)?|gpt-4o-2024-05-13")
CLAUDE_WITHOUT: Final = re.compile(r"claude-(2|3|instant|opus-4-0|sonnet-4-0|opus-4-2025|sonnet-4-2025).*")
GEMINI_EITHER: Final = re.compile(r"gemini-[12]\b.*")
"""Models that take tools or JSON, not both."""

Context = tuple[str, ...]


def check_chat(body: Object) -> None:
    """OpenAI's chat completions, and DeepSeek's, which know fewer formats."""
    form = body.get("response_format")
    if not isinstance(form, dict):
        return
    kind, model = text_of(form, "type"), text_of(body, "model")
    if kind not in FORMATS:
        raise invalid_value("response_format.type", kind, FORMATS)
    if kind == "json_schema" and model.startswith("deepseek"):
        raise AskError("This response_format type is unavailable now", code="invalid_request_error")
    if kind == "json_schema":
        held = form.get("json_schema")
        _openai_schema(held if isinstance(held, dict) else {}, "response_format.json_schema", "response_format", model)
    if kind == "json_object" and not _says_json(body.get("messages")):
        raise AskError(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            param="messages",
        )


def check_responses(body: Object) -> None:
    """OpenAI's responses; the word must be in the input there, instructions do not count."""
    text = body.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if not isinstance(form, dict):
        return
    kind = text_of(form, "type")
    if kind not in FORMATS:
        raise invalid_value("text.format.type", kind, FORMATS)
    if kind == "json_schema":
        _openai_schema(form, "text.format", "text.format.schema", text_of(body, "model"), code="invalid_json_schema")
    if kind == "json_object" and not _says_json(body.get("input")):
        raise AskError(
            "Response input messages must contain the word 'json' in some form to use 'text.format' of type "
            "'json_object'.",
            param="input",
        )


def check_claude(body: Object) -> None:
    """Anthropic's messages: every object closed, and few keywords."""
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    if not isinstance(form, dict):
        return
    at, model = "output_config.format", text_of(body, "model")
    if text_of(form, "type") != "json_schema":
        raise AskError(f"{at}.type: Input should be 'json_schema'")
    if not isinstance(form.get("schema"), dict):
        raise AskError(f"{at}.schema: Field required")
    if CLAUDE_WITHOUT.match(model):
        raise AskError(f"'{model}' does not support output_config.format")
    for _, node in _nodes(form["schema"], ()):
        kind = text_of(node, "type")
        if kind == "object" and node.get("additionalProperties") is not False:
            raise AskError(f"{at}.schema: For 'object' type, 'additionalProperties' must be explicitly set to false")
        if extra := sorted(NOT_CLAUDE & node.keys()):
            words = f"property '{extra[0]}' is" if len(extra) == 1 else f"properties {', '.join(extra)} are"
            raise AskError(f"{at}.schema: For '{kind}' type, {words} not supported")


def check_gemini(request: Object, config: Object, model: str) -> None:
    """Gemini's generateContent. `request` and `config` are in the vendor's spelling."""
    schemas = [name for name in ("responseSchema", "responseJsonSchema") if name in config]
    mime = text_of(config, "responseMimeType")
    if len(schemas) > 1:
        raise AskError("* GenerateContentRequest.generation_config: set response_schema or response_json_schema")
    if schemas and mime != "application/json":
        raise AskError("* GenerateContentRequest.generation_config.response_mime_type: a schema needs application/json")
    if mime == "application/json" and request.get("tools") and GEMINI_EITHER.match(model):
        raise AskError("Function calling with a response mime type: 'application/json' is unsupported")


def _openai_schema(given: Object, at: str, param: str, model: str, code: str | None = None) -> None:
    if OPENAI_WITHOUT.fullmatch(model):
        raise AskError(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more "
            "about supported models at the Structured Outputs guide: "
            "https://platform.openai.com/docs/guides/structured-outputs",
            param=param,
        )
    if "name" not in given:
        raise missing_parameter(f"{at}.name")
    check_name(f"{at}.name", text_of(given, "name"))
    schema = given.get("schema")
    if not isinstance(schema, dict):
        raise missing_parameter(f"{at}.schema")
    problem = next(_breaches(schema), None) if given.get("strict") is True else None
    if problem:
        raise AskError(f"Invalid schema for response_format '{given['name']}': {problem}", param=param, code=code)


def _breaches(schema: dict[str, JsonValue]) -> Iterator[str]:
    """What OpenAI's strict mode finds wrong."""
    if schema.get("type") != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    for context, node in _nodes(schema, ()):
        at = f"In context={context!r}, "
        for keyword in NOT_STRICT:
            if keyword in node:
                yield f"{at}'{keyword}' is not permitted."
        properties, required = node.get("properties"), node.get("required")
        if node.get("type") == "object" and node.get("additionalProperties") is not False:
            yield f"{at}'additionalProperties' is required to be supplied and to be false."
        names = required if isinstance(required, list) else []
        for name in properties if isinstance(properties, dict) else ():
            if name not in names:
                yield (
                    f"{at}'required' is required to be supplied and to be an array including every key in properties. "
                    f"Missing '{name}'."
                )
        if node.get("type") == "array" and "items" not in node:
            yield f"{at}array schema missing items."


def _nodes(schema: JsonValue, context: Context) -> Iterator[tuple[Context, Object]]:
    """The schema and those in it, each with the way to it."""
    if not isinstance(schema, dict):
        return
    yield context, schema
    for keyword, held in schema.items():
        if keyword in ("properties", "$defs", "definitions") and isinstance(held, dict):
            for name, part in held.items():
                yield from _nodes(part, (*context, keyword, name))
        elif keyword in ("anyOf", "allOf", "oneOf", "prefixItems") and isinstance(held, list):
            for index, part in enumerate(held):
                yield from _nodes(part, (*context, keyword, str(index)))
        elif keyword in ("items", "additionalProperties"):
            yield from _nodes(held, (*context, keyword))


def _says_json(messages: JsonValue) -> bool:
    return "json" in json.dumps(messages).lower()
