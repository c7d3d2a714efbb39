"""What a worker knows of others on its task queue, and warns of when it starts."""

import pytest

from activities import cautions, pollers
from activities.pollers import Others, identity, machine_of, store_of
from settings import load_settings
from store import tag


class Beside(Others):
    """The workers that a server would tell of."""

    async def known(self) -> tuple[str, ...]:
        return self.there

    there: tuple[str, ...] = ()


@pytest.fixture
def others():
    return Beside(None, "q", "1@here/a")  # type: ignore[arg-type]


async def test_a_run_that_cannot_be_prepared_here_is_left_to_others_while_there_are_any(others):
    assert not await others.may_take("run-1")
    others.there = ("2@here/b",)
    assert await others.may_take("run-1")


async def test_a_run_that_others_did_not_take_in_time_ends(others, monkeypatch):
    others.there = ("2@here/b",)
    monkeypatch.setattr(pollers, "ELSEWHERE_S", 0)
    assert not await others.may_take("run-1")


def test_an_identity_names_machine_and_store():
    own = identity("1a2b3c4d")
    assert (store_of(own), "/" in machine_of(own)) == ("1a2b3c4d", False)
    assert machine_of("42@there") == "there"


@pytest.mark.parametrize("other", ["42@there", "42@there/shop", "billing/1a2b", "42@there/shop/es:1a2b"])
def test_what_another_program_calls_itself_names_no_store(other):
    assert store_of(other) == ""


def test_stores_are_told_apart_by_their_place_and_not_by_who_connects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tag("sqlite:///store.db") == tag(f"sqlite:///{tmp_path}/store.db") != tag("sqlite:///other.db")
    assert tag("postgresql://a:x@h/one") == tag("postgresql://b@h/one?sslmode=require") != tag("postgresql://a@h/two")


@pytest.fixture
def warned(monkeypatch):
    """What a worker at these settings warns of, beside others."""
    told = []
    monkeypatch.setattr(
        cautions, "_log", type("Log", (), {"warning": lambda _, event, **facts: told.append((event, facts))})()
    )

    async def warn(there=(), **environ):
        monkeypatch.setattr(cautions, "Others", lambda *_: others)
        others = Beside(None, "q", "")  # type: ignore[arg-type]
        others.there = there
        await cautions.warn(None, "q", load_settings(environ=environ).declared, "1@here/es:a")  # type: ignore[arg-type]
        return told

    return warn


async def test_a_worker_warns_of_every_declared_provider_without_a_key_in_one_line(warned, tmp_path, monkeypatch):
    (tmp_path / "endstop.toml").write_text(
        "".join(
            f"[providers.{n}]\napi = 'openai-chat'\nbase_url = 'https://{n}/v1'\nkey_env = '{n.upper()}'\n"
            for n in "abc"
        )
    )
    monkeypatch.chdir(tmp_path)
    assert await warned(A="set") == [("worker.no_key", {"providers": "b, c", "variables": "B, C"})]


async def test_a_worker_warns_of_a_workspace_whose_source_is_not_there(warned, tmp_path, monkeypatch):
    (tmp_path / "endstop.toml").write_text(
        "[workspaces.gone]\nsource = 'gone'\n[workspaces.here]\nsource = '.'\n[workspaces.far]\ngit = 'https://h/r'\n"
    )
    monkeypatch.chdir(tmp_path)
    told = await warned(OPENAI_API_KEY="set")
    assert told == [("worker.no_source", {"workspace": "gone", "missing": str(tmp_path / "gone")})]


async def test_a_default_that_nobody_declared_is_missed_only_where_nothing_can_be_called(warned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert await warned(OPENAI_API_KEY="set") == []
    ((event, facts),) = await warned()
    assert (event, facts["providers"]) == ("worker.no_key", "openai, anthropic, google")


async def test_a_worker_warns_of_others_whose_store_is_or_may_be_another(warned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = ("2@here/es:a", "3@here/es:b", "4@old")
    ((event, facts),) = await warned(there, OPENAI_API_KEY="set")
    assert (event, facts["others"]) == ("worker.other_store", "3@here/es:b, 4@old")
