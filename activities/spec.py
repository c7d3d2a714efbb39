"""What a starter asked for, checked against what the operator declared: every refusal is one line that names it.

Here: reading an agent and a task, and whether everything they name is there. Not here: doing anything about it
(`prepare`); reading files and flags (the commands, which check the same way before they start a run). No content
of an agent or a task is ever shown, only names.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, assert_never

import pydantic_core
from pydantic import JsonValue, ValidationError

from activities.contract import Here, Route
from activities.declared import Declared
from activities.declared_gates import CommandGate
from activities.declared_workspaces import ArchiveWorkspace, DeclaredWorkspace, FolderWorkspace, GitWorkspace
from activities.workspace_files import FileRefused, components
from ledger.agent import AgentSpec, StageSpec
from ledger.reading import Place, one_line, shown, suggestion
from ledger.target import Target

MAX_TASK_BYTES: Final = 4 * 2**20
"""UTF-8 bytes of a task; a model's context ends far below."""

_FLAT: Final[Place] = ("stages", 0)


class InvalidSpec(ValueError):  # noqa: N818 - the name under which Temporal shows it
    """The agent or the task cannot be run; the message is one line."""


class Undeclared(InvalidSpec):
    """It names what the operator did not declare."""


class NotHere(InvalidSpec):
    """This worker cannot run it for want of a key or of its store's content; another one of its task queue might."""


def read_agent(value: Any) -> AgentSpec:  # noqa: ANN401 - whatever the wire or a file holds
    """Validate an agent, given as a value or as JSON bytes. Raises `InvalidSpec`."""
    if value is None:
        raise InvalidSpec('agent: is missing; start with {"agent": {...}, "task": "..."}')
    if isinstance(value, bytes):
        value = _decoded(value)
    hidden = _FLAT if isinstance(value, dict) and "stages" not in value else ()
    try:
        return AgentSpec.model_validate(value)
    except ValidationError as error:
        raise InvalidSpec(one_line(error, "agent", AgentSpec, hidden)) from None
    except RecursionError:
        raise InvalidSpec("agent: is nested too deeply") from None


def check_agent(agent: AgentSpec, declared: Declared, tools: Mapping[str, Route]) -> None:
    """Raise `InvalidSpec` for the first name that nobody declared, and for what could not work without a workspace.

    `tools` are all that an agent may name here, the built-in ones included.
    """
    if agent.policy.capture and not declared.capture.allowed:
        raise InvalidSpec(
            "agent: policy.capture: the operator does not allow requests to be captured; "
            "leave it out, or set allowed = true under [capture] in endstop.toml"
        )
    if agent.workspace is not None:
        _known("workspace", agent.workspace, declared.workspaces, "agent")
    if agent.workspace_ref is not None:
        _check_ref(agent.workspace_ref, declared.workspaces[agent.workspace] if agent.workspace else None)
    for stage in agent.stages:
        _check_stage(stage, declared, tools)
        needs = _needs_workspace(stage, declared, tools)
        if agent.workspace is None and needs:
            raise Undeclared(
                f"agent: stage {stage.name}: {needs} a workspace, and the agent names none; "
                f"set workspace; {suggestion('', declared.workspaces)}"
            )


def check_keys(agent: AgentSpec, declared: Declared) -> None:
    """Refuse a stage none of whose targets has its key. One is enough: the run moves on to the target that has it."""
    for stage in agent.stages:
        if all(missing_key(target, declared) for target in stage.models):
            needed = ", ".join(f"{missing_key(target, declared)} for {target}" for target in stage.models)
            raise NotHere(f"agent: stage {stage.name}: the worker has no key; set the variable {needed}")


def missing_key(target: Target, declared: Declared) -> str:
    """Name of the variable that the target needs and the worker lacks; "" where nothing is missing."""
    provider = declared.providers[target.provider]
    return provider.key_env if provider.key is None else ""


def check_task(task: str) -> None:
    """Raise `InvalidSpec` for a task that says nothing, is too long, or is not text."""
    try:
        size = len(task.encode())
    except UnicodeEncodeError:
        raise InvalidSpec("task: is not valid Unicode text") from None
    if size > MAX_TASK_BYTES:
        raise InvalidSpec(f"task: has {size:,} bytes, at most {MAX_TASK_BYTES:,} are taken; put files into a workspace")
    if not task.strip():
        raise InvalidSpec("task: is empty; say what the agent should do")


def _decoded(content: bytes) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return pydantic_core.from_json(content)
    except ValueError:
        raise InvalidSpec("agent: is not valid JSON") from None


def _check_ref(ref: str, workspace: DeclaredWorkspace | None) -> None:
    match workspace:
        case GitWorkspace() if workspace.allows(ref):
            return
        case GitWorkspace(name=name, ref=own, refs=others):
            allowed = ", ".join((own, *others))
            raise InvalidSpec(f"agent: workspace_ref: workspace {name} does not allow {shown(ref)}; allowed: {allowed}")
        case FolderWorkspace(name=name) | ArchiveWorkspace(name=name):
            raise InvalidSpec(f"agent: workspace_ref: workspace {name} is not from git; leave workspace_ref out")
        case None:
            raise InvalidSpec("agent: workspace_ref: the agent names no workspace; set workspace")
        case _:
            assert_never(workspace)


def _check_stage(stage: StageSpec, declared: Declared, tools: Mapping[str, Route]) -> None:
    where = f"agent: stage {stage.name}"
    for target in stage.models:
        _known("provider", target.provider, declared.providers, where)
    for kind, names, known in (("tool", stage.tools, tools), ("gate", stage.gates, declared.gates)):
        for name in names:
            _known(kind, name, known, where)
    for path in stage.files:
        try:
            components(path)
        except FileRefused as refusal:
            raise InvalidSpec(f'{where}: file "{shown(path)}": {refusal}') from None
    if stage.output is not None:
        _check_output(stage.output, where)


def _check_output(schema: dict[str, JsonValue], where: str) -> None:
    from activities.output_schema import refusal  # noqa: PLC0415 - a tenth of a second, for those who name a schema

    try:
        problem = refusal(schema)
    except RecursionError:
        problem = "is nested too deeply"
    if problem:
        raise InvalidSpec(f"{where}: output: {problem}")


def _needs_workspace(stage: StageSpec, declared: Declared, tools: Mapping[str, Route]) -> str:
    """What the stage cannot do without a workspace; "" where it needs none."""
    in_one = (name for name in stage.tools if isinstance(route := tools[name], Here) and route.in_workspace)
    if tool := next(in_one, None):
        return f"tool {shown(tool)} works in"
    if gate := next((name for name in stage.gates if isinstance(declared.gates[name], CommandGate)), None):
        return f"gate {shown(gate)} works in"
    return f"file {shown(stage.files[0])} is in" if stage.files else ""


def _known(kind: str, name: str, known: Collection[str], where: str) -> None:
    if name not in known:
        raise Undeclared(f'{where}: unknown {kind} "{shown(name)}"; {suggestion(name, known)}')


def canonical(agent: AgentSpec) -> bytes:
    """The validated agent as JSON; the same agent gives the same bytes, whatever form it was written in."""
    return json.dumps(agent.model_dump(mode="json"), sort_keys=True, separators=(",", ":")).encode()
