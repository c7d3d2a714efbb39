"""Converts one unit into another."""

FACTORS: dict[str, float] = {}


def convert(amount: float, pair: str) -> float:
    """Convert the first unit of the pair into the second."""
    return round(amount * FACTORS[pair], 3)
