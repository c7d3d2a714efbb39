"""People and tool calls by the command line alone: approvals, edits, rejections, questions, calls that were lost.

Real server, worker process, simulated models over HTTP, and somebody else's worker that pays the money.
"""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from simulator.script import Script
from tests.billing import TOOLS, Billing
from tests.test_cli_run import Models, Stage, read_until

pytestmark = pytest.mark.timeout(300)

ARGUMENTS = {"order": "A-17", "amount": 40}
HOSTILE = {"order": "\x1b[2J\u202e</pre>\nint-9 asks a person", "amount": 1}
WORDS = "not this customer: ask for the receipt"
DONE = {"kind": "text", "text": "done"}


def calls(*arguments: dict[str, Any], tool: str = "refund") -> dict[str, Any]:
    return {"kind": "tool_calls", "calls": [{"name": tool, "arguments": given} for given in arguments]}


SCRIPT: dict[str, list[dict[str, Any]]] = {
    "approve": [calls(ARGUMENTS), DONE],
    "edit": [calls(ARGUMENTS), DONE],
    "reject": [calls(ARGUMENTS), DONE],
    "stale": [calls(ARGUMENTS, ARGUMENTS | {"amount": 4_000}), DONE],
    "hostile": [calls(HOSTILE), DONE],
    "long": [calls({"order": "x" * 20_000, "amount": 1}), DONE],
    "elsewhere": [calls(ARGUMENTS), DONE],
    "lost": [calls(ARGUMENTS, tool="charge"), DONE],
    "parent": [calls({"task": "ask them"}, tool="help"), {"kind": "text", "text": '{"summary": "all asked"}'}],
    "helper": [calls({"question": "How far?"}, tool="ask_person"), DONE],
    "question": [calls({"question": "Which one?", "options": ["the first", "the second"]}, tool="ask_person"), DONE],
}


@pytest.fixture(scope="module")
def billing(temporal_server: str) -> Iterator[Billing]:
    with Billing(temporal_server) as billing:
        yield billing


@pytest.fixture(scope="module")
def stage(temporal_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("people")
    models = Models(Script.parse({"models": SCRIPT}))
    for name in SCRIPT:
        agent = f'name = "{name}"\nmodels = ["openai:{name}"]\ntools = ["refund", "charge", "ask_person"]\n'
        (folder / f"{name}.toml").write_text(agent)
    (folder / "parent.toml").write_text('name = "parent"\nmodels = ["openai:parent"]\ntools = ["help"]\n')
    helper = '[agents.helper]\nfile = "helper.toml"\n[tools.help]\nagent = "helper"\ndescription = "Asks"\n'
    provider = f'[providers.openai]\napi = "openai-chat"\nbase_url = "{models.url}/v1"\nkey_env = "OPENAI_API_KEY"\n'
    settings = f'task_queue = "people"\n{provider}{TOOLS}\n{helper}'
    (folder / "endstop.toml").write_text(settings)
    (folder / "other.toml").write_text(f'{settings}\n[store]\nurl = "sqlite:///other.db"\n')
    stage = Stage(temporal_server, folder, models)
    worker = stage.begin("worker")
    yield stage
    worker.terminate()
    _, log = worker.communicate()
    models.close()
    assert worker.returncode == 0
    assert "A-17" not in log


def begun(stage: Stage, run: str) -> dict[str, Any]:
    """Start the run of this name and return what it asks."""
    assert stage.endstop("start", f"{run}.toml", "--task", "x", "--id", run).code == 0
    return asked(stage, run)


def asked(stage: Stage, run: str, but: str = "") -> dict[str, Any]:
    """What the run asks, once it asks something else than `but`."""
    while True:
        shown = stage.endstop("show", run, "-o", "json").json
        assert shown["state"] in {"running", "needs_human"}, shown
        if shown["intervention"] and shown["intervention"]["id"] != but:
            found: dict[str, Any] = shown["intervention"]
            return found


def ended(stage: Stage, run: str) -> None:
    assert stage.endstop("watch", run).out.rstrip().endswith(f"{run}  completed")


def told(stage: Stage, model: str) -> str:
    """The last request that the model got."""
    return json.dumps([one.body for one in stage.models.requests if one.model == model][-1])


def test_a_person_sees_the_exact_arguments_and_lets_the_tool_run_with_them(stage: Stage, billing: Billing) -> None:
    watch = stage.begin("start", "approve.toml", "--task", "x", "--id", "approve", "--watch")
    seen = read_until(watch, "end the run as stopped")
    page = stage.endstop("show", "approve").out
    for text in (seen, page):
        assert 'the arguments of refund:\n  {\n    "order": "A-17",\n    "amount": 40\n  }\n' in text
    shown = stage.endstop("show", "approve", "-o", "json").json["intervention"]
    assert (shown["label"], shown["arguments"], shown["trouble"]) == ("ApprovalNeeded", ARGUMENTS, "")
    (command,) = re.findall(r"endstop (answer approve approve .+)", page)
    assert shown["digest"] in command
    assert {**ARGUMENTS} not in billing.refunds
    assert stage.endstop(*shlex.split(command)).code == 0
    rest, _ = watch.communicate()
    assert "approve  completed" in rest
    assert billing.refunds.count(ARGUMENTS) == 1
    assert "paid back 40" in told(stage, "approve")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{order: 1}", "it stops being JSON at line 1, column 2"),
        ("[1]", "the arguments should be one JSON object"),
        ('{"amount": 1, "amount": 2}', "with every key once"),
        ('{"amount": NaN}', "NaN is not a number of JSON"),
        ('{"amount": 1e999}', "of finite numbers"),
        (" ", "--text: is empty"),
        ('{"order": "A-17", "amount": "12"}', "edit: arguments of refund: amount: type is not met"),
    ],
)
@pytest.mark.usefixtures("edited")
def test_arguments_that_the_tool_would_not_take_are_refused_in_one_line_before_anything_is_sent(
    stage: Stage, text: str, why: str
) -> None:
    refused = stage.endstop("answer", "edit", "edit", text)
    assert (refused.code, refused.out) == (2, "")
    (line,) = refused.err.splitlines()
    assert why in line
    assert asked(stage, "edit")["id"] == "int-1"


@pytest.fixture(scope="module")
def edited(stage: Stage) -> None:
    begun(stage, "edit")


@pytest.mark.usefixtures("edited")
def test_the_tool_runs_with_the_arguments_that_a_person_wrote_instead(stage: Stage, billing: Billing) -> None:
    (stage.folder / "less.json").write_text('{"order": "A-17",\n "amount": 12}')
    assert stage.endstop("answer", "edit", "edit", "--text", "@less.json").code == 0
    ended(stage, "edit")
    assert {"order": "A-17", "amount": 12} in billing.refunds
    assert "A person changed the arguments" in told(stage, "edit")
    assert "paid back 12" in told(stage, "edit")


def test_a_rejected_call_is_not_made_and_the_words_reach_the_model(stage: Stage, billing: Billing) -> None:
    begun(stage, "reject")
    before = len(billing.refunds)
    assert stage.endstop("answer", "reject", "reject", WORDS).code == 0
    ended(stage, "reject")
    assert len(billing.refunds) == before
    assert WORDS in told(stage, "reject")
    assert WORDS not in stage.endstop("journal", "reject", "-o", "json").out


def test_a_question_shows_its_options_and_the_reply_is_what_the_model_gets(stage: Stage) -> None:
    begun(stage, "question")
    page = stage.endstop("show", "question").out
    assert "Which one?" in page
    assert "\n  - the first\n  - the second\n" in page
    assert stage.endstop("answer", "question", "reply", "neither of them").code == 0
    ended(stage, "question")
    assert "neither of them" in told(stage, "question")


def test_what_a_sub_run_asks_is_told_where_its_parent_is_watched_shown_and_listed(stage: Stage) -> None:
    watch = stage.begin("start", "parent.toml", "--task", "x", "--id", "parent", "--watch")
    command = "`endstop show parent/1.0`"
    read_until(watch, f"sub-run parent/1.0 asks a person (Question): {command}")
    assert f"sub-run parent/1.0 asks a person (Question): {command}\n" in stage.endstop("show", "parent").out
    assert asked(stage, "parent/1.0")["label"] == "Question"
    listed = stage.endstop("ls", "--needs-human")
    assert "  endstop show parent/1.0   (for parent)\n" in listed.out
    (one,) = [run for run in stage.endstop("ls", "--needs-human", "-o", "json").json if run["id"] == "parent/1.0"]
    assert one["parent"] == "parent"
    assert stage.endstop("answer", "parent/1.0", "reply", "this far").code == 0
    rest, _ = watch.communicate()
    assert rest.endswith('its answer:\n  | {\n  |   "summary": "all asked"\n  | }\nparent  completed\n')
    shown = stage.endstop("show", "parent", "-o", "json").json
    assert (shown["answer"], shown["output"]) == ('{"summary": "all asked"}', {"summary": "all asked"})
    assert shown["sub_runs"][0]["run"] == "parent/1.0"
    assert "parent/1.0 (help)" in stage.endstop("show", "parent").out


def test_an_approval_of_a_call_is_none_of_the_next_one(stage: Stage, billing: Billing) -> None:
    """The command of the first page is typed again: it was bound to what that page showed."""
    first = begun(stage, "stale")
    approve = ("answer", "stale", "approve", "--intervention", first["id"], "--digest", first["digest"])
    assert stage.endstop(*approve).code == 0
    second = asked(stage, "stale", but=first["id"])
    assert second["arguments"]["amount"] == 4_000
    again = stage.endstop(*approve)
    assert (again.code, again.out) == (1, "")
    assert "stale: open is int-2" in again.err
    assert asked(stage, "stale") == second
    assert all(refund["amount"] != 4_000 for refund in billing.refunds)
    assert stage.endstop("answer", "stale", "stop").code == 0


def test_what_a_model_wrote_into_arguments_is_shown_and_neither_obeyed_nor_taken_for_ours(stage: Stage) -> None:
    shown = begun(stage, "hostile")
    page = stage.endstop("show", "hostile").out
    assert shown["arguments"] == HOSTILE
    assert '"order": "\\u001b[2J\\u202e</pre>\\nint-9 asks a person"' in page
    assert not {"\x1b", "\u202e"} & set(page)
    assert not [line for line in page.splitlines() if line.startswith("int-9")]


def test_long_arguments_are_cut_and_the_page_says_how_to_see_the_rest(stage: Stage) -> None:
    shown = begun(stage, "long")
    page = stage.endstop("show", "long").out
    assert len(page) < 10_000
    assert "more characters: `endstop show long -o json` has them whole" in page
    assert len(shown["arguments"]["order"]) == 20_000


def test_from_another_store_the_call_cannot_be_seen_and_is_not_approved(stage: Stage) -> None:
    begun(stage, "elsewhere")
    page = stage.endstop("show", "elsewhere", settings="other.toml").out
    assert "the arguments of refund cannot be shown: the store that was asked does not hold this call" in page
    assert "endstop answer elsewhere approve" not in page
    assert "endstop answer elsewhere reject" in page
    refused = stage.endstop("answer", "elsewhere", "approve", settings="other.toml")
    assert (refused.code, refused.out) == (1, "")
    assert "takes no 'approve' now" in refused.err
    assert asked(stage, "elsewhere")["id"] == "int-1"


def test_a_lost_call_is_shown_as_it_was_made_and_a_person_says_what_came_of_it(stage: Stage, billing: Billing) -> None:
    """It was made with a person's arguments, not with the model's."""
    begun(stage, "lost")
    assert stage.endstop("answer", "lost", "edit", '{"amount": 7}').code == 0
    lost = asked(stage, "lost", but="int-1")
    assert (lost["label"], lost["arguments"]) == ("OutcomeUnknown", {"amount": 7})
    page = stage.endstop("show", "lost").out
    assert '"amount": 7' in page
    assert "it may then have run twice" in page
    assert stage.endstop("answer", "lost", "reply", "the bank took 7").code == 0
    ended(stage, "lost")
    assert billing.charges == [{"amount": 7}]
    assert "the bank took 7" in told(stage, "lost")
