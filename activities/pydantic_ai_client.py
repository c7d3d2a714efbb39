"""The client of model providers that we use: pydantic-ai's direct streaming interface, one request a call.

Here: a request in, the vendor's stream read to its end, a stored message out. Not here: how a vendor's SDK is built
(`vendors`), what left and came on the wire (`transport`), what an answer is worth (`answer_check`).
"""

from contextlib import AbstractAsyncContextManager
from typing import Final

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import StreamedResponse
from pydantic_ai.settings import ModelSettings

from activities import assembly, output_form
from activities.adapting import ORIGIN
from activities.client import Came, NewFile, NothingCame, Request, Uploaded
from activities.declared import Provider
from activities.exchange import Exchange, Exchanges
from activities.identity import origin
from activities.messages import serialise, user_message
from activities.pricing import load_prices, usage_of
from activities.rehearsal import offline, refused_connection
from activities.tool_declaration import ToolDeclaration
from activities.transport import recorded
from activities.vendors import connect
from activities.wording import Wording, Wordings

REHEARSAL: Final = Request(
    model="warm-up",
    instructions="-",
    messages=(user_message("-"),),
    tools=(ToolDeclaration(name="a", description="-", parameters={"type": "object"}),),
    max_tokens=1,
)


class PydanticAIClient:
    """Asks one provider through pydantic-ai."""

    def __init__(self, provider: Provider, inner: httpx2.AsyncClient | None = None) -> None:
        self._provider = provider
        self._vendor = connect(provider, inner)
        self._wordings = Wordings(provider.api)

    async def warm(self) -> None:
        """Rehearse a whole trip, with tools and an answer, and then a failed one; neither needs a network."""
        await refused_connection()
        for status in (200, 503):
            rehearsal = PydanticAIClient(self._provider, offline(self._provider.api, status))
            await rehearsal.ask(REHEARSAL, Exchange(run="warm", attempt="warm"))
            await rehearsal.close()
        load_prices()

    async def ask(self, request: Request, exchange: Exchange) -> Came | NothingCame:
        """Send one request and read its answer to the end.

        The named boundary where a vendor's client ends: whatever it makes of a provider's bytes (its own errors, a
        decoder's, a KeyError over an odd event) is a failure of the provider, and the exchange is its evidence.
        Before a request was made it is a bug of ours and raises, save a refusal that pydantic-ai words for its user.
        """
        try:
            with recorded(exchange):
                return await self._read(request, exchange)
        except Exception as problem:
            if isinstance(problem, self._vendor.no_credentials):
                return NothingCame(no_credentials=True)
            if exchange.request is None and not isinstance(problem, UserError):
                raise
            return NothingCame()

    async def _read(self, request: Request, exchange: Exchange) -> Came:
        written_by = origin(self._provider, request)
        exchange.wording = wording = self._wordings.of(request, exchange.run, written_by)
        async with self._opened(request, wording) as stream:
            self._wordings.keep(wording, request.files)
            try:
                async for _ in stream:
                    pass
            finally:  # a broken or cancelled stream may have told what it had counted
                exchange.usage = usage_of(stream.usage)
            answer = output_form.unfenced(stream.get()) if request.output else stream.get()
            answer.metadata = {ORIGIN: written_by}
            return Came(message=serialise(answer))

    def _opened(self, request: Request, wording: Wording) -> AbstractAsyncContextManager[StreamedResponse]:
        model = self._vendor.model(request.model)
        asked = assembly.settings(request, self._provider, wording.round, model.profile)
        settings = ModelSettings(**self._vendor.settings | asked)
        parameters = assembly.parameters(request)
        return model_request_stream(
            model,
            assembly.with_files(wording.new, request, model.system),
            model_settings=settings,
            model_request_parameters=output_form.with_output(parameters, request, self._provider, model, settings),
        )

    async def upload(self, file: NewFile, exchanges: Exchanges) -> Uploaded | None:
        """Upload a file. The same boundary as `ask`: what breaks once a request was made is the provider's doing."""
        try:
            return await self._vendor.upload(file, exchanges)
        except Exception:
            if exchanges.last.request is None:
                raise
            return None

    async def close(self) -> None:
        await self._vendor.close()
