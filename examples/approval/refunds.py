"""Where the money is: a function whose signature and docstring are what the model is told."""

from typing import Annotated

from pydantic import Field


def refund(order: str, cents: Annotated[int, Field(gt=0)]) -> dict[str, str]:
    """Pay money back for an order."""
    return {"receipt": f"{order}-{cents}"}
