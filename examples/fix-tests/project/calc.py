"""Splits a bill among people, in whole cents."""


def split(cents: int, people: int) -> list[int]:
    """What each person pays of `cents`."""
    return [round(cents / people)] * people
