from calc import split


def test_the_parts_add_up_to_the_bill():
    assert sum(split(1001, 3)) == 1001


def test_nobody_pays_more_than_a_cent_above_another():
    parts = split(1001, 3)
    assert max(parts) - min(parts) <= 1


def test_an_even_bill_is_shared_evenly():
    assert split(900, 3) == [300, 300, 300]
