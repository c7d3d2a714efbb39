"""The payload converter of Endstop's clients and workers: what cannot be decoded is told, never raised.

A starter or a sender may put anything into a payload. Temporal decodes a workflow's arguments before the workflow
runs; where that raises, the workflow task fails and is tried again for ever (FAULTS S9). So an argument that nobody
has declared a type for becomes `UNREADABLE`, and the workflow refuses it in words.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, cast

from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.converter import DataConverter, PayloadConverter


class Unreadable:
    """Stands for a payload that is no JSON, is nested too deeply to be read, or has an encoding nobody knows here."""


UNREADABLE: Final = Unreadable()


class LenientPayloadConverter(PydanticPayloadConverter):
    """Pydantic's converter, save that a payload without a declared type never fails to decode."""

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        """Decode each payload; one that cannot be decoded becomes `UNREADABLE` where no type was declared."""
        if type_hints is not None:
            return super().from_payloads(payloads, type_hints)
        return [self._read(payload) for payload in payloads]

    def _read(self, payload: Payload) -> Any:  # noqa: ANN401 - whatever was sent
        try:
            return super().from_payloads([payload])[0]
        except (KeyError, RuntimeError, ValueError):  # unknown encoding; wrapped or too deep; no JSON
            return UNREADABLE


class LenientDataConverter(DataConverter):
    """Temporal's, save that a payload which claims to lie in a storage elsewhere is not looked for, nor raises.

    Nobody here has such a storage (FAULTS 33), and what raises before the payload converter is asked fails the
    workflow task as well. The SDK has no public place for this; a test with forged claims watches over it.
    """

    async def _decode_reference_payload_sequence(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def _external_retrieve_payload_sequence(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)


_the_one: Final = cast("type[PayloadConverter]", cache(LenientPayloadConverter))
"""Temporal makes a converter for each activation, activity and payload. Ours holds only what pydantic compiled."""

data_converter: Final = LenientDataConverter(payload_converter_class=_the_one)
"""For every client whose worker runs `AgentWorkflow`."""
