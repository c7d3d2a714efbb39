"""Which dialect a path belongs to. A new API is one module and one line here."""

from typing import Final

from simulator.anthropic_messages import AnthropicMessages
from simulator.dialect import Dialect
from simulator.gemini import Gemini
from simulator.openai_chat import OpenAIChat
from simulator.openai_responses import OpenAIResponses

DIALECTS: Final[tuple[Dialect, ...]] = (OpenAIChat(), OpenAIResponses(), AnthropicMessages(), Gemini())


def dialect_for(method: str, path: str) -> Dialect | None:
    """The API that answers `path` (without its query), or nothing: then the answer is a 404."""
    if method != "POST":
        return None
    return next((dialect for dialect in DIALECTS if dialect.recognises(path)), None)
