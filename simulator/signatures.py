"""Seals on what a model thought: each simulated vendor knows its own again and nobody else's, as the real ones do.

A seal holds the vendor, a digest of the thought, and a code over both, so that it needs no memory: one made by another
process of the simulator is good too, as a real vendor's outlives its servers. What a vendor refuses when a
seal is not its own stands in the `strict_*` modules.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final, Literal

Vendor = Literal["anthropic", "openai", "google"]

KEY: Final = b"the simulator's own; it protects nothing"
DIGEST: Final = 16
"""Bytes of each digest in a seal: enough that none is met by accident."""


def seal(vendor: Vendor, thought: str) -> str:
    """Base64, as all three vendors send theirs."""
    body = vendor.encode() + b":" + _digest(thought.encode())
    return base64.b64encode(body + _code(body)).decode()


def issued(vendor: Vendor, signature: str) -> bool:
    """True when this vendor made the seal, whatever for."""
    body, code = _opened(signature)
    return body.startswith(vendor.encode() + b":") and hmac.compare_digest(code, _code(body))


def fits(signature: str, thought: str) -> bool:
    """True when the seal was made for exactly this thought."""
    return _opened(signature)[0].endswith(b":" + _digest(thought.encode()))


def _opened(signature: str) -> tuple[bytes, bytes]:
    """Body and code. Both alphabets of base64 are read: Google's client writes the one for addresses."""
    try:
        raw = base64.b64decode(signature.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return b"", b""
    return raw[:-DIGEST], raw[-DIGEST:]


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:DIGEST]


def _code(body: bytes) -> bytes:
    return hmac.digest(KEY, body, "sha256")[:DIGEST]
