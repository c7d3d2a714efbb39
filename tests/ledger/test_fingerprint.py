"""The fingerprint: the same failure is recognised through noise, another one is not.

`failure_pairs.jsonl` and `repair_sequences.jsonl` are outputs of real tools. `other_tools.jsonl` holds 211 outputs of
tools and programs that are in neither (`made`: run, or written after its documentation), each with replacements that
leave the failure the same, and others that make it another. `run_pairs.jsonl` holds pairs of
outputs of some ninety tools, run for it on small broken projects, and labelled before a fingerprint was
taken. `outputs_once_misread.jsonl` holds
pairs that were told apart or thrown together before the rule behind them was mended.
"""

import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.failing_items import Item
from ledger.fingerprint import Fingerprint, fingerprint
from ledger.output_lines import LINE_HEAD, LINE_TAIL, MAX_OUTPUT, cleaned, lines_of

AT = datetime(2026, 11, 30, tzinfo=UTC)
CORPORA = Path(__file__).parents[1] / "corpora"
CHECKOUT = re.compile(r"/home/dev/src/[^/\s:'\")\]]+")


def rows(name):
    return [json.loads(line) for line in (CORPORA / name).read_text("utf-8").splitlines()]


def read(output, exit_code=1):
    found = CHECKOUT.search(output)
    return fingerprint(output, exit_code=exit_code, root=found[0] if found else "", at=AT)


def exact(output, exit_code=1):
    return read(output, exit_code).exact


# --- the corpora ------------------------------------------------------------------------------------------------


def score(verdicts):
    """(precision, recall) of (is the same, was called the same)."""
    called = [same for same, said in verdicts if said]
    alike = [said for same, said in verdicts if same]
    return sum(called) / len(called), sum(alike) / len(alike)


@pytest.mark.parametrize("name", ["failure_pairs", "run_pairs"])
def test_real_pairs_are_told_apart_with_few_mistakes(name, capsys):
    verdicts = [
        (pair["same"], exact(pair["a"], pair["rc_a"]) == exact(pair["b"], pair["rc_b"]))
        for pair in rows(f"{name}.jsonl")
    ]
    precision, recall = score(verdicts)
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {len(verdicts)}, precision {precision:.3f}, recall {recall:.3f}\n")
    assert precision >= 0.99
    assert recall >= 0.95


STILL_MISREAD = {
    "cppcheck-plain~other0",  # a warning went, an error is left: compilers' warnings beside errors are left out
    "git-hook~same0",  # a pid that nothing names as one
    "node-run~same0",
    "node-run~same1",
    "sveltecheck-plain~same1",  # source around the place, quoted without a margin
}


def test_no_other_pair_of_those_run_for_it_is_misread():
    misread = {
        pair["id"]
        for pair in rows("run_pairs.jsonl")
        if (exact(pair["a"], pair["rc_a"]) == exact(pair["b"], pair["rc_b"])) != pair["same"]
    }
    assert misread == STILL_MISREAD


def test_unchanged_pairs_share_a_family():
    split = [
        pair["id"]
        for pair in rows("failure_pairs.jsonl")
        if pair["same"] and read(pair["a"]).family != read(pair["b"]).family
    ]
    assert split == []


@pytest.mark.parametrize("sequence", rows("repair_sequences.jsonl"), ids=lambda sequence: sequence["id"])
def test_a_seen_set_over_a_repair_charges_what_was_seen(sequence):
    seen: dict[str, set[str]] = {}
    for one in sequence["rounds"]:
        if one["expect"] == "pass":
            continue
        known = seen.setdefault(one["gate"], set())
        identity = exact(one["output"], one["rc"])
        assert ("charged" if identity in known else "free") == one["expect"], f"round {one['round']}"
        known.add(identity)


def replaced(output, replacements):
    for old, new in replacements:
        assert old in output
        output = output.replace(old, new)
    return output


@pytest.mark.parametrize("row", rows("other_tools.jsonl"), ids=lambda row: row["tool"])
def test_a_tool_without_rows_of_its_own_is_read_as_well(row):
    identity = exact(row["output"])
    for noise in row["same"]:
        assert exact(replaced(row["output"], noise)) == identity, noise
    for change in row["other"]:
        assert exact(replaced(row["output"], change)) != identity, change


@pytest.mark.parametrize("pair", rows("outputs_once_misread.jsonl"), ids=lambda pair: pair["id"])
def test_a_pair_that_was_misread_is_not_again(pair):
    assert (exact(pair["a"], pair["rc"]) == exact(pair["b"], pair["rc"])) == pair["same"], pair["why"]


@pytest.mark.parametrize("row", rows("other_tools.jsonl"), ids=lambda row: row["tool"])
def test_stamps_that_ci_puts_before_lines_change_nothing(row):
    stamped = "\n".join(
        f"2026-11-30T11:10:{number % 60:02}.123456789Z {line}" for number, line in enumerate(row["output"].split("\n"))
    )
    assert exact(stamped) == exact(row["output"])


# --- what is an item --------------------------------------------------------------------------------------------

PYTEST = """\
=================================== FAILURES ===================================
___________________________________ test_add ___________________________________

    def test_add():
>       assert add(2, 3) == 5
E       assert 6 == 5
E        +  where 6 = add(2, 3)

test_calc.py:6: AssertionError
=========================== short test summary info ============================
FAILED test_calc.py::test_add - assert 6 == 5
========================= 1 failed, 4 passed in 1.36s ==========================
"""


def test_a_pytest_failure_is_its_test_its_values_and_its_source():
    assert read(PYTEST).items == (
        Item(
            kind="test",
            place="test_calc.py::test_add",
            code="AssertionError",
            message="assert 6 == 5 + where 6 = add(2, 3)",
            source="assert add(2, 3) == 5",
        ),
    )


def test_a_traceback_is_its_exception_and_the_projects_own_frames():
    output = """\
Traceback (most recent call last):
  File "/srv/app/main.py", line 14, in <module>
    load(cfg)
  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
    raise err
  File "/srv/app/conf.py", line 5, in load
    return cfg["timeout"]
           ~~~^^^^^^^^^^^
KeyError: 'timeout'
"""
    assert fingerprint(output, root="/srv/app").items == (
        Item(
            kind="exception",
            place="conf.py",
            code="KeyError",
            message="'timeout'",
            source='return cfg["timeout"]',
            frames=("main.py in <module>", "conf.py in load"),
        ),
    )


def test_a_compilers_line_is_its_file_its_code_its_message_and_the_statement_under_the_caret():
    output = """\
a.c:5:17: error: 'x' undeclared [-Wfoo]
    5 |  int a = 1; int r = n * x;
      |                         ^
"""
    assert read(output).items == (
        Item(kind="diagnostic", place="a.c", code="-Wfoo", message="'x' undeclared", source="int r = n * x"),
    )


@pytest.mark.parametrize(
    ("document", "item"),
    [
        (
            (
                '<testsuite time="0.1"><testcase classname="t" name="a"/><testcase classname="t" name="b">'
                '<failure type="E" message="6 != 5"/></testcase></testsuite>'
            ),
            Item(kind="report", place="t::b", code="E", message="6 != 5"),
        ),
        (
            '[{"filePath": "a.js", "messages": [{"ruleId": "no-undef", "message": "no x", "line": 3}]}]',
            Item(kind="report", place="a.js", code="no-undef", message="no x"),
        ),
        (
            (
                '{"runs": [{"results": [{"ruleId": "R1", "level": "error", "message": {"text": "bad"}, "locations": '
                '[{"physicalLocation": {"artifactLocation": {"uri": "a.c"}, "region": {"startLine": 4}}}]}]}]}'
            ),
            Item(kind="report", place="a.c", code="R1", message="bad"),
        ),
    ],
    ids=["junit", "eslint", "sarif"],
)
def test_a_machines_report_is_read_as_such(document, item):
    assert read(document).items == (item,)


def test_an_entity_in_a_report_is_never_expanded():
    bomb = (
        '<!DOCTYPE a [<!ENTITY b "bad">]><testsuite><testcase name="x"><failure message="&b;"/></testcase></testsuite>'
    )
    assert all(item.kind != "report" for item in read(bomb).items)


CRASH = """\
stopped with exit code 1
/srv/app/app.js:3
class Store { get(k) { return this.m[k].id; } }
                                    ^

TypeError: Cannot read properties of undefined (reading 'user')
    at Store.get (/srv/app/app.js:3:37)
"""


def test_what_was_printed_before_a_crash_is_no_part_of_it():
    crashed = [item for item in fingerprint(CRASH, root="/srv/app").items if "TypeError" in item.message]
    assert [item.frames for item in crashed] == [("app.js in Store.get",)]
    assert [item.source for item in crashed] == ["return this.m[k].id"]


NATIVE = """\
=================================== FAILURES ===================================
__________________________________ test_dict ___________________________________
Traceback (most recent call last):
  File "/srv/app/test_calc.py", line 31, in test_dict
    assert got == load()
AssertionError: assert {'id': 7, 'na...['a', 'b'], ...} == {'id': 7, 'na...['a', 'b'], ...}

Differing items:
{'name': 'box'} != {'name': 'crate'}
=========================== short test summary info ============================
"""


def test_a_plain_traceback_in_pytest_keeps_the_values_below_it():
    assert exact(NATIVE) != exact(NATIVE.replace("crate", "chest"))


def test_what_a_linter_found_before_pytest_in_one_command_counts_too():
    found = "lib.py:3:1: F401 'os' imported but unused\n"
    assert {item.kind for item in read(found + PYTEST).items} == {"diagnostic", "test"}
    assert exact(found + PYTEST) != exact(found.replace("os", "sys") + PYTEST)


LINES = """\
=================================== FAILURES ===================================
E   AssertionError: assert False
     +  where False = exists('a')
/srv/app/t.py:3: AssertionError: assert False
E   AssertionError: assert False
     +  where False = exists('b')
/srv/app/t.py:6: AssertionError: assert False
=========================== short test summary info ============================
FAILED t.py::test_a - AssertionError: assert False
FAILED t.py::test_b - AssertionError: assert False
"""


def test_pytests_lines_give_each_test_of_the_summary_its_own_message():
    messages = [item.message for item in read(LINES).items]
    assert [message.rpartition("where ")[2] for message in messages] == ["False = exists('a')", "False = exists('b')"]


JEST = """\
PASS ./other.test.js
  ● Console

    console.log
      hello 17

FAIL ./cart.test.js
  ● total

    expect(received).toBe(expected)

    Expected: 4
    Received: 3

  console.log
    hello 17

PASS ./last.test.js
Test Suites: 1 failed, 1 passed, 2 total
"""


def test_what_a_passing_test_logged_in_jest_is_no_failure():
    assert [item.place for item in read(JEST).items] == ["total"]
    assert exact(JEST) == exact(JEST.replace("hello 17", "bye"))


RELAY = """\
linted main.c
linted util.c
linted size.c
checksum of data.bin differs
make: *** [Makefile:5: check] Error 1
"""


def test_a_command_that_says_only_that_another_ended_is_told_by_the_line_before_it():
    assert exact(RELAY) != exact(RELAY.replace("data.bin", "meta.bin"))
    assert exact(RELAY) == exact(RELAY.replace("linted main.c", "linted mean.c"))


# --- exact and family -------------------------------------------------------------------------------------------


def test_another_value_in_the_same_assertion_is_drift():
    moved = PYTEST.replace("6", "7")
    assert read(moved).exact != read(PYTEST).exact
    assert read(moved).family == read(PYTEST).family


def test_another_test_is_another_family():
    other = PYTEST.replace("test_add", "test_sub")
    assert read(other).family != read(PYTEST).family


def test_another_missing_name_is_another_family():
    first = "a.c:3:1: error: 'alpha' undeclared"
    assert read(first.replace("alpha", "beta")).family != read(first).family


def test_the_exit_code_is_part_of_exact_and_not_of_family():
    assert exact(PYTEST, exit_code=137) != exact(PYTEST, exit_code=1)
    assert read(PYTEST, 137).family == read(PYTEST, 1).family


def test_silence_is_told_apart_by_the_exit_code():
    assert fingerprint("", exit_code=3) == fingerprint("\n", exit_code=3)
    assert fingerprint("", exit_code=3).exact != fingerprint("", exit_code=4).exact


def test_the_same_finding_at_two_places_is_not_the_finding_at_one():
    twice = "a.py:3:1: F401 unused import\na.py:9:1: F401 unused import\n"
    assert exact(twice) != exact(twice.splitlines()[0])


def test_a_line_printed_twice_is_one_failure():
    refused = "curl: (7) Failed to connect to 127.0.0.1 port 8931: refused\n"
    assert exact(refused * 3) == exact(refused)


# --- masks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (
            "Error: request 6b2fd5ae-5b94-4c5c-b2b4-eaf04ece2a2c failed",
            "Error: request cb2a8dee-bdfc-4016-af7b-c7c179016823 failed",
        ),
        (
            "Error: no route for <Handler object at 0x7fa21dda32d0>",
            "Error: no route for <Handler object at 0x7f40596f9410>",
        ),
        ("Error: connect ECONNREFUSED 127.0.0.1:40085", "Error: connect ECONNREFUSED 127.0.0.1:43593"),
        ("Error: gave up after 12.4s", "Error: gave up after 13.1s"),
        ("Error: heap at 812.4 MB", "Error: heap at 799.1 MB"),
        ("Error: cannot open /tmp/job-f8m3a202/a.json", "Error: cannot open /tmp/job-7enb_jfu/a.json"),
        ("Error: expired at 2026-11-30T10:51:35.41Z", "Error: expired at 2026-11-29T23:01:00.01Z"),
        ("Error: worker pid=24333 died", "Error: worker pid=11 died"),
        ("Error: assert 0.60277336285 < 0.5", "Error: assert 0.68511514835 < 0.5"),
        ("Error: unresolved: b, d, a", "Error: unresolved: a, b, d"),
        ("E, [2026-11-30 #35981] ERROR -- : no row", "E, [2026-11-30 #35999] ERROR -- : no row"),
        ("[emerg] 3598#3598: *17 unknown directive", "[emerg] 3602#3602: *4 unknown directive"),
        ("| ERROR | app.main:run:14 - no row", "| ERROR | app.main:run:19 - no row"),
        ("[ERROR] ForkPoolWorker-3 failed", "[ERROR] ForkPoolWorker-1 failed"),
        ('{"level":"error","hostname":"ci-a7","msg":"no row"}', '{"level":"error","hostname":"ci-b9","msg":"no row"}'),
        ("3598:M # Fatal error loading the DB", "41:M # Fatal error loading the DB"),
    ],
    ids=[
        "uuid",
        "address",
        "ephemeral port",
        "duration",
        "size",
        "temp path",
        "near date",
        "pid",
        "random float",
        "order",
        "Ruby's logger",
        "nginx",
        "loguru's line",
        "pool's worker",
        "host name",
        "Redis",
    ],
)
def test_what_varies_between_runs_is_masked(one, two):
    assert exact(one) == exact(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 127.0.0.1:6379"),
        ("Error: timed out after 30s", "Error: timed out after 60s"),
        ("Error: cannot open /tmp/job-f8m3a202/a.json", "Error: cannot open /tmp/job-f8m3a202/b.json"),
        ("AssertionError: '2024-02-01' == '2024-02-29'", "AssertionError: '2024-02-28' == '2024-02-29'"),
        ("AssertionError: expected '09:30:00'", "AssertionError: expected '10:30:00'"),
        ("AssertionError: 12000 == 20000", "AssertionError: 15000 == 20000"),
        ("AssertionError: 0.30000000000000004 == 1", "AssertionError: 0.7000000000000001 == 1"),
        ("AssertionError: [1, 2] == [2, 1]", "AssertionError: [2, 1] == [2, 1]"),
        ("IndexError: row 12 out of range", "IndexError: row 13 out of range"),
        ("HTTPError: 401 Unauthorized", "HTTPError: 403 Forbidden"),
    ],
    ids=["known port", "limit", "file", "far date", "time", "count", "plain float", "list order", "index", "status"],
)
def test_what_tells_failures_apart_is_kept(one, two):
    assert exact(one) != exact(two)


def test_without_the_time_of_the_run_dates_are_values():
    one, two = "Error: expired at 2026-11-30T10:51:35Z", "Error: expired at 2026-11-29T23:01:00Z"
    assert fingerprint(one).exact != fingerprint(two).exact
    assert fingerprint(one, at=AT).exact == fingerprint(two, at=AT.replace(tzinfo=None)).exact


# --- properties -------------------------------------------------------------------------------------------------

finding = st.builds(
    "{}.py:{}:{}: {} {} is wrong".format,
    st.sampled_from(["a", "pkg/b"]),
    st.integers(1, 999),
    st.integers(1, 80),
    st.sampled_from(["E501", "F401"]),
    st.sampled_from(["alpha", "beta", "gamma"]),
)


@given(
    st.lists(finding, min_size=1, max_size=20, unique=True).flatmap(
        lambda one: st.tuples(st.just(one), st.permutations(one))
    )
)
def test_the_order_of_findings_does_not_matter(orders):
    one, two = orders
    assert exact("\n".join(one)) == exact("\n".join(two))


@given(st.permutations(["test_add", "test_area", "test_label"]))
def test_the_order_of_failed_tests_does_not_matter(names):
    def report(order):
        blocks = "".join(
            f"{' ' + name + ' ':_^80}\n\n>   assert {name}()\nE   assert {len(name)} == 5\n\nt.py:6: AssertionError\n"
            for name in order
        )
        return f"{' FAILURES ':=^80}\n{blocks}{' 3 failed in 1.3s ':=^80}\n"

    assert exact(report(names)) == exact(report(sorted(names)))


@given(st.lists(finding, min_size=1, max_size=20), st.integers(1, 500))
def test_code_that_moved_down_is_the_same_failure(findings, down):
    moved = [re.sub(r":(\d+):", lambda m: f":{int(m[1]) + down}:", line, count=1) for line in findings]
    assert exact("\n".join(moved)) == exact("\n".join(findings))


@given(st.lists(finding, min_size=2, max_size=20, unique=True))
def test_one_finding_less_is_another_failure(findings):
    assert exact("\n".join(findings[:-1])) != exact("\n".join(findings))


@given(st.text(max_size=3000), st.integers(-20, 255), st.text(max_size=9), st.none() | st.datetimes())
def test_any_text_has_a_fingerprint_and_keeps_it(output, exit_code, root, at):
    first = fingerprint(output, exit_code=exit_code, root=root, at=at)
    assert first == fingerprint(output, exit_code=exit_code, root=root, at=at)
    assert Fingerprint.model_validate_json(first.model_dump_json()) == first


@given(
    st.lists(
        st.sampled_from(
            ["Error", ": ", "a.py", ":3:", "\n", "  ", "^", "1) ", "not ok ", "{", '"', "E ", "\x1b[", "<"]
        ),
        max_size=200,
    )
)
def test_any_mixture_of_what_tools_print_has_a_fingerprint(parts):
    assert re.fullmatch(r"[0-9a-f]{32}", exact("".join(parts)))


# --- cost -------------------------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[int], str]] = {
    "unbroken line": lambda size: "a" * size,
    "brackets": lambda size: "[" * size,
    "objects": lambda size: '{"a":' * (size // 5),
    "tags": lambda size: "<a>" * (size // 3),
    "E on one line": lambda size: "E " * (size // 2),
    "E on many lines": lambda size: "E\n" * (size // 2),
    "errors": lambda size: "".join(f"error {number}\n" for number in range(size // 12)),
    "tracebacks": lambda size: "Traceback (most recent call last):\n" * (size // 35),
    "frames": lambda size: '  File "a.py", line 3, in f\n    x\n' * (size // 35),
    "findings": lambda size: "a.b:1: x\n" * (size // 9),
    "numbers": lambda size: "1) a\n" * (size // 5),
    "tap": lambda size: "not ok 1 - a\n" * (size // 13),
    "escapes": lambda size: "\x1b[" * (size // 2),
    "titles": lambda size: "\x1b]" * (size // 2),
    "blank lines": lambda size: "\n" * size,
    "indented": lambda size: (" " * 380 + "x\n") * (size // 382),
    "carets": lambda size: "x\n^\n" * (size // 4),
    "far apart": lambda size: ("error x" + "\n" * 50) * (size // 57),
    "quotes": lambda size: ("'" * 398 + "\n") * (size // 399),
    "sets": lambda size: ("{" + "a," * 190 + "}\n") * (size // 383),
}


def calls(output):
    """Function calls, Python's and C's, that a fingerprint takes: a clock that no other process disturbs."""
    counted = 0

    def count(_frame, event, _arg):
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        fingerprint(output, at=AT)
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_twice_the_output_costs_at_most_two_and_a_half_times_the_steps(shape):
    # a thousand calls to spare: a line already seen costs none, and the collector's hooks are counted too
    assert calls(shape(32_768)) <= 2.5 * calls(shape(16_384)) + 1_000


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_is_cut_to_lines_that_bound_a_patterns_work(shape):
    lines = lines_of(cleaned(shape(4 * MAX_OUTPUT)))
    assert max(map(len, lines)) <= LINE_HEAD + 1 + LINE_TAIL
    assert sum(map(len, lines)) + len(lines) <= MAX_OUTPUT + 2 + len(lines)


@pytest.mark.parametrize("name", ["unbroken line", "brackets", "objects", "tags", "E on one line", "escapes", "quotes"])
def test_the_largest_output_of_a_hostile_shape_is_read_to_its_end(name):
    assert fingerprint(SHAPES[name](MAX_OUTPUT), at=AT).exact


def test_what_is_beyond_the_cap_is_the_middle():
    first, last = "a.py:1:1: E1 first thing\n", "a.py:2:1: E2 last thing\n"
    page = ("x" * 299 + "\n") * (MAX_OUTPUT // 300)
    long = exact(first + page + last)
    assert long == exact(first + page * 3 + last)
    assert long != exact(page + last)
    assert long != exact(first + page)
