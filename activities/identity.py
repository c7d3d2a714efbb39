"""Names a request without showing it: the digest, the versions and the key under which its answer is stored.

Not here: what was really sent (`exchange` keeps that).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import JsonValue

from activities.client import Request
from activities.declared import Provider
from activities.tool_declaration import ToolDeclaration
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


def answer_key(target: Target, request: Request, told: bytes = b"") -> str:
    """What an answer is stored under, beside its conversation's head: target, parameters, and what is told.

    `told` is the whole of a request that is not the conversation itself.
    """
    asked: dict[str, JsonValue] = {
        "target": str(target),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "thinking": request.thinking,
        "instructions": digest(request.instructions.encode()),
        "tools": catalog_version(request.tools),
        "assembly": ASSEMBLY_VERSION,
    }
    if told:
        asked["told"] = digest(told)
    return digest(_canonical(asked | _output(request)))


def origin(provider: Provider, request: Request) -> str:
    """Who writes an answer: the target behind its address, and what it was told beside the conversation.

    Only the same may get signed thinking and ids of the provider's making back: another model's are refused, and so
    are, by Claude from Opus 5.5 and Sonnet 5.5 on, those that were thought under other instructions or tools. An
    output schema is told with the instructions, by us or by the vendor.
    """
    writer: dict[str, JsonValue] = {
        "api": provider.api,
        "provider": provider.name,
        "base_url": provider.base_url,
        "model": request.model,
        "instructions": digest(request.instructions.encode()),
        "tools": catalog_version(request.tools),
    }
    return digest(_canonical(writer | _output(request)))[:_SHORT]


def _output(request: Request) -> dict[str, JsonValue]:
    """The digest of the output schema; nothing for none, so that other requests are named as before there were any."""
    return {} if request.output is None else {"output": digest(_canonical(request.output))}


def sent(request: Request, parameters: Mapping[str, JsonValue]) -> Sent:
    """Identity of a request that left. `parameters` are those on the wire, which may differ from those asked for."""
    limit = next((parameters[name] for name in _MAX_TOKENS if name in parameters), None)
    temperature = parameters.get("temperature")
    return Sent(
        digest=RequestDigest(
            system_hash=_system_hash(request),
            messages=len(request.messages),
            tools=len(request.tools),
            max_tokens=limit if isinstance(limit, int) else 0,
            temperature=float(temperature) if isinstance(temperature, (int, float)) else None,
        ),
        parameters=dict(parameters),
        tool_catalog_version=catalog_version(request.tools),
        assembly_version=ASSEMBLY_VERSION,
    )


def _system_hash(request: Request) -> int:
    """The first 8 bytes of blake2b, as u64, over instructions and output schema; 0 for neither."""
    told = request.instructions.encode() + (_canonical(request.output) if request.output is not None else b"")
    return int.from_bytes(hashlib.blake2b(told).digest()[:8]) if told else 0


def _canonical(value: JsonValue | list[dict[str, JsonValue]]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
