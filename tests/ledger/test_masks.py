"""The table of masks: which rows a line is not tried on."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.masks import MASKS

PASSED_OVER = [row for row in MASKS if row.holds]


@pytest.mark.parametrize("row", PASSED_OVER, ids=lambda row: row.pattern.pattern)
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_a_row_is_passed_over_only_where_its_pattern_cannot_match(row, data):
    assert row.holds in data.draw(st.from_regex(row.pattern))
