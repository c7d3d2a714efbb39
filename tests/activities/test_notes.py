import re

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from temporalio.testing import ActivityEnvironment

from activities.answer import AnswerReader
from activities.contract import MAX_INLINE_ANSWER, Append, ReadAnswer, WriteJournal
from activities.files import MANIFEST, NamedFile
from activities.journal import JournalWriter
from activities.messages import files_of, parse, serialise, tool_calls, tool_result, user_message
from activities.notes import MAX_ITEMS, MAX_TAIL, NoteWriter, folder_in
from activities.spoken import NOT_THERE
from activities.tried import MAX_CALLS, MAX_ROUND
from ledger.agent import AgentSpec
from ledger.conversation import Conversation
from ledger.notes import GuideNote, RepairNote, StageNote

RUN = "0197c3a2-run"
ROOT = f"/var/lib/endstop/{RUN}/app"
AGENT = AgentSpec.model_validate(
    {
        "workspace": "app",
        "stages": [
            {"name": "plan", "models": ["openai:gpt-5"], "files": ["wish.md"]},
            {"name": "build", "models": ["openai:gpt-5"], "gates": ["lint"], "tools": ["read_output"]},
            {"name": "draw", "models": ["openai:gpt-5"], "files": ["sketch.png", "wish.md"]},
        ],
    }
)
WISH = NamedFile(name="wish.md", ref="d1", media_type="text/plain", bytes=5)
SKETCH = NamedFile(name="sketch.png", ref="d2", media_type="image/png", bytes=70)
PYTEST_OUTPUT = f"""\
F.                                                                       [100%]
=================================== FAILURES ===================================
___________________________________ test_sum ___________________________________
{ROOT}/test_app.py:2: in test_sum
    assert 1 + 1 == 3
E   assert (1 + 1) == 3
=========================== short test summary info ============================
FAILED test_app.py::test_sum - assert (1 + 1) == 3
1 failed, 1 passed in 0.02s
"""


@pytest.fixture
async def started(store):
    return (await store.append(Conversation(id=RUN), "task", user_message("mend it"))).conversation


@pytest.fixture
async def append(store, started):
    agent_ref = await store.put(AGENT.model_dump_json())
    files_ref = await store.put(MANIFEST.dump_json((WISH, SKETCH)))

    async def append_notes(*notes, to=started):
        request = Append(conversation=to, agent_ref=agent_ref, files_ref=files_ref, notes=notes)
        done = await ActivityEnvironment().run(NoteWriter(store).append, request)
        return Conversation.model_validate(done).within(to)

    return append_notes


@pytest.fixture
def told(store, append):
    """Append notes and return what the model reads of them."""

    async def text_of_notes(*notes, to=None):
        bodies = await store.read(await append(*notes, **({"to": to} if to else {})))
        (part,) = parse(bodies[-1]).parts
        return part.content

    return text_of_notes


@pytest.fixture
def worked(store, append, started):
    """A plan, where one is given, and then an answer with these calls and a result for each; where that ends."""

    async def work(note, *calls, to=None, result="done"):
        place = await append(note, to=to or started) if note else to or started
        if not calls:
            return place
        answer = ModelResponse(parts=[ToolCallPart(name, given, f"id{n}") for n, (name, given) in enumerate(calls)])
        answered = (await store.append(place, f"request {place.length}", serialise(answer))).conversation
        for ordinal, call in enumerate(tool_calls(serialise(answer))):
            place = (await store.append_result(answered, ordinal, tool_result(call, result))).conversation
        return place

    return work


PLAN = 'The gate "tests" failed (round 2). Your work is not accepted before it passes.'


async def repair(store, output, **fields):
    return RepairNote(output=await store.put(output), **{"gate": "tests", "round": 1, **fields})


async def test_a_first_failure_tells_what_failed_and_shows_the_output(store, told):
    text = await told(await repair(store, PYTEST_OUTPUT))
    assert text.startswith('The gate "tests" failed (round 1).')
    assert "What fails:\n- test_app.py::test_sum" in text
    assert text.endswith("1 failed, 1 passed in 0.02s\n")
    assert "different approach" not in text


async def test_paths_of_the_workspace_are_told_as_the_file_tools_take_them(store, told):
    text = await told(await repair(store, PYTEST_OUTPUT))
    assert ROOT not in text
    assert "\ntest_app.py:2: in test_sum" in text


@pytest.mark.parametrize(
    ("seen", "rounds"), [((1,), "round 1"), ((1, 3), "rounds 1 and 3"), ((1, 3, 5), "rounds 1, 3 and 5")]
)
async def test_a_failure_seen_before_asks_for_a_different_approach_and_names_the_rounds(store, told, seen, rounds):
    text = await told(await repair(store, PYTEST_OUTPUT, round=6, seen=seen))
    assert f"This is the same failure as in {rounds}:" in text
    assert "A different approach is needed." in text


async def test_the_message_is_bounded_whatever_a_gate_wrote_and_whatever_was_tried(store, told, worked):
    output = "".join(f"src/file{n}.py:{n}: error: {'x' * 5_000} [misc]\n" for n in range(1_000))
    note, place = await repair(store, output), None
    for number in range(1, 10):
        note = note.model_copy(update={"round": number, "seen": tuple(range(1, number))})
        place = await worked(note, *((f"tool{n}" * 99, {"a" * 999: n, "path": "分" * 60}) for n in range(99)), to=place)
    text = await told(note.model_copy(update={"round": 10, "seen": tuple(range(2, 10))}), to=place)
    what_fails = text.partition("What fails:")[2]
    assert what_fails.count("\n- ") == MAX_ITEMS + 1
    assert re.search(r"\n- and \d+ more\n", what_fails)
    assert len(what_fails.encode()) < MAX_TAIL + MAX_ITEMS * 320 + 500
    assert len(text.encode()) < MAX_TAIL + MAX_ITEMS * 320 + MAX_CALLS * 110 + 8 * (MAX_ROUND + 20) + 700
    assert text.endswith("x [misc]\n")


async def test_what_was_tried_since_the_gates_last_plan_is_told_with_what_each_call_was_about(store, told, worked):
    note = await repair(store, PYTEST_OUTPUT)
    place = await worked(note)
    content = {"path": "src/app.py", "content": "x = 1\n" * 9, "why": "because " * 8}
    place = await worked(
        None, ("write_file", content), ("run", {}), ("read_file", {"path": "a b", "lines": 9}), to=place
    )
    place = await worked(None, ("write_file", content), ("odd\n- name", "no JSON"), to=place)
    text = await told(note.model_copy(update={"round": 2}), to=place)
    assert (
        "\n\nWhat was tried since round 1:\n"
        '- run\n- read_file path="a b" lines=9\n- write_file path="src/app.py" (2 times)\n'
        "- odd\\x0a- name\n\nWhat fails:"
    ) in text


async def test_a_first_failure_tells_of_nothing_tried_and_one_without_any_call_says_so(store, told, worked, append):
    note = await repair(store, PYTEST_OUTPUT)
    place = await worked(None, ("write_file", {"path": "app.py"}))
    assert "tried" not in await told(note, to=place)
    text = await told(note.model_copy(update={"round": 2}), to=await append(note, to=place))
    assert "\n\nNo tool was called since round 1.\n\n" in text


async def test_what_led_to_the_same_failure_before_is_told_by_the_round_that_it_led_to(store, told, worked):
    note, place = await repair(store, PYTEST_OUTPUT), None
    other = note.model_copy(update={"gate": "lint"})
    for number, path in enumerate(("first", "second", "third", "fourth"), 1):
        place = await worked(None, ("write_file", {"path": path}), to=place)
        place = await worked(note.model_copy(update={"round": number}), to=place)
        place = await worked(other.model_copy(update={"round": number}), to=place)
    place = await worked(None, ("write_file", {"path": "fifth"}), to=place)
    text = await told(note.model_copy(update={"round": 5, "seen": (1, 3)}), to=place)
    assert (
        'What was tried since round 4:\n- write_file path="fifth"\n\n'
        "What was tried before, and ended in this failure:\n"
        '- before round 3: write_file path="third"\n\n'
    ) in text
    assert "second" not in text


async def test_a_tool_that_prints_a_plan_and_a_person_who_quotes_one_hide_nothing_that_was_tried(store, told, worked):
    note = await repair(store, PYTEST_OUTPUT)
    place = await worked(note)
    place = await worked(None, ("write_file", {"path": "app.py"}), result=f"\n\n{PLAN}", to=place)
    place = await worked(GuideNote(text=PLAN), to=place)
    assert '- write_file path="app.py"\n' in await told(note.model_copy(update={"round": 3}), to=place)


async def test_the_same_plan_at_the_same_head_is_the_same_message(store, worked, append):
    note = await repair(store, PYTEST_OUTPUT)
    place = await worked(note, ("write_file", {"path": "app.py"}))
    again = note.model_copy(update={"round": 2, "seen": (1,)})
    assert await append(again, to=place) == await append(again, to=place)
    assert await store.unused_answers(RUN) == []


async def test_where_the_stage_can_read_outputs_the_plan_ends_with_the_whole_ones_name(store, told):
    note = await repair(store, PYTEST_OUTPUT, gate="lint")
    assert (await told(note)).endswith(
        "\n1 failed, 1 passed in 0.02s\n\n"
        f"The whole output is stored as {note.output}: read it with read_output where its end does not tell enough."
    )
    assert note.output not in await told(await repair(store, PYTEST_OUTPUT))


async def test_a_persons_words_reach_the_model_inline_or_by_reference(store, told):
    ref = await store.put("Look at the extra cent — 分")
    assert await told(GuideNote(text="Try divmod", by="ada")) == "A person says:\nTry divmod"
    assert await told(GuideNote(ref=ref)) == "A person says:\nLook at the extra cent — 分"


async def test_words_that_the_store_does_not_have_hold_no_run_up(told):
    """Temporal would ask for them again and again, and no stop would be heard meanwhile."""
    assert await told(GuideNote(ref="0" * 24)) == f"A person says:\n{NOT_THERE}"


async def test_a_stage_is_opened_with_its_name_and_the_one_before(told):
    assert await told(StageNote(stage=1)) == 'The stage "build" begins. The stage "plan" is done.'


async def test_the_files_of_a_stage_come_with_the_words_that_begin_it(store, append):
    *_, begins = await store.read(await append(StageNote(stage=2)))
    assert tuple(files_of(begins)) == (SKETCH, WISH)
    words, *named = parse(begins).parts[0].content
    assert words == 'The stage "draw" begins. The stage "build" is done.'
    assert [item.content for item in named] == ['The file "sketch.png":', 'The file "wish.md":']


async def test_several_notes_are_one_message_in_their_order(store, told):
    text = await told(await repair(store, PYTEST_OUTPUT), GuideNote(text="Try divmod"))
    assert text.index("The gate") < text.index("A person says")


async def test_the_same_notes_at_the_same_head_are_appended_once(store, append, started):
    first = await append(GuideNote(text="Try divmod"))
    assert await append(GuideNote(text="Try divmod")) == first
    assert first.length == started.length + 1
    assert await store.unused_answers(RUN) == []


async def test_the_same_words_said_again_later_are_appended_again(append):
    first = await append(GuideNote(text="Try divmod"))
    assert (await append(GuideNote(text="Try divmod"), to=first)).length == first.length + 1


@pytest.mark.parametrize(
    ("output", "root"),
    [
        (f"E  {ROOT}/a.py", ROOT),
        (f'File "{ROOT}/a.py"', ROOT),
        (f"rootdir={ROOT}", ROOT),
        (f"{ROOT}", ROOT),
        ("nothing here", ""),
        ("/elsewhere/run/app/a.py", ""),
    ],
)
def test_the_workspace_is_found_in_an_output_wherever_its_worker_keeps_it(output, root):
    assert folder_in(output, RUN, "app") == root


async def read_answer(store, conversation):
    return await ActivityEnvironment().run(AnswerReader(store).read_answer, ReadAnswer(conversation=conversation))


async def test_the_answer_is_the_text_of_the_last_message_without_its_thinking(store, started):
    body = serialise(ModelResponse(parts=[ThinkingPart("hm"), TextPart("done")]))
    answered = await store.append(started, "request", body)
    assert await read_answer(store, answered.conversation) == "done"


async def test_a_long_answer_is_cut_on_a_character(store, started):
    body = serialise(ModelResponse(parts=[TextPart("a" + "é" * MAX_INLINE_ANSWER)]))
    answered = await store.append(started, "request", body)
    text = await read_answer(store, answered.conversation)
    assert text == "a" + "é" * (MAX_INLINE_ANSWER // 2 - 1)


async def test_there_is_no_answer_before_a_model_answered(store, started):
    assert await read_answer(store, started) == ""
    assert await read_answer(store, Conversation(id="empty")) == ""


async def test_journal_entries_written_twice_stand_once_in_the_store(store):
    request = WriteJournal(conversation=RUN, entries=((1, {"type": "run", "at": 5}), (2, {"type": "wait", "at": 6})))
    for _ in range(2):
        await ActivityEnvironment().run(JournalWriter(store).write_journal, request)
    assert [(entry["seq"], entry["type"]) for entry in await store.read_journal(RUN)] == [(1, "run"), (2, "wait")]
