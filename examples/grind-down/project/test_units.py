import pytest
from units import convert


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("km-m", 2000),
        ("m-cm", 200),
        ("cm-mm", 20),
        ("mile-km", 3.219),
        ("yard-m", 1.829),
        ("foot-cm", 60.96),
        ("inch-cm", 5.08),
        ("kg-g", 2000),
        ("pound-g", 907.185),
        ("ounce-g", 56.699),
        ("liter-ml", 2000),
        ("gallon-liter", 7.571),
    ],
)
def test_two_are_converted(pair: str, expected: float):
    assert convert(2, pair) == expected
