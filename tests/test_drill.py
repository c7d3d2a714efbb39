"""`endstop drill`: which outages are rehearsed, what each is foretold to come to, and that a run comes to the same.

The whole of it is run once, as a user would; what it foretells is the ledger's, and is tested against the policy.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from temporalio.client import Client

import cli
from activities.pricing import Tariff
from commands.drill import TASK, render, trips_of, unanswered
from commands.foretelling import MAX_REQUESTS, Foretold, Row, foretell, plan_of, row_of
from commands.outages import FAULTS, USUAL, Outage, hurried, left_out, outages, rehearsed, targets_of
from commands.simulated_settings import simulated, toml
from ledger.agent import AgentSpec
from ledger.decisions import Finish
from ledger.failures import Failure, FailureKind
from ledger.journal import read_journal
from ledger.outcomes import Answered, Refused, Trip
from ledger.policy import AskPolicy, CallPolicy, Policy
from settings import load_settings
from simulator.replies import Error, Text
from simulator.script import Script
from simulator.server import Simulator
from worker import run_worker

ROOT = Path(__file__).parent.parent
A, B, C = "openai:a", "anthropic:b", "openai:c"
HERE = Trip(outcome=Answered(finish_reason="complete"))


def agent(*models: str, policy: Policy | None = None, **more: Any) -> AgentSpec:
    return AgentSpec.model_validate({"models": models, "policy": policy or Policy(), **more})


def away(kind: FailureKind, **flags: Any) -> Trip:
    return Trip(outcome=Refused(failure=Failure.of(kind, **flags)))


def foretold(spec: AgentSpec, trips: Mapping[str, Trip]) -> Row:
    outage = Outage(who="x", fault="down", targets=())
    return row_of(outage, foretell(plan_of(spec), trips))


def test_each_target_goes_away_alone_and_then_all_of_them() -> None:
    planned = outages(agent(A, B), ("down", "rate_limited"))
    assert [(one.who, one.fault) for one in planned] == [
        (A, "down"), (A, "rate_limited"), (B, "down"), (B, "rate_limited"), ("all", "down"),
    ]  # fmt: skip
    assert [one.whole for one in planned] == [False] * 4 + [True]


def test_a_key_is_refused_to_all_models_of_its_provider_at_once() -> None:
    planned = outages(agent(A, B, C), ("key_refused",))
    assert [(one.who, tuple(map(str, one.targets))) for one in planned] == [
        ("openai", (A, C)), ("anthropic", (B,)), ("all", (A, B, C)),
    ]  # fmt: skip


def test_the_only_model_of_an_agent_goes_away_once_a_fault() -> None:
    assert [one.who for one in outages(agent(A), USUAL)] == [A, A, "openai"]


def test_a_model_of_the_same_name_at_another_provider_stays() -> None:
    outage = Outage(who="azure:a", fault="down", targets=agent("azure:a").stages[0].models)
    assert set(outage.script("azure").models) == {"a"}
    assert not outage.script("openai").models


def test_what_has_nothing_to_do_with_outages_is_left_out_and_told() -> None:
    policy = Policy(calls=CallPolicy(attempts=2), ask=AskPolicy(deadline_s=60), capture=True)
    whole = agent(A, B, policy=policy, tools=["t"], gates=["g"], files=["f"], output={"type": "object"}, workspace="w")
    plain = rehearsed(whole)
    assert left_out(whole) == (
        "tools", "gates", "files", "output schema", "workspace", "captured requests", "deadline for answers",
    )  # fmt: skip
    assert left_out(plain) == ("compaction", "deadline for answers")
    assert left_out(agent(A)) == ()
    assert plain.policy.calls == policy.calls
    assert targets_of(plain) == targets_of(whole)


DOWN = away(FailureKind.SERVER_ERROR)
LIMITED = away(FailureKind.RATE_LIMITED, wait_s=20)
AN_HOUR = away(FailureKind.RATE_LIMITED, wait_s=3_600)


@pytest.mark.parametrize(
    ("models", "trips", "policy", "requests", "failovers", "waited_s", "end"),
    [
        ((A, B), {A: DOWN, B: HERE}, {}, {A: 4, B: 1}, 1, 35, "answered"),
        ((A, B), {A: LIMITED, B: HERE}, {}, {A: 4, B: 1}, 1, 60, "answered"),
        ((A, B), {A: AN_HOUR, B: HERE}, {}, {A: 1, B: 1}, 1, 0, "answered"),
        ((A, B), {A: DOWN, B: HERE}, {"attempts": 2}, {A: 2, B: 1}, 1, 5, "answered"),
        ((A, B), {A: away(FailureKind.AUTH), B: HERE}, {}, {A: 1, B: 1}, 1, 0, "answered"),
        ((A, B), {A: DOWN, B: LIMITED}, {}, {A: 16, B: 16}, 7, 4 * 95 + 240 + 25 + 215 + 50 + 190 + 75, "asks"),
        ((A,), {A: away(FailureKind.AUTH)}, {}, {A: 1}, 0, 0, "asks"),
        ((A,), {A: AN_HOUR}, {}, {A: 1}, 0, 0, "asks"),
        ((A,), {A: DOWN}, {}, {A: 16}, 0, 4 * 35 + 3 * 300, "asks"),
        ((A,), {A: DOWN}, {"patience_s": 0}, {A: 4}, 0, 35, "asks"),
        ((A,), {A: DOWN}, {"patience_s": 1e7}, {A: MAX_REQUESTS}, 0, 250 * 35 + 249 * 300, "goes_on"),
    ],
)
def test_the_policy_of_the_agent_says_what_an_outage_comes_to(
    models: tuple[str, ...],
    trips: dict[str, Trip],
    policy: dict[str, float],
    requests: dict[str, int],
    failovers: int,
    waited_s: float,
    end: str,
) -> None:
    row = foretold(agent(*models, policy=Policy(calls=CallPolicy.model_validate(policy))), trips)
    assert (row.requests, row.failovers, row.waited_s, row.end) == (requests, failovers, waited_s, end)
    assert [row.asks, row.answered_by] == {
        "answered": ["", {"main": B}],
        "asks": ["ModelsExhausted", {}],
        "goes_on": ["", {}],
    }[end]


STAGES = {"stages": [{"name": "plan", "models": [A, B]}, {"name": "build", "models": [A]}]}


def test_a_later_stage_without_another_model_is_named_with_what_it_asks() -> None:
    row = foretold(AgentSpec.model_validate(STAGES), {A: away(FailureKind.AUTH), B: HERE})
    assert (row.answered_by, row.stage, row.asks) == ({"plan": B}, "build", "ModelsExhausted")
    assert row.options == ("retry", "failover", "stop")
    assert "asks ModelsExhausted in stage build: retry, failover, stop" in render([row], ())


def test_who_answers_is_told_by_stage_where_there_are_several() -> None:
    row = foretold(AgentSpec.model_validate(STAGES), {A: HERE})
    assert "answered by openai:a (plan), openai:a (build)" in render([row], ())


def test_an_outage_of_all_models_needs_a_person_but_is_no_finding() -> None:
    asks = foretold(agent(A), {A: DOWN})
    whole = asks.model_copy(update={"whole": True})
    assert unanswered([asks, whole]) == [asks]
    assert "no person is needed" in render([whole], ())
    assert "a person is needed in these outages: x down\n" in render([asks, whole], ())
    assert "left out: tools, gates" in render([asks], ("tools", "gates"))


OPERATORS = """
task_queue = "theirs"
workspace_root = "theirs"

[store]
url = "sqlite:///theirs.db"

[providers.work]
api = "openai-responses"
base_url = "https://api.openai.com/v1"
key_env = "NOT_SET"
headers = { "x-team" = "a" }

[providers.other]
api = "google"
base_url = "https://generativelanguage.googleapis.com"

[models."work:gpt-5"]
thinking = "low"

[tools.theirs]
function = "not_there:at_all"

[[classify]]
rule = "own.closed"
statuses = [503]
phrases = ["service unavailable"]
kind = "model_unavailable"
"""


def test_a_drills_settings_have_the_same_models_at_the_simulator_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "endstop.toml").write_text(OPERATORS)
    theirs = load_settings(tmp_path / "endstop.toml", {})
    spec = agent("work:gpt-5", policy=Policy.model_validate({"spend": {"limit_usd": 1}}))
    (tmp_path / "copy.toml").write_text(simulated(theirs, spec, {"work": "http://127.0.0.1:1"}))
    copy = load_settings(tmp_path / "copy.toml", {}).declared
    (work,) = copy.providers.values()
    assert (work.api, work.base_url, work.key_env) == ("openai-responses", "http://127.0.0.1:1/v1", "")
    assert [rule.rule for rule in copy.rules] == ["own.closed"]
    assert copy.models["work:gpt-5"].thinking == "low"
    assert not copy.tools
    (target,) = targets_of(spec)
    before = Tariff(target=target, provider=theirs.declared.providers["work"])
    after = Tariff(target=target, provider=work, own=copy.models["work:gpt-5"])
    assert after.most(0, 7_000) == before.most(0, 7_000) != None  # noqa: E711 - known at all


def test_settings_without_a_file_are_the_default_providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("copy.toml").write_text(simulated(load_settings(environ={}), agent(B), {"anthropic": "http://127.0.0.1:1"}))
    assert load_settings(Path("copy.toml"), {}).declared.providers["anthropic"].base_url == "http://127.0.0.1:1"


def test_odd_text_survives_being_written(tmp_path: Path) -> None:
    odd = 'a "quote", \\ \x7f \x00 ü \n end'
    (tmp_path / "endstop.toml").write_text(toml({"workspaces": {"w": {"source": "s"}}, "task_queue": odd}))
    assert load_settings(tmp_path / "endstop.toml", {}).task_queue == odd


@pytest.mark.parametrize(
    ("written", "args", "told"),
    [
        ('models = ["openai:a"]', ("--fault", "rate-limited"), 'no such fault; did you mean "rate_limited"?'),
        ('models = ["nobody:a"]', (), 'unknown provider "nobody"'),
        ('models = ["openai:a"]\ntools = ["no_such"]', (), 'unknown tool "no_such"'),
        ("models = []", (), "models"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, args: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.toml").write_text(written)
    done = CliRunner().invoke(cli.main, ["drill", "agent.toml", *args, "-o", "json"])
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert told in line


def test_the_help_names_every_fault() -> None:
    shown = CliRunner().invoke(cli.main, ["drill", "--help"]).stdout
    assert [fault for fault in FAULTS if fault not in " ".join(shown.split())] == []


def test_a_drill_tells_of_every_outage_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder, temporary = tmp_path / "theirs", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    (folder / "endstop.toml").write_text(OPERATORS)
    stages = 'tools = ["theirs"]\n[[stages]]\nname = "build"\nmodels = ["other:gemini-2.5-pro"]\n'
    (folder / "agent.toml").write_text(
        f'[[stages]]\nname = "plan"\nmodels = ["work:gpt-5", "other:gemini-2.5-pro"]\n{stages}'
    )
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("ENDSTOP_", "TEMPORAL_"))}
    command = [sys.executable, str(ROOT / "cli.py"), "drill", "agent.toml", "-o", "json"]
    command += ["--fault", "down", "--fault", "key_refused"]
    environment = ours | {"TMPDIR": str(temporary)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    rows = {(row["away"], row["fault"]): row for row in told["outages"]}
    plan, build = "work:gpt-5", "other:gemini-2.5-pro"
    assert {
        who: (row["requests"], row["failovers"], row["waited_s"], row["asks"], row["answered_by"])
        for who, row in rows.items()
    } == {  # the operator's own row says that a model which is down is gone
        (plan, "down"): ({plan: 1, build: 2}, 1, 0, "", {"plan": build, "build": build}),
        ("work", "key_refused"): ({plan: 1, build: 2}, 1, 0, "", {"plan": build, "build": build}),
        (build, "down"): ({plan: 1, build: 1}, 0, 0, "ModelsExhausted", {"plan": plan}),
        ("other", "key_refused"): ({plan: 1, build: 1}, 0, 0, "ModelsExhausted", {"plan": plan}),
        ("all", "down"): ({plan: 1, build: 1}, 1, 0, "ModelsExhausted", {}),
    }
    assert told["left_out"] == ["tools"]
    assert done.returncode == 1
    assert sorted(path.name for path in folder.iterdir()) == ["agent.toml", "endstop.toml"]
    assert list(temporary.iterdir()) == []


async def test_a_run_that_sits_its_waits_out_comes_to_what_was_foretold(
    tmp_path: Path, temporal_server: str, client: Client
) -> None:
    del temporal_server
    spec, queue = rehearsed(agent(A, B)), f"drill-{uuid4().hex[:8]}"
    limited = Error(error="rate_limited", retry_after_s=1, repeat=True)
    script = Script(default=Text(text="Here.", repeat=True), models={"a": (limited,)})
    async with Simulator(script) as simulator, asyncio.TaskGroup() as group:
        urls = {"openai": simulator.url, "anthropic": simulator.url}
        written = simulated(load_settings(environ={}), spec, urls)
        (tmp_path / "endstop.toml").write_text(f'task_queue = "{queue}"\n{written}')
        ready, stop = asyncio.Event(), asyncio.Event()
        group.create_task(run_worker(load_settings(tmp_path / "endstop.toml", {}), client, ready=ready, stop=stop))
        await ready.wait()
        handles = []
        for one in (hurried(spec), spec):
            started = {"agent": one.model_dump(mode="json"), "task": TASK}
            run = f"{queue}-{len(handles)}"
            handles.append(await client.start_workflow("AgentWorkflow", started, id=run, task_queue=queue))
            await handles[-1].result()
            if len(handles) == 1:
                assert [request.model for request in simulator.requests] == ["a", "b"]
        quick, whole = handles
        trips = await trips_of(client, await quick.fetch_history())
        journal = await whole.query("journal")
        stop.set()
    outage = Outage(who=A, fault="rate_limited", targets=())
    records = tuple(entry.record for entry in read_journal(journal["records"])[0])
    really = row_of(outage, Foretold(records=records, decision=Finish(status="completed"), stage="main"))
    told = row_of(outage, foretell(plan_of(spec), trips))
    assert told.requests == {A: 4, B: 1}
    assert told.waited_s <= really.waited_s <= told.waited_s * 1.1 + 0.1
    assert really.model_copy(update={"waited_s": told.waited_s}) == told
