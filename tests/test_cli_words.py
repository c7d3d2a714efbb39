"""What a journal tells people: one line a record, sums that add up, text that cannot command a terminal."""

import re
import shlex
from types import SimpleNamespace
from typing import Any

import pytest

import cli
from commands.final_answer import FinalAnswer
from commands.final_answer import told as answer_told
from commands.runs import Unfinished, View
from commands.show import as_json, clock, doing, journal_lines, question, show, waiting
from commands.tables import plain, table
from commands.tallies import gates, targets, time_spent
from commands.transcript import render
from commands.watch import Watch
from commands.words import line, narrate, seconds
from inbox.asked_call import AskedCall
from ledger.conversation import Conversation
from ledger.interventions import ACCEPTS, ApprovalNeeded, BudgetSpent, NoProgress, Open, SpendLimit, WorkspaceLost
from ledger.journal import (
    AnswerRecord,
    CompactionRecord,
    Entry,
    GateRecord,
    InterventionRecord,
    JournalRecord,
    RunRecord,
    ToolBatchRecord,
    ToolCallRecord,
    WaitRecord,
    read_journal,
)
from ledger.records import AttemptRecord, Failed, FailedOutcome, FailoverRecord, RequestDigest, Retry, UsageRecord
from ledger.target import Target
from workflows.messages import ChildStatus, Status
from workflows.replies import MEANS, TAKES
from workflows.showing import asked_of

DIGEST = RequestDigest(system_hash=1, messages=2, tools=3, max_tokens=8_192, temperature=None)


def attempt(number: int, failed: Failed | None = None, **changed: Any) -> AttemptRecord:
    given: dict[str, Any] = {
        "id": f"3.1.{number}",
        "stage": "main",
        "iteration": 3,
        "turn": 3,
        "call": 1,
        "provider": "anthropic",
        "model": "claude",
        "attempt": number,
        "backoff_ms": 0,
        "duration_ms": 1_500,
        "at": 1_000 + number,
        "outcome": failed or "succeeded",
        "finish_reason": "" if failed else "complete",
        "digest": DIGEST,
    }
    return AttemptRecord(**given | changed)


def failure(kind: str, following: Retry) -> Failed:
    return Failed(failed=FailedOutcome(kind=kind, transient=True, capacity=False, next=following))


def gate(number: int, exact: str, *, charges: int = 0, charged: bool = False, decided: Any = "admitted") -> GateRecord:
    return GateRecord(
        at=1_010 + number,
        gate="tests",
        report=number,
        round=number,
        verdict="passed" if decided == "passed" else "failing",
        exact=exact,
        items=1,
        charged=charged,
        charges=charges,
        decided=decided,
    )


def tools(*durations: int) -> ToolBatchRecord:
    calls = tuple(
        ToolCallRecord(name="read_file", status="ok", step="s", repetitions=1, duration_ms=ms) for ms in durations
    )
    return ToolBatchRecord(at=1_004, attempt_id="3.1.2", calls=calls)


def journal(*records: JournalRecord) -> list[Entry]:
    return [Entry(seq=seq, record=record) for seq, record in enumerate(records, 1)]


RATE_LIMITED = attempt(1, failure("rate_limited", Retry.SAME_MODEL))
ANSWERED = attempt(2, backoff_ms=16_000)
QUESTION = Open(id="int-1", intervention=BudgetSpent(gate="tests", charged=4, budget=3), at=1_020)
ASKED = InterventionRecord(at=1_020, id="int-1", digest=QUESTION.digest, label="BudgetSpent", facts={"gate": "tests"})
ANSWER = AnswerRecord(
    at=1_030, intervention="int-1", label="BudgetSpent", answer="guide", by="ann@home", door="cli", waited_ms=10_000
)


def test_a_failed_attempt_says_what_failed_and_how_long_the_retry_waited() -> None:
    told = [words for _, words in narrate(journal(RATE_LIMITED, ANSWERED))]
    assert told == [
        "t3.c1.a1 anthropic:claude failed rate_limited after 1.5 s, retry in 16 s",
        "t3.c1.a2 anthropic:claude answered in 1.5 s (complete)",
    ]


def test_the_last_attempt_of_a_call_is_never_given_the_wait_of_another_call() -> None:
    last = attempt(1, failure("rate_limited", Retry.SAME_MODEL))
    other_call = attempt(1, id="3.2.1", call=2, backoff_ms=9_000)
    assert "retry follows" in next(words for _, words in narrate(journal(last, other_call)))


def test_an_attempt_that_may_have_been_paid_says_so() -> None:
    lost = attempt(1, failure("worker_lost", Retry.REPORTED), outcome_unknown=True)
    assert "outcome unknown: it may have been paid" in line(lost)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        pytest.param(gate(1, "aaaaaaaaaa"), "1 failing item, failure aaaaaaaa, new, free, one more repair", id="free"),
        pytest.param(
            gate(4, "b", charged=True, charges=4, decided="BudgetSpent"),
            "charged (4 so far), stopped by BudgetSpent",
            id="charged and stopped",
        ),
        pytest.param(gate(5, "", decided="passed"), "gate tests round 5: passed", id="passed"),
        pytest.param(ASKED, "int-1: needs a person: BudgetSpent (gate tests)", id="asked"),
        pytest.param(ANSWER, "int-1: ann@home answered guide after 10 s (cli)", id="answered"),
        pytest.param(
            WaitRecord(at=1, reason="patience", target="a:b", asked_ms=60_000, slept_ms=5_000, interrupted=True),
            "waited 5 s of 1 min, interrupted (patience) for a:b",
            id="an interrupted wait",
        ),
        pytest.param(RunRecord(at=1, what="stopped", by="ann", why="enough"), "was stopped by ann: enough", id="ended"),
    ],
)
def test_each_record_is_one_line_that_says_what_was_decided(record: JournalRecord, words: str) -> None:
    assert words in line(record)
    assert "\n" not in line(record)


COMPACTED = CompactionRecord(
    at=1,
    id="compact-2",
    reason="full",
    how="drop_tool_results",
    target="openai:gpt-5",
    window=8_000,
    before="40/0123456789ab",
    after="40/ba9876543210",
    tokens_before=6_500,
    tokens_after=3_000,
    bytes_before=26_000,
    bytes_after=12_000,
    dropped=7,
)
SIZES = "about 6,500 tokens to 3,000, 40 messages to 40 (01234567 to ba987654)"
SUMMED_UP = {"how": "summarise", "replaced": 21, "attempt_id": "9.2.1", "reason": "too_large"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, f"because its window was full: 7 old tool results dropped; {SIZES}"),
        ({"fallback": True}, f"7 old tool results dropped, as nobody could summarise it; {SIZES}"),
        (SUMMED_UP, f"because the request was refused for its size: 21 messages summarised by t9.c2.a1; {SIZES}"),
        ({"after": COMPACTED.before}, "could not be compacted for openai:gpt-5: nothing old is left to drop"),
    ],
    ids=["dropped", "without a summary", "summarised", "nothing to drop"],
)
def test_a_compaction_says_why_it_was_made_and_what_of(changed: dict[str, Any], words: str) -> None:
    told = line(COMPACTED.model_copy(update=changed))
    assert told.startswith("compact-2: the conversation ")
    assert told.endswith(words)


def test_only_an_attempt_that_sent_nothing_says_so() -> None:
    found, late = attempt(2, recovered="3.1.1", digest=None), attempt(2, recovered="3.1.1")
    assert line(found).endswith("found the stored answer of t3.c1.a1; nothing was sent")
    assert line(late).endswith("was answered in 1.5 s, later than t3.c1.a1, whose answer counts")


def test_an_attempt_that_asked_for_a_summary_says_so() -> None:
    assert ":claude, for a summary, answered in" in line(attempt(1, purpose="summary"))


def test_a_record_of_a_later_release_is_told_as_set_aside_and_hides_no_other() -> None:
    entries, aside = read_journal([{"seq": 1, "type": "hologram"}, {"seq": 2, **ASKED.model_dump(mode="json")}])
    told = dict(narrate(entries, aside))
    assert "cannot read" in told[1]
    assert "BudgetSpent" in told[2]


def test_a_question_of_the_model_is_not_in_the_journal_line_but_where_it_is_asked() -> None:
    facts = {"text": "SECRET WORDS", "options": ["a"]}
    assert "SECRET" not in line(InterventionRecord(at=1, id="int-1", digest="d", label="Question", facts=facts))


def test_sums_by_target_count_failures_by_kind_and_never_price_the_unknown_as_nothing() -> None:
    usage = UsageRecord(attempt_id="3.1.2", input_tokens=100, output_tokens=20)
    (row,) = targets(journal(RATE_LIMITED, ANSWERED, usage))
    assert (row.target, row.attempts, row.failed) == ("anthropic:claude", 2, {"rate_limited": 1})
    assert (row.input_tokens, row.output_tokens, row.cost_usd) == (100, 20, None)


def used(attempt_id: str, usd: float | None, *, estimated: bool = False) -> UsageRecord:
    return UsageRecord(attempt_id=attempt_id, input_tokens=1_500, output_tokens=20, cost_usd=usd, estimated=estimated)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (used("3.1.2", 0.0043), "t3.c1.a2 used 1,500 tokens in, 20 out, 0.0043 USD"),
        (used("3.1.2", 0.0043, estimated=True), "t3.c1.a2 used up to 1,500 tokens in, 20 out, up to 0.0043 USD"),
        (used("3.1.2", None), "t3.c1.a2 used 1,500 tokens in, 20 out, price unknown"),
        (used("3.1.2", 0.000012), "t3.c1.a2 used 1,500 tokens in, 20 out, 0.000012 USD"),
        (used("3.1.2", 0), "t3.c1.a2 used 1,500 tokens in, 20 out, 0.0000 USD"),
    ],
    ids=["known", "a bound", "unknown", "less than a cent of a cent", "free"],
)
def test_a_cost_says_whether_it_is_a_bound_or_unknown(record: UsageRecord, words: str) -> None:
    assert line(record) == words


@pytest.mark.parametrize(
    ("usage", "cell", "sentence"),
    [
        ([used("3.1.2", 0.01)], "0.0100", "cost 0.0100 USD"),
        ([used("3.1.2", 0.00003)], "0.000030", "cost 0.000030 USD"),
        (
            [used("3.1.1", 0.02, estimated=True), used("3.1.2", 0.01)],
            "up to 0.0300",
            "cost up to 0.0300 USD, 0.0200 USD of it for 1 attempt that nobody counted",
        ),
        (
            [used("3.1.1", None), used("3.1.2", 0.01)],
            "0.0100 + 1 of unknown price",
            "cost 0.0100 USD, 1 attempt at an unknown price",
        ),
        ([used("3.1.2", None)], "1 of unknown price", "cost unknown, 1 attempt at an unknown price"),
        ([], "-", ""),
    ],
    ids=["known", "little", "a bound", "partly unknown", "unknown", "nothing used"],
)
def test_the_cost_of_a_run_is_told_with_what_is_not_known_of_it(
    usage: list[UsageRecord], cell: str, sentence: str
) -> None:
    view = View(id="r", state="completed", entries=tuple(journal(RATE_LIMITED, ANSWERED, *usage)))
    page = show(view).splitlines()
    assert next(row for row in page if row.startswith("anthropic:claude")).endswith(f"  {cell}")
    assert [row for row in page if row.startswith("cost")] == [sentence][: len(usage)]


def test_a_gate_that_could_not_run_points_to_why_and_one_that_failed_to_what_it_said() -> None:
    lost = WorkspaceLost(workspace="", worker="", gate="g")
    broken = question("r", asked_of(Open(id="int-1", intervention=lost, at=1)))
    assert "gate g could not run\nwhy: `endstop journal r --details` quotes what the gate met\n" in broken
    spent = question("r", asked_of(Open(id="int-1", intervention=BudgetSpent(gate="g", charged=4, budget=3), at=1)))
    assert "what failed: `endstop output r g` has it whole" in spent


@pytest.mark.parametrize("asked", ACCEPTS, ids=str)
def test_every_printed_answer_is_bound_to_what_is_shown(asked: str) -> None:
    opened = asked_of(QUESTION).model_copy(update={"label": asked, "answers": (*ACCEPTS[asked], "stop")})
    commands = [row for row in question("r", opened).splitlines() if "endstop answer" in row]
    assert commands
    assert all(row.endswith(f" --intervention int-1 --digest {QUESTION.digest}") for row in commands)


@pytest.mark.parametrize("run", ["ask 1", "a/b'c $(x)", "--help", "-x; `y`", "plain"])
def test_a_printed_command_names_the_run_whatever_its_id_is(run: str) -> None:
    (command,) = [
        row for row in question(run, asked_of(QUESTION)).splitlines() if "endstop answer" in row and "retry" in row
    ]
    program, *words = shlex.split(command)
    assert program == "endstop"
    context = cli.main.commands["answer"].make_context("answer", words[1:])
    assert (context.params["run"], context.params["label"], context.params["digest"]) == (run, "retry", QUESTION.digest)


def test_a_gate_that_makes_no_progress_is_named_and_one_that_could_not_run_has_no_round() -> None:
    stuck = NoProgress(gate="tests", fingerprint="4e1d", repetitions=4)
    assert 'no progress: failure "4e1d" of gate tests failed 4 times unchanged' in str(stuck)
    broken = GateRecord(at=1, gate="crash", report=1, round=0, verdict="broken", decided="broken")
    assert line(broken) == "gate crash: it could not run, which tells nothing of the work"
    facts = {"workspace": "", "worker": "", "gate": "crash"}
    asks = InterventionRecord(at=1, id="int-1", digest="d", label="WorkspaceLost", facts=facts)
    assert line(asks) == "int-1: needs a person: WorkspaceLost (gate crash)"
    assert "crash  -  " in re.sub(" +", "  ", show(View(id="r", state="running", entries=tuple(journal(broken)))))


@pytest.mark.parametrize(
    ("text", "shown", "output"),
    [
        ("It is done.\x1b[2J", "  | It is done.\\x1b[2J", None),
        ("one\nendstop answer r stop", "  | one\n  | endstop answer r stop", None),
        ('{"summary": "fini\u202e"}', '  | {\n  |   "summary": "fini\\x202e"\n  | }', {"summary": "fini\u202e"}),
        ("[see above", "  | [see above", None),
        ("x" * 4_010, "[10 more characters: `endstop show r -o json` has them]", None),
    ],
    ids=["no command to the terminal", "lines that cannot pass for ours", "a value", "no value", "long"],
)
def test_the_answer_of_a_run_that_completed_is_on_its_page(text: str, shown: str, output: Any) -> None:
    view = View(id="r", state="completed", answer=FinalAnswer(text=text))
    assert shown in show(view)
    assert shown in answer_told("r", view.answer)  # as a watch prints it
    assert (as_json(view)["answer"], as_json(view)["output"]) == (text, output)


def test_a_run_says_which_sub_runs_are_under_way_and_what_they_ask() -> None:
    children = (ChildStatus(id="sup/1.0", intervention="Question"), ChildStatus(id="sup/1.1"))
    status = Status(
        status="running",
        agent="a",
        stage="s",
        turn=1,
        doing="running ask",
        children=children,
        conversation=Conversation(id="c"),
    )
    page = show(View(id="sup", state="running", status=status))
    assert "sub-run sup/1.0 asks a person (Question): `endstop show sup/1.0`\n" in page
    assert "sub-run sup/1.1 is under way: `endstop show sup/1.1`\n" in page + "\n"


def test_a_spend_limit_says_how_far_it_has_to_be_raised() -> None:
    """Rounded up: an amount that is copied from the page must be enough."""
    target = Target.parse("openai:gpt-5")
    limit = SpendLimit(spent_usd=0.00431, limit_usd=0.01, target=target, bound_usd=0.00587)
    page = question("r", asked_of(Open(id="int-1", intervention=limit, at=1)))
    assert "endstop answer r raise --amount N --intervention int-1 " in page
    assert "lift the limit by this much; this call needs 0.0003 USD or more" in page
    unknown = SpendLimit(spent_usd=0, limit_usd=0.01, target=target)
    page = question("r", asked_of(Open(id="int-1", intervention=unknown, at=1)))
    assert "and call this target, whose price nobody knows" in page


def test_sums_by_gate_count_different_failures_and_charges() -> None:
    rounds = journal(gate(1, "a"), gate(2, "b"), gate(3, "a", charged=True, charges=1), gate(4, "", decided="passed"))
    (row,) = gates(rounds)
    assert (row.rounds, row.different, row.charges, row.last) == (4, 2, 1, "passed")


def test_the_page_has_a_row_for_each_round_of_a_gate_with_what_it_cost_and_what_was_decided() -> None:
    drifts = gate(2, "bbbbbbbbbb").model_copy(update={"repetitions": 1, "drift": 2, "items": 3})
    charged = gate(3, "aaaaaaaaaa", charged=True, charges=1).model_copy(update={"repetitions": 2, "escalated": True})
    entries = tuple(journal(gate(1, "aaaaaaaaaa"), drifts, charged, gate(4, "", charges=1, decided="passed")))
    page = [re.split("  +", row) for row in show(View(id="r", state="running", entries=entries)).splitlines()]
    start = page.index(["GATE", "ROUND", "VERDICT", "ITEMS", "FAILURE", "SEEN", "DRIFT", "COST", "DECIDED"])
    assert page[start + 2 : start + 5] == [
        ["tests", "2", "failing", "3", "bbbbbbbb", "1", "2", "free", "admitted"],
        ["tests", "3", "failing", "1", "aaaaaaaa", "2", "0", "charged (1)", "admitted, next model"],
        ["tests", "4", "passed", "-", "-", "-", "-", "-", "passed"],
    ]


def test_a_page_of_many_rounds_shows_the_newest_and_says_where_the_others_are() -> None:
    page = show(View(id="r", state="running", entries=tuple(journal(*(gate(n, f"{n}") for n in range(1, 24))))))
    assert "(3 earlier rounds: `endstop journal r`)" in page
    assert [f"tests  {n} " in page for n in (3, 4, 23)] == [False, True, True]


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        (f"git:{'1a2b3c4d' * 5}", "commit 1a2b3c4d1a2b"),
        (f"sha256:{'1a2b3c4d' * 8}", "an archive, sha256 1a2b3c4d1a2b"),
    ],
)
def test_what_a_workspace_was_made_of_is_on_the_page_and_in_the_journal(revision: str, words: str) -> None:
    view = View(id="r", state="running", entries=tuple(journal(RunRecord(at=1, what="began", revision=revision))))
    assert f"its workspace was made of {words}\n" in show(view) + "\n"
    assert f"the run began, its workspace made of {words}" in "\n".join(journal_lines(view))
    assert as_json(view)["revision"] == revision


def test_a_waived_gate_and_a_stopped_run_say_on_whose_word() -> None:
    accepted = ANSWER.model_copy(update={"answer": "accept"})
    stopped = RunRecord(at=1_040, what="stopped", by="bob@desk", why="enough")
    page = show(View(id="r", state="stopped", entries=tuple(journal(gate(1, "a"), ASKED, accepted, stopped))))
    assert page.splitlines()[0] == "r  stopped by bob@desk: enough"
    assert "waived by ann@home (failing, admitted)" in page
    guided = show(View(id="r", state="completed", entries=tuple(journal(gate(1, "a"), ASKED, ANSWER))))
    assert "waived" not in guided
    assert guided.splitlines()[0] == "r  completed"


def test_the_command_that_answers_about_a_call_is_bound_to_what_was_shown() -> None:
    """It is typed later, when the run may ask about another call."""
    opened = Open(id="int-3", intervention=ApprovalNeeded(tool="refund", arguments="d" * 16), at=1)
    page = question("r", asked_of(opened), AskedCall(tool="refund", arguments='{"a": 1}'))
    for label in ("approve", "reject", "edit"):
        assert re.search(rf"endstop answer r {label}.* --intervention int-3 --digest {opened.digest}\n", page)


def test_time_is_accounted_once_a_retry_wait_by_timer_too() -> None:
    waited = WaitRecord(at=1_001, reason="retry", target="a:b", asked_ms=16_000, slept_ms=16_000)
    spent = time_spent(journal(RATE_LIMITED, waited, ANSWERED, tools(30, 70), ASKED, ANSWER))
    assert (spent.models_ms, spent.waits_ms, spent.tools_ms, spent.people_ms) == (3_000, 16_000, 70, 10_000)
    assert (spent.total_ms, spent.attempts, spent.failed) == (29_070, 2, 1)


def test_a_durable_wait_between_calls_is_counted_as_waiting() -> None:
    wait = WaitRecord(at=1_001, reason="patience", target="a:b", asked_ms=60_000, slept_ms=60_000)
    assert time_spent(journal(RATE_LIMITED, wait)).waits_ms == 60_000


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        *((0, "0 ms"), (999, "999 ms"), (1_500, "1.5 s"), (16_000, "16 s"), (59_700, "1 min")),
        *((270_000, "4 min 30 s"), (7_500_000, "2 h 5 min"), (259_200_000, "72 h")),
    ],
)
def test_lengths_of_time_read_as_people_say_them(milliseconds: int, words: str) -> None:
    assert seconds(milliseconds) == words


def status(**changed: Any) -> Status:
    given: dict[str, Any] = {"status": "waiting", "agent": "a", "stage": "main", "turn": 3, "doing": "waiting for a:b"}
    return Status(**given | {"conversation": Conversation(id="c"), "since": 90.0} | changed)


def test_a_watch_says_once_until_when_a_run_waits(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch(SimpleNamespace(get_workflow_handle=str), "run-1")  # type: ignore[arg-type]
    first, then = waiting(status(until=112.3)), waiting(status(until=500))
    for words in (first, first, waiting(status(until=None)), then):
        watch._tell_wait(words)
    assert capsys.readouterr().out.splitlines() == [first, then]
    assert first.endswith(f"waiting for a:b, until {clock(112.3)}")


def test_a_wait_is_shown_as_a_countdown_and_a_call_by_its_age() -> None:
    assert doing(status(until=112.3), now=100) == "waiting for a:b, 13 s left"
    assert doing(status(doing="calling a:b, attempt 2"), now=100) == "calling a:b, attempt 2 for 10 s"
    assert doing(status(until=99.0), now=100) == "waiting for a:b for 10 s"


def test_a_question_comes_with_the_exact_command_for_every_answer() -> None:
    page = question("my-run", asked_of(QUESTION))
    assert "budget spent: gate tests was charged 4 times of 3" in page
    for label in (*ACCEPTS["BudgetSpent"], "stop"):
        assert f"endstop answer my-run {label}" in page


def test_every_answer_of_every_intervention_has_its_words_and_its_flag() -> None:
    labels = {"stop"}.union(*ACCEPTS.values())
    assert set(TAKES) == set(MEANS) == labels


def test_a_trip_that_was_cut_off_by_termination_is_shown_as_unknown() -> None:
    view = View(id="r", state="terminated", unfinished=(Unfinished(id="2.1.1", target="openai:gpt-5"),))
    for page in (show(view), "\n".join(journal_lines(view))):
        assert "t2.c1.a1 openai:gpt-5 was under way and never ended: outcome unknown" in page


def test_text_from_a_run_cannot_command_the_terminal() -> None:
    view = View(id="r", state="failed", reason="\x1b[2Jgone\rover", notices=("\x07bell",))
    assert plain(show(view)) == show(view)
    assert not {"\x1b", "\r", "\x07"} & set(show(view))


def test_a_transcript_shows_roles_calls_and_results() -> None:
    said = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Do it."}]},
        {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "read_file", "args": {"path": "a.py"}}]},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "read_file", "content": "x = 1"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Done.\x1b[31m"}]},
    ]
    assert list(render(said)) == [
        *("── 1 to the model", "Do it."),
        *("── 2 model calls read_file", '{"path": "a.py"}'),
        *("── 3 result of read_file", "x = 1"),
        *("── 4 model", "Done.\\x1b[31m"),
    ]


def test_a_transcript_names_the_files_that_came_with_a_task() -> None:
    file = {"kind": "text-content", "content": 'The file "plan.pdf":', "metadata": {"endstop_file": {"ref": "d1"}}}
    said = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["Read it.", file]}]}]
    assert list(render(said)) == ["── 1 to the model", 'Read it.\nThe file "plan.pdf":']


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table(("A", "B"), (("long", 1), ("x", 22))) == "A     B\nlong  1\nx     22"


def test_a_failover_names_both_models_and_its_reason() -> None:
    moved = FailoverRecord(
        stage="main",
        iteration=1,
        at=1,
        from_provider="a",
        from_model="b",
        to_provider="c",
        to_model="d",
        kind="auth",
        reason="auth_failed",
    )
    assert line(moved) == "failover: a:b → c:d, because auth_failed (auth)"
