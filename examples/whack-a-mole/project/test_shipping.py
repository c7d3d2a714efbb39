from shipping import cost


def test_an_order_of_50_ships_free():
    assert cost(50) == 0


def test_only_an_order_above_50_ships_free():
    assert cost(50) == 5
    assert cost(51) == 0
