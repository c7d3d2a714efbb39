"""From what an exchange recorded to the failure it is: builds the classifier's input, and the few kinds known without.

Not here: what provider's words mean (`ledger.classify`).
"""

from collections.abc import Iterable

from activities.declared import Provider
from activities.exchange import Exchange
from ledger.classify import Row, classify
from ledger.failures import Failure, FailureKind
from ledger.observation import Ended, Observation


def failure_of(
    provider: Provider, exchange: Exchange, ended: Ended | None, *, at: float, rows: Iterable[Row]
) -> Failure:
    """Judge an attempt that brought nothing usable, now at unix time `at`; `ended` is how a whole answer was read.

    Without a request, either the vendor's client would not make one of it, or the time was up before there was one.
    """
    if exchange.request is None and exchange.ended is None:
        return Failure.of(FailureKind.INVALID_REQUEST, rule="refused_by_client")
    return classify(
        Observation(
            provider=provider.name,
            api=provider.api,
            status=exchange.status,
            headers=exchange.headers,
            body=exchange.body,
            transport=ended or exchange.ended,
            at=at,
        ),
        rows,
    )


def not_uploaded(provider: Provider, exchange: Exchange, *, at: float, rows: Iterable[Row]) -> Failure:
    """Judge an upload that failed in its last exchange: the attempt ends with it, nothing was asked and nothing paid.

    Without a request the time ran out while another call was uploading the same file.
    """
    if exchange.request is None:
        return Failure.of(FailureKind.TIMEOUT, rule="upload.deadline")
    unread = exchange.answered and exchange.ended is Ended.COMPLETE
    failure = failure_of(provider, exchange, Ended.UNUSABLE if unread else None, at=at, rows=rows)
    told = {"rule": f"upload.{failure.rule}", "renew_files": False, "outcome_unknown": False}
    return failure.model_copy(update=told)


def cancelled(exchange: Exchange) -> Failure:
    """Somebody stopped the attempt; what was sent may be billed."""
    return Failure.of(FailureKind.CANCELLED, outcome_unknown=exchange.sent, rule="cancelled")


def no_key() -> Failure:
    """The provider's key is not in the worker's environment; nothing was sent."""
    return Failure.of(FailureKind.AUTH, rule="no_key")


def no_provider() -> Failure:
    """The provider was declared when the run started and is not any more; nothing was sent."""
    return Failure.of(FailureKind.MODEL_UNAVAILABLE, rule="no_provider")
