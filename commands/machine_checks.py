# ruff: noqa: PLC0415 - `endstop --help` loads no SQL
"""What the worker's machine has to have: the store, the sandbox, the operator's functions, MCP servers, workspaces.

Each check looks as the worker does when it starts, and changes nothing. Not here: Temporal (`server_checks`) and
addresses (`endpoint_checks`).
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, assert_never

from activities.declared_gates import CommandGate, FunctionGate, SchemaGate
from activities.declared_tools import ActivityTool, AgentTool, CommandTool, FunctionTool, McpServer
from activities.declared_workspaces import (
    ArchiveWorkspace,
    DeclaredWorkspace,
    FolderWorkspace,
    GitWorkspace,
    absent,
)
from activities.tool_unusable import ToolUnusable
from commands.endpoint_checks import reached
from commands.findings import Finding, doubtful, fine, wrong
from commands.words import counted

if TYPE_CHECKING:
    from activities.functions import FunctionThreads
    from settings import Settings

P = ParamSpec("P")

SPACE: Final = 256 * 2**20
"""Bytes of a disk below which a store on it is about to be full; a run of a thousand turns takes a few MB."""


async def store(settings: "Settings") -> list[Finding]:
    """Whether the store can be opened and written, and whether its tables are of this release."""
    from store import StoreUnavailable, look_at

    try:
        looked = await asyncio.to_thread(look_at, settings.store_url)
    except StoreUnavailable as error:
        return [wrong("store", str(error))]
    kind = "SQLite, for the workers of this machine only" if looked.file else "PostgreSQL"
    where = f"{looked.where} ({kind})"
    if looked.version == 0:
        found = fine("store", f"{where}: not there yet, the first worker makes it")
    elif looked.version < looked.newest:
        remedy = f"the first worker of this release makes it version {looked.newest}; older releases then refuse it"
        found = doubtful("store", f"{where}: version {looked.version}, of an older release", remedy)
    else:
        found = fine("store", f"{where}: version {looked.version}")
    return [found, *(_disk(looked.file) if looked.file else ())]


def _disk(file: Path) -> Iterator[Finding]:
    folder = next(folder for folder in file.absolute().parents if folder.is_dir())
    if not os.access(folder, os.W_OK):
        yield wrong("disk of the store", f"{folder} cannot be written", "let the worker's user write there")
    elif (free := shutil.disk_usage(folder).free) < SPACE:
        yield doubtful("disk of the store", f"{free >> 20} MiB are free", "make room: runs stand still on a full disk")


async def sandbox(settings: "Settings") -> list[Finding]:
    """Whether the commands of gates and tools can be run as the worker runs them."""
    from activities.sandbox import SandboxUnusable, check, found

    declared = settings.declared
    kinds = (*declared.gates.values(), *declared.tools.values())
    commands = counted(sum(isinstance(one, CommandGate | CommandTool) for one in kinds), "command")
    if commands.startswith("0 "):
        return [fine("sandbox", "no gate and no tool runs a command")]
    if declared.sandbox == "none":
        remedy = "install bubblewrap and take that line out, unless you can lose this machine and its keys"
        return [doubtful("sandbox", f'sandbox = "none": {commands} may do what the worker may', remedy)]
    try:
        await check(found(settings.private))
    except SandboxUnusable as unusable:
        return [wrong("sandbox", str(unusable))]
    return [fine("sandbox", f"bubblewrap works, for {commands}")]


async def functions(settings: "Settings") -> list[Finding]:
    """Whether the operator's Python functions, and schemas, can be used: they are imported, and not called."""
    from activities.function_gates import GateFunction
    from activities.functions import FunctionThreads, make_importable
    from activities.own_gates import checked

    make_importable(_folder(settings))
    findings = []
    with closing(FunctionThreads()) as threads:
        for name, tool in settings.declared.tools.items():
            if isinstance(tool, FunctionTool):
                findings.append(_usable(f"tool {name}", tool.function, _function_tool, tool, threads))
        for name, gate in settings.declared.gates.items():
            if isinstance(gate, FunctionGate):
                findings.append(_usable(f"gate {name}", gate.function, GateFunction.of, gate, threads))
            elif isinstance(gate, SchemaGate):
                findings.append(_usable(f"gate {name}", "its schema", checked, gate))
    return findings


def _function_tool(tool: FunctionTool, threads: "FunctionThreads") -> None:
    from activities.declared_checks import check_approval
    from activities.function_tools import function_tool

    check_approval(function_tool(tool, threads).declaration)


async def commands(settings: "Settings") -> list[Finding]:
    """Whether the programs of gates and tools are there, and approvals name arguments of tools that are not ours."""
    from activities.declared_checks import check_approval, check_program

    declared = settings.declared
    findings = []
    for kind, named in (("gate", declared.gates), ("tool", declared.tools)):
        for name, one in named.items():
            if isinstance(one, CommandGate | CommandTool):
                check = f"{kind} {name}"
                findings.append(_usable(check, f"its program {one.command[0]}", check_program, check, one.command[0]))
            elif isinstance(one, ActivityTool | AgentTool) and isinstance(one.approval, dict):
                findings.append(_usable(f"tool {name}", "its approval", check_approval, one.declaration))
    return findings


def _usable(check: str, what: str, opening: Callable[P, object], *args: P.args, **named: P.kwargs) -> Finding:
    try:
        opening(*args, **named)
    except ToolUnusable as unusable:
        return wrong(check, str(unusable).removeprefix(f"{check}: "))
    return fine(check, f"{what} can be used")


async def mcp(settings: "Settings") -> list[Finding]:
    """Whether each MCP server's program or address, and the variables that it is to have, are there."""
    folder = _folder(settings)
    return [found for server in settings.declared.mcp.values() for found in await _server(server, folder)]


async def _server(server: McpServer, folder: Path) -> list[Finding]:
    check = f"MCP server {server.name}"
    unset = [name for name in (*server.env, server.key_env) if name and name not in os.environ]
    findings = [doubtful(check, f"{name} is not set here", "set it where the worker runs") for name in unset]
    if server.url:
        return [await reached(check, server.url), *findings]
    word = server.command[0]
    program = shutil.which(str(folder / word) if "/" in word else word)
    if program is None:
        return [wrong(check, f"there is no program {word}", "install it, or name it by its path"), *findings]
    return [fine(check, f"its program is {program}; it was not started"), *findings]


async def workspaces(settings: "Settings") -> list[Finding]:
    """Whether what workspaces are made of is there; a repository on another machine is not asked."""
    declared = settings.declared.workspaces
    return [_workspace(f"workspace {name}", workspace) for name, workspace in declared.items()]


def _workspace(check: str, workspace: DeclaredWorkspace) -> Finding:
    remedy = "name one that is there in endstop.toml"
    match workspace:
        case FolderWorkspace(source=source):
            there = absent(workspace) is None
            return fine(check, f"{source}") if there else wrong(check, f"there is no folder {source}", remedy)
        case ArchiveWorkspace(archive=archive):
            there = absent(workspace) is None
            return fine(check, f"{archive}") if there else wrong(check, f"there is no file {archive}", remedy)
        case GitWorkspace():
            return _repository(check, workspace, remedy)
        case _:
            assert_never(workspace)


def _repository(check: str, workspace: GitWorkspace, remedy: str) -> Finding:
    if shutil.which("git") is None:
        return wrong(check, "there is no program git", "install git on this machine")
    if workspace.transport != "file":
        return fine(check, f"{workspace.git} at {workspace.ref}; it was not asked")
    if (folder := absent(workspace)) is not None:
        return wrong(check, f"there is no repository {folder}", remedy)
    return fine(check, f"{workspace.git} at {workspace.ref}")


def _folder(settings: "Settings") -> Path:
    """Where functions and programs are looked for."""
    return settings.source.parent if settings.source else Path.cwd()
