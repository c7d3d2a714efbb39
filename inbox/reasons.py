"""Why an attempt failed and what an operator can look at, in words, for every door. Pure: records in, text out.

Here: the failures that a setting causes, told by the classifier's rule, for their kind alone ("network") sends nobody
to the right line of `endstop.toml`. All others are told by their kind. Not here: what a provider said of a failure,
which stays in the store.
"""

from collections.abc import Iterable
from typing import Final

from inbox.shell import endstop
from ledger.failures import REMEDY, FailureKind
from ledger.journal import Entry
from ledger.model import Frozen
from ledger.records import AttemptRecord

_CERTIFICATE: Final = "its certificate is not trusted here: look at base_url, or let SSL_CERT_FILE name its authority"
_KEY: Final = "its key was not accepted: look at the variable that key_env names"
_PAGE: Final = "a web page answered in its place: look at base_url, and for a proxy or a sign-in page in between"
_DETAILS: Final = "endstop journal ID --details"
_PROXY_KEY: Final = "a proxy in between wants a name and a password: look at HTTPS_PROXY of the worker"

SETTINGS: Final = {
    "no_key": "the worker has no key for it: set the variable that key_env names",
    "no_provider": "the worker does not declare this provider any more: look at [providers] of endstop.toml",
    "transport.no_such_host": "its host is not known here: look at the host of base_url, and at the machine's DNS",
    "transport.not_connected": "nothing answers at its address: look at host and port of base_url, and whether it runs",
    "transport.handshake": "no TLS came about: look whether base_url should begin with http://, and for a proxy",
    "transport.certificate": _CERTIFICATE,
    "transport.certificate_words": _CERTIFICATE,
    "transport.proxy": "the proxy did not pass the request on: look at HTTPS_PROXY and NO_PROXY of the worker",
    "transport.proxy_key": _PROXY_KEY,
    "transport.proxy_key_words": _PROXY_KEY,
    "transport.address": "its address cannot be used: look at base_url",
    "status.proxy_key": _PROXY_KEY,
    "status.path": "it knows no such path: look at the path of base_url, and at api",
    "access.page": "a web page refused the request: look for a firewall or a proxy in between",
    "answer.schema": f"its answer does not fit the stage's output: `{_DETAILS}` says where",
    "answer.web_page": _PAGE,
    "answer.error_page": _PAGE,
    "answer.page": _PAGE,
}
"""Rule: what it means and where to look."""


_KINDS: Final = {kind.value: row.meaning for kind, row in REMEDY.items()} | {FailureKind.AUTH.value: _KEY}


class LastFailure(Frozen):
    """Why a target failed in its newest attempt."""

    target: str
    kind: str
    rule: str
    """The classifier's row; `docs/providers.md` has them all."""
    why: str


def last_failures(run: str, entries: Iterable[Entry]) -> tuple[LastFailure, ...]:
    """The targets whose newest attempt failed, in the order in which they were first tried."""
    newest: dict[str, AttemptRecord] = {}
    for entry in entries:
        if isinstance(entry.record, AttemptRecord):
            newest[f"{entry.record.provider}:{entry.record.model}"] = entry.record
    return tuple(
        LastFailure(
            target=target,
            kind=record.failed.kind,
            rule=record.rule,
            why=why(record.failed.kind, record.rule).replace(_DETAILS, endstop("journal", run, flags="--details")),
        )
        for target, record in newest.items()
        if record.failed
    )


def setting(rule: str) -> str:
    """What to look at in the settings; "" where they are not the cause. Uploads fail for the same reasons as calls."""
    return SETTINGS.get(rule.removeprefix("upload."), "")


def why(kind: str, rule: str) -> str:
    """Say why, by the rule or else by the kind; "" for a kind of another release."""
    return setting(rule) or _KINDS.get(kind, "")


def told(failure: LastFailure) -> str:
    """One line of `show`."""
    by = f" ({failure.rule})" if failure.rule else ""
    because = f": {failure.why}" if failure.why else ""
    return f"{failure.target} failed last with {failure.kind or 'an unclassified failure'}{by}{because}"
