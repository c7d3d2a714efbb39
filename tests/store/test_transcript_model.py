"""The transcript against a model of it, what came first at each place: branches, repeats, parallel results."""

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)

from ledger.conversation import Conversation
from store import RememberingStore, Store
from store.access import Database

KEYS = st.sampled_from(["request a", "request b"])
BODIES = st.sampled_from([b"one", b"two", b"three"])
STORES = st.integers(0, 2)


class Forgetful(RememberingStore):
    """It remembers a few messages only."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, max_bytes=12)


class Transcript(RuleBasedStateMachine):
    """Stores on one database; few runs, keys and bodies, so that places collide; old chains are read too.

    Two of them remember what they saw, one of those next to nothing.
    """

    conversations = Bundle("conversations")

    def __init__(self, new_url):
        super().__init__()
        self._new_url = new_url

    @initialize(target=conversations)
    def begin(self):
        self._loop = asyncio.new_event_loop()
        url = self._new_url()
        self._stores = [self._run(kind.open(url)) for kind in (Store, RememberingStore, Forgetful)]
        self._first: dict[tuple[Conversation, str], bytes] = {}
        self._chains: dict[Conversation, list[bytes]] = {}
        runs = [Conversation(id="run-1"), Conversation(id="run-2")]
        self._chains.update({run: [] for run in runs})
        return multiple(*runs)

    @rule(target=conversations, conversation=conversations, key=KEYS, body=BODIES, store=STORES)
    def append(self, conversation, key, body, store):
        expected = self._first.get((conversation, key))
        appended = self._run(self._stores[store].append(conversation, key, body))
        assert appended.recovered == (expected is not None)
        held = self._first.setdefault((conversation, key), body)
        assert appended.body == held
        self._chains[appended.conversation] = [*self._chains[conversation], held]
        return appended.conversation

    @rule(
        target=conversations,
        answer=conversations,
        bodies=st.lists(BODIES, min_size=1, max_size=3),
        turns=st.randoms(use_true_random=False),
        store=STORES,
    )
    def append_results(self, answer, bodies, turns, store):
        order = list(range(len(bodies)))
        turns.shuffle(order)
        ends: dict[int, Conversation] = {}
        for ordinal in order:
            appended = self._run(self._stores[store].append_result(answer, ordinal, bodies[ordinal]))
            held = self._first.setdefault((answer, f"tool:{ordinal}"), bodies[ordinal])
            assert appended.body == held
            ends[ordinal] = appended.conversation
        results = [self._first[answer, f"tool:{ordinal}"] for ordinal in range(len(bodies))]
        for ordinal, end in ends.items():
            self._chains[end] = [*self._chains[answer], *results[: ordinal + 1]]
        return ends[len(bodies) - 1]

    @rule(conversation=conversations, key=KEYS, store=STORES)
    def find(self, conversation, key, store):
        found = self._run(self._stores[store].find(conversation, key))
        assert (found and found.body) == self._first.get((conversation, key))

    @rule(conversation=conversations, store=STORES)
    def read(self, conversation, store):
        assert self._run(self._stores[store].read(conversation)) == self._chains[conversation]

    def _run(self, doing: Coroutine[Any, Any, Any]):
        return self._loop.run_until_complete(doing)

    def teardown(self):
        for store in getattr(self, "_stores", []):
            self._run(store.close())
        self._loop.close()


@pytest.fixture
def new_url(kind, tmp_path, request):
    """Where a new store can be made, each time that it is called."""
    if kind == "postgresql":
        return request.getfixturevalue("postgres").schema
    numbers = itertools.count()
    return lambda: f"sqlite:///{tmp_path / str(next(numbers))}/store.db"


def test_a_place_keeps_what_came_first_and_a_chain_reads_back_whatever_happens(new_url):
    twenty = settings(max_examples=20, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(lambda: Transcript(new_url), settings=twenty)
