# ruff: noqa: PLC0415 - `endstop --help` loads no HTTP client
"""Whether what the operator declared by its address can be reached: a connection, with TLS for https. No request.

Here: providers' keys and addresses. What a failed connection means is worded where a run's failures are (`reasons`).
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from activities.declared import Declared, Provider
from activities.endpoints import is_default, missed
from commands.findings import Finding, doubtful, fine, wrong
from inbox.reasons import setting

CONNECT_S: Final = 5.0
"""Seconds in which an address has to answer."""
PORTS: Final = {"http": 80, "https": 443}
ACCOUNT: Final = "GOOGLE_APPLICATION_CREDENTIALS"
"""Names the file of the account by which Vertex AI is asked."""


def keys(declared: Declared) -> list[Finding]:
    """Whether each provider's key is there, by its variable's name; a default that nobody declared may lack it."""
    needed = dict(missed(declared))
    return [_key(provider, needed=provider.name in needed) for provider in declared.providers.values()]


def _key(provider: Provider, *, needed: bool) -> Finding:
    check = f"key of {provider.name}"
    if provider.project:
        return _account(check)
    if not provider.key_env:
        return fine(check, "none is needed")
    if provider.key:
        return fine(check, f"in {provider.key_env}")
    found = f"{provider.key_env} is not set here"
    if not needed:
        return doubtful(check, found, "set it, or leave the provider out of agents")
    return wrong(check, found, "set it where the worker runs; no matter while `endstop dev` simulates the models")


def _account(check: str) -> Finding:
    named = os.environ.get(ACCOUNT)
    if named is None:
        remedy = f"on a machine of Google's that is well; elsewhere let {ACCOUNT} name the file of an account"
        return doubtful(check, f"{ACCOUNT} is not set here", remedy)
    if not Path(named).is_file():
        return wrong(check, f"{ACCOUNT} names a file that is not there", "let it name the file of an account")
    return fine(check, f"in the file that {ACCOUNT} names")


async def providers(declared: Declared) -> list[Finding]:
    """Whether each address answers, all at once; defaults that have no key are left out, since nobody uses them."""
    used = [one for one in declared.providers.values() if not is_default(one)]
    looked = await asyncio.gather(*(reached(f"address of {one.name}", one.base_url) for one in used))
    return [*looked]


async def reached(check: str, url: str) -> Finding:
    """Connect to where requests to `url` go: its host, or the proxy that the environment names."""
    parts = urlsplit(url)
    proxy = _proxy(parts, getproxies())
    at = proxy or parts
    host, port = at.hostname or "", at.port or PORTS.get(at.scheme, 0)
    rule = await _failed(host, port, tls=at.scheme == "https")
    if rule is None:
        through = f", by way of the proxy {host}:{port}; what is behind that was not asked" if proxy else ""
        return fine(check, f"{parts.scheme}://{parts.netloc} answers{through}")
    meaning, _, remedy = setting("transport.proxy" if proxy else rule).partition(": ")
    return wrong(check, f"{host}:{port}: {meaning}", remedy)


def _proxy(parts: SplitResult, proxies: Mapping[str, str]) -> SplitResult | None:
    """The proxy for an address, as HTTP clients choose it by HTTPS_PROXY, ALL_PROXY and NO_PROXY."""
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.hostname or ""):
        return None
    return urlsplit(named if "://" in named else f"http://{named}")


async def _failed(host: str, port: int, *, tls: bool) -> str | None:
    """The rule of the classifier for what went wrong; None: it answers."""
    import httpx2

    context = httpx2.create_ssl_context() if tls else None
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLCertVerificationError:
        return "transport.certificate"
    except (ssl.SSLError, ConnectionResetError):
        return "transport.handshake"
    except socket.gaierror:
        return "transport.no_such_host"
    except (OSError, TimeoutError):
        return "transport.not_connected"
    writer.close()
    with suppress(OSError, TimeoutError):  # it did answer; how it takes its leave is its own
        async with asyncio.timeout(1):
            await writer.wait_closed()
    return None
