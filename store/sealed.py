"""The column types of content: encrypted on its way into the database, decrypted on its way out, by the store's keys.

A table that declares a body with one of these types has it encrypted by every statement; there is no other way to
write it. Bytes are `MARK`, the key's name, and what `encryption` makes of them; a text is the same in base64. What was
written in clear stays readable. What somebody altered comes out as it stands there: its digest tells.
"""

import base64
import binascii
from typing import Final
from weakref import WeakKeyDictionary

from sqlalchemy import Case, ColumnElement, Dialect, Engine, LargeBinary, Text, case, func, type_coerce
from sqlalchemy.types import TypeDecorator

from encryption import CLEAR, AlteredError, KeyMissing, Keys
from encryption.keys import ID_DIGITS, OVERHEAD
from store.errors import StoreTroubled

MARK: Final = b"\xffendstop\x01"
"""No text begins with it: 0xff is not in UTF-8."""
TEXT_MARK: Final = "encrypted:"
"""No entry of a journal begins with it: that is a JSON object."""
_NAME_BYTES: Final = ID_DIGITS // 2
_IN_CLEAR: Final = bytes(_NAME_BYTES + OVERHEAD)
"""After `MARK`, for clear content that begins with `MARK` itself: no key's name, and as long as that of encrypted."""
NOT_A_KEY: Final = "0" * ID_DIGITS
_LONGER: Final = len(MARK) + _NAME_BYTES + OVERHEAD
_ABOUT: Final = b"endstop store"
"""Authenticated with each body: a payload out of a history is no row of the store."""

_keys_of: Final[WeakKeyDictionary[Dialect, Keys]] = WeakKeyDictionary()
"""Each engine has a dialect of its own, and a column type learns nothing else of the engine that it works for."""


def encrypt_with(engine: Engine, keys: Keys) -> None:
    """From here on the engine's content is encrypted and decrypted with these keys."""
    _keys_of[engine.dialect] = keys


def newest_key(engine: Engine) -> str:
    """Name of the key that it encrypts with; "" where it does not."""
    return _keys_of.get(engine.dialect, CLEAR).newest


class SealedBytes(TypeDecorator[bytes]):
    """Bytes of content. Empty ones, which stand for content that was removed, stay empty."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """What the database gets."""
        return seal(value, _keys_of.get(dialect, CLEAR)) if value else value

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        """What the store gets. `StoreTroubled`: the key is not here."""
        return unseal(bytes(value), _keys_of.get(dialect, CLEAR)) if value else value


class SealedText(TypeDecorator[str]):
    """A text of content, such as an entry of a journal."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """What the database gets."""
        keys = _keys_of.get(dialect, CLEAR)
        if value is None or not keys.newest:
            return value
        return f"{TEXT_MARK}{keys.newest}:{base64.b64encode(keys.encrypt(value.encode(), _ABOUT)).decode()}"

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """What the store gets. `StoreTroubled`: the key is not here."""
        if value is None or not value.startswith(TEXT_MARK):
            return value
        name, _, body = value.removeprefix(TEXT_MARK).partition(":")
        try:
            content = base64.b64decode(body)
        except binascii.Error:
            return value
        opened = _opened(_keys_of.get(dialect, CLEAR), name, content)
        return value if opened is None else opened.decode()


def seal(clear: bytes, keys: Keys) -> bytes:
    """Content as it stands in the database."""
    if keys.newest:
        return MARK + bytes.fromhex(keys.newest) + keys.encrypt(clear, _ABOUT)
    return MARK + _IN_CLEAR + clear if clear.startswith(MARK) else clear


def unseal(stored: bytes, keys: Keys) -> bytes:
    """Content as it was put. `StoreTroubled`: the key is not here."""
    if not stored.startswith(MARK):
        return stored
    marked = stored.removeprefix(MARK)
    if marked.startswith(_IN_CLEAR):
        return marked.removeprefix(_IN_CLEAR)
    opened = _opened(keys, marked[:_NAME_BYTES].hex(), marked[_NAME_BYTES:])
    return stored if opened is None else opened


def _opened(keys: Keys, name: str, content: bytes) -> bytes | None:
    """None: it was altered."""
    try:
        return keys.decrypt(name, content, _ABOUT)
    except AlteredError:
        return None
    except KeyMissing as missing:
        raise StoreTroubled(str(missing)) from None


def as_stored(column: ColumnElement[bytes] | ColumnElement[str]) -> ColumnElement[bytes] | ColumnElement[str]:
    """The column as the database has it."""
    return type_coerce(column, column.type.impl_instance) if isinstance(column.type, TypeDecorator) else column


def is_marked(column: ColumnElement[bytes] | ColumnElement[str]) -> ColumnElement[bool]:
    """Whether the database cannot read what is there."""
    mark = MARK if isinstance(column.type, SealedBytes) else TEXT_MARK
    return func.substr(as_stored(column), 1, len(mark)) == mark


def key_of(column: ColumnElement[bytes] | ColumnElement[str]) -> Case[bytes] | Case[str]:
    """The name of the key that it is encrypted under, as it stands there; empty where it is clear."""
    stored = as_stored(column)
    if isinstance(column.type, SealedBytes):
        return case((is_marked(column), func.substr(stored, len(MARK) + 1, _NAME_BYTES)), else_=b"")
    return case((is_marked(column), func.substr(stored, len(TEXT_MARK) + 1, ID_DIGITS)), else_="")


def clear_length(column: ColumnElement[bytes]) -> Case[int]:
    """Bytes of the content, whether it is encrypted or not."""
    length = func.length(as_stored(column))
    return case((is_marked(column), length - _LONGER), else_=length)
