"""Payloads on their way to Temporal and back: encrypted with the newest key; what is forged is refused."""

import asyncio

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import ActivitySerializationContext
from temporalio.exceptions import ApplicationError

from encryption import CLEAR, KeyMissing, Keys
from workflows.codec import REFUSED, EncryptionCodec, converter_with
from workflows.payloads import UNREADABLE

OLD, NEW = b"o" * 32, b"n" * 32
KEYS = Keys([NEW, OLD])
VALUE = {"task": "CANARY", "n": 1}


async def test_a_payload_is_encrypted_whole_and_names_its_key():
    (payload,) = await converter_with(KEYS).encode([VALUE])

    assert b"CANARY" not in payload.SerializeToString()
    assert b"json" not in payload.SerializeToString()
    assert dict(payload.metadata) == {"encoding": b"binary/encrypted", "encryption-key-id": KEYS.newest.encode()}
    assert await converter_with(KEYS).decode([payload]) == [VALUE]


async def test_the_form_is_the_one_that_is_documented():
    """As docs/operating.md tells it to other languages, without any code of ours."""
    import hashlib

    (payload,) = await EncryptionCodec(KEYS).encode([Payload(metadata={"encoding": b"json/plain"}, data=b'"x"')])
    assert payload.metadata["encryption-key-id"].decode() == hashlib.sha256(NEW).hexdigest()[:16]
    clear = AESGCM(NEW).decrypt(payload.data[:12], payload.data[12:], None)
    assert Payload.FromString(clear) == Payload(metadata={"encoding": b"json/plain"}, data=b'"x"')


async def test_all_keys_decrypt_and_what_is_clear_is_left_as_it_is():
    old = await converter_with(Keys([OLD])).encode([VALUE])
    clear = await converter_with(CLEAR).encode([VALUE])

    assert b"CANARY" in clear[0].data
    assert await converter_with(KEYS).decode([*old, *clear]) == [VALUE, VALUE]


@pytest.mark.parametrize("here", [CLEAR, Keys([NEW])], ids=["without keys", "with other keys"])
async def test_a_payload_whose_key_is_missing_is_never_taken_for_something_else(here):
    payloads = await converter_with(Keys([OLD])).encode([VALUE])

    with pytest.raises(KeyMissing, match=Keys([OLD]).newest):
        await converter_with(here).decode(payloads)


async def test_an_activity_without_its_key_is_held_a_while_so_that_it_is_not_tried_again_and_again(monkeypatch):
    monkeypatch.setattr("workflows.codec.PAUSE_S", 3_600)
    payloads = await converter_with(Keys([OLD])).encode([VALUE])
    here = {"namespace": "default", "workflow_id": "run", "workflow_type": "AgentWorkflow", "activity_id": "1"}
    activity = ActivitySerializationContext(activity_type="x", activity_task_queue="q", is_local=False, **here)
    held = asyncio.create_task(converter_with(CLEAR).with_context(activity).decode(payloads))
    told = asyncio.create_task(converter_with(CLEAR).decode(payloads))
    done, waiting = await asyncio.wait({held, told}, return_when=asyncio.FIRST_COMPLETED)
    held.cancel()
    assert (done, waiting) == ({told}, {held})
    assert isinstance(told.exception(), KeyMissing)


def forged(**changed: bytes) -> Payload:
    metadata = {"encoding": b"binary/encrypted", "encryption-key-id": KEYS.newest.encode()}
    data = changed.pop("data", b"x" * 60)
    named = {name.replace("_", "-"): value for name, value in changed.items()}
    return Payload(metadata={k: v for k, v in {**metadata, **named}.items() if v != b"-"}, data=data)


FORGED = {
    "garbage under a key of ours": forged(),
    "nothing at all": forged(data=b""),
    "shorter than a nonce": forged(data=b"x" * 5),
    "no key": forged(encryption_key_id=b"-"),
    "an empty key": forged(encryption_key_id=b""),
    "a key that is no name": forged(encryption_key_id=b"\xff\xfe"),
    "a path as a key": forged(encryption_key_id=b"../../../etc/passwd"),
    "what decrypts to no payload": forged(data=KEYS.encrypt(b"\xff\xff\xff")),
}


@pytest.mark.parametrize("payload", FORGED.values(), ids=FORGED)
async def test_a_forged_payload_is_refused_and_raises_nothing(payload):
    assert await EncryptionCodec(KEYS).decode([payload]) == [REFUSED]
    assert await converter_with(KEYS).decode([payload]) == [UNREADABLE]


async def test_failures_have_neither_message_nor_details_nor_stack_in_clear():
    def fails() -> None:
        raise ApplicationError("CANARY happened", {"detail": "CANARY"}, type="Kind") from ValueError("CANARY below")

    failure = Failure()
    with pytest.raises(ApplicationError) as raised:
        fails()
    await converter_with(KEYS).encode_failure(raised.value, failure)

    assert b"CANARY" not in failure.SerializeToString()
    assert "test_codec" not in str(failure)
    back = await converter_with(KEYS).decode_failure(failure)
    assert (back.message, back.details, back.type) == ("CANARY happened", ({"detail": "CANARY"},), "Kind")
    assert str(back.__cause__) == "ValueError: CANARY below"
