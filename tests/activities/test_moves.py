"""Every move of a conversation among the four protocols, against vendors that refuse what the real ones refuse.

The simulator is strict: foreign signatures, ids of another alphabet, rounds that are not whole, or another order of
roles get the vendor's own refusal. The SDKs are the real ones, and the model names are ones whose rules they know.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from pydantic import SecretStr
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, ThinkingPart, UserPromptPart
from temporalio.testing import ActivityEnvironment

from activities.call_model import CallModel
from activities.contract import ModelCall, ModelReply
from activities.declared import Model, Provider
from activities.messages import parse, serialise, text_of, tool_calls, tool_result, user_message
from ledger.agent import AgentSpec
from ledger.conversation import Conversation
from ledger.target import Target
from simulator import Reply, Script, Simulator, Text, ToolCall, ToolCalls
from store import Store
from tests.activities.model_bench import APIS, INSTRUCTIONS, TOOLS

MODELS = {
    "openai-chat": "deepseek-reasoner",
    "openai-responses": "gpt-5",
    "anthropic-messages": "claude-haiku-4-5",
    "google": "gemini-3-pro-preview",
}
TARGETS = {api: Target(provider=api, model=model) for api, model in MODELS.items()}

ODD_IDS = {
    "openai-chat": ("functions.read_file:0", "functions.write_file:1"),
    "openai-responses": ("call_" + "x" * 59, "call_b"),
    "anthropic-messages": ("toolu_01A-b_c", "toolu_02"),
    "google": ("a/b:c.1", "a/b:c.2"),
}
"""Ids that the one vendor may give and another would refuse."""

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "MARKER-SCHEMA"}, "people": {"type": "integer"}},
    "required": ["city"],
}

BASE64 = str.maketrans("-_", "+/")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


@dataclass(kw_only=True)
class Road:
    """One worker with all four providers, asked one after the other."""

    sim: Simulator
    store: Store
    caller: CallModel
    agent_ref: str
    json_ref: str
    """The same agent with an output schema."""
    travelled: int = 0

    async def begin(self, first: ModelMessage) -> Conversation:
        self.travelled += 1
        run = Conversation(id=f"run-{self.travelled}")
        return (await self.store.append(run, "task", serialise(first))).conversation

    async def ask(self, api: str, conversation: Conversation, number: int, *, as_json: bool = False) -> Conversation:
        call = ModelCall(
            attempt=f"{self.travelled}.{number}",
            agent_ref=self.json_ref if as_json else self.agent_ref,
            stage=0,
            target=TARGETS[api],
            conversation=conversation,
            deadline_s=30,
        )
        reply = ModelReply.read(await ActivityEnvironment().run(self.caller.call_model, call), conversation)
        if reply.trip.outcome.outcome == "refused":
            said = (await self.store.get_details(conversation.id)).get(call.attempt)
            pytest.fail(f"{api} refused at step {number}: {reply.trip.outcome.failure.rule}: {said}")
        return reply.conversation

    async def answer_calls(self, answer: Conversation) -> Conversation:
        """The results of the answer's calls; the last of several failed."""
        conversation = answer
        *_, body = await self.store.read(answer)
        for ordinal, call in enumerate(tool_calls(body)):
            result = tool_result(call, f"result {ordinal}", failed=ordinal > 0)
            conversation = (await self.store.append_result(answer, ordinal, result)).conversation
        return conversation


@pytest.fixture(scope="module")
async def road(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Road]:
    async with Simulator() as sim:
        providers = {api: _provider(api, sim) for api in APIS}
        models = {str(target): Model(thinking="low") for target in TARGETS.values()}
        store = await Store.open(f"sqlite:///{tmp_path_factory.mktemp('moves') / 'store.db'}")
        caller = CallModel(store, providers, TOOLS, models=models)
        agent = {"models": [str(TARGETS["google"])], "instructions": INSTRUCTIONS, "tools": list(TOOLS)}
        specs = (AgentSpec.model_validate(spec) for spec in (agent, agent | {"output": CITY}))
        agent_ref, json_ref = [await store.put(spec.model_dump_json()) for spec in specs]
        try:
            await caller.warm()
            yield Road(sim=sim, store=store, caller=caller, agent_ref=agent_ref, json_ref=json_ref)
        finally:
            await caller.close()
            await store.close()


def _provider(api: str, sim: Simulator) -> Provider:
    base = f"{sim.url}/v1" if api.startswith("openai") else sim.url
    return Provider(name=api, api=api, base_url=base, key=SecretStr("a-key"))


def one_call(api: str, thinking: str = "") -> ToolCalls:
    return ToolCalls(calls=(ToolCall(name="read_file", arguments={"path": api}),), thinking=thinking)


def two_calls(api: str, thinking: str = "") -> ToolCalls:
    calls = (
        ToolCall(name="read_file", arguments={"path": api}, id=ODD_IDS[api][0]),
        ToolCall(name="write_file", arguments={"path": api}, id=ODD_IDS[api][1]),
    )
    return ToolCalls(calls=calls, text="I will look.", thinking=thinking)


WAYS = {
    "text": lambda api: Text(text=f"Words of {api}."),
    "thought": lambda api: Text(text=f"Words of {api}.", thinking=f"Thought of {api}."),
    "tool call": one_call,
    "parallel tool calls": two_calls,
    "thought and tool call": lambda api: one_call(api, thinking=f"Thought of {api}."),
    "thought and parallel tool calls": lambda api: two_calls(api, thinking=f"Thought of {api}."),
}
"""What each target answers with before the other takes over."""


def script_of(steps: list[tuple[str, Reply]]) -> Script:
    return Script(
        strict=True,
        models={MODELS[api]: tuple(r for who, r in steps if who == api) for api in {who for who, _ in steps}},
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("there", APIS)
@pytest.mark.parametrize("here", APIS)
async def test_a_conversation_goes_on_at_another_target_and_back_again(road: Road, here: str, there: str, way: str):
    """Each takes over in the middle of the other's tool round, where there is one; then a person speaks."""
    answer = WAYS[way]
    steps = [(here, answer(here)), (there, answer(there)), (here, answer(here)), (there, Text(text="All done."))]
    road.sim.use(script_of(steps))
    conversation = await road.begin(ModelRequest(parts=[UserPromptPart(content="What is in the files?")]))
    for number, (api, reply) in enumerate(steps):
        conversation = await road.ask(api, conversation, number)
        if isinstance(reply, ToolCalls):
            conversation = await road.answer_calls(conversation)
        else:
            note = user_message(f"go on after {number}")
            conversation = (await road.store.append(conversation, f"note {number}", note)).conversation
    road.sim.use(script_of([(here, Text(text="Bye."))]))
    await road.ask(here, conversation, len(steps))


@pytest.mark.parametrize("there", APIS)
@pytest.mark.parametrize("here", APIS)
async def test_structured_output_survives_a_move_and_the_way_back_in_the_middle_of_a_tool_round_too(
    road: Road, here: str, there: str
):
    """Whoever is asked is told the schema, natively or by instructions, and reads the JSON that the other wrote."""
    words = {api: json.dumps({"city": f"Answer of {api}"}) for api in APIS}
    steps = [
        (here, two_calls(here, thinking="Hm.")),
        (there, two_calls(there, thinking="Hm.")),
        (here, Text(text=words[here])),
        (there, Text(text=f"```json\n{words[there]}\n```")),
        (here, one_call(here)),
        (there, Text(text=words[there])),
    ]
    road.sim.use(script_of(steps))
    conversation = await road.begin(ModelRequest(parts=[UserPromptPart(content="Which city?")]))
    for number, (api, reply) in enumerate(steps):
        conversation = await road.ask(api, conversation, number, as_json=True)
        if isinstance(reply, ToolCalls):
            conversation = await road.answer_calls(conversation)
            continue
        assert text_of((await road.store.read(conversation))[-1]) == words[api]
        note = user_message(f"and after {number}?")
        conversation = (await road.store.append(conversation, f"note {number}", note)).conversation
    requests = [request.raw.decode() for request in road.sim.requests[-len(steps) :]]
    assert all("MARKER-SCHEMA" in request for request in requests)
    assert f"Answer of {here}" in requests[-1]


@pytest.mark.parametrize("there", APIS)
@pytest.mark.parametrize("here", APIS)
async def test_an_image_reaches_whoever_takes_over(road: Road, here: str, there: str):
    road.sim.use(script_of([(here, Text(text="A dot.")), (there, Text(text="Still a dot."))]))
    image = BinaryContent(data=PIXEL, media_type="image/png")
    conversation = await road.begin(ModelRequest(parts=[UserPromptPart(content=["What is this?", image])]))
    conversation = await road.ask(here, conversation, 0)
    note = user_message("Are you sure?")
    conversation = (await road.store.append(conversation, "note", note)).conversation
    await road.ask(there, conversation, 1)
    assert image.base64[:40] in road.sim.requests[-1].raw.decode()


def seal_of(body: bytes) -> str:
    """What the vendor signed an answer's thought with; "" for a vendor that does not."""
    for part in parse(body).parts:
        if isinstance(part, ThinkingPart) and part.signature:
            return part.signature
        if "thought_signature" in (getattr(part, "provider_details", None) or {}):
            return part.provider_details["thought_signature"]
    return ""


@pytest.mark.parametrize("api", APIS)
async def test_a_target_gets_its_own_thought_back_as_it_signed_it(road: Road, api: str):
    """Also when others spoke in between; and nobody else ever gets it."""
    others = [other for other in APIS if other != api]
    thought = "A secret thought"
    steps = [(api, one_call(api, thinking=thought)), *((other, one_call(other)) for other in others)]
    road.sim.use(script_of([*steps, (api, Text(text="Done."))]))
    conversation = await road.begin(ModelRequest(parts=[UserPromptPart(content="Think.")]))
    sealed = ""
    for number, (who, _) in enumerate(steps):
        answer = await road.ask(who, conversation, number)
        sealed = sealed or seal_of((await road.store.read(answer))[-1]) or thought
        conversation = await road.answer_calls(answer)
    await road.ask(api, conversation, len(steps))
    # google-genai sends bytes in the other alphabet of base64, which means the same
    *foreign, own = (request.raw.decode().translate(BASE64) for request in road.sim.requests[-4:])
    assert sealed in own
    assert not any(sealed in request or thought in request for request in foreign)
