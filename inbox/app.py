"""The inbox as a web application: its addresses, and what each answers. GET shows, only POST answers.

Every request passes the guard first, in one place. What is shown is made in `pages`, what is read in `waiting`.
"""

import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from inbox import pages
from inbox.forms import MAX_FORM, Unusable, read_fields, read_reply
from inbox.guard import Guard
from inbox.waiting import Kept, Waiting, look, send, waiting
from ledger.reading import one_line
from workflows.reaching import ANSWER_S, NotTaken

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
POLICY: Final = "default-src 'none'; style-src 'nonce-{}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

OTHER_HOST: Final = "This inbox answers at 127.0.0.1 and localhost only, with its own port."
CLOSED: Final = "This inbox opens with the address that `endstop inbox` printed when it was started."
"""All that somebody without the token learns."""
NOT_OURS: Final = "This form was not made by this inbox, or by an earlier start of it: open the run's page again."
BROKEN: Final = (
    "The inbox failed; the log of `endstop inbox` says at what. If you sent an answer, look at the run before you "
    "send it again."
)

Draw = Callable[[str], str]
"""Makes a page, given the nonce of its style."""


def application(client: Client, store: Kept, guard: Guard) -> Starlette:
    """The whole application."""
    inbox = _Inbox(client, store, guard)
    return Starlette(
        routes=[
            Route("/", inbox.show_all, methods=["GET"]),
            Route("/run", inbox.show_one, methods=["GET"]),
            Route("/answer", inbox.answer, methods=["POST"]),
        ],
        middleware=[Middleware(_Guarded, guard=guard)],
        exception_handlers=dict.fromkeys((HTTPException, RPCError, Unusable, Exception), _failed),
    )


class _Guarded:
    """Lets through what the guard accepts, and sets the cookie on the visit with the token."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer in place of the application where the guard has something to say."""
        response = self._stopped(Request(scope)) if scope["type"] == "http" else None
        await (response or self._app)(scope, receive, send)

    def _stopped(self, request: Request) -> Response | None:
        if not self._guard.is_ours(request.headers.get("host", "")):
            return _told(OTHER_HOST, HTTPStatus.BAD_REQUEST)
        token = request.query_params.get("token")
        if request.method == "GET" and request.url.path == "/" and token is not None and self._guard.opens(token):
            return self._let_in()
        return None if self._guard.is_open(request.cookies) else _told(CLOSED, HTTPStatus.FORBIDDEN)

    def _let_in(self) -> Response:
        response = _drawn(pages.opened)
        response.set_cookie(self._guard.cookie, self._guard.session, httponly=True, samesite="strict")
        return response


class _Inbox:
    """The three addresses."""

    def __init__(self, client: Client, store: Kept, guard: Guard) -> None:
        self._client = client
        self._store = store
        self._guard = guard

    async def show_all(self, _: Request) -> Response:
        found = await waiting(self._client, self._store)
        return _drawn(lambda nonce: pages.listing(found, self._guard.form_word, nonce))

    async def show_one(self, request: Request) -> Response:
        return self._shown(await look(self._client, self._store, request.query_params.get("id", "")))

    async def answer(self, request: Request) -> Response:
        """Send an answer, and show what came of it together with what the run asks now."""
        fields = read_fields(await _body(request))
        if not self._guard.made(fields.get("form_word", "")):
            return _told(NOT_OURS, HTTPStatus.FORBIDDEN)
        reply = read_reply(fields)
        try:
            not_taken = await send(self._client, self._store, reply)
        except ValidationError as error:
            raise Unusable(one_line(error, "answer")) from None
        told, status = _outcome(reply.said.label, not_taken)
        return self._shown(await look(self._client, self._store, reply.run), told, status)

    def _shown(self, found: Waiting, told: str = "", status: HTTPStatus = HTTPStatus.OK) -> Response:
        return _drawn(lambda nonce: pages.single(found, self._guard.form_word, nonce, told), status)


def _outcome(label: str, not_taken: NotTaken | None) -> tuple[str, HTTPStatus]:
    match not_taken:
        case None:
            return f"Your answer was taken: {label}.", HTTPStatus.OK
        case NotTaken(why="refused", reason=reason):
            return f"Refused, and nothing changed: {reason}", HTTPStatus.CONFLICT
        case NotTaken():
            told = f"Nobody took your answer within {ANSWER_S:g} s, and it may still be taken: is a worker running?"
            return told, HTTPStatus.GATEWAY_TIMEOUT


async def _body(request: Request) -> bytes:
    """The body, as long as it is no longer than a form may be."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A form may have {MAX_FORM:,} bytes.")
    return body


def _failed(_: Request, error: Exception) -> Response:
    """What could not be done, in one sentence. Temporal's own words where it said no."""
    match error:
        case HTTPException():
            return _told(error.detail, HTTPStatus(error.status_code), error.headers)
        case Unusable():
            return _told(str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
        case RPCError():
            status = HTTPStatus.NOT_FOUND if error.status is RPCStatusCode.NOT_FOUND else HTTPStatus.BAD_GATEWAY
            words = " ".join(error.message.split())
            return _told(f"Temporal answered {error.status.name.lower()}: {words}", status)
        case _:
            return _told(BROKEN, HTTPStatus.INTERNAL_SERVER_ERROR)


def _told(told: str, status: HTTPStatus, headers: Mapping[str, str] | None = None) -> Response:
    return _drawn(lambda nonce: pages.notice(told, nonce), status, headers)


def _drawn(draw: Draw, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    """A page with the headers that every page has, and a nonce of its own."""
    nonce = secrets.token_urlsafe(16)
    policy = {"Content-Security-Policy": POLICY.format(nonce)}
    return HTMLResponse(draw(nonce), status, {**HEADERS, **policy, **(headers or {})})
