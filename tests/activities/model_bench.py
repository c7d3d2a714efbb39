"""A bench for one trip: the real activity, the real SDKs, a real store, and the simulator behind a socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from activities.call_model import CallModel
from activities.contract import ModelCall, ModelReply
from activities.declared import Provider
from activities.messages import user_message
from activities.tool_declaration import ToolDeclaration
from ledger.agent import AgentSpec
from ledger.conversation import Conversation
from ledger.outcomes import Trip
from ledger.target import Target
from simulator import Reply, Script, Simulator
from store import Store

APIS = ("openai-chat", "openai-responses", "anthropic-messages", "google")
PROMPT = "MARKER-PROMPT what is the capital of France?"
INSTRUCTIONS = "MARKER-INSTRUCTIONS be brief"
KEY = "sk-MARKER-KEY-0123456789"

TOOLS = {
    name: ToolDeclaration(
        name=name,
        description=f"MARKER-TOOL {name}",
        parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    )
    for name in ("read_file", "write_file")
}


@dataclass(kw_only=True)
class Bench:
    sim: Simulator
    store: Store
    caller: CallModel
    conversation: Conversation
    agent_ref: str
    env: ActivityEnvironment = field(default_factory=ActivityEnvironment)
    results: list[dict[str, Any]] = field(default_factory=list)
    beats: list[dict[str, Any]] = field(default_factory=list)

    def call(self, attempt: str = "1.1.1", **changes) -> ModelCall:
        asked = {
            "attempt": attempt,
            "agent_ref": self.agent_ref,
            "stage": 0,
            "target": Target(provider="sim", model="m"),
            "conversation": self.conversation,
            "deadline_s": 30,
        }
        return ModelCall.model_validate(asked | changes)

    async def agent(self, spec: dict[str, Any]) -> str:
        """The reference of another agent."""
        return await self.store.put(AgentSpec.model_validate(spec).model_dump_json())

    def __post_init__(self) -> None:
        self._beaten = asyncio.Event()
        self.env.on_heartbeat = self._hear

    def _hear(self, details: dict[str, Any]) -> None:
        self.beats.append(details)
        self._beaten.set()

    async def beat(self, phase: str, at_least: int = 0) -> None:
        """Wait for a heartbeat that tells this phase, and so many bytes."""
        while not any(beat["phase"] == phase and beat["bytes"] >= at_least for beat in self.beats):
            self._beaten.clear()
            await self._beaten.wait()

    async def ask(self, attempt: str = "1.1.1", **changes) -> ModelReply:
        """One attempt, as the workflow gets it back."""
        call = self.call(attempt, **changes)
        result = await self.env.run(self.caller.call_model, call)
        self.results.append(result)
        return ModelReply.read(result, call.conversation)

    async def trip(self, attempt: str = "1.1.1", **changes) -> Trip:
        return (await self.ask(attempt, **changes)).trip

    def start(self, attempt: str = "1.1.1", **changes) -> "asyncio.Task[ModelReply]":
        return asyncio.create_task(self.ask(attempt, **changes))


@asynccontextmanager
async def bench(
    folder: Path, api: str, *replies: Reply, script: Script | None = None, **provider
) -> AsyncIterator[Bench]:
    """A bench on which the model "m" of the provider "sim" answers with these replies."""
    async with Simulator(script or Script(models={"m": replies})) as sim:
        base = f"{sim.url}/v1" if api.startswith("openai") else sim.url
        declared = {"name": "sim", "api": api, "base_url": base, "key": SecretStr(KEY), "key_env": "SIM_KEY"} | provider
        store = await Store.open(f"sqlite:///{folder / 'store.db'}")
        caller = CallModel(store, {"sim": Provider.model_validate(declared)}, TOOLS, beat_s=0.05)
        try:
            await caller.warm()
            yield await _set(sim, store, caller)
        finally:
            await caller.close()
            await store.close()


async def _set(sim: Simulator, store: Store, caller: CallModel) -> Bench:
    agent = AgentSpec.model_validate(
        {
            "models": ["sim:m"],
            "instructions": INSTRUCTIONS,
            "tools": list(TOOLS),
            "limits": {"max_tokens": 1000, "temperature": 0.5},
        }
    )
    agent_ref = await store.put(agent.model_dump_json())
    appended = await store.append(Conversation(id="run-1"), "task", user_message(PROMPT))
    return Bench(sim=sim, store=store, caller=caller, conversation=appended.conversation, agent_ref=agent_ref)
