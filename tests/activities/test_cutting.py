import pytest

from activities.cutting import head, middle_out, tail

TEXT = "aä漢🙂" * 20


@pytest.mark.parametrize("limit", range(12))
def test_a_cut_never_splits_a_character_and_never_exceeds_the_limit(limit):
    first, last = head(TEXT, limit), tail(TEXT, limit)
    assert TEXT.startswith(first)
    assert TEXT.endswith(last)
    assert limit - 4 < len(first.encode()) <= limit
    assert limit - 4 < len(last.encode()) <= limit


def test_what_fits_stays_as_it_is():
    assert head("abc", 3) == tail("abc", 3) == middle_out("abc", 3, "cut") == "abc"


def test_the_middle_is_left_out_and_counted():
    assert middle_out("aaaa" + "x" * 92 + "zzzz", 8, "[{bytes} left out]") == "aaaa\n[92 left out]\nzzzz"
