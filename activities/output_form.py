"""How a target is asked for JSON of a stage's output schema: natively where it can, else by instructions that hold it.

How the schema is worded for a vendor is pydantic-ai's, strictness and what a vendor leaves out of it included. Here:
which of the two forms, and the fence that models like to put around JSON. Not here: whether an answer fits
(`output_schema`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.exceptions import ModelRequestRejectedError, UserError
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from activities.client import Request
from activities.declared import Api, Provider

FIELD: Final[Mapping[Api, str]] = {
    "openai-chat": "response_format",
    "openai-responses": "text",
    "anthropic-messages": "output_config",
    "google": "responseJsonSchema",
}
"""The field of a request that holds a schema; an endpoint declared `without` it is asked by instructions."""

CANNOT: Final = re.compile(r"deepseek.*|gpt-3\.5.*|gpt-4(-.*)?|gpt-4o-2024-05-13|o1-(mini|preview).*")
"""Models of which pydantic-ai thinks that they can, because OpenAI's name nothing else.

Sources: platform.openai.com/docs/guides/structured-outputs (from gpt-4o-2024-08-06 and gpt-4o-mini on),
api-docs.deepseek.com/api/create-chat-completion (`json_object` only).
"""

FENCES: Final = ("```", "```json")


def with_output(
    asked: ModelRequestParameters, request: Request, provider: Provider, model: Model[Any], settings: ModelSettings
) -> ModelRequestParameters:
    """Add the request's output schema, if it has one, in the form that the target takes."""
    if request.output is None:
        return asked
    schema = OutputObjectDefinition(json_schema=request.output)
    native = replace(asked, output_mode="native", output_object=schema)
    if _is_taken(native, request.output, provider, model, settings):
        return native
    return replace(native, output_mode="prompted")


def _is_taken(
    native: ModelRequestParameters,
    output: dict[str, Any],
    provider: Provider,
    model: Model[Any],
    settings: ModelSettings,
) -> bool:
    if FIELD[provider.api] in provider.without or (provider.api.startswith("openai") and _cannot(model.model_name)):
        return False
    if provider.api == "google" and native.function_tools and not model.profile.get("google_supports_tool_combination"):
        return False  # Gemini before 3 takes tools or a schema
    if provider.api == "anthropic-messages" and any(_is_open(part) for part in _tables(output)):
        return False  # Claude's form closes every object: what the schema leaves open would come empty
    try:
        model.prepare_request(settings, native)
    except (UserError, ModelRequestRejectedError):
        return False  # a model without it, or more than Claude's grammar bears
    return True


def _cannot(model: str) -> bool:
    return CANNOT.fullmatch(model.rsplit("/", 1)[-1]) is not None


def _is_open(part: dict[str, Any]) -> bool:
    return part.get("additionalProperties", False) is not False


def _tables(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """All objects in it; one that is a default and no schema may count too, which costs nothing but the native form."""
    match value:
        case dict():
            yield value
            for held in value.values():
                yield from _tables(held)
        case list():
            for held in value:
                yield from _tables(held)


def unfenced(answer: ModelResponse) -> ModelResponse:
    """Take an answer that is nothing but one Markdown code block out of it: what is stored and shown is JSON."""
    texts = [part for part in answer.parts if isinstance(part, TextPart) and part.content.strip()]
    first, _, rest = texts[0].content.strip().partition("\n") if len(texts) == 1 else ("", "", "")
    if first.strip().lower() not in FENCES or not rest.endswith("```"):
        return answer
    bare = replace(texts[0], content=rest.removesuffix("```").strip())
    return replace(answer, parts=[bare if part is texts[0] else part for part in answer.parts])
