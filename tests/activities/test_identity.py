"""What may be read from the identity of a request, and what may not."""

import pytest

from activities.client import Request
from activities.declared import Provider
from activities.identity import answer_key, catalog_version, origin, sent
from activities.messages import user_message
from ledger.target import Target
from tests.activities.model_bench import TOOLS

ASKED = Request(model="m", instructions="be brief", messages=(user_message("hi"),), max_tokens=10)
TARGET = Target(provider="p", model="m")


def test_the_same_tools_in_another_order_are_the_same_catalog():
    tools = list(TOOLS.values())
    assert catalog_version(tools) == catalog_version(reversed(tools)) != ""


def test_another_description_is_another_catalog_and_no_tools_are_none():
    tool = TOOLS["read_file"]
    assert catalog_version([tool]) != catalog_version([tool.model_copy(update={"description": "other"})])
    assert catalog_version([]) == ""


@pytest.mark.parametrize(
    "change",
    [{"instructions": "be long"}, {"max_tokens": 11}, {"temperature": 0.0}, {"tools": tuple(TOOLS.values())}],
    ids=lambda change: next(iter(change)),
)
def test_an_answer_to_another_request_is_stored_under_another_key(change):
    assert answer_key(TARGET, ASKED) != answer_key(TARGET, ASKED.model_copy(update=change))


def test_an_answer_of_another_target_is_stored_under_another_key():
    assert answer_key(TARGET, ASKED) != answer_key(Target(provider="q", model="m"), ASKED)


def test_the_hash_of_instructions_is_a_u64_and_zero_for_none():
    assert 0 < sent(ASKED, {}).digest.system_hash < 2**64
    assert sent(ASKED.model_copy(update={"instructions": ""}), {}).digest.system_hash == 0


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_the_limit_is_read_under_every_vendors_name_for_it(name):
    assert sent(ASKED, {name: 7}).digest.max_tokens == 7


PROVIDER = Provider(name="a", api="google", base_url="https://a.test")


@pytest.mark.parametrize(
    ("provider", "request_"),
    [
        ({"name": "b"}, {}),
        ({"api": "openai-chat"}, {}),
        ({"base_url": "https://b.test"}, {}),
        ({}, {"model": "n"}),
        ({}, {"instructions": "Be long."}),
        ({}, {"tools": tuple(TOOLS.values())}),
    ],
    ids=[
        "another provider",
        "another protocol",
        "another address",
        "another model",
        "other instructions",
        "other tools",
    ],
)
def test_an_answer_is_a_targets_own_only_where_everything_behind_it_was_the_same(provider, request_):
    changed = origin(Provider(**dict(PROVIDER) | provider), Request(**dict(ASKED) | request_))
    assert changed != origin(PROVIDER, ASKED)


def test_an_answer_stays_a_targets_own_as_the_conversation_and_its_parameters_change():
    later = Request(**dict(ASKED) | {"messages": (b"{}",), "max_tokens": 20, "temperature": 0.5})
    assert origin(PROVIDER, later) == origin(PROVIDER, ASKED)
