"""`endstop keys` and `endstop codec`: what they print, and what they refuse in one line."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from google.protobuf.json_format import MessageToDict, ParseDict
from temporalio.api.common.v1 import Payloads

from cli import main
from encryption import Keys, new_key
from store import Store
from workflows.codec import EncryptionCodec

OLD, NEW = new_key(), new_key()
HISTORIES = Path(__file__).parent / "histories"
ON = '[encryption]\nkeys_env = "CONTENT_KEYS"\n'


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Run a command in a folder whose settings turn encryption on."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "endstop.toml").write_text(ON)

    def run(*args: str, keys: str = "", code: int = 0) -> str:
        monkeypatch.setenv("CONTENT_KEYS", keys)
        done = CliRunner().invoke(main, args)
        assert done.exit_code == code, done.output
        return done.output

    return run


@pytest.fixture
async def stored(tmp_path):
    store = await Store.open(f"sqlite:///{tmp_path}/.endstop/store.db", keys=Keys.parse(OLD))
    await store.put("CANARY one")
    await store.put("CANARY two")
    await store.close()
    return tmp_path / ".endstop"


def test_a_new_key_is_printed_alone_and_is_another_each_time(ran):
    first, second = ran("keys", "--new"), ran("keys", "--new")
    assert Keys.parse(first).newest != Keys.parse(second).newest
    assert first.count("\n") == 1


def test_keys_are_told_by_name_with_what_needs_them_and_rotated_until_the_old_one_is_not_needed(ran, stored):
    old, new = Keys.parse(OLD).newest, Keys.parse(NEW).newest

    before = ran("keys", keys=f"{NEW},{OLD}")
    assert [line.split() for line in before.splitlines()[1:]] == [
        [new, "0", "newest:", "encrypts"],
        [old, "2", "decrypts"],
    ]
    rotated = ran("keys", "--rotate", keys=f"{NEW},{OLD}")
    assert "encrypted 2 rows with the newest key" in rotated
    assert json.loads(ran("keys", "-o", "json", keys=NEW))["rows"] == {new: 2}
    assert OLD not in before + rotated
    files = b"".join(path.read_bytes() for path in stored.iterdir())
    assert bytes.fromhex(new) in files
    assert bytes.fromhex(old) not in files


def test_a_rotation_without_the_old_key_is_refused_and_names_it(ran, stored):
    said = ran("keys", "--rotate", keys=NEW, code=1)
    assert f"the key {Keys.parse(OLD).newest} is needed" in said
    assert said.count("\n") == 1
    assert "missing: not in the variable" in ran("keys", keys=NEW)


async def encrypted(history: str) -> str:
    """A stored history, as its run would have left it with keys."""
    read = json.loads(history)
    given = read["events"][0]["workflowExecutionStartedEventAttributes"]["input"]
    payloads = ParseDict(given, Payloads())
    await EncryptionCodec(Keys.parse(OLD)).encode_wrapper(payloads)
    given["payloads"] = MessageToDict(payloads)["payloads"]
    return json.dumps(read)


def test_a_replay_without_the_key_is_refused_and_is_no_divergence(ran, tmp_path):
    (tmp_path / "history.json").write_text(asyncio.run(encrypted((HISTORIES / "approvals.json").read_text())))
    replay = ("replay", "--file", "history.json")

    assert "replays (1 execution" in ran(*replay, keys=f"{NEW},{OLD}")
    said = ran(*replay, keys=NEW, code=1)
    assert f"cannot be replayed here: the key {Keys.parse(OLD).newest} is needed" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", ["keys", "codec"])
def test_a_variable_without_keys_is_refused_in_one_line_that_names_it(ran, command):
    said = ran(command, code=2)
    assert "CONTENT_KEYS: is not set" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("args", [("keys", "--rotate"), ("codec",)], ids=["rotate", "codec"])
def test_without_the_setting_there_is_nothing_to_rotate_or_to_decode(ran, tmp_path, args):
    (tmp_path / "endstop.toml").write_text("")
    assert "set [encryption] keys_env" in ran(*args, code=2)
