"""Activity `prepare`, the first step of every run: check what was asked for, claim the workspace, store the task.

Nothing is written before everything was checked. What it returns is in history from then on, so a later change of the
operator's settings does not reach a run under way. Not here: the checks themselves (`spec`).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import tool_schemas
from activities.contract import INVALID_SPEC, NOT_HERE, PREPARE, Here, Parent, Prepare, Prepared, Route
from activities.declared import Declared, Model
from activities.declared_gates import CommandGate
from activities.declared_tools import AgentTool
from activities.files import MANIFEST, NamedFile, read_files
from activities.function_gates import GateFunction
from activities.gate_routes import gate_routes, judges_of
from activities.messages import user_message
from activities.pricing import listed_window
from activities.spec import InvalidSpec, NotHere, canonical, check_agent, check_keys, check_task, read_agent
from activities.stored import Appended, Contents
from activities.tool_declaration import ToolDeclaration
from activities.workspace import WorkspaceRefused, Workspaces
from activities.workspace_files import FileRefused, WorkspaceFiles
from ledger.agent import AgentSpec, Plan, StagePlan
from ledger.conversation import Conversation, digest
from ledger.policy import ContextPolicy
from store import ContentMissing

TASK_KEY: Final = "task"
"""Key under which the task is appended as the conversation's first message."""


class PrepareStore(Contents, Protocol):
    """What `prepare` needs of the store."""

    async def append(self, conversation: Conversation, key: str, body: bytes, attempt: str = "") -> Appended: ...

    async def register_run(self, conversation_id: str, workflow_id: str, agent: str) -> None: ...


def workspace_queue(task_queue: str, root: Path) -> str:
    """The task queue of the worker that holds the workspaces under `root` on this machine; the same after a restart."""
    return f"{task_queue}-{socket.gethostname()}-{digest(str(root.absolute()).encode())[:8]}"


class Preparer:
    """Checks against one worker's declarations.

    `tools` are the routes and `known` the declarations of all that agents may name. `search_attributes` tells which
    attributes the namespace has, `others` whether another worker may take a run.
    """

    def __init__(
        self,
        *,
        store: PrepareStore,
        declared: Declared,
        workspaces: Workspaces,
        tools: Mapping[str, Route],
        known: Mapping[str, ToolDeclaration],
        functions: Mapping[str, GateFunction] = MappingProxyType({}),
        queue: str,
        search_attributes: Callable[[], Awaitable[tuple[str, ...]]],
        others: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._store = store
        self._declared = declared
        self._workspaces = workspaces
        self._tools = tools
        self._known = known
        self._functions = functions
        self._queue = queue
        self._search_attributes = search_attributes
        self._others = others

    @activity.defn(name=PREPARE)
    async def prepare(self, asked: Prepare) -> dict[str, Any]:
        """Resolve a run. A refusal is an `InvalidSpec` that is not retried; trouble of the store or the server is.

        `NOT_HERE`: another worker may be able to; trying again here would change nothing.
        """
        try:
            prepared = await self._prepare(asked)
        except (InvalidSpec, WorkspaceRefused) as refusal:
            elsewhere = isinstance(refusal, NotHere) and await self._others(asked.run)
            kind = NOT_HERE if elsewhere else INVALID_SPEC
            raise ApplicationError(str(refusal), type=kind, non_retryable=True) from None
        # Defaults are written out: a later release with other defaults must not change a run under way.
        return prepared.model_dump(mode="json")

    async def _prepare(self, asked: Prepare) -> Prepared:
        agent = _within(read_agent(await self._resolved("agent", asked.agent)), asked.parent)
        task = await self._task(asked.task)
        check_agent(agent, self._declared, self._tools)
        check_keys(agent, self._declared)
        check_task(task)
        depth = asked.parent.depth + 1 if asked.parent else 0
        gates = gate_routes(agent, self._declared, self._functions, depth)
        if agent.workspace is not None:
            claim, protected = self._workspaces.claim, self._protected(agent)
            await asyncio.to_thread(claim, asked.run, agent.workspace, protected, ref=agent.workspace_ref)
        files = await self._files(agent, asked.run)
        await self._store.register_run(asked.run, asked.workflow_id, agent.name)
        conversation = Conversation(id=asked.run)
        message = user_message(task, (files[name] for name in agent.stages[0].files))
        appended = await self._store.append(conversation, TASK_KEY, message)
        return Prepared(
            plan=self._plan(asked.run, agent, gates, depth),
            conversation=appended.conversation,
            agent_ref=await self._store.put(canonical(agent)),
            tools_ref=await self._schemas(agent),
            files_ref=await self._store.put(MANIFEST.dump_json(tuple(files.values()))) if files else "",
            workspace=agent.workspace or "",
            workspace_queue=self._queue if agent.workspace else "",
            search_attributes=await self._search_attributes(),
            inline=isinstance(asked.task, str),
            parent=asked.parent,
            routes=await self._routes(agent),
            gate_routes=gates,
        )

    async def _schemas(self, agent: AgentSpec) -> str:
        """Put what the agent's tools take into the store, where people's answers are checked against it."""
        schemas = tool_schemas.kept(self._known, {tool for stage in agent.stages for tool in stage.tools})
        return await self._store.put(schemas) if schemas else ""

    def _protected(self, agent: AgentSpec) -> dict[str, tuple[str, ...]]:
        """What the agent's gates protect, by gate."""
        gates = (self._declared.gates[name] for stage in agent.stages for name in stage.gates)
        return {gate.name: gate.protected for gate in gates if isinstance(gate, CommandGate) and gate.protected}

    async def _files(self, agent: AgentSpec, run: str) -> dict[str, NamedFile]:
        """Put every file that a stage names into the store, where each worker finds it; by its name."""
        names = tuple(dict.fromkeys(name for stage in agent.stages for name in stage.files))
        if agent.workspace is None or not names:
            return {}
        workspace = WorkspaceFiles(self._workspaces.path(run, agent.workspace))
        try:
            read = await asyncio.to_thread(lambda: list(read_files(workspace, names)))
        except FileRefused as refusal:
            where = f"workspace {agent.workspace}"
            raise InvalidSpec(f"agent: files: {refusal}; correct files, or what is in {where}") from None
        for _, content in read:
            await self._store.put(content)
        return {file.name: file for file, _ in read}

    async def _task(self, given: Any) -> str:  # noqa: ANN401 - whatever the wire holds
        found = await self._resolved("task", given)
        if isinstance(found, bytes):
            try:
                return found.decode()
            except UnicodeDecodeError:
                raise InvalidSpec("task: what the store has under its reference is not text") from None
        if not isinstance(found, str):
            raise InvalidSpec('task: should be text, or {"ref": ...} of a text in the store')
        return found

    async def _resolved(self, subject: str, given: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        """What was given, or the bytes in the store where `{"ref": digest}` was."""
        if not isinstance(given, dict) or set(given) != {"ref"}:
            return given
        ref = given["ref"]
        if not isinstance(ref, str):
            raise InvalidSpec(f"{subject}: ref should be text, the digest that the store gave")
        try:
            return await self._store.get(ref)
        except ContentMissing:
            raise NotHere(
                f"{subject}: the worker's store has nothing under its reference; "
                "starter and worker must use the same store ([store] url in endstop.toml)"
            ) from None

    def _plan(self, run: str, agent: AgentSpec, gates: Mapping[str, Route], depth: int) -> Plan:
        return Plan(
            agent=agent.name,
            stages=tuple(
                StagePlan(name=stage.name, models=stage.models, gates=stage.gates, turns=stage.limits.turns)
                for stage in agent.stages
            ),
            policy=agent.policy.model_copy(update={"context": agent.policy.context or ContextPolicy()}),
            context_tokens=self._windows(agent),
            workspace=agent.workspace or "",
            revision=self._workspaces.revision(run, agent.workspace) if agent.workspace else "",
            worker=self._queue if agent.workspace else "",
            agents=self._subagents(agent),
            gates_outside=tuple(name for name, route in gates.items() if route != Here(in_workspace=True)),
            depth=depth,
        )

    def _subagents(self, agent: AgentSpec) -> tuple[str, ...]:
        named = sorted({tool for stage in agent.stages for tool in stage.tools})
        return tuple(name for name in named if isinstance(self._declared.tools.get(name), AgentTool))

    async def _routes(self, agent: AgentSpec) -> dict[str, Route]:
        """Where the calls of the agent's tools go, but for the file tools, which need no saying.

        The agents that it may start are put into the store, where their runs find them.
        """
        named = sorted({tool for stage in agent.stages for tool in stage.tools})
        for name in named:
            if isinstance(tool := self._declared.tools.get(name), AgentTool):
                await self._store.put(canonical(self._declared.agents[tool.agent]))
        for judge in judges_of(agent, self._declared):
            await self._store.put(judge)
        return {name: self._tools[name] for name in named if self._tools[name] != Here(in_workspace=True)}

    def _windows(self, agent: AgentSpec) -> dict[str, int]:
        """Context windows of the agent's targets: as the operator declared them, else as the price list knows them."""
        targets = sorted({target for stage in agent.stages for target in stage.models}, key=str)
        own, providers = self._declared.models, self._declared.providers
        known = {
            str(t): own.get(str(t), Model()).context_tokens or listed_window(t, providers.get(t.provider))
            for t in targets
        }
        return {name: tokens for name, tokens in known.items() if tokens is not None}


def _within(agent: AgentSpec, parent: Parent | None) -> AgentSpec:
    """A sub-agent may spend what it is given and no more, whatever its own limit is."""
    if parent is None or parent.spend_usd is None:
        return agent
    spend = agent.policy.spend
    limit = parent.spend_usd if spend.limit_usd is None else min(spend.limit_usd, parent.spend_usd)
    policy = agent.policy.model_copy(update={"spend": spend.model_copy(update={"limit_usd": limit})})
    return agent.model_copy(update={"policy": policy})
