"""Who may use the inbox: one that has its token, from this machine's own address, with a form that the inbox made.

The codec has the same token and the same check of its address.

The page listens on the loopback interface, where every program and every web site in the browser can reach it. So:
the address must be this one by name (no other name may be made to point here), the token opens it once and a cookie
keeps it open, and a form carries a word that no other page can know. Pure but for the secrets made at the start.
"""

import hmac
import secrets
from collections.abc import Mapping
from typing import Final

NAMES: Final = ("127.0.0.1", "localhost")
HTTP_PORT: Final = 80
"""The one port that browsers leave out of the Host header."""


class Guard:
    """The secrets of one start of the inbox, and the checks against them. All comparisons take constant time."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        """Opens the inbox: part of the address that is printed at the start."""
        self.session = secrets.token_urlsafe(32)
        """What the cookie holds: with it nobody learns the token."""
        self.form_word = secrets.token_urlsafe(32)
        """In every form: a page that cannot read ours cannot post to it."""
        self.cookie = f"endstop_inbox_{port}"
        """Browsers keep cookies by host whatever the port, so two inboxes need two names."""
        self._hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == HTTP_PORT else set())

    def is_ours(self, host: str) -> bool:
        """Whether the Host header names this inbox: against names made to point at 127.0.0.1 (DNS rebinding)."""
        return host.lower() in self._hosts

    def opens(self, token: str) -> bool:
        return _same(token, self.token)

    def is_open(self, cookies: Mapping[str, str]) -> bool:
        """Whether this browser came in by the token before."""
        return _same(cookies.get(self.cookie, ""), self.session)

    def made(self, form_word: str) -> bool:
        """Whether a form is one of ours."""
        return _same(form_word, self.form_word)


def _same(given: str, kept: str) -> bool:
    return hmac.compare_digest(given.encode(), kept.encode())
