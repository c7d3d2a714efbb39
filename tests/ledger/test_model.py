"""What every value of ours has in common."""

import pytest
from pydantic import BaseModel, ConfigDict

from ledger.model import Frozen


class Inner(Frozen):
    marks: dict[str, int]


class Ours(Frozen):
    name: str = "a"
    inner: Inner


class Pydantics(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "a"
    inner: Inner


CHANGES = [None, {}, {"name": "b"}, {"name": "b", "inner": Inner(marks={"x": 2})}]


@pytest.mark.parametrize("update", CHANGES)
@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_is_what_pydantics_own_would_be(update, deep):
    given = Inner(marks={"x": 1})
    ours, own = (model(inner=given).model_copy(update=update, deep=deep) for model in (Ours, Pydantics))
    assert ours.model_dump() == own.model_dump()
    assert ours.model_dump(exclude_unset=True) == own.model_dump(exclude_unset=True)
    assert (ours.inner is given) == (own.inner is given)
    assert type(ours)(**dict(ours)) == ours
    assert ours.model_extra is own.model_extra is None


def test_a_copy_leaves_what_it_was_made_of_as_it_was():
    first = Ours(inner=Inner(marks={}))
    second = first.model_copy(update={"name": "b"})
    assert (first.name, second.name) == ("a", "b")
    assert first.model_fields_set == {"inner"}
    assert first != second
