"""What the operator declares, read from `endstop.toml`: providers, models, tools, gates, workspaces, the store.

Here: finding the file, reading it strictly, looking up the keys that it names by variable. Not here: what an agent may
ask for (`activities/spec.py`), connections to Temporal (its own environment and profiles), anything at import time.

Every mistake is a `SettingsError` of one line: file, place, what was expected. Values are never shown.
"""

import json
import os
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, InstanceOf, ValidationError, model_validator

from activities.catalog import BUILT_IN, routes
from activities.contract import TASK_QUEUE
from activities.declared import Capture, Declared, Model, SandboxKind
from activities.declared_gates import DeclaredGate, JudgeGate
from activities.declared_tools import AgentTool, DeclaredTool, McpServer
from activities.declared_words import PlainPath, without_zero
from activities.declared_workspaces import DeclaredWorkspace
from activities.deployment import Deployment
from activities.endpoints import DEFAULTS, ProviderTable, provider_of
from activities.spec import InvalidSpec, check_agent, read_agent
from activities.toml_text import NotToml, read_toml
from encryption import CLEAR, Encryption, Keys, NotKeys
from ledger.agent import AgentSpec, Name
from ledger.model import Frozen
from ledger.own_row import OwnRow, without_twins
from ledger.reading import one_line, suggestion
from ledger.target import Target

CONFIG_VARIABLE: Final = "ENDSTOP_CONFIG"
CONFIG_FILE: Final = "endstop.toml"
DEFAULT_STORE: Final = "sqlite:///.endstop/store.db"
MAX_FILE_BYTES: Final = 2**20

_SQLITE: Final = re.compile(r"(?P<scheme>sqlite(\+\w+)?:///)(?P<path>[^?]+)(?P<query>\?.*)?")


class SettingsError(Exception):
    """The settings cannot be used; the message is one line for the operator, without any value."""


class Settings(Frozen):
    """What a worker or a command needs to know. All paths are absolute."""

    declared: Declared
    store_url: str
    task_queue: str = TASK_QUEUE
    deployment: Deployment | None = None
    """None: the worker takes any task, whichever release began the run."""
    keys: InstanceOf[Keys] = CLEAR
    """What content is encrypted with."""
    source: Path | None = None
    """The file it was read from; None: the defaults."""

    @property
    def private(self) -> tuple[Path, ...]:
        """What no command may see: the settings, the store, everybody's workspaces."""
        kept = _SQLITE.fullmatch(self.store_url)
        store = [Path(kept["path"] + suffix) for suffix in ("", "-wal", "-shm", "-journal")] if kept else []
        return (*((self.source,) if self.source else ()), *store, self.declared.workspace_root)


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from `path`, else from `$ENDSTOP_CONFIG`, else from ./endstop.toml, else use the defaults.

    A file that declares providers declares all of them; without that table the default ones stand. Relative paths
    are relative to the file's folder, without a file to the current one. Raises `SettingsError`.
    """
    environ = os.environ if environ is None else environ
    source = path or _found(environ)
    if source is None:
        return _settings(_File(), Path.cwd(), environ, None)
    source = source.absolute()
    return _settings(_validated(_parsed(source), source), source.parent, environ, source)


def _a_provider(name: str) -> str:
    """As it stands before the colon of a target."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", name):
        raise ValueError('a provider\'s name is lower case letters, digits, "_", "." and "-"')
    return name


def _a_store(url: str) -> str:
    without_zero(url)
    if not (_SQLITE.fullmatch(url) or re.match(r"postgres(ql)?(\+\w+)?://", url)):
        raise ValueError('a store is "sqlite:///path/to/file" or "postgresql://host/database"')
    return url


def _a_deployment(name: str) -> str:
    """Temporal keeps "." and ":" for what stands between it and the build."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", name):
        raise ValueError('a deployment\'s name is letters, digits, "_" and "-"')
    return name


class _StoreTable(Frozen):
    """`[store]`."""

    url: Annotated[str, AfterValidator(_a_store)] = DEFAULT_STORE


class _WorkerTable(Frozen):
    """`[worker]`."""

    deployment: Annotated[str, AfterValidator(_a_deployment)] = ""
    build_id: Annotated[str, Field(max_length=200)] = ""
    versioning: Literal["auto_upgrade", "pinned"] = "auto_upgrade"


class _AgentTable(Frozen):
    """`[agents.NAME]`."""

    file: Path
    """The agent's file, as `endstop start` takes it."""


class _File(Frozen):
    """The whole of `endstop.toml`."""

    providers: dict[Annotated[str, AfterValidator(_a_provider)], ProviderTable] = Field(
        default_factory=lambda: dict(DEFAULTS)
    )
    models: dict[str, Model] = Field(default_factory=dict)
    gates: dict[Name, DeclaredGate] = Field(default_factory=dict)
    sandbox: SandboxKind = "bubblewrap"
    tools: dict[Name, DeclaredTool] = Field(default_factory=dict)
    mcp: dict[Name, McpServer] = Field(default_factory=dict)
    agents: dict[Name, _AgentTable] = Field(default_factory=dict)
    capture: Capture = Capture()
    workspaces: dict[Name, DeclaredWorkspace] = Field(default_factory=dict)
    store: _StoreTable = _StoreTable()
    encryption: Encryption | None = None
    worker: _WorkerTable = _WorkerTable()
    workspace_root: PlainPath = Path(".endstop/workspaces")
    task_queue: Annotated[str, Field(min_length=1, max_length=200)] = TASK_QUEUE
    classify: Annotated[tuple[OwnRow, ...], AfterValidator(without_twins)] = ()

    @model_validator(mode="after")
    def _no_tool_hides_another(self) -> Self:
        named = [*self.tools, *(server.known_as(tool) for server in self.mcp.values() for tool in server.tools)]
        for name in named:
            if name in BUILT_IN or named.count(name) > 1:
                raise ValueError(f'two tools would be known as "{name}"; give the declared one another name')
        return self

    @model_validator(mode="after")
    def _subagents_are_declared(self) -> Self:
        named = {f"tools.{name}": tool.agent for name, tool in self.tools.items() if isinstance(tool, AgentTool)}
        named |= {f"gates.{name}": gate.judge for name, gate in self.gates.items() if isinstance(gate, JudgeGate)}
        for where, agent in named.items():
            if agent not in self.agents:
                hint = suggestion(agent, self.agents)
                raise ValueError(f'{where}: names the agent "{agent}", which is not declared; {hint}')
        return self

    @model_validator(mode="after")
    def _models_are_of_declared_providers(self) -> Self:
        for name in self.models:
            try:
                target = Target.parse(name)
            except ValidationError:
                raise ValueError('[models] names targets such as "openai:gpt-5"') from None
            if target.provider not in self.providers:
                hint = suggestion(target.provider, self.providers)
                raise ValueError(f'[models] names the provider "{target.provider}", which is not declared; {hint}')
        return self


def _found(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    here = Path(CONFIG_FILE)
    return here if here.exists() else None


def _parsed(source: Path, remedy: str = f"name another file by {CONFIG_VARIABLE}") -> dict[str, Any]:
    try:
        with source.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as problem:  # ValueError: no path holds a zero byte
        reason = problem.strerror if isinstance(problem, OSError) else "it holds a zero byte"
        raise SettingsError(f"{source}: cannot be read ({reason}); {remedy}") from None
    if len(content) > MAX_FILE_BYTES:
        raise SettingsError(f"{source}: is larger than 1 MiB; settings are a few lines of TOML")
    try:
        return read_toml(content)
    except NotToml as problem:
        raise SettingsError(f"{source}: {problem}") from None


def _validated(document: dict[str, Any], source: Path) -> _File:
    """Validate strictly, by way of JSON: there a list may become a tuple and text a path, but text never a number."""
    for table in ("gates", "tools", "mcp", "workspaces"):
        _name_each(document.get(table), f"{source}: {table}")
    try:
        return _File.model_validate_json(json.dumps(document, default=_refuse_date), strict=True)
    except ValidationError as problem:
        raise SettingsError(one_line(problem, str(source), _File)) from None
    except _DateError:
        raise SettingsError(f"{source}: holds a date or a time; no setting is one, so put it into quotes") from None


def _name_each(tables: Any, where: str) -> None:  # noqa: ANN401 - whatever the file holds
    """A declared thing carries its name, which in the file is its table's."""
    if not isinstance(tables, dict):
        return
    for name, table in tables.items():
        if not isinstance(table, dict):
            continue
        if "name" in table:
            raise SettingsError(f'{where}.{name}: unknown key "name"; the name is already in the table\'s heading')
        table["name"] = name


class _DateError(Exception):
    pass


def _refuse_date(_: object) -> str:
    raise _DateError


def _settings(file: _File, base: Path, environ: Mapping[str, str], source: Path | None) -> Settings:
    declared = Declared(
        providers={name: provider_of(name, table, environ) for name, table in file.providers.items()},
        models=file.models,
        gates=file.gates,
        sandbox=file.sandbox,
        tools=file.tools,
        mcp=file.mcp,
        agents={name: _agent(name, base / table.file) for name, table in file.agents.items()},
        workspaces={name: workspace.placed(base) for name, workspace in file.workspaces.items()},
        workspace_root=base / file.workspace_root,
        capture=file.capture,
        rules=file.classify,
    )
    for name, agent in declared.agents.items():
        try:
            check_agent(agent, declared, routes(declared))
        except InvalidSpec as problem:
            raise SettingsError(f"{source}: agents.{name}: {problem}") from None
    return Settings(
        declared=declared,
        store_url=_placed(file.store.url, base),
        task_queue=file.task_queue,
        deployment=_deployment(file.worker, environ),
        keys=_keys(file.encryption, environ),
        source=source,
    )


def _deployment(worker: _WorkerTable, environ: Mapping[str, str]) -> Deployment | None:
    """By the file, else by what Temporal's worker controller sets; a build without a name is Endstop's version."""
    name = worker.deployment or environ.get("TEMPORAL_DEPLOYMENT_NAME", "")
    if not name:
        return None
    build_id = worker.build_id or environ.get("TEMPORAL_WORKER_BUILD_ID", "")
    try:
        return Deployment(name=name, build_id=build_id or version("endstop"), behavior=worker.versioning)
    except PackageNotFoundError:
        raise SettingsError(
            "[worker] deployment: a checkout has no version; name its release by build_id or TEMPORAL_WORKER_BUILD_ID"
        ) from None


def _keys(encryption: Encryption | None, environ: Mapping[str, str]) -> Keys:
    try:
        return encryption.keys(environ) if encryption else CLEAR
    except NotKeys as problem:
        raise SettingsError(str(problem)) from None


def _agent(name: str, file: Path) -> AgentSpec:
    """An agent that others may start, from its file."""
    try:
        return read_agent(_parsed(file, f"[agents.{name}] names it: correct file there"))
    except InvalidSpec as problem:
        raise SettingsError(f"{file}: {problem}") from None


def _placed(url: str, base: Path) -> str:
    """A SQLite file's path made absolute; other stores as they are."""
    found = _SQLITE.fullmatch(url)
    if not found or found["path"] == ":memory:":
        return url
    return f"{found['scheme']}{base / found['path']}{found['query'] or ''}"
