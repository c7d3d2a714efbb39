"""What a run comes to, where an unknown price must not pass for nothing."""

from ledger.outcomes import Usage
from ledger.totals import Totals

UNPRICED = Usage(input_tokens=10)
BOUND = Usage(input_tokens=10, cost_usd=0.5, estimated=True)


def test_a_cost_of_which_nothing_is_known_is_written_as_null_and_read_again():
    unknown = Totals().with_usage(UNPRICED)
    assert unknown.model_dump(mode="json")["cost_usd"] is None
    assert Totals.model_validate(unknown.model_dump(mode="json")) == unknown
    assert Totals().known_usd == 0
    assert unknown.with_usage(BOUND).known_usd == 0.5


def test_what_is_an_upper_bound_is_counted_as_such_and_taken_back_whole():
    charged = Totals().with_usage(BOUND).with_usage(UNPRICED)
    assert (charged.estimated, charged.estimated_usd, charged.unpriced) == (1, 0.5, 1)
    assert charged.without_usage(BOUND) == Totals().with_usage(UNPRICED)


def test_the_sums_of_another_run_are_added_field_by_field():
    one = Totals(attempts=1, cost_usd=0.5, unpriced=1, estimated=1, estimated_usd=0.25)
    assert one.plus(one) == Totals(attempts=2, cost_usd=1, unpriced=2, estimated=2, estimated_usd=0.5)
