"""The codec server, by the requests that Temporal's Web UI and command make of it."""

import asyncio
import base64
import sysconfig
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.client import Client

from commands.decoding import serve
from commands.refusals import BadInput
from encryption import Keys
from inbox.serving import serving_codec
from workflows.codec import EncryptionCodec, converter_with

KEYS, OTHER = Keys([b"k" * 32]), Keys([b"o" * 32])
UI = "http://localhost:8233"
CLEAR = Payload(metadata={"encoding": b"json/plain"}, data=b'"CANARY"')
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "content-type,x-namespace"}


@pytest.fixture
async def address():
    async with serving_codec(EncryptionCodec(KEYS), 0, UI) as served:
        yield served


@pytest.fixture
async def browser():
    async with httpx2.AsyncClient() as client:
        yield client


async def sent(browser, url, *payloads, **headers):
    """As the Web UI sends it."""
    body = MessageToDict(Payloads(payloads=payloads))
    return await browser.post(url, json=body, headers={"x-namespace": "default", "origin": UI} | headers)


def payloads(response) -> list[Payload]:
    assert response.status_code == 200
    return list(ParseDict(response.json(), Payloads()).payloads)


async def test_what_is_encoded_is_decoded_and_may_be_read_by_the_pages_of_the_web_ui(address, browser):
    encoded = await sent(browser, f"{address}/encode", CLEAR)
    assert b"CANARY" not in payloads(encoded)[0].SerializeToString()

    decoded = await sent(browser, f"{address}/decode", *payloads(encoded), CLEAR)

    assert payloads(decoded) == [CLEAR, CLEAR]
    assert decoded.headers["access-control-allow-origin"] == UI
    assert decoded.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("origin", [UI, "http://127.0.0.1:8233"])
async def test_a_browser_is_told_that_the_web_ui_may_ask(address, browser, origin):
    told = await browser.options(f"{address}/decode", headers=PREFLIGHT | {"origin": origin})
    assert told.status_code == 200
    assert told.headers["access-control-allow-origin"] == origin


async def test_a_port_that_goes_without_saying_may_be_said(browser):
    ui = "https://ui.example"  # as browsers write it
    async with serving_codec(EncryptionCodec(KEYS), 0, f"{ui}:443") as served:
        assert payloads(await sent(browser, f"{served}/decode", CLEAR, origin=ui)) == [CLEAR]


@pytest.mark.parametrize("ui", ["localhost:8233", "http://localhost:abc", "http://[::1", "", "ftp://localhost"])
async def test_what_is_no_address_of_a_page_is_one_line(ui):
    with pytest.raises(BadInput, match=r"--ui .*: expected the Web UI's address, such as http://localhost:8233"):
        await serve(None, 0, ui)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:8234", "https://localhost:8233", "null"])
async def test_a_page_of_another_origin_gets_nothing_although_it_knows_the_address(address, browser, origin):
    told = await browser.options(f"{address}/decode", headers=PREFLIGHT | {"origin": origin})
    assert told.status_code == 400
    refused = await sent(browser, f"{address}/decode", CLEAR, origin=origin)
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


async def test_without_the_token_or_under_another_name_nothing_is_decoded(address, browser):
    (secret,) = payloads(await sent(browser, f"{address}/encode", CLEAR))
    base, _, token = address.rpartition("/")
    for url in (f"{base}/decode", f"{base}/wrong/decode", f"{base}/{token[:-1]}/decode"):
        refused = await sent(browser, url, secret)
        assert refused.status_code in {403, 404, 405}
        assert "CANARY" not in refused.text
    assert (await sent(browser, f"{address}/decode", secret, host="evil.example")).status_code == 400
    assert (await browser.get(f"{address}/decode")).status_code == 405


async def test_a_payload_whose_key_is_missing_hides_none_of_the_others(address, browser):
    (lost,) = await EncryptionCodec(OTHER).encode([CLEAR])
    (found,) = await EncryptionCodec(KEYS).encode([CLEAR])

    decoded = await sent(browser, f"{address}/decode", lost, found)

    assert payloads(decoded) == [lost, CLEAR]


@pytest.mark.parametrize("body", [b"", b"{", b'{"payloads": 7}', b'{"other": []}', b"\xff"])
async def test_what_is_no_list_of_payloads_is_refused(address, browser, body):
    assert (await browser.post(f"{address}/decode", content=body)).status_code == 400


async def test_the_temporal_command_shows_a_run_through_it_and_nothing_without(address, temporal_server):
    client = await Client.connect(temporal_server, data_converter=converter_with(KEYS))
    run = f"run-{uuid4()}"
    await client.start_workflow("AgentWorkflow", {"task": "CANARY"}, id=run, task_queue="nobody-at-all")

    async def shown(*flags: str) -> str:
        binary = Path(sysconfig.get_path("scripts")) / "temporal"
        argv = ("workflow", "show", "-w", run, "--output", "json", "--address", temporal_server, *flags)
        process = await asyncio.create_subprocess_exec(binary, *argv, stdout=PIPE, stderr=STDOUT)
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
        return out.decode()

    clear = base64.b64encode(b'{"task":"CANARY"}').decode()  # as its JSON shows a payload
    assert clear in await shown("--codec-endpoint", address)
    assert clear not in await shown()
