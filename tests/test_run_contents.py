"""Which contents of the store are a run's own: what it was told and what it made, never what others share."""

import pytest

from activities.cutting import middle_out
from commands.run_contents import CHANGED, REJECTED, SAYS, cut, own
from ledger.conversation import digest
from ledger.journal import read_journal


def told(text: str) -> dict:
    return {"parts": [{"part_kind": "user-prompt", "content": text}]}


def result(text: str) -> dict:
    return {"parts": [{"part_kind": "tool-return", "content": text}]}


def ref(text: str) -> str:
    return digest(text.encode())


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (told("the task"), "the task"),
        ({"parts": [{"part_kind": "user-prompt", "content": ["the task", {"kind": "text-content"}]}]}, "the task"),
        (told(f"{SAYS}two\n\nparagraphs"), "two\n\nparagraphs"),
        (told(f"The gate failed.\n\n{SAYS}guidance\n\nThe stage begins."), "guidance"),
        (result(f"{SAYS}the reply"), "the reply"),
        (result(f"{REJECTED}not this customer"), "not this customer"),
        (result(f'{CHANGED}{{"amount": 5}}\nrefunded'), '{"amount": 5}'),
        (result(f'{CHANGED}{{\n  "amount": 5\n}}\n\nrefunded'), '{\n  "amount": 5\n}\n'),
    ],
    ids=["task", "task with files", "guidance", "guidance among notes", "reply", "rejection", "edit", "edit of a file"],
)
def test_what_a_person_said_is_found_as_it_was_put(message, text):
    assert ref(text) in own([message], [])


def test_a_gates_outputs_are_found_by_the_journal():
    record = {"type": "gate", "at": 1, "gate": "tests", "report": 1, "round": 1, "duration_ms": 1}
    written = [
        record | {"verdict": "failing", "decided": "admitted", "output": "abc"},
        record | {"verdict": "passed", "decided": "passed"},
    ]
    entries, aside = read_journal(written)
    assert (own([], entries), aside) == ({"abc"}, [])


def test_a_cut_result_is_found_with_its_beginning():
    whole = "line\n" * 30_000
    shown = middle_out(whole, 65_536, f"[{{bytes}} bytes left out here; the whole result is stored as {ref(whole)}]")
    ((found, begins),) = cut([result(shown)])
    assert found == ref(whole)
    assert whole.startswith(begins)
    assert len(begins) > 30_000


def test_a_models_own_words_name_no_content():
    written = {"parts": [{"part_kind": "text", "content": "the task"}, {"part_kind": "tool-call", "args": "{}"}]}
    assert own([written, {"redacted": True, "bytes": 3}], []) == set()
