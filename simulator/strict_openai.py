"""The sentences in which both of OpenAI's APIs refuse a part of a request, each with its `param` and `code`.

Source of the wording: answers quoted in public threads, e.g. agno-agi/agno#5382, AnswerDotAI/fastllm#45.
"""

import re
from typing import Final

from simulator.dialect import AskError

NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


def unknown_parameter(where: str) -> AskError:
    return AskError(f"Unknown parameter: '{where}'.", param=where, code="unknown_parameter")


def missing_parameter(where: str) -> AskError:
    return AskError(f"Missing required parameter: '{where}'.", param=where, code="missing_required_parameter")


def invalid_value(where: str, value: str, supported: tuple[str, ...]) -> AskError:
    *most, last = (f"'{word}'" for word in supported)
    words = f"{', '.join(most)}{',' if len(most) > 1 else ''} and {last}" if most else last
    return AskError(f"Invalid value: '{value}'. Supported values are: {words}.", param=where, code="invalid_value")


def empty_array(where: str) -> AskError:
    return AskError(
        f"Invalid '{where}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        param=where,
        code="empty_array",
    )


def check_length(where: str, value: str, limit: int) -> None:
    if not value:
        raise AskError(
            f"Invalid '{where}': empty string. "
            "Expected a string with minimum length 1, but got an empty string instead.",
            param=where,
            code="empty_string",
        )
    if len(value) > limit:
        raise AskError(
            f"Invalid '{where}': string too long. Expected a string with maximum length {limit}, "
            f"but got a string with length {len(value)} instead.",
            param=where,
            code="string_above_max_length",
        )


def check_name(where: str, name: str) -> None:
    """Names of functions: the alphabet, and at most 64 characters."""
    check_length(where, name, 64)
    if not NAME.fullmatch(name):
        raise AskError(
            f"Invalid '{where}': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            param=where,
            code="invalid_value",
        )
