"""One line for a person from a validation error: place, expectation, suggestion; never the input."""

from typing import Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from ledger.agent import AgentSpec
from ledger.answers import AnswerBody
from ledger.model import Frozen
from ledger.reading import one_line, shown, suggestion

MARKER = "MARKER-5f3c"


class Inner(Frozen):
    limit: int = Field(ge=1)
    words: tuple[str, ...] = ()


class Outer(Frozen):
    name: str
    inner: Inner | None = None
    many: dict[str, Inner] = Field(default_factory=dict)


def refusal(shape: type[Frozen], value: Any, hidden=()) -> str:
    with pytest.raises(ValidationError) as caught:
        shape.model_validate(value)
    return one_line(caught.value, "file.toml", shape, hidden)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({}, "file.toml: name: is missing"),
        ({"name": "x", "inner": {"limit": 0}}, "file.toml: inner.limit: should be greater than or equal to 1"),
        ({"name": "x", "inner": {"limit": 1, "words": "a"}}, "file.toml: inner.words: should be a list"),
        ({"name": "x", "many": {"a": 3}}, "file.toml: many.a: should be a table of keys and values"),
        (
            {"name": "x", "many": {"a": {"limt": 3, "limit": 1}}},
            'file.toml: many.a.limt: unknown key, did you mean "limit"?',
        ),
        ([], "file.toml: should be a table of keys and values"),
    ],
)
def test_a_line_names_the_place_and_what_was_expected(value, line):
    assert refusal(Outer, value) == line


def test_an_unknown_key_is_told_before_what_is_missing_because_it_explains_it():
    assert refusal(Outer, {"nmae": "x"}) == 'file.toml: nmae: unknown key, did you mean "name"? (and 1 more)'


def test_keys_inside_an_optional_value_are_suggested():
    assert 'did you mean "words"?' in refusal(Outer, {"name": "x", "inner": {"limit": 1, "wrods": []}})


def test_a_flat_agent_is_told_about_the_keys_it_wrote_not_about_a_stage_it_did_not():
    hidden = ("stages", 0)
    assert refusal(AgentSpec, {"name": "x"}, hidden) == "file.toml: models: is missing"
    assert 'modles: unknown key, did you mean "models"?' in refusal(AgentSpec, {"modles": []}, hidden)
    turns = {"models": ["a:b"], "limits": {"turns": -1}}
    assert refusal(AgentSpec, turns, hidden) == "file.toml: limits.turns: should be greater than or equal to 1"


def test_our_own_words_come_without_the_words_of_the_validation_library():
    line = refusal(AgentSpec, {"models": ["gpt-5"]}, ("stages", 0))
    assert line == 'file.toml: models[0]: a target is "provider:model", such as "openai:gpt-5"'


@pytest.mark.parametrize(
    "value",
    [
        {"answer": MARKER},
        {"answer": "guide", "text": [MARKER]},
        {"answer": "failover", "target": MARKER},
        {"answer": "raise", "amount": MARKER},
        {"answer": {"x": MARKER}},
        MARKER,
    ],
)
def test_a_line_never_shows_the_value_that_was_given(value):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(AnswerBody).validate_python(value)
    line = one_line(caught.value, "answer")
    assert MARKER not in line
    assert "\n" not in line


def test_a_key_of_control_characters_or_endless_length_stays_one_short_line():
    line = refusal(Outer, {"name": "x", "evil\n\x1b[31m" + "k" * 10_000: 1})
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 200


def test_names_are_suggested_when_close_and_listed_when_not():
    assert suggestion("opnai", ["openai", "anthropic"]) == 'did you mean "openai"?'
    assert suggestion("nope", ["openai", "anthropic"]) == "there are: anthropic, openai"
    assert suggestion("zzz", ["openai", "anthropic"]) == "there are: anthropic, openai"
    assert suggestion("zzz", []) == "there are none"
    assert suggestion("zzz", [f"gate{n:02}" for n in range(40)]).endswith("gate11, ...")


def test_a_shown_name_is_cut_and_escaped():
    assert shown("a" * 64) == "a" * 64
    assert shown("a" * 65) == "a" * 64 + "..."
    assert shown("a\tb") == "a\\x09b"
