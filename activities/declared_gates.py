"""The gates that the operator declares in `endstop.toml`, as types. Agents can only name them.

Here: what each kind of gate needs. Not here: asking one (`run_gate`, `own_gates`, `judging`), or what its verdict costs
(the ledger). Light: no function is imported and no schema is read before a worker starts.
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Discriminator, Field, JsonValue, Tag

from activities.declared_tools import Imported, ReadablePath, Words
from activities.declared_words import CommandWord
from activities.workspace_files import FileRefused, components
from ledger.agent import Name
from ledger.model import Frozen

Limit = Annotated[float, Field(gt=0, le=86_400)]
"""Seconds, at most a day."""


def _inside(path: str) -> str:
    """A path as its components below the workspace, in the one form in which two of them can be compared."""
    try:
        parts = components(path)
    except FileRefused as refused:
        raise ValueError(str(refused)) from None
    if any(char in path for char in "*?["):
        raise ValueError('a protected path is no pattern; name a file, or a folder such as "tests/"')
    return "/".join(parts)


class CommandGate(Frozen):
    """A gate that runs a command in the run's workspace, without a shell, with a cleaned environment."""

    name: Name
    command: Annotated[tuple[CommandWord, ...], Field(min_length=1)]
    timeout_s: Limit = 300
    output_bytes: Annotated[int, Field(ge=1_024, le=64 * 2**20)] = 2**20
    """What is kept of the output: the first and the last half of this each."""
    protected: tuple[Annotated[str, AfterValidator(_inside)], ...] = ()
    """Files and folders of the workspace that the work may not change: what the gate checks it by."""
    readable: tuple[ReadablePath, ...] = ()
    network: bool = False
    """Whether it has the machine's network, the worker's server and inbox included; without a sandbox it has."""


class ActivityGate(Frozen):
    """An activity of somebody's worker, in any language: it gets `{"gate", "answer"}` and says whether that passes."""

    name: Name
    activity: Words
    """The activity's type."""
    task_queue: Words
    timeout_s: Limit = 300
    heartbeat_s: Limit | None = None
    """Where the activity heartbeats: how long without one until its worker counts as lost."""


class FunctionGate(Frozen):
    """A Python function of the operator's, which gets the answer, and the run's workspace where it asks for that."""

    name: Name
    function: Imported
    timeout_s: Limit = 300


class SchemaGate(Frozen):
    """The stage's answer has to be JSON that fits a schema."""

    name: Name
    fits: dict[str, JsonValue] = Field(alias="schema")
    """JSON Schema 2020-12. The worker checks that it is one when it starts."""


class JudgeGate(Frozen):
    """Another agent judges the stage's answer, in a run of its own."""

    name: Name
    judge: Name
    """One that is declared under `[agents]`."""
    task_queue: str = ""
    """Of the workers that run it, which use the same store; "" : the run's own."""


KINDS: Final = ("command", "activity", "function", "schema", "judge")
"""The keys of which a gate has exactly one."""


def _kind(table: Any) -> str | None:  # noqa: ANN401 - whatever the file holds
    """The one kind that is named; None where that is none or several."""
    fields = getattr(type(table), "model_fields", {})
    keys = table if isinstance(table, dict) else {field.alias or name for name, field in fields.items()}
    named = [kind for kind in KINDS if kind in keys]
    return named[0] if len(named) == 1 else None


DeclaredGate = Annotated[
    Annotated[CommandGate, Tag("command")]
    | Annotated[ActivityGate, Tag("activity")]
    | Annotated[FunctionGate, Tag("function")]
    | Annotated[SchemaGate, Tag("schema")]
    | Annotated[JudgeGate, Tag("judge")],
    Discriminator(
        _kind,
        custom_error_type="gate_kind",
        custom_error_message='a gate names exactly one of "command", "activity", "function", "schema" and "judge"',
    ),
]
