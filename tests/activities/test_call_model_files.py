"""Files of a conversation at the real SDKs: uploaded once, named by id, renewed when they vanish, never sent abroad."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from activities.call_model import CallModel
from activities.contract import ModelCall, ModelReply
from activities.declared import Provider
from activities.files import NamedFile, media_type_of
from activities.messages import text_of, user_message
from activities.pydantic_ai_client import PydanticAIClient
from ledger.agent import AgentSpec
from ledger.conversation import Conversation, digest
from ledger.target import Target
from simulator import Script, Simulator, Text
from simulator.log import Received
from store import Store
from tests.activities.model_bench import APIS

PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n\xff\x00 MARKER-PDF"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
NOTES = "MARKER-NOTES: mind the gap — 漢".encode()
FILES = {"paper.pdf": PDF, "figures/plan.png": PNG, "notes.md": NOTES}
MODELS = {
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
    "anthropic-messages": "claude-opus-4-8",
    "google": "gemini-2.5-pro",
}
BY_ID = {"openai-chat": 1, "openai-responses": 3, "anthropic-messages": 3, "google": 3}
"""How many of FILES each API can name by id; the others travel in the request."""

OUT_OF_TIME = {"timeout", "network"}
"""What a deadline makes of an upload: network where a machine under load had not connected by then."""

every_api = pytest.mark.parametrize("api", APIS)


@dataclass(kw_only=True)
class Desk:
    """One worker with all four providers, and one conversation of its own a test."""

    sim: Simulator
    store: Store
    caller: CallModel
    clock: list[float]
    agent_ref: str
    before: tuple[int, int]
    """Requests to models and to files APIs of the tests before."""
    runs: int = 0

    @property
    def requests(self) -> tuple[Received, ...]:
        return self.sim.requests[self.before[0] :]

    @property
    def file_requests(self) -> tuple[Received, ...]:
        return self.sim.file_requests[self.before[1] :]

    async def at(self, there: Provider) -> None:
        """Ask this provider from now on, and no other."""
        self.caller = CallModel(self.store, {there.name: there}, {}, connect=Shared)
        await self.caller.warm()

    async def begin(self, files: dict[str, bytes]) -> Conversation:
        """A new run whose task is accompanied by these files."""
        self.runs += 1
        named = [_named(name, content) for name, content in files.items()]
        for content in files.values():
            await self.store.put(content)
        task = user_message("Read these.", named)
        return (await self.store.append(Conversation(id=f"run-{self.runs}"), "task", task)).conversation

    async def ask(self, api: str, conversation: Conversation, attempt: str = "1.1.1", **changes) -> ModelReply:
        asked = {
            "attempt": attempt,
            "agent_ref": self.agent_ref,
            "stage": 0,
            "target": Target(provider=api, model=MODELS[api]),
            "conversation": conversation,
            "deadline_s": 30,
        }
        call = ModelCall.model_validate(asked | changes)
        return ModelReply.read(await ActivityEnvironment().run(self.caller.call_model, call), conversation)

    @property
    def uploads(self) -> list[str]:
        """Digests of the uploaded files in order, by the names under which they were uploaded."""
        forms = [request.raw or b"" for request in self.file_requests]
        known = [digest(content) for content in FILES.values()]
        return [ref for form in forms for ref in known if f"{ref}.".encode() in form]

    @property
    def asked(self) -> str:
        """The newest request to a model."""
        return json.dumps(self.requests[-1].body, ensure_ascii=False)


def _named(name: str, content: bytes) -> NamedFile:
    return NamedFile(name=name, ref=digest(content), media_type=media_type_of(content), bytes=len(content))


class Shared:
    """A client that all tests of the module share: building one is most of a second."""

    def __init__(self, provider: Provider) -> None:
        self.inner = PydanticAIClient(provider)
        self.ask, self.upload = self.inner.ask, self.inner.upload

    async def warm(self) -> None: ...

    async def close(self) -> None: ...


@pytest.fixture(scope="module")
async def vendors() -> AsyncIterator[tuple[Simulator, dict[str, Shared]]]:
    async with Simulator() as sim:
        clients = {api: Shared(provider(api, sim)) for api in APIS}
        for client in clients.values():
            await client.inner.warm()
        yield sim, clients
        for client in clients.values():
            await client.inner.close()


@pytest.fixture
async def desk(vendors: tuple[Simulator, dict[str, Shared]], tmp_path: Path) -> AsyncIterator[Desk]:
    sim, clients = vendors
    sim.use(Script(strict=True, default=Text(text="Read.", repeat=True)))
    store = await Store.open(f"sqlite:///{tmp_path / 'store.db'}")
    clock = [time.time()]
    providers = {api: provider(api, sim) for api in APIS}
    caller = CallModel(store, providers, {}, connect=lambda one: clients[one.name], now=lambda: clock[0])
    agent = AgentSpec.model_validate({"models": ["google:g"], "instructions": "Be brief."})
    try:
        await caller.warm()
        ref = await store.put(agent.model_dump_json())
        before = (len(sim.requests), len(sim.file_requests))
        yield Desk(sim=sim, store=store, caller=caller, clock=clock, agent_ref=ref, before=before)
    finally:
        await store.close()


def provider(api: str, sim: Simulator, *, files: bool = True) -> Provider:
    base = f"{sim.url}/v1" if api.startswith("openai") else sim.url
    return Provider(name=api, api=api, base_url=base, key=SecretStr("sk-KEY"), files=files)


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """A server that takes everything and says nothing."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def ids_in(request: str) -> set[str]:
    """File ids that a request names, whatever the vendor."""
    found = set()

    def look(value) -> None:
        match value:
            case dict():
                found.update(
                    v for k, v in value.items() if k in ("file_id", "fileUri", "file_uri") and isinstance(v, str)
                )
                for inner in value.values():
                    look(inner)
            case list():
                for inner in value:
                    look(inner)

    look(json.loads(request))
    return found


@every_api
async def test_files_are_uploaded_once_for_all_runs_and_named_by_id(desk, api):
    first = await desk.ask(api, await desk.begin(FILES))
    once = ids_in(desk.asked)
    second = await desk.ask(api, await desk.begin(FILES))
    assert {first.trip.outcome.outcome, second.trip.outcome.outcome} == {"answered"}
    assert first.trip.files == second.trip.files == len(once) == BY_ID[api]
    assert ids_in(desk.asked) == once
    assert len(desk.uploads) == len(set(desk.uploads)) == BY_ID[api]
    assert len(desk.requests) == 2


@every_api
async def test_the_model_reads_what_each_file_is_called_and_no_vendor_learns_it_by_the_upload(desk, api):
    await desk.ask(api, await desk.begin(FILES))
    asked = desk.requests[-1].body
    words = json.dumps(asked, ensure_ascii=False)
    assert "endstop_file" not in words
    places = [words.index(json.dumps(f'The file "{name}":')[1:-1]) for name in FILES]
    assert places == sorted(places)
    uploaded = b"".join(request.raw or b"" for request in desk.file_requests)
    assert not any(name.encode() in uploaded for name in ("paper", "plan", "notes"))


@every_api
async def test_an_endpoint_without_a_files_api_gets_them_in_the_request(desk, api):
    await desk.at(provider(api, desk.sim, files=False))
    reply = await desk.ask(api, await desk.begin(FILES))
    assert (reply.trip.outcome.outcome, reply.trip.files) == ("answered", 0)
    assert NOTES.decode() in desk.asked
    assert not ids_in(desk.asked)
    assert not desk.file_requests


@every_api
async def test_a_vanished_file_is_reported_as_such_and_uploaded_afresh_when_renewed(desk, api):
    await desk.ask(api, await desk.begin(FILES))
    before = ids_in(desk.asked)
    desk.sim.expire_files()
    conversation = await desk.begin(FILES)
    lost = (await desk.ask(api, conversation)).trip
    assert (lost.outcome.failure.kind.value, lost.outcome.failure.renew_files) == ("file_missing", True)
    assert lost.files == BY_ID[api]
    renewed = (await desk.ask(api, conversation, "1.1.2", renew_files=True)).trip
    assert renewed.outcome.outcome == "answered"
    assert len(ids_in(desk.asked)) == BY_ID[api]
    assert not ids_in(desk.asked) & before
    assert len(desk.uploads) == 2 * BY_ID[api]


async def test_a_renewal_that_could_not_upload_does_not_fall_back_to_the_vanished_file(desk):
    conversation = await desk.begin(FILES)
    await desk.ask("openai-responses", await desk.begin(FILES))
    desk.sim.expire_files()
    await desk.ask("openai-responses", conversation)
    desk.sim.use(Script(uploads=("server_error",)))
    failed = (await desk.ask("openai-responses", conversation, "1.1.2", renew_files=True)).trip
    assert failed.outcome.failure.kind.value == "server_error"
    again = (await desk.ask("openai-responses", conversation, "1.1.3")).trip
    assert again.outcome.outcome == "answered"


@pytest.mark.parametrize("there", APIS)
@pytest.mark.parametrize("here", APIS)
async def test_whoever_takes_over_has_files_of_its_own_and_never_sees_anothers(desk, here, there):
    conversation = (await desk.ask(here, await desk.begin(FILES))).conversation
    abroad = ids_in(desk.asked)
    note = await desk.store.append(conversation, "note", user_message("Go on."))
    reply = await desk.ask(there, note.conversation, "1.2.1")
    assert reply.trip.outcome.outcome == "answered"
    assert len(ids_in(desk.asked)) == BY_ID[there]
    assert here == there or not ids_in(desk.asked) & abroad


@every_api
async def test_an_upload_that_fails_is_the_attempts_failure_and_the_model_is_not_asked(desk, api):
    desk.sim.use(Script(uploads=("rate_limited",)))
    conversation = await desk.begin({"paper.pdf": PDF})
    trip = (await desk.ask(api, conversation)).trip
    failure = trip.outcome.failure
    assert (failure.kind.value, failure.transient, failure.outcome_unknown) == ("rate_limited", True, False)
    assert failure.rule.startswith("upload.")
    assert (trip.sent, trip.usage, trip.files) == (None, None, 0)
    assert not desk.requests
    assert len(desk.file_requests) == 1
    assert "1.1.1" in await desk.store.get_details(conversation.id)


async def test_an_upload_is_never_renewed_by_renewing(desk):
    """What it misses is not one of ours."""
    desk.sim.use(Script(uploads=("file_missing",)))
    failure = (await desk.ask("openai-responses", await desk.begin({"paper.pdf": PDF}))).trip.outcome.failure
    assert (failure.kind.value, failure.renew_files) == ("file_missing", False)


@every_api
async def test_an_upload_that_is_never_answered_ends_at_the_deadline_and_cost_nothing(desk, api):
    async with silent() as url:
        await desk.at(provider(api, desk.sim).model_copy(update={"base_url": url}))
        trip = (await desk.ask(api, await desk.begin({"paper.pdf": PDF}), deadline_s=0.3)).trip
    failure = trip.outcome.failure
    assert failure.kind.value in OUT_OF_TIME
    assert (failure.transient, failure.outcome_unknown, trip.usage) == (True, False, None)


async def test_a_call_that_waits_for_anothers_upload_in_vain_runs_out_of_time_too(desk):
    async with silent() as url:
        await desk.at(provider("google", desk.sim).model_copy(update={"base_url": url}))
        runs = [await desk.begin({"paper.pdf": PDF}) for _ in range(3)]
        replies = await asyncio.gather(*(desk.ask("google", run, deadline_s=0.3) for run in runs))
    failures = [reply.trip.outcome.failure for reply in replies]
    assert {failure.kind.value for failure in failures} <= OUT_OF_TIME
    assert {(failure.transient, failure.outcome_unknown) for failure in failures} == {(True, False)}


@every_api
async def test_a_provider_that_cannot_be_reached_got_no_file_and_no_call(desk, api):
    await desk.at(provider(api, desk.sim).model_copy(update={"base_url": "http://127.0.0.1:9"}))
    failure = (await desk.ask(api, await desk.begin({"paper.pdf": PDF}))).trip.outcome.failure
    assert (failure.kind.value, failure.outcome_unknown) == ("network", False)


async def test_an_upload_near_its_expiry_is_not_relied_on(desk):
    await desk.ask("google", await desk.begin({"paper.pdf": PDF}))
    found = await desk.store.find_upload(f"google {desk.sim.url}", digest(PDF))
    desk.clock[0] = found.expires_at - 301
    await desk.ask("google", await desk.begin({"paper.pdf": PDF}))
    assert len(desk.uploads) == 1
    desk.clock[0] = found.expires_at - 299
    await desk.ask("google", await desk.begin({"paper.pdf": PDF}))
    assert len(desk.uploads) == 2


async def test_many_calls_at_once_upload_a_new_file_once(desk):
    runs = [await desk.begin({"paper.pdf": PDF}) for _ in range(20)]
    replies = await asyncio.gather(*(desk.ask("anthropic-messages", run) for run in runs))
    assert {reply.trip.outcome.outcome for reply in replies} == {"answered"}
    assert len(desk.file_requests) == 1
    assert len(desk.requests) == 20


async def test_an_answer_that_is_stored_already_needs_no_file(desk):
    conversation = await desk.begin({"paper.pdf": PDF})
    first = await desk.ask("openai-responses", conversation)
    desk.sim.expire_files()
    await desk.store.forget_upload(f"openai-responses {desk.sim.url}/v1", digest(PDF))
    again = await desk.ask("openai-responses", conversation, "1.1.2")
    assert again.trip.outcome.recovered == "1.1.1"
    assert again.conversation == first.conversation
    assert len(desk.uploads) == 1


async def test_the_key_goes_with_an_upload_and_run_and_attempt_name_it(desk):
    desk.sim.use(Script(keys=("sk-KEY",)))
    for api in APIS:
        assert (await desk.ask(api, await desk.begin({"paper.pdf": PDF}))).trip.outcome.outcome == "answered"
    assert {request.attempt for request in desk.file_requests} == {"1.1.1.file"}


async def test_the_files_of_a_conversation_are_no_part_of_what_is_reported(desk):
    conversation = await desk.begin(FILES)
    reply = await desk.ask("anthropic-messages", conversation)
    written = reply.model_dump_json()
    assert not any(word in written for word in ("MARKER", "paper", "notes", "file_"))
    *_, answer = await desk.store.read(reply.conversation)
    assert text_of(answer) == "Read."
