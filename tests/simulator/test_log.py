"""What the simulator records: every request and every answer, who hung up, and no key."""

import asyncio
import hashlib
import json

import openai
import pytest

from simulator import Cut, Hang, Script, Simulator, Text, log
from simulator.wire import BODY_LIMIT

KEY = "sk-canary-5f1c"
MESSAGES = [{"role": "user", "content": "Where are you?"}]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_request_is_recorded_with_what_it_said(simulate, ask_openai):
    sim = await simulate(Text(text="here"))
    await ask_openai(sim, messages=MESSAGES, extra_headers={"x-endstop-run": "run-1", "x-endstop-attempt": "3.1.2"})
    (record,) = sim.requests
    assert (record.seq, record.dialect, record.model, record.number) == (1, "openai_chat", "m", 1)
    assert (record.lane, record.attempt) == ("run-1", "3.1.2")
    assert (record.method, record.path) == ("POST", "/v1/chat/completions")
    assert record.body["messages"] == MESSAGES
    assert record.body_sha256 == hashlib.sha256(record.raw).hexdigest()
    assert record.body_size == len(record.raw)


async def test_no_key_is_kept_anywhere(simulate, ask_openai, ask_anthropic, tmp_path):
    file = tmp_path / "log.jsonl"
    sim = await simulate(script=Script(keys=(KEY,)), log=file)
    await ask_openai(sim, key=KEY)
    await ask_anthropic(sim, key=KEY, extra_query={"key": KEY}, extra_headers={"x-api-key": KEY})
    assert [record.headers["authorization"] for record in sim.requests] == ["***", "***"]
    assert sim.requests[1].headers["x-api-key"] == "***"
    for seq in (1, 2):
        await sim.finished(seq)
    assert KEY not in file.read_text() + repr(sim.requests) + repr(Script(keys=(KEY,)))


async def test_the_file_has_one_line_a_request_and_one_an_answer_with_the_attempts_id(simulate, ask_openai, tmp_path):
    file = tmp_path / "log.jsonl"
    sim = await simulate(Text(text="one"), Cut(after_events=0), log=file)
    await ask_openai(sim, extra_headers={"x-endstop-attempt": "a1"})
    with pytest.raises(openai.APIConnectionError):
        await ask_openai(sim, extra_headers={"x-endstop-attempt": "a2"})
    await sim.finished(2)
    lines = lines_of(file)
    assert [(line["event"], line["attempt"], line["seq"]) for line in lines] == [
        ("received", "a1", 1),
        ("answered", "a1", 1),
        ("received", "a2", 2),
        ("answered", "a2", 2),
    ]
    assert [line["outcome"] for line in lines if line["event"] == "answered"] == ["sent", "cut"]
    assert [line["reply"] for line in lines if line["event"] == "answered"] == ["text", "cut"]


async def test_the_line_of_a_request_is_written_before_its_answer_begins(simulate, openai_to, tmp_path):
    file = tmp_path / "log.jsonl"
    sim = await simulate(Hang(where="after_headers"), log=file)
    client = await openai_to(sim)
    async with await client.chat.completions.create(model="m", messages=MESSAGES, stream=True):
        assert [line["event"] for line in lines_of(file)] == ["received"]


async def test_each_line_is_on_the_disk_and_not_only_in_a_buffer(simulate, ask_openai, tmp_path, monkeypatch):
    file = tmp_path / "log.jsonl"
    synced = []
    monkeypatch.setattr(log.os, "fsync", lambda _: synced.append(len(lines_of(file))))
    sim = await simulate(Text(text="here"), log=file)
    await ask_openai(sim)
    await sim.finished(1)
    assert synced == [1, 2]


async def test_a_second_life_appends_to_the_same_file(ask_openai, tmp_path):
    file = tmp_path / "log.jsonl"
    for _ in range(2):
        async with Simulator(log=file) as sim:
            await ask_openai(sim)
            await sim.finished(1)
    assert [line["event"] for line in lines_of(file)] == ["received", "answered"] * 2


@pytest.mark.parametrize("held", [Hang(), Text(text="late", held_until="never")], ids=["hang", "held"])
async def test_a_cancelled_call_is_seen_to_close_its_socket(simulate, ask_openai, held):
    sim = await simulate(held)
    call = asyncio.create_task(ask_openai(sim))
    await sim.received(1)
    assert sim.connections_open == 1
    call.cancel()
    assert (await sim.finished(1)).outcome == "client_closed"
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_client_that_leaves_in_mid_stream_is_seen_to_close_its_socket(simulate, openai_to):
    sim = await simulate(Text(text="a long story", event_delay_s=3600))
    client = await openai_to(sim)
    async with await client.chat.completions.create(model="m", messages=MESSAGES, stream=True) as chunks:
        await anext(aiter(chunks))
    ended = await sim.finished(1)
    assert ended.outcome == "client_closed"
    assert 0 < ended.bytes_sent < 1500


async def test_an_answer_waits_for_its_release(simulate, ask_openai):
    sim = await simulate(Text(text="first", held_until="go"), Text(text="second", held_until="go"))
    call = asyncio.create_task(ask_openai(sim))
    await sim.received(1)
    sim.release("go")
    assert (await call).choices[0].message.content == "first"
    assert (await ask_openai(sim)).choices[0].message.content == "second"


async def test_one_connection_serves_one_client_for_many_calls(simulate, openai_to):
    sim = await simulate(Text(text="x", repeat=True))
    client = await openai_to(sim)
    for _ in range(3):
        await client.chat.completions.create(model="m", messages=MESSAGES)
    assert sim.connections_open == 1


async def test_many_calls_at_once_are_each_received_and_answered_once(simulate, openai_to):
    sim = await simulate(*[Text(text=str(number)) for number in range(50)])
    client = await openai_to(sim)
    calls = [client.chat.completions.create(model="m", messages=MESSAGES) for _ in range(50)]
    said = [answer.choices[0].message.content for answer in await asyncio.gather(*calls)]
    assert sorted(said, key=int) == [str(number) for number in range(50)]
    assert sorted(record.number for record in sim.requests) == list(range(1, 51))


async def test_stopping_ends_open_answers_and_says_so(openai_to, tmp_path):
    file = tmp_path / "log.jsonl"
    async with Simulator(Script(default=Hang()), file) as sim:
        client = await openai_to(sim)
        call = asyncio.create_task(client.chat.completions.create(model="m", messages=MESSAGES))
        await sim.received(1)
    with pytest.raises(openai.APIConnectionError):
        await call
    assert lines_of(file)[-1]["outcome"] == "stopped"


async def test_old_bodies_are_dropped_and_their_records_stay(simulate, ask_openai, monkeypatch):
    sim = await simulate(Text(text="x", repeat=True))
    monkeypatch.setattr(log, "BODIES_KEPT", 2500)
    for _ in range(4):
        await ask_openai(sim, messages=[{"role": "user", "content": "y" * 1000}])
    assert [record.body is None for record in sim.requests] == [True, True, False, False]
    assert all(record.body_size > 1000 for record in sim.requests)


async def test_a_request_over_64_mb_is_refused_recorded_and_not_kept(simulate, ask_openai):
    sim = await simulate(Text(text="x"))
    with pytest.raises(openai.BadRequestError, match="at most 67108864 are read"):
        await ask_openai(sim, messages=[{"role": "user", "content": "y" * BODY_LIMIT}])
    (record,) = sim.requests
    assert record.body_size > BODY_LIMIT
    assert (record.body, record.number) == (None, 0)


@pytest.mark.parametrize("noise", [b"\x16\x03\x01 TLS\r\n\r\n", b"POST /v1/messages HTTP/1.1\r\nhost: x\r\n", b""])
async def test_a_client_that_sends_no_request_disturbs_nobody(simulate, ask_openai, connect, noise):
    sim = await simulate(Text(text="fine"))
    _, writer = await connect(sim)
    writer.write(noise)
    writer.close()
    assert (await ask_openai(sim)).choices[0].message.content == "fine"
    assert len(sim.requests) == 1
