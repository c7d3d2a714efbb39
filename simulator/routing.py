"""Which API a request belongs to. A new API is one module and one line here."""

from typing import Final

from simulator.anthropic_messages import AnthropicMessages
from simulator.dialect import Dialect
from simulator.files_api import FilesApi
from simulator.form_files import ANTHROPIC_FILES, OPENAI_FILES
from simulator.gemini import Gemini
from simulator.gemini_files import GeminiFiles
from simulator.openai_chat import OpenAIChat
from simulator.openai_responses import OpenAIResponses

DIALECTS: Final[tuple[Dialect, ...]] = (OpenAIChat(), OpenAIResponses(), AnthropicMessages(), Gemini())


def files_apis() -> tuple[FilesApi, ...]:
    """The files APIs, new ones: an upload in several steps is remembered by the API that began it."""
    return (OPENAI_FILES, ANTHROPIC_FILES, GeminiFiles())


def dialect_for(method: str, path: str) -> Dialect | None:
    """The API that answers `path` (without its query), or nothing: then the answer is a 404."""
    if method != "POST":
        return None
    return next((dialect for dialect in DIALECTS if dialect.recognises(path)), None)
