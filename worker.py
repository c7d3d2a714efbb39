"""The composition root: settings, connection, store, activities, workflow, put together and run until told to stop.

`python worker.py` runs a worker by `endstop.toml` and Temporal's own environment and profiles. The commands and the
tests use `run_worker` with a client of theirs. Nothing else in the tree constructs what it uses.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from activities.answer import AnswerReader
from activities.call_model import CallModel
from activities.catalog import declarations, routes
from activities.cautions import warn
from activities.compacting import Compactor
from activities.contract import STORE_S
from activities.declared_checks import check_declared
from activities.declared_gates import CommandGate
from activities.declared_tools import CommandTool
from activities.expiring import Expirer
from activities.expiry_schedule import keep_schedule
from activities.functions import FunctionThreads
from activities.journal import JournalWriter
from activities.judging import Judging
from activities.loop_watch import watched
from activities.notes import NoteWriter
from activities.own_gates import OwnGates, open_gates
from activities.pollers import Others, identity
from activities.polling import polling
from activities.prepare import Preparer, workspace_queue
from activities.run_gate import GateRunner
from activities.run_tool import ToolRunner
from activities.sandbox import Sandbox, SandboxUnusable, check, found
from activities.search_attributes import ensure_search_attributes, existing_search_attributes
from activities.subagents import Subagents
from activities.tool import Tool
from activities.tool_unusable import ToolUnusable
from activities.toolbox import open_tools
from activities.tools_elsewhere import ElsewhereTools
from activities.warming import settle_memory
from activities.workspace import Workspaces
from activities.workspace_command import WorkspaceCommands
from encryption import Keys
from ledger.classify import rows_with
from logs import configure_logging, core_runtime
from settings import Settings, SettingsError, load_settings
from store import RememberingStore, Store, StoreUnavailable, tag
from workflows.agent import AgentWorkflow
from workflows.codec import converter_with
from workflows.expiry import ExpiryWorkflow

DEFAULT_ADDRESS: Final = "127.0.0.1:7233"
"""Where `temporal server start-dev` and `endstop dev` listen."""

CONNECT: Final = timedelta(seconds=10)
"""An address that swallows packets answers nothing at all."""

SETTLE_S: Final = 0.2
"""After closing, before the interpreter ends: Temporal's threads would now and then abort the process (2 of 25)."""

_log = structlog.stdlib.get_logger()


class CannotRun(Exception):  # noqa: N818 - what the operator reads
    """The worker cannot run here; the message is one line."""


async def connect(config: ClientConnectConfig, keys: Keys) -> Client:
    """Connect as Temporal's environment and profile say. `CannotRun`: nobody answers, or not for this namespace."""
    config.setdefault("target_host", DEFAULT_ADDRESS)
    address = config["target_host"]
    try:
        async with asyncio.timeout(CONNECT.total_seconds()):
            client = await Client.connect(**config, data_converter=converter_with(keys), runtime=core_runtime())
            await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except (RuntimeError, ValueError, TimeoutError):  # how the SDK reports a refused connection, a bad address
        raise CannotRun(
            f"no Temporal server answers at {address}; start one with `endstop dev`, or name yours in TEMPORAL_ADDRESS"
        ) from None
    except RPCError as error:
        raise CannotRun(_refused(address, client.namespace, error)) from None
    return client


def _refused(address: str, namespace: str, error: RPCError) -> str:
    if error.status is RPCStatusCode.NOT_FOUND:
        return f"the Temporal server at {address} has no namespace {namespace!r}; create it or set TEMPORAL_NAMESPACE"
    reason = error.status.name.lower()
    return f"the Temporal server at {address} refused the worker ({reason}); check TEMPORAL_API_KEY and TLS"


async def run_worker(
    settings: Settings, client: Client, *, ready: asyncio.Event | None = None, stop: asyncio.Event | None = None
) -> None:
    """Run until `stop` is set or the task is cancelled; then let what is in flight end, `GRACE` at most.

    `ready` is set once it polls. Raises `StoreUnavailable`, `CannotRun`, and the worker's own fatal error.
    """
    stop = stop or asyncio.Event()
    async with assembled(settings, client) as (shared, local), shared, local:
        await warn(client, settings.task_queue, settings.declared, identity(tag(settings.store_url)))
        _log.info("worker.ready", task_queue=shared.task_queue, workspace_queue=local.task_queue, **_release(settings))
        if ready:
            ready.set()
        try:
            with watched(asyncio.get_running_loop(), "worker", threading.get_ident()):
                await stop.wait()
        finally:  # both at once: neither may take new work while the other ends its own
            _log.info("worker.stopping")
            await asyncio.gather(shared.shutdown(), local.shutdown())
    await asyncio.sleep(SETTLE_S)


def _release(settings: Settings) -> dict[str, str]:
    """What the log says of a versioned worker, which gets nothing before its version is made the current one."""
    release = settings.deployment
    return {"deployment": release.name, "build_id": release.build_id} if release else {}


@asynccontextmanager
async def assembled(settings: Settings, client: Client) -> AsyncIterator[tuple[Worker, Worker]]:
    """Workers that only need to be run; what they use is open, and is closed after them."""
    sandbox = await sandbox_for(settings)
    workspaces = Workspaces(settings.declared.workspace_root, settings.declared.workspaces, os.environ)
    store = await RememberingStore.open(settings.store_url, patience_s=STORE_S, keys=settings.keys)
    async with AsyncExitStack() as closing:
        closing.push_async_callback(store.close)
        opening = opened(settings, store, WorkspaceCommands(workspaces, sandbox))
        tools, gates = await closing.enter_async_context(opening)
        call_model = CallModel(
            store,
            settings.declared.providers,
            declarations(settings.declared, tools),
            models=settings.declared.models,
            rows=rows_with(settings.declared.rules),
            capture=settings.declared.capture.allowed,
        )
        closing.push_async_callback(call_model.close)
        await call_model.warm()
        settle_memory()
        await ensure_search_attributes(client)
        await keep_schedule(client, settings.task_queue, settings.declared.capture.days)
        yield build_workers(settings, client, store, call_model, tools, gates, workspaces, sandbox)


@asynccontextmanager
async def opened(
    settings: Settings, store: Store, commands: WorkspaceCommands
) -> AsyncIterator[tuple[dict[str, Tool], OwnGates]]:
    """The tools and gates that this worker carries out, open for this block. `CannotRun`: one cannot be opened."""
    folder = settings.source.parent if settings.source else Path.cwd()
    async with AsyncExitStack() as closing:
        threads = FunctionThreads()
        closing.callback(threads.close)
        opening = open_tools(
            settings.declared, store=store, commands=commands, threads=threads, environ=os.environ, folder=folder
        )
        try:
            tools = await closing.enter_async_context(opening)
            gates = open_gates(settings.declared, folder, threads)
            check_declared(settings.declared, declarations(settings.declared, tools))
        except ToolUnusable as unusable:
            raise CannotRun(str(unusable)) from None
        yield tools, gates


async def sandbox_for(settings: Settings) -> Sandbox | None:
    """What is around the commands of gates and tools, tried once; None: there are none, or the operator wants none.

    `CannotRun`: it is wanted and does not work here. Going on without one is never decided for the operator.
    """
    declared = settings.declared
    gates = sum(isinstance(gate, CommandGate) for gate in declared.gates.values())
    tools = sum(isinstance(tool, CommandTool) for tool in declared.tools.values())
    if not gates and not tools:
        return None
    if declared.sandbox == "none":
        _log.warning("worker.no_sandbox", gates=gates, tools=tools)
        return None
    try:
        sandbox = found(settings.private)
        await check(sandbox)
    except SandboxUnusable as unusable:
        raise CannotRun(str(unusable)) from None
    return sandbox


def build_workers(
    settings: Settings,
    client: Client,
    store: Store,
    call_model: CallModel,
    tools: Mapping[str, Tool],
    gates: OwnGates,
    workspaces: Workspaces,
    sandbox: Sandbox | None,
) -> tuple[Worker, Worker]:
    """The worker of the shared task queue, and the one of this machine's workspaces."""
    declared, own = settings.declared, identity(tag(settings.store_url))
    queue = workspace_queue(settings.task_queue, declared.workspace_root)
    known = declarations(declared, tools)
    preparer = Preparer(
        store=store,
        declared=declared,
        workspaces=workspaces,
        tools=routes(declared),
        known=known,
        functions=gates.functions,
        queue=queue,
        search_attributes=partial(existing_search_attributes, client),
        others=Others(client, settings.task_queue, own).may_take,
    )
    in_workspace = (
        ToolRunner(store, workspaces, tools).run_tool,
        GateRunner(store, declared.gates, workspaces, sandbox=sandbox, own=gates).run_gate,
    )
    kept = (NoteWriter(store).append, JournalWriter(store).write_journal, AnswerReader(store).read_answer)
    aged = Expirer(store).expire
    elsewhere, subagents, judging = ElsewhereTools(store, known), Subagents(store, known), Judging(store)
    outside = (elsewhere.read_arguments, elsewhere.keep_result, subagents.read_task, subagents.keep_answer)
    judged = (judging.judge_task, judging.keep_verdict)
    anywhere = (preparer.prepare, call_model.call_model, Compactor(store).compact, *kept, *outside, *judged, aged)
    known_here = (AgentWorkflow, ExpiryWorkflow)
    everything = (*anywhere, *in_workspace)
    poll = partial(polling, client, identity=own)
    shared = poll(settings.task_queue, everything, known_here, deployment=settings.deployment)
    return shared, poll(queue, in_workspace)  # no release: a workspace outlives the one that claimed it


def main() -> int:
    """Run a worker with no arguments. Exit code 0 stopped, 1 it cannot run here or failed, 2 the settings are wrong."""
    try:
        settings, config = load_settings(), _temporal_config()
    except SettingsError as error:
        return _say(str(error), 2)
    configure_logging()
    try:
        asyncio.run(_main(settings, config))
    except (CannotRun, StoreUnavailable) as error:
        return _say(str(error), 1)
    except Exception:  # noqa: BLE001 - see below
        # The named boundary of the process: a traceback would quote content, so its types and place are logged.
        _log.exception("worker.failed")
        return 1
    return 0


def _temporal_config() -> ClientConnectConfig:
    try:
        return ClientConfig.load_client_connect_config()
    except (RuntimeError, OSError) as error:  # RuntimeError: the public base of the SDK's own error
        reason = str(error).splitlines()[0]  # the lines after it quote the file, which may hold a key
        raise SettingsError(
            f"Temporal's configuration cannot be used: {reason}; check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE and TLS"
        ) from None


async def _main(settings: Settings, config: ClientConnectConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop_once, loop, number, stop)
    client = await connect(config, settings.keys)
    await run_worker(settings, client, stop=stop)


def _stop_once(loop: asyncio.AbstractEventLoop, number: int, stop: asyncio.Event) -> None:
    """The first signal stops in good order; the same again ends the process at once."""
    loop.remove_signal_handler(number)
    stop.set()


def _say(line: str, code: int) -> int:
    sys.stderr.write(f"endstop worker: {line}\n")
    return code


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    os._exit(status)  # without finalizing the interpreter: threads of Temporal's now and then abort that
