"""What a declared endpoint wants beyond its protocol: the key in another header, words in the address.

Here: one step that every request of every SDK goes through. Not here: where keys come from (`settings`), and how a
vendor's own SDK names its key (`vendors`).
"""

from collections.abc import Generator
from typing import Final

import httpx2

from activities.declared import Provider

KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key")
"""Where the SDKs put a key: OpenAI's, Anthropic's, Google's."""

BEARER: Final = "authorization"
"""The one header that says its scheme before the key."""


class AsDeclared(httpx2.Auth):
    """Moves the key to the header that the operator declared, and adds the declared words to the query."""

    def __init__(self, provider: Provider) -> None:
        self._header = provider.key_header.lower()
        self._key = provider.key
        self._query = provider.query

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        if self._query:
            request.url = request.url.copy_merge_params(self._query)
        if self._header:
            for name in KEY_HEADERS:
                request.headers.pop(name, None)
            if self._key is not None:
                secret = self._key.get_secret_value()
                request.headers[self._header] = f"Bearer {secret}" if self._header == BEARER else secret
        yield request
