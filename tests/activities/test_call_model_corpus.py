"""Every given case goes the real way: a socket, the SDK of its protocol, our transport, and then the classifier.

So what is judged is what a client library leaves of an answer. The judgement itself is proved in
`tests/ledger/test_classify.py`; here it must not change on the way.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from activities import transport
from activities.call_model import CallModel
from activities.contract import ModelCall, ModelReply
from activities.declared import Provider
from activities.messages import user_message
from ledger.agent import AgentSpec
from ledger.classify import classify
from ledger.conversation import Conversation
from ledger.failures import Failure
from ledger.observation import Observation
from ledger.target import Target
from simulator import Cut, Raw, Refuse, Reply, Script, Simulator, Text
from store import Store
from tests.activities.certificate import self_signed

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "corpora/provider_failures.jsonl").read_text().splitlines()
]

APIS = {
    "chat_completions": "openai-chat",
    "responses": "openai-responses",
    "messages": "anthropic-messages",
    "generate_content": "google",
    # Not spoken by us. Their vendors are declared by their OpenAI-compatible endpoints, so their errors come that way.
    "converse": "openai-chat",
    "chat": "openai-chat",
    "generate": "openai-chat",
    "text_generation": "openai-chat",
}

UNREACHED = {"connect_timeout", "tls_verify_failed", "connect_error", "dns_error"}

FRAMING = {"content-length", "transfer-encoding"}
"""Headers that belong to the connection on which a case was seen."""


def api_of(case: dict[str, Any]) -> str:
    return APIS[case["api"]]


def reply_of(case: dict[str, Any]) -> Reply:
    match case["transport"]:
        case "reset_before_headers":
            return Refuse(ending="reset")
        case "reset_mid_stream":
            return Cut(after_events=6, ending="reset", answer=Text(text="The three laws are these.", chunks=12))
        case None:
            headers = {name: text for name, text in case["headers"].items() if name not in FRAMING}
            return Raw(status=case["status"], headers=headers, body=case["body"])
        case _:
            return Text(text="this was never asked for")


@asynccontextmanager
async def nobody_accepts() -> AsyncIterator[str]:
    """An address that swallows connections: its queue is full, and Linux then answers no further one."""
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for filler in (first, second):
            filler.settimeout(0)
            filler.connect_ex(deaf.getsockname())
        host, port = deaf.getsockname()
        yield f"http://{host}:{port}/v1"


@asynccontextmanager
async def nobody_trusts(folder: Path) -> AsyncIterator[str]:
    """An address whose certificate nobody has signed but itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(folder))
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context) as server:
        host, port = server.sockets[0].getsockname()
        yield f"https://{host}:{port}/v1"


@dataclass(frozen=True, kw_only=True)
class Replayed:
    failures: dict[str, Failure]
    """By case."""
    asked: list[str]
    """The case of every request that reached the simulator."""


@pytest.fixture(scope="module")
async def replayed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Replayed]:
    """What `call_model` made of each case; all at once, one client a provider."""
    folder = tmp_path_factory.mktemp("corpus")
    async with AsyncExitStack() as stack:
        script = Script(models={case["id"]: (reply_of(case),) for case in CASES})
        sim = await stack.enter_async_context(Simulator(script))
        places = {
            "connect_timeout": await stack.enter_async_context(nobody_accepts()),
            "tls_verify_failed": await stack.enter_async_context(nobody_trusts(folder)),
            "connect_error": "http://127.0.0.1:9/v1",
            "dns_error": "http://nowhere.invalid/v1",
        }
        store = await Store.open(f"sqlite:///{folder / 'store.db'}")
        stack.push_async_callback(store.close)
        caller = CallModel(store, providers(sim, places), {})
        stack.push_async_callback(caller.close)
        await caller.warm()
        failures = await _all_asked(caller, store, [case for case in CASES if case["transport"] != "connect_timeout"])
        with pytest.MonkeyPatch.context() as patched:  # else this one case would take ten seconds
            patched.setattr(transport, "TIMEOUT", httpx2.Timeout(None, connect=0.3))
            late = [case for case in CASES if case["transport"] == "connect_timeout"]
            failures |= await _all_asked(caller, store, late)
        yield Replayed(failures=failures, asked=[request.model for request in sim.requests])


def named(case: dict[str, Any]) -> str:
    """One provider a vendor and protocol; a case of the connection has one of its own."""
    return f"{case['provider']}.{case['transport'] or api_of(case)}"


def providers(sim: Simulator, places: dict[str, str]) -> dict[str, Provider]:
    declared = {}
    for case in CASES:
        api = api_of(case)
        base = places.get(case["transport"]) or (f"{sim.url}/v1" if api.startswith("openai") else sim.url)
        declared[named(case)] = Provider(name=case["provider"], api=api, base_url=base, key=SecretStr("a-key"))
    return declared


async def _all_asked(caller: CallModel, store: Store, cases: list[dict[str, Any]]) -> dict[str, Failure]:
    agent_ref = await store.put(AgentSpec.model_validate({"models": ["a:b"]}).model_dump_json())
    task = (await store.append(Conversation(id="run-1"), "task", user_message("Say something."))).conversation

    async def asked(case: dict[str, Any]) -> tuple[str, Failure]:
        target = Target(provider=named(case), model=case["id"])
        call = ModelCall(attempt=case["id"], agent_ref=agent_ref, stage=0, target=target, conversation=task)
        outcome = ModelReply.model_validate(await ActivityEnvironment().run(caller.call_model, call)).trip.outcome
        assert outcome.outcome == "refused", case["id"]
        return case["id"], outcome.failure

    return dict(await asyncio.gather(*(asked(case) for case in cases)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_a_case_is_judged_over_the_real_path_as_it_is_on_paper(replayed, case):
    failure, expected = replayed.failures[case["id"]], case["expected"]
    fields = ("provider", "api", "status", "headers", "body", "transport")
    on_paper = classify(Observation(**{key: case[key] for key in fields}))
    assert failure.kind in {expected["kind"], *case["also_ok"]}, failure.rule
    assert (failure.transient, failure.capacity) == (expected["transient"], expected["capacity"]), failure.rule
    assert (failure.renew_files, failure.failover) == (expected["renew_files"], expected["failover_useful"])
    assert failure.wait_s == pytest.approx(on_paper.wait_s)


async def test_each_case_that_could_be_reached_got_one_request(replayed):
    assert sorted(replayed.asked) == sorted(case["id"] for case in CASES if case["transport"] not in UNREACHED)
