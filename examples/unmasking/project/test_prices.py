from prices import total


def test_the_tax_is_added_and_cents_are_rounded():
    assert total(["19.99", "5.49"]) == "30.32"
