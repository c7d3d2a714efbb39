"""Every scripted fault surfaces at the vendors' own clients as the error they raise for the real thing."""

import asyncio
import json

import anthropic
import httpx2
import openai
import pytest

from simulator import Cut, Drip, Error, ErrorInStream, ErrorWord, Hang, Huge, Raw, Refuse, Script, Simulator, Text
from simulator.anthropic_messages import ERRORS as ANTHROPIC_ERRORS
from simulator.openai_chat import ERRORS as OPENAI_ERRORS
from simulator.replies import FRAMING

MESSAGES = [{"role": "user", "content": "x"}]

SOON = 0.5
"""Seconds after which the clients here give up on a silent server; the answers compared with it never come."""

BIGGER_THAN_ANY_BUFFER = 1_000_000_000

ENDINGS = ("close", "reset")

WORDS = sorted(ErrorWord.__args__)

STATUS_ERRORS = {
    "rate_limited": (openai.RateLimitError, anthropic.RateLimitError),
    "overloaded": (openai.InternalServerError, anthropic.OverloadedError),
    "quota_exhausted": (openai.RateLimitError, anthropic.BadRequestError),
    "billing": (openai.RateLimitError, anthropic.BadRequestError),
    "auth": (openai.AuthenticationError, anthropic.AuthenticationError),
    "access_denied": (openai.PermissionDeniedError, anthropic.PermissionDeniedError),
    "model_unavailable": (openai.NotFoundError, anthropic.NotFoundError),
    "too_large": (openai.BadRequestError, anthropic.BadRequestError),
    "invalid_request": (openai.BadRequestError, anthropic.BadRequestError),
    "content_refused": (openai.BadRequestError, anthropic.BadRequestError),
    "file_missing": (openai.NotFoundError, anthropic.NotFoundError),
    "server_error": (openai.InternalServerError, anthropic.InternalServerError),
}


async def stream_into(seen, client):
    """Keep what comes before the error."""
    async for chunk in await client.chat.completions.create(model="m", messages=MESSAGES, stream=True):
        seen.append(chunk.choices[0].delta.content)


def test_both_vendors_have_an_envelope_for_every_word():
    assert set(OPENAI_ERRORS) == set(ANTHROPIC_ERRORS) == set(WORDS) == set(STATUS_ERRORS)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_an_error_word_becomes_the_clients_own_error(simulate, ask_openai, ask_anthropic, word, stream):
    sim = await simulate(Error(error=word, repeat=True))
    openai_error, anthropic_error = STATUS_ERRORS[word]
    with pytest.raises(openai_error) as at_openai:
        await ask_openai(sim, stream=stream)
    with pytest.raises(anthropic_error) as at_anthropic:
        await ask_anthropic(sim, stream=stream)
    assert at_openai.value.code == OPENAI_ERRORS[word][2]
    assert at_openai.value.request_id.startswith("req_")
    assert at_anthropic.value.body["error"]["type"] == ANTHROPIC_ERRORS[word][1]
    assert at_anthropic.value.body["request_id"] == at_anthropic.value.request_id


async def test_a_stated_wait_is_in_the_header_and_in_openais_sentence(simulate, ask_openai, ask_anthropic):
    sim = await simulate(Error(error="rate_limited", retry_after_s=7, repeat=True))
    with pytest.raises(openai.RateLimitError, match=r"Please try again in 7s\.") as at_openai:
        await ask_openai(sim)
    with pytest.raises(anthropic.RateLimitError) as at_anthropic:
        await ask_anthropic(sim)
    assert at_openai.value.response.headers["retry-after"] == "7"
    assert at_anthropic.value.response.headers["retry-after"] == "7"


async def test_without_a_stated_wait_none_is_hinted_at(simulate, ask_openai):
    with pytest.raises(openai.RateLimitError) as error:
        await ask_openai(await simulate(Error(error="rate_limited")))
    assert "try again" not in str(error.value)
    assert "retry-after" not in error.value.response.headers


async def test_scripted_message_and_headers_replace_the_usual_ones(simulate, ask_openai):
    reply = Error(error="auth", message="Key revoked.", headers={"X-Request-ID": "req_mine", "x-should-retry": "false"})
    with pytest.raises(openai.AuthenticationError, match=r"Key revoked\.") as error:
        await ask_openai(await simulate(reply))
    assert error.value.request_id == "req_mine"
    assert error.value.response.headers["x-should-retry"] == "false"


async def test_raw_sends_any_status_headers_and_body(simulate, ask_openai):
    reply = Raw(status=418, headers={"content-type": "text/html", "server": "teapot"}, body="<h1>no</h1>")
    with pytest.raises(openai.APIStatusError) as error:
        await ask_openai(await simulate(reply))
    assert error.value.status_code == 418
    assert error.value.response.headers["server"] == "teapot"
    assert error.value.response.text == "<h1>no</h1>"


async def test_html_in_a_200_is_taken_for_text_by_the_clients(simulate, ask_openai, ask_anthropic):
    sim = await simulate(Raw(headers={"content-type": "text/html"}, body="<html>hi</html>", repeat=True))
    assert await ask_openai(sim) == "<html>hi</html>"
    assert await ask_anthropic(sim) == "<html>hi</html>"


async def test_an_error_object_in_a_200_is_an_empty_answer_to_the_clients(simulate, ask_openai, ask_anthropic):
    sim = await simulate(Raw(body={"error": {"message": "Network connection lost.", "code": 502}}, repeat=True))
    assert (await ask_openai(sim)).choices is None
    assert (await ask_anthropic(sim)).content is None


async def test_an_empty_200_is_no_json(simulate, ask_openai):
    with pytest.raises(json.JSONDecodeError):
        await ask_openai(await simulate(Raw()))


@pytest.mark.parametrize("where", ["before_headers", "after_headers"])
async def test_a_hang_lasts_until_the_client_gives_up(simulate, ask_openai, ask_anthropic, where):
    sim = await simulate(Hang(where=where, repeat=True))
    with pytest.raises(openai.APITimeoutError):
        await ask_openai(sim, give_up_s=SOON)
    with pytest.raises((anthropic.APITimeoutError, httpx2.ReadTimeout)):
        await ask_anthropic(sim, stream=True, give_up_s=SOON)
    assert [(await sim.finished(seq)).outcome for seq in (1, 2)] == ["client_closed", "client_closed"]


async def test_a_hang_after_headers_has_sent_a_200_and_nothing_else(simulate, openai_to):
    sim = await simulate(Hang(where="after_headers"))
    client = await openai_to(sim)
    async with await client.chat.completions.create(model="m", messages=MESSAGES, stream=True) as stream:
        assert stream.response.status_code == 200
    ended = await sim.finished(1)
    assert (ended.outcome, ended.status, ended.bytes_sent) == ("client_closed", 200, 0)


@pytest.mark.parametrize(
    "cut",
    [Cut(after_events=n, ending=end, repeat=True) for n in (0, 3) for end in ENDINGS],
    ids=lambda cut: f"{cut.ending} after {cut.after_events}",
)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_a_cut_answer_is_a_connection_error(simulate, ask_openai, ask_anthropic, cut, stream):
    sim = await simulate(cut)
    with pytest.raises(openai.APIConnectionError):
        await ask_openai(sim, stream=stream)
    with pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError, httpx2.ReadError)):
        await ask_anthropic(sim, stream=stream)
    ended = await sim.finished(1)
    assert ended.outcome == "cut"
    assert (ended.bytes_sent > 0) == (cut.after_events > 0)


async def test_a_plain_answer_is_cut_in_half_however_many_events_are_asked_for(simulate, post_raw):
    sim = await simulate(Cut(after_events=99, ending="clean"), Text(text="This answer is cut before its end."))
    half, whole = await post_raw(sim), await post_raw(sim)
    assert half.count(b"chat.completion") == 1
    assert b"usage" in whole
    assert b"usage" not in half


async def test_the_events_before_the_cut_arrive(simulate, openai_to):
    sim = await simulate(Cut(after_events=3, answer=Text(text="abc"), ending="reset"))
    client = await openai_to(sim)
    seen = []
    with pytest.raises(openai.APIConnectionError):
        await stream_into(seen, client)
    assert seen == ["", "a", "b"]


async def test_a_clean_cut_is_a_stream_without_a_finish_reason(simulate, ask_openai):
    chunks = await ask_openai(await simulate(Cut(after_events=3, ending="clean")), stream=True)
    assert len(chunks) == 3
    assert all(chunk.choices[0].finish_reason is None for chunk in chunks)


async def test_a_stall_sends_its_events_and_then_nothing(simulate, openai_to):
    sim = await simulate(Cut(after_events=2, ending="stall", answer=Text(text="abc")))
    client = await openai_to(sim)
    async with await client.chat.completions.create(model="m", messages=MESSAGES, stream=True) as chunks:
        seen = [(await anext(chunks)).choices[0].delta.content for _ in range(2)]
        sent_nothing_more = asyncio.create_task(anext(chunks))
        await asyncio.wait([sent_nothing_more], timeout=SOON)
        assert not sent_nothing_more.done()
        sent_nothing_more.cancel()
    assert seen == ["", "a"]
    assert (await sim.finished(1)).outcome == "client_closed"


async def test_an_error_in_the_stream_is_raised_after_a_good_start(simulate, ask_openai, ask_anthropic):
    sim = await simulate(ErrorInStream(error="overloaded", after_events=3, repeat=True))
    with pytest.raises(openai.APIError, match="temporarily overloaded") as at_openai:
        await ask_openai(sim, stream=True)
    with pytest.raises(anthropic.APIStatusError) as at_anthropic:
        await ask_anthropic(sim, stream=True)
    assert at_openai.value.code == "server_is_overloaded"
    assert at_anthropic.value.status_code == 200
    assert at_anthropic.value.body["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_refused_request_gets_not_one_byte(simulate, ask_openai, ask_anthropic, ending):
    sim = await simulate(Refuse(ending=ending, repeat=True))
    with pytest.raises(openai.APIConnectionError):
        await ask_openai(sim)
    with pytest.raises(anthropic.APIConnectionError):
        await ask_anthropic(sim, stream=True)
    assert [(await sim.finished(seq)).status for seq in (1, 2)] == [None, None]


async def test_a_dripped_answer_is_whole_in_the_end(simulate, ask_openai, ask_anthropic):
    sim = await simulate(Drip(interval_s=0, answer=Text(text="Größe"), repeat=True))
    assert (await ask_openai(sim)).choices[0].message.content == "Größe"
    assert (await ask_anthropic(sim, stream=True)).content[0].text == "Größe"


async def test_a_drip_keeps_its_interval(simulate, ask_openai):
    sim = await simulate(Drip(interval_s=3600))
    with pytest.raises(openai.APITimeoutError):
        await ask_openai(sim, give_up_s=SOON)
    ended = await sim.finished(1)
    assert (ended.outcome, ended.bytes_sent) == ("client_closed", 0)


async def test_a_drip_is_sent_byte_by_byte(simulate, post_raw):
    sim = await simulate(Drip(interval_s=0))
    _, _, body = (await post_raw(sim)).partition(b"\r\n\r\n")
    *chunks, last, _, _ = body.split(b"\r\n")
    assert last == b"0"
    assert set(chunks[0::2]) == {b"1"}
    assert {len(byte) for byte in chunks[1::2]} == {1}


@pytest.mark.parametrize("gzip", [False, True], ids=["plain", "bomb"])
async def test_a_huge_body_has_its_size_and_a_bomb_is_small_on_the_wire(simulate, ask_openai, gzip):
    sim = await simulate(Huge(size=3_000_001, gzip=gzip))
    assert len(await ask_openai(sim)) == 2_999_999  # the string without its two quotes
    sent = (await sim.finished(1)).bytes_sent
    assert sent < 10_000 if gzip else sent == 3_000_001


@pytest.mark.parametrize("name", FRAMING)
def test_a_script_cannot_lie_about_the_framing(name):
    with pytest.raises(ValueError, match=f"{name} is computed from the body"):
        Raw(headers={name.title(): "7080"})


async def test_a_delay_comes_before_the_first_byte(simulate, ask_openai):
    sim = await simulate(Text(text="late", delay_s=3600))
    with pytest.raises(openai.APITimeoutError):
        await ask_openai(sim, give_up_s=SOON)
    assert (await sim.finished(1)).status is None


@pytest.mark.parametrize("reply", [Refuse(ending="reset"), Cut(after_events=0, ending="reset")], ids=["refuse", "cut"])
async def test_a_reset_is_a_tcp_reset(simulate, post_raw, reply):
    sim = await simulate(reply)
    with pytest.raises(ConnectionResetError):
        await post_raw(sim)


async def test_a_close_is_no_reset(simulate, post_raw):
    sim = await simulate(Refuse(), Cut(after_events=0))
    assert await post_raw(sim) == b""
    assert (await post_raw(sim)).startswith(b"HTTP/1.1 200")


async def test_a_client_that_resets_while_it_is_sent_to_has_hung_up(simulate, post_unread):
    sim = await simulate(Huge(size=BIGGER_THAN_ANY_BUFFER))
    writer = await post_unread(sim)
    writer.transport.abort()
    assert (await sim.finished(1)).outcome == "client_closed"


async def test_a_client_that_does_not_read_cannot_keep_the_simulator_from_stopping(post_unread):
    async with asyncio.timeout(30):
        async with Simulator(Script(default=Huge(size=BIGGER_THAN_ANY_BUFFER))) as sim:
            writer = await post_unread(sim)
        assert sim.connections_open == 0
    writer.close()
