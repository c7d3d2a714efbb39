"""Writes the tables of our pages from the code that decides: `python -m docs.tables` after a change of them.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`. A test proves that the pages are up to date.
"""

import re
from pathlib import Path
from typing import Any

from activities.asking import AskPerson
from docs import policy_table, provider_tables, script_table
from ledger.failures import REMEDY, FailureKind, Schedule
from ledger.interventions import ACCEPTS, BARE
from ledger.policy import SCHEDULES

PAGES = tuple(
    Path(__file__).parent / name for name in ("architecture.md", "providers.md", "reference.md", "simulator.md")
)


def remedies() -> str:
    """One row a kind of failure, as `ledger/failures.py` has it."""
    head = ["| kind | transient | capacity | failover | bench | meaning |", "|---|---|---|---|---|---|"]
    return "\n".join(head + [_remedy(kind) for kind in FailureKind])


def answers() -> str:
    """One row an intervention, as `ledger/interventions.py` has it."""
    head = ["| intervention | answers besides `stop` | a bare label will do |", "|---|---|---|"]
    rows = [f"| {name} | {', '.join(labels)} | {_yes(name in BARE)} |" for name, labels in ACCEPTS.items() if labels]
    return "\n".join(head + rows)


def schedules() -> str:
    """One row a schedule, as `ledger/policy.py` has it."""
    head = ["| schedule | seconds before attempts 2, 3, 4 |", "|---|---|"]
    return "\n".join(head + [f"| {s.value} | {', '.join(map(str, SCHEDULES[s]))} |" for s in Schedule])


def question() -> str:
    """One row an argument of the tool `ask_person`, as `activities/asking.py` has it."""
    head = ["| argument | what a model is told | at most |", "|---|---|---|"]
    asked = AskPerson.model_json_schema()["properties"]
    rows = [f"| `{name}` | {told['description']} | {_most(told)} |" for name, told in asked.items()]
    return "\n".join(head + rows)


def _most(told: dict[str, Any]) -> str:
    """What JSON schema allows of an argument, in words."""
    each = told.get("items", {}).get("maxLength")
    parts = (
        f"{told['maxItems']} of them" if "maxItems" in told else "",
        f"{each or told['maxLength']:,} characters{' each' if each else ''}" if each or "maxLength" in told else "",
    )
    return ", ".join(filter(None, parts)) or "-"


def renewed(page: str) -> str:
    """The page with every table as the code has it now."""
    tables = {
        "remedies": remedies(),
        "answers": answers(),
        "schedules": schedules(),
        "provider rows": provider_tables.rows(),
        "policy": policy_table.rows(),
        "question": question(),
        "script": script_table.layout(),
        "reply kinds": script_table.kinds(),
        "reply fields": script_table.common(),
    }
    for name, table in tables.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
        page = marked.sub(lambda found, table=table: f"{found[1]}{table}{found[2]}", page)  # type: ignore[misc]
    return page


def _remedy(kind: FailureKind) -> str:
    row = REMEDY[kind]
    flags = " | ".join(_yes(flag) for flag in (row.transient, row.capacity, row.failover))
    return f"| {kind.value} | {flags} | {row.bench.value} | {row.meaning} |"


def _yes(flag: bool) -> str:  # noqa: FBT001 - one word for one flag
    return "yes" if flag else "-"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(renewed(page.read_text()))
