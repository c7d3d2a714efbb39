"""The operator's keys: how they are read and named, and bytes encrypted and decrypted with them (AES-256-GCM).

Encrypted bytes are a random nonce of 12 bytes, the ciphertext, and a tag of 16 bytes. Not here: which bytes are
encrypted, and how they are marked (`workflows.codec` for Temporal's payloads, `store.sealed` for the store's rows).
"""

import base64
import binascii
import hashlib
import logging
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator

from ledger.model import Frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
"""What GCM is made for. Random ones are safe for 2**32 messages under one key (NIST SP 800-38D)."""
OVERHEAD: Final = NONCE_BYTES + 16
"""Bytes by which encrypted content is longer than clear content: the nonce and the tag."""
ID_DIGITS: Final = 16

_log: Final = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # a worker logs it; a command says it in its own words


class NotKeys(ValueError):  # noqa: N818 - what the operator reads
    """What should be keys is not; the message is one line and holds nothing of it."""


class KeyMissing(Exception):  # noqa: N818 - the state
    """Content is encrypted under a key that is not here. Nothing is wrong with it: the key may come back."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"the key {key_id} is needed and is not in the variable that [encryption] keys_env names")


class AlteredError(Exception):
    """Bytes that claim to be encrypted under a key that is here were not."""


class Keys:
    """Keys, newest first: the first encrypts, all decrypt. Without any nothing is encrypted.

    Plain bytes and ciphers stay inside; what is printed of it are the names of the keys.
    """

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        self._ciphers = {name_of(key): _cipher(key) for key in keys}
        self.newest = next(iter(self._ciphers), "")
        """Name of the key that encrypts; "" where nothing is encrypted."""

    @classmethod
    def parse(cls, text: str) -> "Keys":
        """Read keys in base64, separated by commas or spaces. `NotKeys`: there is none, or one is none."""
        words = re.split(r"[\s,]+", text.strip(" \t\r\n,"))
        if words == [""]:
            raise NotKeys("is not set; `endstop keys --new` prints a key for it")
        return cls(_key(word, f"key {number} of {len(words)}") for number, word in enumerate(words, 1))

    @property
    def names(self) -> tuple[str, ...]:
        """Newest first."""
        return tuple(self._ciphers)

    def __repr__(self) -> str:
        return f"Keys({', '.join(self.names)})"

    def encrypt(self, clear: bytes, about: bytes | None = None) -> bytes:
        """Encrypt with the newest key. `about` is no part of it, and has to be the same to decrypt it."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._ciphers[self.newest].encrypt(nonce, clear, about)

    def decrypt(self, name: str, content: bytes, about: bytes | None = None) -> bytes:
        """Decrypt with the key of this name. `KeyMissing`: it is not here; `AlteredError`: this is not its work."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as below

        cipher = self._ciphers.get(name)
        if cipher is None:
            _log.warning("encryption.key_missing", extra={"key": name})
            raise KeyMissing(name)
        if len(content) < OVERHEAD:
            raise AlteredError
        try:
            return cipher.decrypt(content[:NONCE_BYTES], content[NONCE_BYTES:], about)
        except InvalidTag:
            raise AlteredError from None


CLEAR: Final = Keys()
"""Nothing is encrypted, and nothing that is can be read."""


def name_of(key: bytes) -> str:
    """A key's name, which says nothing of it: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(key).hexdigest()[:ID_DIGITS]


def new_key() -> str:
    """A fresh key as the variable holds it."""
    return base64.urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()


def _a_variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("the keys are in the environment; this is the name of their variable")
    return name


class Encryption(Frozen):
    """`[encryption]`: where it stands, content is encrypted."""

    keys_env: Annotated[str, AfterValidator(_a_variable)]
    """Name of the variable that holds the keys."""

    def keys(self, environ: Mapping[str, str]) -> Keys:
        """The keys. `NotKeys`: the variable holds none."""
        try:
            return Keys.parse(environ.get(self.keys_env, ""))
        except NotKeys as problem:
            raise NotKeys(f"{self.keys_env}: {problem}") from None


def _key(word: str, called: str) -> bytes:
    """A key in either alphabet of base64, with or without its padding."""
    try:
        key = base64.b64decode(word.rstrip("=").translate(_ONE_ALPHABET) + "=", validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise NotKeys(f"{called} is not {KEY_BYTES} bytes in base64; `endstop keys --new` prints one")
    return key


_ONE_ALPHABET: Final = str.maketrans("-_", "+/")


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - loaded by who encrypts only

    return AESGCM(key)
