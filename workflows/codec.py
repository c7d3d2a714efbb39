"""How payloads are encrypted on their way to Temporal, and decrypted on their way back (FAULTS 33, 40).

The form is that of the codecs in Temporal's own samples, so that any language can have it: `encoding` is
`binary/encrypted`, `encryption-key-id` names the key, and `data` is the whole payload, encrypted. Not imported by
workflow code: the worker and the client call it.
"""

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
)

from encryption import AlteredError, KeyMissing, Keys
from encryption.keys import ID_DIGITS
from workflows.payloads import data_converter

ENCODING: Final = b"binary/encrypted"
KEY_ID: Final = "encryption-key-id"

PAUSE_S: Final = 3.0
"""Seconds that an activity without its key is held before it fails. A call is then tried again at once, maybe here: its
wait is inside the activity that could not be read. Shorter than any heartbeat timeout of ours."""

REFUSED: Final = Payload(metadata={"encoding": b"binary/refused"})
"""What stands for a payload that nobody encrypted with a key of ours: no converter reads it."""


class EncryptionCodec(PayloadCodec, WithSerializationContext):
    """Encrypts every payload with the newest key; decrypts what is encrypted, and leaves what is clear.

    What claims a key that is here and was not made with it becomes `REFUSED`, for every worker that has the key, so
    nobody can stop a run by sending it. A key that is not here raises `KeyMissing`: the task is tried again, and goes
    on as it would have once the key is back.
    """

    def __init__(self, keys: Keys, *, pause_s: float = 0) -> None:
        self._keys = keys
        self._pause_s = pause_s

    def with_context(self, context: SerializationContext) -> "EncryptionCodec":
        """The codec of an activity takes its time to fail; everybody else is told at once."""
        if isinstance(context, ActivitySerializationContext):
            return EncryptionCodec(self._keys, pause_s=PAUSE_S)
        return self

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt each, as long as there is a key."""
        return [self._encrypted(payload) for payload in payloads] if self._keys.newest else list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt those that are encrypted."""
        try:
            return [self._decrypted(payload) if is_encrypted(payload) else payload for payload in payloads]
        except KeyMissing:
            await asyncio.sleep(self._pause_s)
            raise

    def _encrypted(self, payload: Payload) -> Payload:
        metadata = {"encoding": ENCODING, KEY_ID: self._keys.newest.encode()}
        return Payload(metadata=metadata, data=self._keys.encrypt(payload.SerializeToString()))

    def _decrypted(self, payload: Payload) -> Payload:
        name = payload.metadata[KEY_ID].decode(errors="replace") if KEY_ID in payload.metadata else ""
        if not re.fullmatch(rf"[0-9a-f]{{{ID_DIGITS}}}", name):
            return REFUSED
        try:
            return Payload.FromString(self._keys.decrypt(name, payload.data))
        except (AlteredError, DecodeError):
            return REFUSED


def is_encrypted(payload: Payload) -> bool:
    return payload.metadata.get("encoding") == ENCODING


def converter_with(keys: Keys) -> DataConverter:
    """The converter of every client and worker of ours. What is encrypted is never taken for something else.

    With keys the messages of failures are encrypted too.
    """
    with_codec = dataclasses.replace(data_converter, payload_codec=EncryptionCodec(keys))
    if not keys.newest:
        return with_codec
    return dataclasses.replace(with_codec, failure_converter_class=DefaultFailureConverterWithEncodedAttributes)
