"""Names a request without showing it: the digest, the versions and the key under which its answer is stored.

Not here: what was really sent (`exchange` keeps that).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import JsonValue

from activities.client import Request
from activities.declared import Provider, ToolDeclaration
from ledger.conversation import digest
from ledger.outcomes import Sent
from ledger.records import RequestDigest
from ledger.target import Target

ASSEMBLY_VERSION: Final = "2"
"""Raised when the same stored conversation is assembled into another request (`assembly`)."""

_SHORT: Final = 12
"""Hex characters of a catalog's version: enough to tell the tool sets of an installation apart."""

_MAX_TOKENS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
"""The vendors' names for the limit of one answer."""


def catalog_version(tools: Iterable[ToolDeclaration]) -> str:
    """The same set of tools gives the same version, in any order; "" for none (A22)."""
    declared = sorted((tool.model_dump(mode="json") for tool in tools), key=lambda tool: str(tool["name"]))
    return digest(_canonical(declared))[:_SHORT] if declared else ""


def answer_key(target: Target, request: Request) -> str:
    """What an answer is stored under, beside its conversation's head: target, parameters, instructions, tools."""
    asked: JsonValue = {
        "target": str(target),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "thinking": request.thinking,
        "instructions": digest(request.instructions.encode()),
        "tools": catalog_version(request.tools),
        "assembly": ASSEMBLY_VERSION,
    }
    return digest(_canonical(asked))


def origin(provider: Provider, request: Request) -> str:
    """Who writes an answer: the target behind its address, and what it was told beside the conversation.

    Only the same may get signed thinking and ids of the provider's making back: another model's are refused, and so
    are, by Claude from Opus 5.5 and Sonnet 5.5 on, those that were thought under other instructions or tools.
    """
    writer: JsonValue = {
        "api": provider.api,
        "provider": provider.name,
        "base_url": provider.base_url,
        "model": request.model,
        "instructions": digest(request.instructions.encode()),
        "tools": catalog_version(request.tools),
    }
    return digest(_canonical(writer))[:_SHORT]


def sent(request: Request, parameters: Mapping[str, JsonValue]) -> Sent:
    """Identity of a request that left. `parameters` are those on the wire, which may differ from those asked for."""
    limit = next((parameters[name] for name in _MAX_TOKENS if name in parameters), None)
    temperature = parameters.get("temperature")
    return Sent(
        digest=RequestDigest(
            system_hash=_system_hash(request.instructions),
            messages=len(request.messages),
            tools=len(request.tools),
            max_tokens=limit if isinstance(limit, int) else 0,
            temperature=float(temperature) if isinstance(temperature, (int, float)) else None,
        ),
        parameters=dict(parameters),
        tool_catalog_version=catalog_version(request.tools),
        assembly_version=ASSEMBLY_VERSION,
    )


def _system_hash(instructions: str) -> int:
    """The first 8 bytes of blake2b, as u64; 0 for no instructions."""
    return int.from_bytes(hashlib.blake2b(instructions.encode()).digest()[:8]) if instructions else 0


def _canonical(value: JsonValue | list[dict[str, JsonValue]]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
