"""An operator's rows: written as people write, refused where they would decide everything or nothing."""

from typing import Any

import pytest
from pydantic import ValidationError

from ledger.classify import ROWS, Observation, classify, rows_with
from ledger.failures import FailureKind
from ledger.own_row import OwnRow, without_twins

K = FailureKind
SUNDAY = Observation(provider="acme", status=403, body='{"error": {"code": "E_77", "message": "Closed on Sundays."}}')


def own(**fields: Any) -> OwnRow:
    return OwnRow.model_validate({"rule": "own.sunday", "kind": "overloaded"} | fields)


def test_a_row_of_a_new_name_comes_before_all_others() -> None:
    rows = rows_with([own(statuses=["403"])])
    assert rows[1:] == ROWS
    assert classify(SUNDAY, rows).rule == "own.sunday"


def test_a_row_of_a_known_name_takes_the_place_of_that_row() -> None:
    replaced = own(rule="status.access", kind="overloaded", statuses=["403"])
    rows = rows_with([replaced])
    assert [row.rule for row in rows] == [row.rule for row in ROWS]
    assert classify(SUNDAY, rows).kind is K.OVERLOADED
    unpaid = Observation(status=403, body="insufficient balance")
    assert classify(unpaid, rows).kind is K.BILLING


def test_without_own_rows_ours_decide() -> None:
    assert rows_with(()) == ROWS


@pytest.mark.parametrize(
    "condition",
    [
        {"phrases": ["CLOSED, on Sundays!"]},
        {"phrases": ["closed * sundays"]},
        {"codes": ["e-77"]},
        {"statuses": [403]},
        {"statuses": ["4xx"], "providers": ["Acme Inc"[:4]]},
        {"phrases": ["sundays"], "unless": ["Mondays"]},
    ],
    ids=str,
)
def test_a_condition_is_written_as_people_write(condition: dict[str, Any]) -> None:
    assert classify(SUNDAY, (own(**condition),)).rule == "own.sunday"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({}, 'the row "own.sunday" has no condition', id="no condition"),
        pytest.param({"unless": ["x"], "source": "me"}, "has no condition", id="only an exception"),
        pytest.param({"statuses": ["403"], "kind": "not_sent"}, '"not_sent" is no answer of a provider', id="our kind"),
        pytest.param({"statuses": ["50"]}, 'three digits, a hundred of them such as "5xx"', id="half a status"),
        pytest.param({"statuses": [True]}, "a status is three digits", id="a status that is a flag"),
        pytest.param({"phrases": ["..."]}, "a phrase is words", id="a phrase without words"),
        pytest.param({"phrases": ["a * "]}, "a phrase is words", id="a gap to nothing"),
        pytest.param({"codes": ["--"]}, "a code has letters or digits", id="a code without letters"),
        pytest.param({"providers": ["."]}, "a code has letters or digits", id="a provider without letters"),
        pytest.param({"shapes": ["pdf"]}, "should be 'empty', 'html'", id="a shape there is not"),
        pytest.param({"statuses": ["403"], "rule": "Own Rule"}, "lower case letters, digits", id="a name of two words"),
        pytest.param({"statuses": ["403"], "wait_over": -1}, "greater than or equal to 0", id="a negative wait"),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        own(**fields)
    assert told in str(caught.value)


def test_two_rows_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r'two rows are named "own\.sunday"'):
        without_twins((own(statuses=["403"]), own(statuses=["404"])))
