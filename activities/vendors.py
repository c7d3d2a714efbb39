"""One row a vendor's protocol: how its SDK is built so that it sends where, as whom and as often as we say.

A new protocol is a row here. Not here: requests (`pydantic_ai_client`), bytes (`transport`). An SDK costs 0.5 to 1.6 s
and tens of megabytes to import, so each row imports its own, when a provider that needs it is declared.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile

from activities.declared import Provider
from activities.transport import OneRequest

CONNECT_S: Final = 10.0
"""Seconds for a connection to come about; OpenAI's and Anthropic's SDKs allow 5, which a slow proxy misses."""

MODELS_KEPT: Final = 256
"""Models of one provider whose settings are kept ready; names come from agents, so there is an end to it."""

NO_KEY: Final = "no-key"
"""What an endpoint that needs no key gets: the SDKs refuse to send none, and would else look into the environment."""

TIMEOUT: Final = httpx2.Timeout(None, connect=CONNECT_S, pool=CONNECT_S)
"""The whole trip has a deadline of its own; an idle timeout would add nothing that a slow drip could not escape."""


@dataclass(frozen=True, kw_only=True)
class Vendor:
    """A provider, ready to be asked."""

    model: Callable[[str], Model[Any]]
    """pydantic-ai's model by name."""
    close: Callable[[], Awaitable[None]]


def connect(provider: Provider, inner: httpx2.AsyncClient | None = None) -> Vendor:
    """Build the SDK client of a provider and its connection pool; nothing is sent.

    `inner` carries the requests instead of the SDK's own HTTP client: a rehearsal needs no network.
    """
    return ROWS[provider.api](provider, inner)


def _openai_chat(provider: Provider, inner: httpx2.AsyncClient | None) -> Vendor:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415 - see the module's docstring
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    client = AsyncOpenAI(**_who_and_where(provider, inner or DefaultAsyncHttpxClient()))
    if _is_openai(provider):
        known: OpenAIProvider | OpenAICompatibleProvider = OpenAIProvider(openai_client=client)
    else:
        client.organization = client.project = None  # from the environment, and for OpenAI's eyes only
        known = OpenAICompatibleProvider(provider.name, openai_client=client)

    completions = client.chat.completions
    completions.create = as_it_is(completions.create)  # type: ignore[method-assign]

    def model(name: str) -> Model[Any]:
        return OpenAIChatModel(name, provider=known, profile=_chat_profile(name))

    return Vendor(model=lru_cache(MODELS_KEPT)(model), close=client.close)


def _anthropic_messages(provider: Provider, inner: httpx2.AsyncClient | None) -> Vendor:
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415 - see the module's docstring
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    client = AsyncAnthropic(**_who_and_where(provider, inner or DefaultAsyncHttpxClient()))
    known = AnthropicProvider(anthropic_client=client)

    messages = client.beta.messages
    messages.create = as_it_is(messages.create)  # type: ignore[method-assign]

    def model(name: str) -> Model[Any]:
        return AnthropicModel(name, provider=known)

    return Vendor(model=lru_cache(MODELS_KEPT)(model), close=client.close)


Row = Callable[[Provider, httpx2.AsyncClient | None], Vendor]

ROWS: Final[Mapping[Literal["openai-chat", "anthropic-messages"], Row]] = {
    "openai-chat": _openai_chat,
    "anthropic-messages": _anthropic_messages,
}


def as_it_is(create: Any) -> Any:  # noqa: ANN401 - overloads of a dozen arguments, passed on as they come
    """An SDK's `create` that sends `messages` as they are, as a finished part of the body.

    pydantic-ai has put them into the vendor's form; the SDKs would walk every one again to rename what needs no
    renaming, which at 200 turns is most of what a call costs (`benchmarks/`).
    """

    async def finished(*, messages: Iterable[Any], extra_body: Mapping[str, Any] | None = None, **rest: Any) -> Any:  # noqa: ANN401
        return await create(messages=[], extra_body={**(extra_body or {}), "messages": list(messages)}, **rest)

    return finished


def _who_and_where(provider: Provider, inner: httpx2.AsyncClient) -> dict[str, Any]:
    """What both SDKs take by the same names. `inner` is the SDK's own HTTP client, which our transport wraps."""
    return {
        "api_key": provider.key.get_secret_value() if provider.key else NO_KEY,
        "base_url": provider.base_url,
        "default_headers": dict(provider.headers),
        "max_retries": 0,  # every trip is an attempt of the ledger's
        "http_client": httpx2.AsyncClient(transport=OneRequest(inner), timeout=TIMEOUT, follow_redirects=False),
    }


def _is_openai(provider: Provider) -> bool:
    return urlsplit(provider.base_url).hostname == "api.openai.com"


def _chat_profile(name: str) -> OpenAIModelProfile:
    """OpenAI's newer models refuse `max_tokens`, servers of other models often know nothing else."""
    bare = name.rsplit("/", 1)[-1]
    theirs = bare.startswith(("gpt-", "chatgpt-", "o1", "o3", "o4")) and not bare.startswith("gpt-oss")
    return OpenAIModelProfile(openai_chat_supports_max_completion_tokens=theirs)
