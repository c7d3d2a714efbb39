"""One row of the classifier's tables: what must be seen, and what it means then.

Here: the row and how it is matched. Not here: the rows (`classifier_rows_*`), an operator's own (`own_row`), or their
order (`classify`).
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from ledger.clues import Clues
from ledger.failures import FailureKind
from ledger.model import Frozen
from ledger.phrases import matches_any, row_code
from ledger.unwrapping import Shape

Status = Annotated[str, StringConstraints(pattern=r"^([1-9]\d\d|[1-9]xx|none)$")]
"""A status, a hundred of them ("5xx"), or "none" where no status line came."""


class Row(Frozen):
    """All conditions that are given must hold; within one condition any of its values will do. The first row wins."""

    rule: str
    """Its name, unique over all tables: "openai.spend_limit"."""
    source: str
    """Where the provider's words were seen or documented."""
    kind: FailureKind
    transient: bool | None = None
    """None: as the remedy table says; so for the next two."""
    capacity: bool | None = None
    failover: bool | None = None
    renew_files: bool = False
    outcome_unknown: bool = False
    """The provider may have done, and billed, the work."""

    providers: tuple[str, ...] = ()
    """Parts of the provider's name; needed only where a code is ambiguous (plain numbers)."""
    ended: tuple[str, ...] = ()
    """How the trip broke off: parts of the word, "timeout" fits them all; "" fits whatever broke off."""
    statuses: tuple[Status, ...] = ()
    codes: tuple[str, ...] = ()
    """Machine codes; case and punctuation do not matter."""
    finishes: tuple[str, ...] = ()
    """Finish reasons of an answer."""
    phrases: tuple[str, ...] = ()
    """See `phrases.matches_any`: lower case, without punctuation, ` * ` for a gap."""
    unless: tuple[str, ...] = ()
    """Phrases that must be absent."""
    shapes: tuple[Shape, ...] = ()
    """What the body is; "empty" is nothing at all."""
    named: bool | None = None
    """An error was named at all."""
    over_limit: bool | None = None
    wait_over: Annotated[float, Field(ge=0)] | None = None
    """The stated wait is longer than this, in seconds."""
    wait_within: Annotated[float, Field(ge=0)] | None = None
    """A wait is stated, and no longer than this."""
    wait_unstated: bool = False
    """No wait is stated."""

    def fits(self, clues: Clues, wait_s: float | None) -> bool:
        """Whether every condition holds; the cheap ones are tried first."""
        return (
            self._fits_line(clues)
            and self._fits_answer(clues)
            and self._fits_wait(wait_s)
            and (not self.codes or not clues.codes.isdisjoint(map(row_code, self.codes)))
            and (not self.phrases or matches_any(clues.words, self.phrases))
            and not matches_any(clues.words, self.unless)
        )

    def _fits_line(self, clues: Clues) -> bool:
        return (
            (not self.providers or any(part in clues.provider for part in self.providers))
            and (not self.ended or any(part in clues.ended for part in self.ended if clues.ended))
            and (not self.statuses or any(_is(clues.status, status) for status in self.statuses))
        )

    def _fits_answer(self, clues: Clues) -> bool:
        return (
            (not self.shapes or clues.shape in self.shapes)
            and (not self.finishes or not clues.finishes.isdisjoint(map(row_code, self.finishes)))
            and self.named in (None, clues.named)
            and self.over_limit in (None, clues.over_limit)
        )

    def _fits_wait(self, wait_s: float | None) -> bool:
        if wait_s is None:
            return self.wait_over is None and self.wait_within is None
        return (
            not self.wait_unstated
            and (self.wait_over is None or wait_s > self.wait_over)
            and (self.wait_within is None or wait_s <= self.wait_within)
        )


def _is(status: int | None, wanted: str) -> bool:
    if status is None:
        return wanted == "none"
    return wanted in (str(status), f"{status // 100}xx")
