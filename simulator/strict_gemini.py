"""What Gemini refuses in a request that can be read: fields, roles, calls and responses, signatures.

Sources: ai.google.dev/api/generate-content (fields), …/gemini-api/docs/function-calling and …/thought-signatures (which
part needs one, since Gemini 3; two documented values that skip the check); wording from public threads:
google-gemini/gemini-cli#4217 and #13467, lbjlaq/Antigravity-Manager#938, langgenius/dify#29187.
"""

import base64
import re
from collections.abc import Mapping
from typing import Final

from simulator.dialect import AskError
from simulator.gemini_request import Turn, parts_of, spelled, turns_of
from simulator.signatures import issued
from simulator.strict import Object, objects, text_of, unknown
from simulator.strict_output import check_gemini

FIELDS: Final = frozenset(
    """
    cachedContent contents generationConfig labels model safetySettings serviceTier store systemInstruction toolConfig
    tools
    """.split()  # noqa: SIM905 - a paragraph of words, not a column of them
)

CONFIG: Final = frozenset(
    """
    audioTimestamp candidateCount enableEnhancedCivicAnswers frequencyPenalty imageConfig logprobs maxOutputTokens
    mediaResolution presencePenalty responseFormat responseJsonSchema responseLogprobs responseMimeType
    responseModalities responseSchema routingConfig seed speechConfig stopSequences temperature thinkingConfig topK
    topP
    """.split()  # noqa: SIM905 - as above
)

DATA: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset(),
    "inlineData": frozenset({"mimeType", "data", "displayName"}),
    "fileData": frozenset({"mimeType", "fileUri", "displayName"}),
    "functionCall": frozenset({"id", "name", "args", "partialArgs", "willContinue"}),
    "functionResponse": frozenset({"id", "name", "response", "parts", "scheduling", "willContinue"}),
    "executableCode": frozenset({"id", "language", "code"}),
    "codeExecutionResult": frozenset({"id", "outcome", "output"}),
    "toolCall": frozenset({"id", "toolType", "args"}),
    "toolResponse": frozenset({"id", "toolType", "response"}),
}
"""What a part may hold, one of them each → the fields of that."""

BESIDE: Final = frozenset({"thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution"})
NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
BAD_NAME: Final = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "
    "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
)
FETCHED: Final = ("https://", "gs://")
SKIPS: Final = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
"""Signatures that are documented to be taken for calls another model made."""


def check(body: Object, *, model: str, signs: bool) -> None:
    """AskError for the first rule that the request breaks. `signs`: the model wants its signatures back."""
    known = spelled(dict(body))
    request: Object = known if isinstance(known, dict) else {}
    _fields("", request, FIELDS)
    given = request.get("generationConfig")
    config: Object = given if isinstance(given, dict) else {}
    _fields("generation_config", config, CONFIG)
    check_gemini(request, config, model)
    _tools(request)
    turns = turns_of(body)
    for index, turn in enumerate(turns):
        _turn(index, turn)
    _order(turns)
    if signs:
        _signed(turns)


def _fields(where: str, given: Object, allowed: frozenset[str]) -> None:
    if (extra := unknown(given, allowed)) is not None:
        at = f" at '{where}'" if where else ""
        raise AskError(f'Invalid JSON payload received. Unknown name "{extra}"{at}: Cannot find field.')


def _tools(request: Object) -> None:
    for index, tool in objects(request.get("tools")):
        for place, declared in objects(tool.get("functionDeclarations")):
            if not NAME.fullmatch(text_of(declared, "name")):
                at = f"GenerateContentRequest.tools[{index}].function_declarations[{place}].name"
                raise AskError(f"* {at}: {BAD_NAME}")


def _turn(index: int, turn: Turn) -> None:
    at = f"contents[{index}]"
    _fields(at, turn, frozenset({"role", "parts"}))
    if turn.get("role", "user") not in ("user", "model", "function"):
        raise AskError("Please use a valid role: user, model.")
    parts = [*parts_of(turn)]
    if not parts:
        raise AskError(f"* GenerateContentRequest.{at}.parts: contents.parts must not be empty.")
    for place, part in enumerate(parts):
        _part(f"{at}.parts[{place}]", part)


def _part(at: str, part: Object) -> None:
    _fields(at, part, BESIDE | frozenset(DATA))
    held = [name for name in DATA if name in part]
    sole_signature = not held and "thoughtSignature" in part
    if not sole_signature and (len(held) != 1 or (part.get("text") == "" and "thoughtSignature" not in part)):
        raise AskError(
            f"* GenerateContentRequest.{at}.data: required oneof field 'data' must have one initialized field"
        )
    for name in held:
        value = part[name]
        _fields(f"{at}.{_snake(name)}", value if isinstance(value, dict) else {}, DATA[name])
    for name in ("functionCall", "functionResponse"):
        match part.get(name):
            case {"name": str(function)} if NAME.fullmatch(function):
                pass
            case {}:
                raise AskError(f"* GenerateContentRequest.{at}.{_snake(name)}.name: Name cannot be empty.")
    match part.get("fileData"):
        case {"fileUri": str(address)} if not address.startswith(FETCHED):
            raise AskError(f"Invalid or unsupported file uri: {address}")
    signature = text_of(part, "thoughtSignature")
    if signature and not issued("google", signature) and not _skips(signature):
        raise AskError("Corrupted thought signature.")


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: f"_{found[1].lower()}", name)


def _skips(signature: str) -> bool:
    """The documented values are sent as they are or, by clients that encode bytes, in base64 of either alphabet."""
    codecs = (bytes, base64.b64encode, base64.urlsafe_b64encode)
    return any(signature.encode() == encoded(value) for value in SKIPS for encoded in codecs)


def _order(turns: list[Turn]) -> None:
    for index, turn in enumerate(turns):
        before = turns[index - 1] if index else {}
        after = turns[index + 1] if index + 1 < len(turns) else {}
        if _count(turn, "functionCall"):
            if before.get("role", "model" if not index else "user") == "model":
                raise AskError(
                    "Please ensure that function call turn comes immediately after a user turn or after a function "
                    "response turn."
                )
            _answered(turn, after)
        if _count(turn, "functionResponse") and not _count(before, "functionCall"):
            raise AskError("Please ensure that function response turn comes immediately after a function call turn.")
    if turns[-1].get("role") == "model":
        raise AskError("Please ensure that single turn requests end with a user role or the role field is empty.")


def _answered(turn: Turn, after: Turn) -> None:
    if _count(turn, "functionCall") != _count(after, "functionResponse"):
        raise AskError(
            "Please ensure that the number of function response parts is equal to the number of function call parts of "
            "the function call turn."
        )


def _names(turn: Turn, field: str) -> list[str]:
    held = (part[field] for part in parts_of(turn) if field in part)
    return [text_of(value, "name") for value in held if isinstance(value, dict)]


def _count(turn: Turn, field: str) -> int:
    return len(_names(turn, field))


def _signed(turns: list[Turn]) -> None:
    """In the current turn, from what a person said last, each step's first call carries its signature."""
    said = [i for i, turn in enumerate(turns) if turn.get("role") != "model" and not _count(turn, "functionResponse")]
    for index, turn in enumerate(turns):
        if index < (said[-1] if said else 0) or turn.get("role") != "model":
            continue
        first = next((part for part in parts_of(turn) if "functionCall" in part), None)
        if first is not None and not text_of(first, "thoughtSignature"):
            called = _names(turn, "functionCall")[0]
            raise AskError(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. "
                f"Additional data, function call `default_api:{called}` , position {index + 1}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
