"""Real SDK clients, pointed at a simulator and told to retry nothing."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import anthropic
import openai
import pytest
from google import genai

from simulator import Reply, Script, Simulator

MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as exits:
        yield exits


@pytest.fixture
def simulate(stack: AsyncExitStack) -> Callable:
    """Start a simulator in which the model "m" answers with these replies, or with a whole script."""

    async def start(*replies: Reply, script: Script | None = None, log=None) -> Simulator:
        script = script or Script(models={"m": replies})
        return await stack.enter_async_context(Simulator(script, log))

    return start


@pytest.fixture
def openai_to(stack: AsyncExitStack) -> Callable:
    async def client(sim: Simulator, **options) -> openai.AsyncOpenAI:
        settings = {"api_key": "sim-key", "max_retries": 0, "timeout": 30, **options}
        return await stack.enter_async_context(openai.AsyncOpenAI(base_url=f"{sim.url}/v1", **settings))

    return client


@pytest.fixture
def anthropic_to(stack: AsyncExitStack) -> Callable:
    async def client(sim: Simulator, **options) -> anthropic.AsyncAnthropic:
        settings = {"api_key": "sim-key", "max_retries": 0, "timeout": 30, **options}
        return await stack.enter_async_context(anthropic.AsyncAnthropic(base_url=sim.url, **settings))

    return client


@pytest.fixture
def ask_openai(openai_to: Callable) -> Callable:
    """One request for "m" as a plain answer or, with `stream`, the list of its chunks."""

    async def ask(sim: Simulator, *, stream: bool = False, key: str = "sim-key", give_up_s: float = 10, **options):
        client = await openai_to(sim, api_key=key, timeout=give_up_s)
        request = {"model": "m", "messages": MESSAGES, **options}
        if not stream:
            return await client.chat.completions.create(**request)
        async with await client.chat.completions.create(
            **request, stream=True, stream_options={"include_usage": True}
        ) as chunks:
            return [chunk async for chunk in chunks]

    return ask


@pytest.fixture
def ask_anthropic(anthropic_to: Callable) -> Callable:
    """One request for "m" as a plain answer or, with `stream`, the message put together from its events."""

    async def ask(sim: Simulator, *, stream: bool = False, key: str = "sim-key", give_up_s: float = 10, **options):
        client = await anthropic_to(sim, api_key=key, timeout=give_up_s)
        request = {"model": "m", "messages": MESSAGES, "max_tokens": 100, **options}
        if not stream:
            return await client.messages.create(**request)
        async with client.messages.stream(**request) as events:
            return await events.get_final_message()

    return ask


@pytest.fixture
def ask_responses(openai_to: Callable) -> Callable:
    """One request for "m" as a plain response or, with `stream`, the list of its events."""

    async def ask(sim: Simulator, *, stream: bool = False, key: str = "sim-key", give_up_s: float = 10, **options):
        client = await openai_to(sim, api_key=key, timeout=give_up_s)
        request = {"model": "m", "input": MESSAGES, **options}
        if not stream:
            return await client.responses.create(**request)
        async with await client.responses.create(**request, stream=True) as events:
            return [event async for event in events]

    return ask


@pytest.fixture
def gemini_to(stack: AsyncExitStack) -> Callable:
    """Google's own client: its retries are off unless asked for. `aio` is its asynchronous half."""

    async def client(sim: Simulator, *, api_key: str = "sim-key") -> genai.Client:
        made = genai.Client(api_key=api_key, http_options={"base_url": sim.url, "timeout": 30_000})
        await stack.enter_async_context(made.aio)
        return made

    return client


@pytest.fixture
def ask_gemini(gemini_to: Callable) -> Callable:
    """One request for "m" as a plain answer or, with `stream`, the list of its chunks."""

    async def ask(sim: Simulator, *, stream: bool = False, key: str = "sim-key", **options):
        models = (await gemini_to(sim, api_key=key)).aio.models
        request = {"model": "m", "contents": MESSAGES[0]["content"], **options}
        if not stream:
            return await models.generate_content(**request)
        return [chunk async for chunk in await models.generate_content_stream(**request)]

    return ask


@pytest.fixture
def connect() -> Callable:
    """A bare socket, for what no client would send or show."""

    async def streams(sim: Simulator) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = sim.url.removeprefix("http://").split(":")
        return await asyncio.open_connection(host, int(port))

    return streams


BODY = json.dumps({"model": "m", "messages": MESSAGES})
REQUEST = (
    f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(BODY)}\r\n\r\n{BODY}"
)


TURNS_TO_FILL = 2_000
"""Turns of the loop, each good for one block of 64 kB: far more than the kernel buffers for one connection."""


@pytest.fixture
def post_raw(connect: Callable) -> Callable:
    """All bytes of the answer to one request for "m", as they came from the socket."""

    async def post(sim: Simulator) -> bytes:
        reader, writer = await connect(sim)
        writer.write(REQUEST.encode())
        try:
            return await reader.read()
        finally:
            writer.close()

    return post


@pytest.fixture
def post_unread(connect: Callable) -> Callable:
    """One request for "m" by a client that never reads the answer, when the sockets between them are full."""

    async def post(sim: Simulator) -> asyncio.StreamWriter:
        _, writer = await connect(sim)
        writer.write(REQUEST.encode())
        await sim.received(1)
        for _ in range(TURNS_TO_FILL):
            await asyncio.sleep(0)
        return writer

    return post
