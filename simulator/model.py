"""The base of every value in this package. Values only: what a value means stands where it is defined."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer


class Frozen(BaseModel):
    """A value that never changes and knows all its fields: an unknown key is an error, not a surprise."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _lower_names(headers: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({name.lower(): value for name, value in headers.items()})


Headers = Annotated[Mapping[str, str], AfterValidator(_lower_names), PlainSerializer(dict)]
"""HTTP headers with lower-case names, so that a scripted one replaces ours whatever its spelling."""
