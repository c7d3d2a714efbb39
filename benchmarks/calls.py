"""What a warm worker's calls cost: `python -m benchmarks.calls [--calls N] [--at-once N] [--turns N] [--api API]`.

The real activity, SDKs and SQLite store; the simulator is another process, so the CPU counted is the worker's alone.
Prints one JSON line a protocol: calls, requests that the simulator received, modules imported after warming (a call
that imports keeps all others waiting), CPU a call, the longest time for which the loop answered nothing, and memory as
it grew from the first tenth of the calls on. On a busy machine only the counts and the memory mean anything.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_ai.messages import ModelResponse, ToolCallPart
from temporalio.testing import ActivityEnvironment

from activities.call_model import CallModel
from activities.contract import ModelCall, ModelReply
from activities.declared import Provider
from activities.messages import Call, serialise, tool_result, user_message
from activities.tool_declaration import ToolDeclaration
from activities.warming import settle_memory
from ledger.agent import AgentSpec
from ledger.conversation import Conversation
from ledger.target import Target
from store import Store

APIS = ("openai-chat", "openai-responses", "anthropic-messages", "google")
TICK_S = 0.005
TOOL = ToolDeclaration(
    name="read_file",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


@contextmanager
def simulator() -> Iterator[str]:
    """The address of a simulator in a process of its own, which gives every model a canned answer."""
    command = [sys.executable, "-m", "simulator"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def received(url: str) -> int:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)["received"]


def resident_mb() -> float:
    """Memory of this process, in MB of 2**20 bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


class Stalls:
    """The longest time, in seconds, for which the loop answered nothing."""

    longest = 0.0

    async def watch(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            self.longest = max(self.longest, now - last - TICK_S)
            last = now


@asynccontextmanager
async def worker(url: str, api: str) -> AsyncIterator[tuple[CallModel, Store]]:
    base = f"{url}/v1" if api.startswith("openai") else url
    provider = Provider(name="sim", api=api, base_url=base, key=SecretStr("a-key"))
    with tempfile.TemporaryDirectory() as folder:
        store = await Store.open(f"sqlite:///{folder}/store.db")
        caller = CallModel(store, {"sim": provider}, {TOOL.name: TOOL})
        try:
            await caller.warm()
            settle_memory()
            yield caller, store
        finally:
            await caller.close()
            await store.close()


async def conversation(store: Store, name: str, turns: int) -> Conversation:
    """So many turns, each a tool call of 1 kB and its result of 1 kB, after a task."""
    told = (await store.append(Conversation(id=name), "task", user_message("Go through the files."))).conversation
    for number in range(turns):
        called = Call(id=f"call_{number}", name=TOOL.name, arguments=json.dumps({"path": "a/b/" * 250}))
        answer = ModelResponse(parts=[ToolCallPart(called.name, called.arguments, called.id)])
        told = (await store.append(told, f"answer {number}", serialise(answer))).conversation
        told = (await store.append_result(told, 0, tool_result(called, "words of it " * 85))).conversation
    return told


async def asked(caller: CallModel, call: ModelCall) -> None:
    reply = ModelReply.model_validate(await ActivityEnvironment().run(caller.call_model, call))
    if reply.trip.outcome.outcome != "answered":
        raise SystemExit(f"a call was refused: {reply.trip.outcome.failure.rule}")


async def measured(url: str, api: str, *, calls: int, at_once: int, turns: int) -> dict[str, Any]:
    async with worker(url, api) as (caller, store):
        agent_ref = await store.put(
            AgentSpec.model_validate({"models": ["sim:m"], "tools": [TOOL.name]}).model_dump_json()
        )
        told = [await conversation(store, f"run-{number}", turns) for number in range(min(calls, at_once))]
        before, loaded, cpu = received(url), set(sys.modules), time.process_time()
        stalls = Stalls()
        watching = asyncio.create_task(stalls.watch())
        memory = []
        for start in range(0, calls, at_once):
            numbers = range(start, min(start + at_once, calls))
            batch = (_call(number, agent_ref, told[number - start]) for number in numbers)
            await asyncio.gather(*(asked(caller, call) for call in batch))
            memory.append(round(resident_mb(), 1))
        watching.cancel()
        return {
            "api": api,
            "calls": calls,
            "requests": received(url) - before,
            "imported": sorted(set(sys.modules) - loaded),
            "cpu_ms_a_call": round((time.process_time() - cpu) / calls * 1_000, 2),
            "longest_stall_ms": round(stalls.longest * 1_000),
            "memory_mb": {"first tenth": memory[len(memory) // 10], "end": memory[-1]},
        }


def _call(number: int, agent_ref: str, told: Conversation) -> ModelCall:
    """A target of its own for each call: the same one would find its answer in the store."""
    target = Target(provider="sim", model=f"m{number}")
    return ModelCall(attempt=f"1.1.{number}", agent_ref=agent_ref, stage=0, target=target, conversation=told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=200, help="a protocol (200); 5000 shows whether memory stays flat")
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--turns", type=int, default=1, help="turns of 2 kB in each conversation before the call (1)")
    parser.add_argument("--api", choices=APIS, action="append", help="only this protocol; may be given again")
    given = parser.parse_args()
    with simulator() as url:
        for api in given.api or APIS:
            result = measured(url, api, calls=given.calls, at_once=given.at_once, turns=given.turns)
            print(json.dumps(asyncio.run(result)), flush=True)


if __name__ == "__main__":
    main()
