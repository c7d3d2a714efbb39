"""One `[providers.NAME]` of the settings: an endpoint as an operator declares it, and the provider that it becomes.

Here: what may stand in the table, and that no secret does. Not here: finding and reading the file (`settings`).
Any endpoint that speaks one of the protocols is a few lines of this table (`examples/endpoints.toml`).
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from activities.declared import Api, Declared, Provider
from ledger.model import Frozen

_SECRET_KEYS: Final = frozenset({"key", "api_key", "apikey", "api-key", "token", "secret", "password"})
_SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"}
)
_NEEDED: Final = frozenset({"model", "messages", "input", "system", "instructions", "tools", "stream", "max_tokens"})
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _no_secret(url: str) -> str:
    """Check a base URL: http or https, a host, no user or password in it. The trailing slash is dropped."""
    if not url.isprintable() or " " in url:
        raise ValueError("a base URL has no spaces and no control characters")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError('a base URL is "https://host[:port]/path"; its host or port cannot be read') from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError('a base URL is "https://host[:port]/path", with http or https and a host')
    _refuse_extras(parts)
    return url.rstrip("/")


def _refuse_extras(parts: SplitResult) -> None:
    if parts.username is not None or parts.password is not None:
        raise ValueError("a base URL holds no user or password; name the variable of the key as key_env")
    if parts.query or parts.fragment:
        raise ValueError("a base URL has no ? and no #")


def _without_secret_headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if name.lower() in _SECRET_HEADERS:
            raise ValueError("a key does not belong into the file: put it into a variable and name that as key_env")
        if not _HEADER.fullmatch(name) or not value.isprintable():
            raise ValueError("a header is a name of letters, digits and hyphens, and one line of text")
    return headers


def _a_header(name: str) -> str:
    if name and not _HEADER.fullmatch(name):
        raise ValueError("should be the name of a header, such as api-key")
    return name


def _without_secret_query(query: dict[str, str]) -> dict[str, str]:
    if any(name.lower() in _SECRET_KEYS for name in query):
        raise ValueError("a key does not belong into the file, nor into an address: put it into a variable, key_env")
    return query


def _a_field(name: str) -> str:
    if name in _NEEDED or not re.fullmatch(r"[a-z_]{1,64}", name):
        raise ValueError("should be a field that a request can do without, such as stream_options")
    return name


def _as_tuple(value: Any) -> Any:  # noqa: ANN401 - whatever the file holds
    """TOML's lists, which strict validation takes for no tuple."""
    return tuple(value) if isinstance(value, list) else value


def _a_google_name(name: str) -> str:
    if not re.fullmatch(r"([a-z][a-z0-9:.-]{0,127})?", name):
        raise ValueError("should be a name of Google Cloud: lower case letters, digits and hyphens")
    return name


def _a_variable(name: str) -> str:
    """Capitals only, so that a key pasted here is refused."""
    if not re.fullmatch(r"([A-Z_][A-Z0-9_]{0,127})?", name):
        raise ValueError("should be the NAME of a variable, in capitals, such as OPENAI_API_KEY; never the key itself")
    return name


class ProviderTable(Frozen):
    """`[providers.NAME]`."""

    api: Api
    base_url: Annotated[str, AfterValidator(_no_secret)]
    key_env: Annotated[str, AfterValidator(_a_variable)] = ""
    """Name of the variable that holds the key; "": none needed."""
    key_header: Annotated[str, AfterValidator(_a_header)] = ""
    headers: Annotated[dict[str, str], AfterValidator(_without_secret_headers)] = Field(default_factory=dict)
    query: Annotated[dict[str, str], AfterValidator(_without_secret_query)] = Field(default_factory=dict)
    without: Annotated[tuple[Annotated[str, AfterValidator(_a_field)], ...], BeforeValidator(_as_tuple)] = ()
    files: bool | None = None
    """Whether it has its vendor's files API; without a word, the vendors' own addresses have it and others do not."""
    project: Annotated[str, AfterValidator(_a_google_name)] = ""
    location: Annotated[str, AfterValidator(_a_google_name)] = ""

    @model_validator(mode="before")
    @classmethod
    def _no_key(cls, table: Any) -> Any:  # noqa: ANN401 - whatever the file holds
        if isinstance(table, dict) and any(str(key).lower() in _SECRET_KEYS for key in table):
            raise ValueError("a key does not belong into the file: put it into a variable and name that as key_env")
        return table

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        if bool(self.project) != bool(self.location):
            raise ValueError("project and location go together: with both, Google's models are asked at Vertex AI")
        if self.project and self.api != "google":
            raise ValueError('project and location are for api "google", which then asks at Vertex AI')
        if self.project and self.files:
            raise ValueError("Vertex AI has no files API; leave files out, and they travel in the request")
        if self.project and self.key_env:
            raise ValueError("Vertex AI takes no key_env; GOOGLE_APPLICATION_CREDENTIALS names the account")
        if self.without and self.api == "google":
            raise ValueError('without is for the protocols of OpenAI and Anthropic, not for api "google"')
        if self.key_header and not self.key_env:
            raise ValueError("key_header says where the key goes, so key_env must name the variable that holds it")
        return self


DEFAULTS: Final = {
    "openai": ProviderTable(api="openai-chat", base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY"),
    "anthropic": ProviderTable(
        api="anthropic-messages", base_url="https://api.anthropic.com", key_env="ANTHROPIC_API_KEY"
    ),
    "google": ProviderTable(
        api="google", base_url="https://generativelanguage.googleapis.com", key_env="GEMINI_API_KEY"
    ),
}


_VENDORS: Final = frozenset({"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"})


def _is_the_vendor(table: ProviderTable) -> bool:
    return urlsplit(table.base_url).hostname in _VENDORS


def provider_of(name: str, table: ProviderTable, environ: Mapping[str, str]) -> Provider:
    key = environ.get(table.key_env, "").strip() if table.key_env else ""
    return Provider(
        name=name,
        api=table.api,
        base_url=table.base_url,
        key=SecretStr(key) if key else None,
        key_env=table.key_env,
        key_header=table.key_header,
        headers=table.headers,
        files=_is_the_vendor(table) if table.files is None else table.files,
        query=table.query,
        without=table.without,
        project=table.project,
        location=table.location,
    )


def is_default(provider: Provider) -> bool:
    """Whether nobody declared it: it is one of those that stand where the settings name none, and has no key."""
    default = DEFAULTS.get(provider.name)
    return default is not None and provider == provider_of(provider.name, default, {})


def has_keys(declared: Declared) -> bool:
    """Whether some provider can be called: it needs no key, or its key is set."""
    return any(provider.key or not provider.key_env for provider in declared.providers.values())


def missed(declared: Declared) -> tuple[tuple[str, str], ...]:
    """Providers that lack their key, each with the variable that should hold it.

    A default that nobody declared is not missed where another provider can be called.
    """
    usable = has_keys(declared)
    lacking = (one for one in declared.providers.values() if one.key_env and one.key is None)
    return tuple((one.name, one.key_env) for one in lacking if not (usable and is_default(one)))
