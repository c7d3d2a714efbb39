"""The activity `call_model`: one attempt, at most one request, and whatever happened as a value.

Here: the order of an attempt. It waits, looks for an answer that is stored already, asks, checks, stores, reports.
Not here: HTTP (`transport`), SDKs (`vendors`, `pydantic_ai_client`), what an answer is worth (`answer_check`), which
failure it is (`evidence`), and what follows from it (the ledger). Nothing retries here.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, assert_never

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.agents import Agents
from activities.answer_check import Usable, Useless, check
from activities.attaching import Attacher
from activities.attempt import Attempt
from activities.capturing import Capturer
from activities.client import ById, Came, Form, ModelClient, NothingCame, Request
from activities.contract import CALL_MODEL, ModelCall, ModelReply
from activities.declared import Model, Provider
from activities.evidence import cancelled, failure_of, no_key, no_provider, not_uploaded
from activities.exchange import Exchange, Exchanges
from activities.heartbeat import EVERY_S, heartbeats
from activities.identity import answer_key, origin
from activities.keeping import keep_answer, keep_detail
from activities.kept import CallStore, Kept
from activities.masking import masked
from activities.messages import files_of
from activities.pricing import Tariff
from activities.quote import Quote, quote
from activities.reply_form import written
from activities.summarising import summary_request
from activities.tool_declaration import ToolDeclaration
from ledger.classify import ROWS, Row
from ledger.failures import Failure
from ledger.observation import Ended
from ledger.outcomes import Refused, Usage
from ledger.target import Target

MAX_DETAIL: Final = 16_384
"""Characters of a provider's words that are kept for people."""


_ANY_MODEL: Final = Model()
"""What is known of a model that the operator said nothing about."""


def _connect(provider: Provider) -> ModelClient:
    from activities.pydantic_ai_client import PydanticAIClient  # noqa: PLC0415 - seconds of imports, in `warm` only

    return PydanticAIClient(provider)


class CallModel:
    """Asks the declared providers. One instance a worker: its clients share their connections among all calls."""

    def __init__(
        self,
        store: CallStore,
        providers: Mapping[str, Provider],
        tools: Mapping[str, ToolDeclaration],
        *,
        models: Mapping[str, Model] | None = None,
        rows: Iterable[Row] = ROWS,
        capture: bool = True,
        connect: Callable[[Provider], ModelClient] = _connect,
        beat_s: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._agents = Agents(store)
        self._providers = providers
        self._tools = tools
        self._models = models or {}
        self._rows = tuple(rows)
        self._connect = connect
        self._beat_s = beat_s
        self._clock = clock
        self._now = now
        self._clients: dict[str, ModelClient] = {}
        self._attacher = Attacher(store, now)
        self._capturer = Capturer(store, allowed=capture)

    async def warm(self) -> None:
        """Build the clients before polling starts: the first use of an SDK blocks the loop for a second or two."""
        for name, provider in self._providers.items():
            if name not in self._clients and not _lacks_key(provider):
                self._clients[name] = self._connect(provider)
                await self._clients[name].warm()

    async def close(self) -> None:
        """Close all connections, after the last call."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    @activity.defn(name=CALL_MODEL)
    async def call_model(self, call: ModelCall) -> dict[str, Any]:
        """Return a `ModelReply` in its smallest form. Failures of a provider are values; failures of ours raise."""
        attempt = Attempt(call, self._clock)
        async with heartbeats(attempt.progress, self._beat_s, attempt.quoted):
            try:
                reply = await self._carried_out(attempt)
            except asyncio.CancelledError:
                reply = _stopped(attempt)
            except Exception as problem:
                if not attempt.exchange.sent:
                    raise
                raise _ours(problem, attempt) from problem
            return written(await self._capturer.captured(reply, attempt))

    async def _carried_out(self, attempt: Attempt) -> ModelReply:
        call = attempt.call
        request = await self._request(attempt)
        attempt.quoted_at(self._quote(call.target, request))
        await attempt.wait()
        key = answer_key(call.target, request, request.messages[0] if call.summarise else b"")
        held = await self._store.find(call.conversation, key)
        if held is not None:
            return _answered(attempt, request, held)
        client = self._clients.get(call.target.provider)
        if client is None:
            provider = self._providers.get(call.target.provider)
            return _refused(attempt, no_key() if provider else no_provider())
        if attempt.held:
            return ModelReply(trip=attempt.trip(attempt.held), conversation=call.conversation)
        forms = await self._attached(attempt, client, request)
        if isinstance(forms, Exchange):
            return await self._not_uploaded(attempt, forms)
        attempt.request = request = request.model_copy(update={"files": forms})
        match await _asked(client, attempt, request):
            case Came(message=message) if attempt.exchange.answered:
                return await self._judged(attempt, request, key, message)
            case NothingCame(no_credentials=True):
                return _refused(attempt, no_key())
            case Came() | NothingCame():
                return await self._failed(attempt, None)
            case never:
                assert_never(never)

    def _quote(self, target: Target, request: Request) -> Quote:
        provider = self._providers.get(target.provider)
        tariff = Tariff(target=target, provider=provider, own=self._models.get(str(target), _ANY_MODEL))
        return quote(tariff, request, origin(provider, request) if provider else "")

    async def _request(self, attempt: Attempt) -> Request:
        call = attempt.call
        agent = await self._agents.get(call.agent_ref)
        stage, attempt.capture = agent.stages[call.stage], agent.policy.capture
        missing = [name for name in stage.tools if name not in self._tools]
        if missing:
            message = f"stage {stage.name}: this worker has no tool {missing[0]}; declare it here as on the others"
            raise ApplicationError(message, type="ToolMissing", non_retryable=True)
        bodies = await self._store.read(call.conversation)
        thinking = self._models.get(str(call.target), _ANY_MODEL).thinking
        if call.summarise:
            return summary_request(call.target.model, stage.limits, thinking, bodies, call.summarise)
        return Request(
            model=call.target.model,
            instructions=stage.instructions,
            messages=tuple(bodies),
            tools=tuple(self._tools[name] for name in stage.tools),
            max_tokens=stage.limits.max_tokens,
            temperature=stage.limits.temperature,
            thinking=thinking,
            output=stage.output,
        )

    async def _attached(self, attempt: Attempt, client: ModelClient, request: Request) -> dict[str, Form] | Exchange:
        """The request's files, each as the target gets it; else the exchange in which an upload failed."""
        call, provider = attempt.call, self._providers[attempt.call.target.provider]
        files = tuple(dict.fromkeys(file for body in request.messages for file in files_of(body)))
        exchanges = Exchanges(run=call.conversation.id, attempt=call.attempt)
        try:
            async with asyncio.timeout(attempt.left_s):
                if call.renew_files:
                    await self._attacher.forget(provider, files)
                forms = await self._attacher.forms(client, provider, files, exchanges)
        except TimeoutError:
            return exchanges.out_of_time()
        if not isinstance(forms, Exchange):
            attempt.files = sum(isinstance(form, ById) for form in forms.values())
        return forms

    async def _not_uploaded(self, attempt: Attempt, exchange: Exchange) -> ModelReply:
        provider = self._providers[attempt.call.target.provider]
        await self._keep_detail(attempt, exchange)
        return _refused(attempt, not_uploaded(provider, exchange, at=self._now(), rows=self._rows))

    async def _judged(self, attempt: Attempt, request: Request, key: str, message: bytes) -> ModelReply:
        checked = _checked(attempt, request, message)
        if isinstance(checked, Useless):
            return await self._failed(attempt, checked.ended, checked.usage, checked.why)
        held = await keep_answer(self._store, attempt, key, message)
        return (
            _reported(attempt, held, checked, checked.usage)
            if held.body == message
            else (_answered(attempt, request, held, checked.usage))
        )

    async def _failed(
        self, attempt: Attempt, ended: Ended | None, usage: Usage | None = None, why: str = ""
    ) -> ModelReply:
        provider = self._providers[attempt.call.target.provider]
        exchange = attempt.exchange
        failure = failure_of(provider, exchange, ended, at=self._now(), rows=self._rows)
        await self._keep_detail(attempt, exchange, why)
        return _refused(attempt, failure, usage)

    async def _keep_detail(self, attempt: Attempt, exchange: Exchange, why: str = "") -> None:
        """Keep what the provider said for people, without secrets; `why` it is a failure, if it does not say."""
        if not exchange.received:
            return
        provider = self._providers[attempt.call.target.provider]
        key = provider.key.get_secret_value() if provider.key else ""
        said = f"{why}\n{exchange.body}" if why else exchange.body
        detail = masked(said, (key, *provider.headers.values()))[:MAX_DETAIL]
        await keep_detail(self._store, attempt, detail)


async def _asked(client: ModelClient, attempt: Attempt, request: Request) -> Came | NothingCame:
    """Ask under the trip's total deadline: bytes that keep dripping do not extend it."""
    try:
        async with asyncio.timeout(attempt.left_s):
            return await client.ask(request, attempt.exchange)
    except TimeoutError:
        exchange = attempt.exchange
        exchange.ended = Ended.DEADLINE if exchange.sent else Ended.CONNECT_TIMEOUT
        return NothingCame()


def _lacks_key(provider: Provider) -> bool:
    return bool(provider.key_env) and provider.key is None


def _checked(attempt: Attempt, request: Request, message: bytes) -> Usable | Useless:
    """What the answer is worth. One that calls tools is no summary: none were offered."""
    handling = {tool.name: tool.handling for tool in request.tools}
    checked = check(message, handling, attempt.tariff, request.output)
    if attempt.call.summarise and isinstance(checked, Usable) and checked.answered.tool_calls:
        return Useless(ended=Ended.UNUSABLE, usage=checked.usage, why="a summary was asked for, and tools were called")
    return checked


def _answered(attempt: Attempt, request: Request, held: Kept, paid: Usage | None = None) -> ModelReply:
    """Report what the store holds, which is an earlier attempt's answer where that one came first.

    `paid` is what this attempt used; without it, the usage is the stored answer's, whose own attempt was lost.
    """
    checked = _checked(attempt, request, held.body)
    if isinstance(checked, Useless):
        raise ApplicationError("the store holds an answer that cannot be used", type="AnswerUnusable")
    return _reported(attempt, held, checked, paid)


def _reported(attempt: Attempt, held: Kept, checked: Usable, paid: Usage | None) -> ModelReply:
    own = attempt.exchange.sent and held.attempt == attempt.call.attempt  # stored, and the store's word of it was lost
    answered = checked.answered.model_copy(update={"recovered": held.attempt if held.recovered and not own else ""})
    if attempt.call.summarise:
        told = answered.model_copy(update={"summary": held.conversation.place})
        return ModelReply(trip=attempt.trip(told, paid or checked.usage), conversation=attempt.call.conversation)
    return ModelReply(trip=attempt.trip(answered, paid or checked.usage), conversation=held.conversation)


def _refused(attempt: Attempt, failure: Failure, usage: Usage | None = None) -> ModelReply:
    return ModelReply(trip=attempt.trip(Refused(failure=failure), usage), conversation=attempt.call.conversation)


def _stopped(attempt: Attempt) -> ModelReply:
    """Whoever cancels has closed the socket. A request to cancel is obeyed and recorded; all else is no outcome."""
    details = activity.cancellation_details()
    if details is not None and details.cancel_requested:
        return _refused(attempt, cancelled(attempt.exchange))
    if activity.is_worker_shutdown():
        message = "the worker shut down while the call was in flight"
        category = ApplicationErrorCategory.BENIGN
        raise ApplicationError(message, *_spent(attempt), type="WorkerShutdown", category=category) from None
    raise asyncio.CancelledError


def _ours(problem: Exception, attempt: Attempt) -> Exception:
    """A mistake or trouble of ours, with what the request that left may cost."""
    kind = problem.type if isinstance(problem, ApplicationError) else type(problem).__name__
    return ApplicationError(str(problem), *_spent(attempt), type=kind)


def _spent(attempt: Attempt) -> tuple[dict[str, JsonValue], ...]:
    """The details of an activity's failure, as a lost worker's heartbeat would have told them; none if nothing left."""
    return (attempt.progress(),) if attempt.exchange.sent else ()
