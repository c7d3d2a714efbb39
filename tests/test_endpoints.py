"""Other endpoints by configuration only: the example file is read as it is, and each is asked as its vendor wants it.

The simulator stands in for all of them: an endpoint keeps its path and query, only host and port are replaced.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from activities.client import Came, NothingCame, Request
from activities.declared import Provider
from activities.exchange import Exchange
from activities.messages import user_message
from activities.pydantic_ai_client import PydanticAIClient
from settings import load_settings
from simulator import Script, Simulator, Text
from tests.activities.model_bench import APIS, KEY

EXAMPLE = Path(__file__).parent.parent / "examples/endpoints.toml"
DECLARED = load_settings(EXAMPLE, environ={}).declared
BY_KEY = [name for name, provider in DECLARED.providers.items() if not provider.project]

ASKED_FOR = {
    "openai": "/v1/responses",
    "anthropic": "/v1/messages",
    "google": "/v1beta/models/m:streamGenerateContent?alt=sse",
    "azure": "/openai/v1/responses",
    "azure-dated": "/openai/deployments/DEPLOYMENT/chat/completions?api-version=2024-10-21",
    "vertex": "/v1beta1/projects/my-project/locations/global/publishers/google/models/m:streamGenerateContent?alt=sse",
    "bedrock": "/openai/v1/chat/completions",
    "bedrock-claude": "/anthropic/v1/messages",
    "openrouter": "/api/v1/chat/completions",
    "groq": "/openai/v1/chat/completions",
    "mistral": "/v1/chat/completions",
    "ollama": "/v1/chat/completions",
    "vllm": "/v1/chat/completions",
    "llamacpp": "/v1/chat/completions",
}
"""Path and query of a request, as each vendor's documentation has them."""


GEMINIS: Final = "x-goog-api-key"
"""The header of Gemini's own client; the others' clients send a bearer."""

REQUEST = Request(model="m", instructions="Be brief.", messages=(user_message("Hello?"),), max_tokens=100)


def declared_at(name: str, url: str) -> Provider:
    """The example's endpoint with this host and port, and a key where it names one."""
    known = DECLARED.providers[name]
    key = SecretStr(KEY) if known.key_env else None
    return Provider(**dict(known) | {"base_url": url + urlsplit(known.base_url).path, "key": key})


@asynccontextmanager
async def listening(answer: bytes = b"") -> AsyncIterator[tuple[str, list[str]]]:
    """An address that keeps what it hears of a request, up to the body, and gives this answer."""
    heads: list[str] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}", heads


def read(head: str) -> tuple[str, list[tuple[str, str]]]:
    """The request line, and the headers with their names in lower case."""
    line, *headers = head.strip().splitlines()
    pairs = (header.split(": ", 1) for header in headers)
    return line, [(name.lower(), text) for name, text in pairs]


async def asked(provider: Provider) -> tuple[Came | NothingCame, Exchange]:
    client, exchange = PydanticAIClient(provider), Exchange(run="run", attempt="1.1.1")
    try:
        return await client.ask(REQUEST, exchange), exchange
    finally:
        await client.close()


def test_every_endpoint_of_the_example_is_tried_here():
    assert set(ASKED_FOR) == set(DECLARED.providers)


@pytest.mark.parametrize("name", BY_KEY)
async def test_an_endpoint_is_asked_at_its_address_with_its_key_in_its_header_and_nowhere_else(name):
    provider = DECLARED.providers[name]
    async with listening() as (url, heads):
        await asked(declared_at(name, url))
    (head,) = heads
    line, headers = read(head)
    assert line == f"POST {ASKED_FOR[name]} HTTP/1.1"
    header = provider.key_header or (GEMINIS if provider.api == "google" else "authorization")
    value = f"Bearer {KEY}" if header == "authorization" else KEY
    assert {name: text for name, text in headers if KEY in text} == ({header: value} if provider.key_env else {})


@pytest.mark.parametrize("header", ["x-gateway-key", "authorization"])
@pytest.mark.parametrize("api", APIS)
async def test_a_key_goes_into_the_declared_header_alone_whatever_the_protocol(api, header):
    async with listening() as (url, heads):
        await asked(Provider(name="a", api=api, base_url=url, key=SecretStr(KEY), key_header=header.title()))
    _, headers = read(heads[0])
    value = f"Bearer {KEY}" if header == "authorization" else KEY
    assert [(name, text) for name, text in headers if KEY in text] == [(header, value)]


@pytest.mark.parametrize("name", BY_KEY)
async def test_an_endpoint_is_spoken_to_in_words_that_its_protocol_takes(name):
    async with Simulator(Script(strict=True, models={"m": (Text(text="Hello."),)})) as sim:
        came, exchange = await asked(declared_at(name, sim.url))
        assert isinstance(came, Came), exchange.body
        body = sim.requests[0].body
    refused = set(DECLARED.providers[name].without)
    assert not refused & set(body)
    assert ("stream_options" in body) is (DECLARED.providers[name].api == "openai-chat" and not refused)


async def test_vertex_is_asked_with_a_token_of_the_machines_google_account(tmp_path, monkeypatch):
    grant = b'{"access_token": "a-token", "expires_in": 3600, "token_type": "Bearer"}'
    http = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(grant)
    async with listening(http + grant) as (google, granted), listening() as (url, heads):
        account = service_account(tmp_path, token_uri=google)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
        await asked(declared_at("vertex", url))
    line, headers = read(heads[0])
    assert len(granted) == len(heads) == 1
    assert line == f"POST {ASKED_FOR['vertex']} HTTP/1.1"
    assert ("authorization", "Bearer a-token") in headers


async def test_vertex_without_a_google_account_is_a_missing_key_before_anything_is_sent(tmp_path, monkeypatch):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "nothing.json"))
    async with listening() as (url, heads):
        came, exchange = await asked(declared_at("vertex", url))
    assert came == NothingCame(no_credentials=True)
    assert not exchange.sent
    assert not heads


def service_account(folder: Path, token_uri: str) -> Path:
    """A service account's file as Google Cloud gives it, whose tokens come from `token_uri`."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    account = {
        "type": "service_account",
        "project_id": "my-project",
        "private_key": pem,
        "client_email": "worker@my-project.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }
    file = folder / "account.json"
    file.write_text(json.dumps(account))
    return file
