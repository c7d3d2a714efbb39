"""One row a vendor's protocol: how its SDK is built so that it sends where, as whom and as often as we say.

A new protocol is a row here. Not here: requests (`pydantic_ai_client`), bytes (`transport`), where a key stands and
what an address carries (`credentials`). An SDK costs 0.5 to 1.6 s and tens of megabytes to import, so each row imports
its own, when a provider that needs it is declared.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings

from activities import gemini_contents
from activities.credentials import AsDeclared
from activities.declared import Api, Provider
from activities.transport import OneRequest, finish
from activities.vendor_files import Upload, anthropic_upload, google_upload, openai_upload

if TYPE_CHECKING:
    from google.auth.credentials import Credentials
    from openai import AsyncOpenAI
    from pydantic_ai.providers import Provider as Known

MODELS_KEPT: Final = 256
"""Models of one provider whose settings are kept ready; names come from agents, so there is an end to it."""

NO_KEY: Final = "no-key"
"""What an endpoint that needs no key gets: the SDKs refuse to send none, and would else look into the environment."""

CONNECTIONS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100)
"""What OpenAI's and Anthropic's SDKs set for themselves; google-genai leaves HTTP's default of 100."""


@dataclass(frozen=True, kw_only=True)
class Vendor:
    """A provider, ready to be asked."""

    model: Callable[[str], Model[Any]]
    """pydantic-ai's model by name."""
    close: Callable[[], Awaitable[None]]
    upload: Upload
    """Its files API. Some endpoints of the protocol have none: `Provider.files` tells."""
    settings: ModelSettings
    """What every request of this protocol asks for beside its own parameters."""
    no_credentials: tuple[type[Exception], ...] = ()
    """What its SDK raises, before it sends anything, where it finds no credentials of this machine."""


def connect(provider: Provider, inner: httpx2.AsyncClient | None = None) -> Vendor:
    """Build the SDK client of a provider and its connection pool; nothing is sent.

    `inner` carries the requests instead of the SDK's own HTTP client: a rehearsal needs no network.
    """
    return ROWS[provider.api](provider, inner)


def _openai_chat(provider: Provider, inner: httpx2.AsyncClient | None) -> Vendor:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - see the module's docstring

    client, known = _openai(provider, inner)
    completions = client.chat.completions
    completions.create = as_it_is(completions.create, "messages", provider.without)  # type: ignore[method-assign]

    def model(name: str) -> Model[Any]:
        return OpenAIChatModel(name, provider=known, profile=_chat_profile(name) | _repeating(provider))

    return Vendor(
        model=lru_cache(MODELS_KEPT)(model),
        close=client.close,
        settings=ModelSettings(),
        upload=openai_upload(client),
    )


def _openai_responses(provider: Provider, inner: httpx2.AsyncClient | None) -> Vendor:
    """Nothing is kept at the provider (`store`): the conversation is ours, and any other target must be able to go on.

    Reasoning then comes encrypted inside the answer, and goes back with it.
    """
    from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings  # noqa: PLC0415

    client, known = _openai(provider, inner)
    responses = client.responses
    responses.create = as_it_is(responses.create, "input", provider.without)  # type: ignore[method-assign]

    def model(name: str) -> Model[Any]:
        return OpenAIResponsesModel(name, provider=known, profile=_repeating(provider))

    settings = OpenAIResponsesModelSettings(openai_store=False)
    return Vendor(
        model=lru_cache(MODELS_KEPT)(model), close=client.close, settings=settings, upload=openai_upload(client)
    )


def _openai(provider: Provider, inner: httpx2.AsyncClient | None) -> "tuple[AsyncOpenAI, Known[AsyncOpenAI]]":
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415 - see the module's docstring
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    client = AsyncOpenAI(**_who_and_where(provider, inner or DefaultAsyncHttpxClient()))
    if _is_openai(provider):
        return client, OpenAIProvider(openai_client=client)
    client.organization = client.project = None  # from the environment, and for OpenAI's eyes only
    return client, OpenAICompatibleProvider(provider.name, openai_client=client)


def _anthropic_messages(provider: Provider, inner: httpx2.AsyncClient | None) -> Vendor:
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415 - see the module's docstring
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    client = AsyncAnthropic(**_who_and_where(provider, inner or DefaultAsyncHttpxClient()))
    known = AnthropicProvider(anthropic_client=client)
    messages = client.beta.messages
    messages.create = as_it_is(messages.create, "messages", provider.without)  # type: ignore[method-assign]

    def model(name: str) -> Model[Any]:
        return AnthropicModel(name, provider=known)

    return Vendor(
        model=lru_cache(MODELS_KEPT)(model),
        close=client.close,
        settings=ModelSettings(),
        upload=anthropic_upload(client),
    )


def _google(provider: Provider, inner: httpx2.AsyncClient | None) -> Vendor:
    """The Gemini API by key; Vertex AI by project, location and the machine's own Google credentials."""
    from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - see the module's docstring
    from google.genai import Client  # noqa: PLC0415
    from google.genai.types import HttpOptions  # noqa: PLC0415
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415
    from pydantic_ai.providers.google_cloud import GoogleCloudProvider  # noqa: PLC0415

    http = _http(provider, inner or httpx2.AsyncClient(limits=CONNECTIONS))
    options = HttpOptions(base_url=provider.base_url, headers=dict(provider.headers), httpx_async_client=http)
    if provider.project:
        client = Client(
            vertexai=True,
            project=provider.project,
            location=provider.location,
            credentials=_rehearsed() if inner else None,
            http_options=options,
        )
        known: GoogleProvider | GoogleCloudProvider = GoogleCloudProvider(client=client)
    else:
        client = Client(vertexai=False, api_key=_key(provider), http_options=options)
        known = GoogleProvider(client=client)

    models = client.aio.models
    models.generate_content_stream = gemini_contents.as_it_is(  # type: ignore[method-assign]
        models.generate_content_stream
    )

    def model(name: str) -> Model[Any]:
        return GoogleModel(name, provider=known)

    return Vendor(
        model=lru_cache(MODELS_KEPT)(model),
        close=http.aclose,
        settings=ModelSettings(),
        upload=google_upload(http, provider, _key(provider)),
        no_credentials=(GoogleAuthError,),
    )


Row = Callable[[Provider, httpx2.AsyncClient | None], Vendor]

ROWS: Final[Mapping[Api, Row]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic-messages": _anthropic_messages,
    "google": _google,
}


def as_it_is(create: Any, field: str, without: Sequence[str] = ()) -> Any:  # noqa: ANN401 - overloads of a dozen arguments, passed on as they come
    """An SDK's `create` that sends the conversation, its argument `field`, as it is: a finished part of the body.

    pydantic-ai has put it into the vendor's form; the SDKs would walk every message again to rename what needs no
    renaming. So they write the rest of the body, and the transport puts it in. Tools are few, and in their form too:
    the SDK writes them unread. Arguments `without` are left out.
    """

    async def finished(*, extra_body: Mapping[str, Any] | None = None, **arguments: Any) -> Any:  # noqa: ANN401
        finish(field, arguments[field])
        kept = {name: value for name, value in arguments.items() if name not in without} | {field: []}
        unread = {name: kept.pop(name) for name in ("tools",) if isinstance(kept.get(name), list)}
        return await create(**kept, extra_body={**(extra_body or {}), **unread, field: []})

    return finished


def _who_and_where(provider: Provider, inner: httpx2.AsyncClient) -> dict[str, Any]:
    """What OpenAI's and Anthropic's SDKs take by the same names. `inner` is the SDK's own HTTP client."""
    return {
        "api_key": _key(provider),
        "base_url": provider.base_url,
        "default_headers": dict(provider.headers),
        "max_retries": 0,  # every trip is an attempt of the ledger's
        "http_client": _http(provider, inner),
    }


def _http(provider: Provider, inner: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """The HTTP client of an SDK, whose requests go out through `inner` by our transport."""
    return httpx2.AsyncClient(
        transport=OneRequest(inner, provider.base_url), auth=AsDeclared(provider), follow_redirects=False
    )


def _key(provider: Provider) -> str:
    return provider.key.get_secret_value() if provider.key else NO_KEY


def _rehearsed() -> "Credentials":
    """For a rehearsal: the machine's own would be fetched over the network."""
    from google.oauth2.credentials import Credentials  # noqa: PLC0415 - see the module's docstring

    credentials: Credentials = Credentials(token="rehearsal")  # type: ignore[no-untyped-call]  # noqa: S106 - a word
    return credentials


def _is_openai(provider: Provider) -> bool:
    return urlsplit(provider.base_url).hostname == "api.openai.com"


def _repeating(provider: Provider) -> OpenAIModelProfile:
    """Other servers may ignore an output schema, or force its shape on a model that knows nothing of it."""
    return OpenAIModelProfile(native_output_requires_schema_in_instructions=not _is_openai(provider))


def _chat_profile(name: str) -> OpenAIModelProfile:
    """OpenAI's newer models refuse `max_tokens`, servers of other models often know nothing else."""
    bare = name.rsplit("/", 1)[-1]
    theirs = bare.startswith(("gpt-", "chatgpt-", "o1", "o3", "o4")) and not bare.startswith("gpt-oss")
    return OpenAIModelProfile(openai_chat_supports_max_completion_tokens=theirs)
