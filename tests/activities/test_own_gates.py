"""Gates that are functions and schemas of the operator's: what each may ask for, and what it says of the work."""

import itertools
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from temporalio.testing import ActivityEnvironment

from activities.contract import GateDone, RunGate
from activities.declared import Declared
from activities.declared_gates import ActivityGate, FunctionGate, SchemaGate
from activities.function_gates import Breaks, Fails
from activities.functions import FunctionThreads
from activities.messages import serialise, user_message
from activities.own_gates import misfits, open_gates
from activities.run_gate import GateRunner
from activities.tool_unusable import ToolUnusable
from activities.workspace import Workspaces
from ledger.conversation import Conversation
from ledger.fingerprint import fingerprint
from ledger.outcomes import Broken, Failing, Passed

NUMBERS = itertools.count()


@pytest.fixture
def gates(tmp_path):
    """Write a module with this code, and open one of its functions as the gate `check`."""
    threads = FunctionThreads()

    def open_one(code, function="check", **more):
        name = f"operators_gates_{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(code)
        declared = Declared(gates={"check": FunctionGate(name="check", function=f"{name}:{function}", **more)})
        return open_gates(declared, tmp_path, threads)

    yield open_one
    threads.close()


WORDS = {
    "None": ("None", None),
    "True": ("True", None),
    "False": ("False", Fails(text="error: check: the check is not met")),
    "a text": ("'error: no total'", Fails(text="error: no total")),
    "a message": ("fail('error: no total')", Fails(text="error: no total")),
    "an assertion without one": ("claim(answer == 'x')", Fails(text="AssertionError: assert held")),
}


@pytest.mark.parametrize(("code", "found"), WORDS.values(), ids=WORDS)
async def test_what_a_function_says_of_the_work(gates, code, found):
    opened = gates(
        "def fail(why):\n    raise AssertionError(why)\n"
        "def claim(held):\n    assert held\n"
        f"def check(answer: str):\n    return {code}\n"
    )
    assert await opened.found("check", "the answer", None) == found


TROUBLE = {
    "an exception": ("1 / 0", "raised ZeroDivisionError in {name}.py, line 3"),
    "the end of the program": ("exit(MARKER)", "raised NameError"),
    "leaving": ("raise_(SystemExit('MARKER'))", "raised SystemExit"),
    "a cancellation": ("raise_(__import__('asyncio').CancelledError('MARKER'))", "raised CancelledError"),
    "a number": ("1", "returned a value of type int; a gate returns None, True, False or why it fails"),
    "a list": ("[]", "returned a value of type list"),
    "an empty text": ("'  '", "returned an empty text"),
}


@pytest.mark.parametrize(("code", "reason"), TROUBLE.values(), ids=TROUBLE)
async def test_trouble_of_the_functions_own_is_no_failure_of_the_work_and_nothing_it_quotes_is_kept(
    gates, code, reason
):
    opened = gates(f"def raise_(e): raise e\ndef check(answer: str):\n    return {code}\n")
    found = await opened.found("check", "MARKER", None)
    assert isinstance(found, Breaks)
    name = opened.functions["check"].declared.function.partition(":")[0]
    assert reason.format(name=name) in found.reason
    assert "MARKER" not in found.reason


@pytest.mark.parametrize(
    "code",
    [
        "async def check(answer):\n    import asyncio\n    await asyncio.Event().wait()",
        "import threading\nheld = threading.Event()\ndef check(answer):\n    held.wait(5)",
    ],
    ids=["async", "in a thread"],
)
async def test_a_function_that_takes_too_long_is_broken(gates, code):
    found = await gates(code, timeout_s=0.05).found("check", "x", None)
    assert isinstance(found, Breaks)
    assert "was called off after 0.05 s, its time limit" in found.reason


async def test_a_timeout_that_the_function_raises_is_its_own_and_not_the_limits(gates):
    found = await gates("async def check(answer):\n    raise TimeoutError").found("check", "x", None)
    assert isinstance(found, Breaks)
    assert "raised TimeoutError" in found.reason


GIVEN = {
    "both": ("answer, workspace", "text folder"),
    "the answer": ("answer", "text"),
    "the workspace": ("*, workspace", "folder"),
    "what has a default": ("answer, workspace=None, more=1", "text folder 1"),
    "whatever there is": ("answer, *args, **more", "text () {}"),
}


@pytest.mark.parametrize(("parameters", "got"), GIVEN.values(), ids=GIVEN)
async def test_a_function_gets_what_it_has_parameters_for(gates, tmp_path, parameters, got):
    names = [name.strip("* ").partition("=")[0] for name in parameters.split(",") if name.strip() != "*"]
    told = f"def check({parameters}):\n    return ' '.join(str(getattr(x, 'name', x)) for x in ({', '.join(names)},))\n"
    (tmp_path / "folder").mkdir()
    assert await gates(told).found("check", "text", tmp_path / "folder") == Fails(text=got)


UNUSABLE = {
    "another parameter": (
        "def check(answer, strict): ...",
        "takes strict, and a gate is given answer and workspace by name; give it a default or leave it out",
    ),
    "by position only": ("def check(answer, /): ...", "takes answer, and a gate is given"),
    "no such function": ("def other(answer): ...", "is not there"),
    "no function": ("check = 3", "is no function but of type int"),
    "a module that fails": ("raise OSError('no disk')", "cannot be imported (OSError: no disk)"),
}


@pytest.mark.parametrize(("code", "why"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_function_that_cannot_be_a_gate_ends_the_worker_with_one_line(gates, code, why):
    with pytest.raises(ToolUnusable) as caught:
        gates(code)
    assert str(caught.value).startswith("gate check: operators_gates_")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- schemas


def schema(given, name="invoice"):
    return SchemaGate.model_validate({"name": name, "schema": given})


TOTAL = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
MISFITS = {
    "no JSON": ("thirteen", "error: answer: it is not JSON"),
    "JSON in a fence": ('```json\n{"total": 1}\n```', "error: answer: it is not JSON"),
    "another type": ('{"total": "1"}', "error: answer: total: type is not met"),
    "something missing": ("{}", "error: answer: total: is missing"),
}


@pytest.mark.parametrize(("said", "fault"), MISFITS.values(), ids=MISFITS)
def test_an_answer_that_does_not_fit_is_told_where_and_what_fits(said, fault):
    found = misfits(schema(TOTAL), said)
    assert found is not None
    first, note = found.text.split("\n")
    assert first == fault
    assert note.endswith('that fits {"type":"object","required":["total"],"properties":{"total":{"type":"number"}}}')


def test_an_answer_that_fits_passes_whatever_is_at_its_top():
    assert misfits(schema(TOTAL), ' {"total": 13}\n') is None
    assert misfits(schema({"type": "array", "items": {"type": "integer"}}), "[1, 2]") is None


def test_the_schema_that_is_shown_is_no_part_of_the_failure_and_is_bounded():
    long = schema(TOTAL | {"description": "error: x\n" * 3_000})
    found, short = misfits(long, "{}"), misfits(schema(TOTAL), "{}")
    assert found is not None
    assert short is not None
    assert len(found.text) < 5_000
    assert fingerprint(found.text).exact == fingerprint(short.text).exact


def test_a_schema_that_cannot_be_used_ends_the_worker_with_one_line(tmp_path):
    declared = Declared(gates={"invoice": schema({"type": "nonsense"})})
    with pytest.raises(ToolUnusable, match=r"^gate invoice: schema: type: is not what JSON Schema 2020-12 expects"):
        open_gates(declared, tmp_path, FunctionThreads())


# ---- as the workflow asks them


async def asked(store, folder: Path, opened, gate):
    conversation = (await store.append(Conversation(id="run-1"), "task", user_message("do it"))).conversation
    conversation = (
        await store.append(conversation, "1.1.1", serialise(ModelResponse(parts=[TextPart("MARKER")])))
    ).conversation
    runner = GateRunner(store, {gate.name: gate}, Workspaces(folder, {}), sandbox=None, own=opened)
    order = RunGate(gate=gate.name, seq=3, run="run-1", answer=conversation)
    return GateDone.model_validate(await ActivityEnvironment().run(runner.run_gate, order)).verdict


async def test_the_workflow_gets_identity_and_the_store_the_words(gates, store, tmp_path):
    opened = gates("def check(answer):\n    return 'error: ' + answer")
    verdict = await asked(store, tmp_path, opened, opened.functions["check"].declared)
    assert isinstance(verdict, Failing)
    assert (await store.get(verdict.output)).decode() == "error: MARKER\n"
    assert "MARKER" not in verdict.model_dump_json()
    assert verdict.exact == fingerprint("error: MARKER").exact


async def test_half_a_character_as_file_names_may_have_is_kept_escaped(gates, store, tmp_path):
    opened = gates("def check(answer):\n    return 'error: no total in a' + chr(0xDCFF)")
    verdict = await asked(store, tmp_path, opened, opened.functions["check"].declared)
    assert isinstance(verdict, Failing)
    assert (await store.get(verdict.output)).decode() == "error: no total in a\\udcff\n"


async def test_a_pass_and_a_broken_gate_come_back_as_such(gates, store, tmp_path):
    passing, broken = gates("def check(answer): ..."), gates("def check(answer): raise OSError")
    assert await asked(store, tmp_path, passing, passing.functions["check"].declared) == Passed()
    assert await asked(store, tmp_path, broken, broken.functions["check"].declared) == Broken()
    assert "raised OSError" in (await store.get_details("run-1"))["gate:check:3"]


async def test_a_gate_that_is_elsewhere_is_not_asked_here(gates, store, tmp_path):
    elsewhere = ActivityGate(name="check", activity="Check", task_queue="q")
    assert await asked(store, tmp_path, gates("def check(answer): ..."), elsewhere) == Broken()
    assert "gate check is not declared on this worker" in (await store.get_details("run-1"))["gate:check:3"]
