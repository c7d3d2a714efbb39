"""What a provider answered, judged: an observation in, a kind of failure with its flags out.

Here: the order of the tables and what follows from the row that fits. Not here: the rows (`classifier_rows_*`), how a
body is read (`unwrapping`, `clues`), waits (`waits`). Pure: no clock, no I/O; nothing raises on any provider's answer.

The order is the rule: how the trip broke off; the vendor's exact codes; money words before rate words; allowances;
arithmetic of limits; policy; what a 403 or 404 names; capacity, rate and fault words; the status last.
"""

from collections.abc import Iterable
from typing import Final

from ledger.classifier_row import Row
from ledger.classifier_rows_causes import ACCESS, KEYS, NAMED, POLICY
from ledger.classifier_rows_china import CHINA
from ledger.classifier_rows_gateways import GATEWAYS
from ledger.classifier_rows_google_amazon import AMAZON, GOOGLE
from ledger.classifier_rows_limits import ALLOWANCES, MONEY, SIZES
from ledger.classifier_rows_openai_anthropic import ANTHROPIC, OPENAI
from ledger.classifier_rows_status import CAPACITY, FAULTS, RATES, STATUSES
from ledger.classifier_rows_transport import ANSWERS, TRANSPORT
from ledger.clues import Clues, clues_of
from ledger.failures import Failure, FailureKind
from ledger.observation import Ended, Observation
from ledger.waits import HEALS_S, judged_wait, stated_wait, wait_in

__all__ = ["ROWS", "Ended", "Observation", "Row", "classify", "rows_with", "stated_wait"]

ROWS: Final[tuple[Row, ...]] = (
    *TRANSPORT,
    *ANSWERS,
    *CHINA,
    *GATEWAYS,
    *GOOGLE,
    *AMAZON,
    *OPENAI,
    *ANTHROPIC,
    *MONEY,
    *ALLOWANCES,
    *SIZES,
    *POLICY,
    *ACCESS,
    *KEYS,
    *NAMED,
    *CAPACITY,
    *RATES,
    *FAULTS,
    *STATUSES,
)
"""Every row in the order in which they are tried."""

UNMATCHED: Final = "unmatched"


def rows_with(own: Iterable[Row]) -> tuple[Row, ...]:
    """Return all rows with an operator's own: one that has a row's name takes its place, any other comes first."""
    named = {row.rule: row for row in own}
    replaced = tuple(named.pop(row.rule, row) for row in ROWS)
    return (*named.values(), *replaced)


def classify(seen: Observation, rows: Iterable[Row] = ROWS) -> Failure:
    """Judge one failed trip: the first of `rows` that fits decides, with the remedy table's flags where it sets none.

    A vendor's x-should-retry "false" forbids the retry of what would heal (OpenAI's and Anthropic's SDKs obey it before
    any status); "true" permits nothing. Nor is transient what the provider itself wants to rest for longer than
    `HEALS_S`. An answer that broke off after some of it came may have been paid.
    """
    clues = clues_of(seen)
    wait_s = wait_in(seen, clues)
    row = next((row for row in rows if row.fits(clues, wait_s)), None)
    return _unmatched(seen) if row is None else _failure(row, clues, wait_s)


def _failure(row: Row, clues: Clues, wait_s: float | None) -> Failure:
    forbidden = clues.should_retry == "false" or (wait_s is not None and wait_s > HEALS_S)
    judged = Failure.of(
        row.kind,
        transient=False if forbidden else row.transient,
        capacity=row.capacity,
        failover=row.failover,
        renew_files=row.renew_files,
        outcome_unknown=row.outcome_unknown or (clues.output and clues.named),
        rule=row.rule,
    )
    return judged.model_copy(update={"wait_s": judged_wait(row.kind, wait_s, transient=judged.transient)})


def _unmatched(seen: Observation) -> Failure:
    """Nothing fitted: a person may look. A status from 500 on counts as transient (DESIGN section 4)."""
    return Failure.of(FailureKind.UNKNOWN, transient=(seen.status or 0) >= 500, rule=UNMATCHED)  # noqa: PLR2004 - HTTP
