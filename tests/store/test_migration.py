"""A store of the first release, as that release's own statements made it, keeps what it has and gets what it lacks."""

import asyncio

import pytest

from ledger.conversation import Conversation, digest, head_after
from store import Store, StoreUnavailable

FIRST_RELEASE = """
CREATE TABLE endstop_schema (version INTEGER NOT NULL, PRIMARY KEY (version));
CREATE TABLE contents (ref TEXT NOT NULL, body BYTES NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (ref));
CREATE TABLE messages (
    number COUNTED, conversation TEXT NOT NULL, position INTEGER NOT NULL, previous_head TEXT NOT NULL,
    key TEXT NOT NULL, head TEXT NOT NULL, body BYTES NOT NULL, attempt TEXT NOT NULL, at BIGINT NOT NULL,
    UNIQUE (conversation, position, previous_head, key), UNIQUE (conversation, head)
);
CREATE TABLE unused_answers (
    number COUNTED, conversation TEXT NOT NULL, position INTEGER NOT NULL, previous_head TEXT NOT NULL,
    key TEXT NOT NULL, head TEXT NOT NULL, body BYTES NOT NULL, attempt TEXT NOT NULL, at BIGINT NOT NULL,
    UNIQUE (conversation, head, attempt)
);
CREATE TABLE journal (
    number COUNTED, conversation TEXT NOT NULL, seq INTEGER NOT NULL, digest TEXT NOT NULL, entry TEXT NOT NULL,
    at BIGINT NOT NULL, UNIQUE (conversation, seq, digest)
);
CREATE TABLE runs (
    number COUNTED, conversation TEXT NOT NULL, workflow_id TEXT NOT NULL, agent TEXT NOT NULL, at BIGINT NOT NULL,
    UNIQUE (conversation)
);
CREATE INDEX ix_runs_workflow_id ON runs (workflow_id);
CREATE TABLE details (
    number COUNTED, conversation TEXT NOT NULL, attempt TEXT NOT NULL, body BYTES NOT NULL, at BIGINT NOT NULL,
    UNIQUE (conversation, attempt)
);
INSERT INTO endstop_schema (version) VALUES (1);
"""
TYPES = {
    "sqlite": {"BYTES": "BLOB", "COUNTED": "INTEGER PRIMARY KEY"},
    "postgresql": {"BYTES": "BYTEA", "COUNTED": "BIGSERIAL PRIMARY KEY"},
}
TASK, ANSWER, LATE = b"task", b"answer", b"late answer"
HEADS = [head := head_after("", "task", TASK), head_after(head, "request", ANSWER), head_after(head, "request", LATE)]


@pytest.fixture
def old(kind, request, sql):
    """Make the tables of the first release, with a run in them."""
    if kind == "sqlite":
        request.getfixturevalue("path").parent.mkdir()
    made = FIRST_RELEASE
    for name, type_ in TYPES[kind].items():
        made = made.replace(name, type_)
    for statement in made.split(";")[:-1]:
        sql(statement)
    sql("INSERT INTO contents (ref, body, at) VALUES (:ref, :body, 1)", ref=digest(b"agent"), body=b"agent")
    row = "(conversation, position, previous_head, key, head, body, attempt, at) VALUES ('run-1', "
    sql(f"INSERT INTO messages {row} 0, '', 'task', :head, :body, '', 1)", head=HEADS[0], body=TASK)
    places = zip(("messages", "unused_answers"), HEADS[1:], (ANSWER, LATE), strict=True)
    for number, (table, head, body) in enumerate(places, start=1):
        at = f"1, '{HEADS[0]}', 'request'"
        sql(f"INSERT INTO {table} {row} {at}, :head, :body, '1.1.{number}', 1)", head=head, body=body)
    sql("INSERT INTO journal (conversation, seq, digest, entry, at) VALUES ('run-1', 1, 'd', '{\"type\":\"run\"}', 1)")
    sql("INSERT INTO runs (conversation, workflow_id, agent, at) VALUES ('run-1', 'nightly', 'fix-tests', 1)")
    sql("INSERT INTO details (conversation, attempt, body, at) VALUES ('run-1', '1.1.1', :body, 1)", body=b"slow down")


async def test_what_a_store_of_the_first_release_holds_is_there_after_the_upgrade(old, url):
    store = await Store.open(url)
    answered = Conversation(id="run-1", length=2, head=HEADS[1])

    assert await store.get(digest(b"agent")) == b"agent"
    assert await store.latest("run-1") == answered
    assert await store.read(answered) == [TASK, ANSWER]
    assert [(answer.attempt, answer.body) for answer in await store.unused_answers("run-1")] == [("1.1.2", LATE)]
    assert await store.read_journal("run-1") == [{"type": "run", "seq": 1}]
    assert [run.conversation for run in await store.runs_of("nightly")] == ["run-1"]
    assert await store.get_details("run-1") == {"1.1.1": "slow down"}
    await store.close()


async def test_a_run_goes_on_where_the_release_before_left_it(old, url):
    store = await Store.open(url)
    answered = await store.latest("run-1")

    again = await store.append(Conversation(id="run-1"), "task", TASK)
    following = (await store.append(answered, "guide", b"guidance")).conversation
    await store.write_journal("run-1", [(1, {"type": "run"}), (2, {"type": "stage"})])

    assert again.recovered
    assert await store.read(following) == [TASK, ANSWER, b"guidance"]
    assert [entry["seq"] for entry in await store.read_journal("run-1")] == [1, 2]
    await store.close()


async def test_what_only_later_releases_keep_can_be_kept_after_the_upgrade(old, url):
    store = await Store.open(url)

    await store.put_upload("openai", "d", "file-1", None)
    await store.keep_request("run-1", "1.1.1", b"{}")
    await store.redact_transcript("run-1", [], by="ann")

    assert (await store.find_upload("openai", "d")).file_id == "file-1"
    assert [message.removed for message in await store.read_kept(await store.latest("run-1"))] == [4, 6]
    await store.close()


async def test_workers_that_come_up_together_after_the_upgrade_all_find_a_whole_store(old, url, sql):
    stores = await asyncio.gather(*(Store.open(url) for _ in range(4)))

    for store in stores:
        assert await store.get(digest(b"agent")) == b"agent"
        await store.close()
    assert sql("SELECT count(*) FROM endstop_schema") == [(1,)]


async def test_a_store_of_a_later_release_is_refused_in_one_line_and_left_alone(store, url, sql):
    await store.close()
    sql("UPDATE endstop_schema SET version = version + 1")
    (written,) = sql("SELECT version FROM endstop_schema")[0]

    with pytest.raises(StoreUnavailable) as refused:
        await Store.open(url)

    said = str(refused.value)
    assert f"its schema is version {written}, this release reads up to {written - 1}; upgrade endstop, or " in said
    assert "\n" not in said
    assert sql("SELECT version FROM endstop_schema") == [(written,)]


async def test_another_programs_table_is_not_taken_for_one_that_the_first_release_lacks(old, url, sql):
    sql("CREATE TABLE uploads (id INTEGER)")

    with pytest.raises(StoreUnavailable, match="another program's table 'uploads' is in it"):
        await Store.open(url)
