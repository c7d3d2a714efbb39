"""Settings that lead nowhere, seen by the person who has to mend them: `show` says what to look at, not only "network".

One worker serves the module; each of its providers is declared wrongly in one way.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from temporalio.client import Client, WorkflowFailureError

from commands.server import free_port
from simulator.script import Script
from tests.activities.certificate import self_signed
from tests.faults.conftest import Stage, eventually, staged
from tests.faults.test_security import endstop
from workflows.payloads import data_converter

NO_WAIT = {"calls": {"attempts": 1, "patience_s": 0}}
PAGE = "<html><head><title>Sign in to this network</title></head><body><form></form></body></html>"
SAYS = {
    # a provider: what the simulator answers as it, how it fails, and where `show` sends the operator
    "closed": (None, "network", "nothing answers at its address: look at host and port of base_url"),
    "nowhere": (None, "network", "its host is not known here: look at the host of base_url"),
    "untrusted": (None, "network", "its certificate is not trusted here: look at base_url, or let SSL_CERT_FILE"),
    "plain": (None, "network", "no TLS came about: look whether base_url should begin with http://"),
    "elsewhere": (
        (404, "404 page not found"),
        "invalid_request",
        "it knows no such path: look at the path of base_url",
    ),
    "captive": ((200, PAGE), "bad_output", "a web page answered in its place: look at base_url"),
    "walled": ((403, PAGE), "access_denied", "a web page refused the request: look for a firewall or a proxy"),
    "wrongkey": ((401, ""), "auth", "its key was not accepted: look at the variable that key_env names"),
}


@pytest.fixture(scope="module")
async def act(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    folder = tmp_path_factory.mktemp("unreachable")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(folder))
    async with AsyncExitStack() as closing:
        untrusted = await closing.enter_async_context(await asyncio.start_server(_ignored, "127.0.0.1", 0, ssl=context))
        plain = await closing.enter_async_context(await asyncio.start_server(_no_tls, "127.0.0.1", 0))
        there = dict.fromkeys(SAYS, "SIMULATOR/v1") | {
            "closed": f"http://127.0.0.1:{free_port()}/v1",
            "nowhere": "http://no-such-host.invalid/v1",
            "untrusted": f"https://127.0.0.1:{untrusted.sockets[0].getsockname()[1]}/v1",
            "plain": f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/v1",
        }
        tables = [f'[providers.{name}]\napi = "openai-chat"\nbase_url = "{url}"\n' for name, url in there.items()]
        tables.append('[providers.keyless]\napi = "openai-chat"\nbase_url = "SIMULATOR/v1"\nkey_env = "A_KEY"\n')
        client = await Client.connect(temporal_server, data_converter=data_converter)
        yield await closing.enter_async_context(staged(client, temporal_server, folder, {}, "".join(tables)))


async def _ignored(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("provider", SAYS)
async def test_show_tells_a_person_what_to_look_at(act: Stage, provider: str) -> None:
    answer, kind, where = SAYS[provider]
    status, body = answer or (200, "")
    act.simulator.use(Script.parse({"models": {"m": [{"kind": "raw", "status": status, "body": body}]}}))
    run = await act.start({"models": [f"{provider}:m"], "policy": NO_WAIT})
    await eventually(lambda: run.query("intervention"))
    shown = await endstop(act, "show", run.id)
    assert f"{provider}:m failed last with {kind} (" in shown
    assert where in shown
    await run.terminate()


async def test_a_missing_key_ends_the_start_and_names_the_variable_and_the_model(act: Stage) -> None:
    before = len(act.simulator.requests)
    run = await act.start({"models": ["keyless:m"]})
    with pytest.raises(WorkflowFailureError) as failure:
        await run.result()
    assert "set the variable A_KEY for keyless:m" in str(failure.value.cause)
    assert len(act.simulator.requests) == before
