"""`endstop transcript ID --attempt`: what one attempt sent, byte for byte where it was captured, and what came of it.

Here: finding and printing it. Not here: what may be captured (`activities.capturing`), or the conversation (`reading`).
"""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from commands.opening import Setup, open_store, settings_from
from commands.refusals import Refused
from commands.removing import attempt_of, conversation_of
from commands.tables import plain, print_json
from commands.words import place
from ledger.records import CaptureStatus

if TYPE_CHECKING:
    from store import Capture, Removal


async def show_request(setup: Setup, run: str, attempt: str) -> None:
    """Print a captured request and what the provider said of a failure. No server is needed."""
    wanted = attempt_of(attempt)
    async with open_store(settings_from(setup.settings)) as store:
        conversation = await conversation_of(store, run)
        captures = [one for one in await store.captured(conversation) if one.attempt == wanted]
        body = await store.captured_body(conversation, wanted)
        said = (await store.get_details(conversation)).get(wanted)
        gone = [one for one in await store.removals(conversation) if one.attempt == wanted]
    if not captures and said is None and not gone:
        raise Refused(
            f"run {run!r}: no request of {place(wanted)} was captured; "
            "[policy] capture = true in the agent's file has the requests of its next run kept"
        )
    kept = captures[-1] if captures else None
    if setup.as_json:
        print_json(_as_json(wanted, kept, body, said, gone))
        return
    for line in (*_request(wanted, kept, body), *_said(said), *(_gone(one) for one in gone)):
        click.echo(plain(line))


def _as_json(
    attempt: str, kept: "Capture | None", body: bytes | None, said: str | None, gone: "list[Removal]"
) -> dict[str, object]:
    return {
        "attempt": attempt,
        "status": kept.status if kept else CaptureStatus.NOT_CAPTURED,
        "bytes": kept.bytes if kept else 0,
        "digest": kept.digest if kept else "",
        "body": None if body is None else body.decode(errors="replace"),
        "said": said,
        "removals": [one.model_dump(mode="json") for one in gone],
    }


def _request(attempt: str, kept: "Capture | None", body: bytes | None) -> list[str]:
    if kept is None:
        return [f"the request of {place(attempt)} was not captured"]
    lines = [f"── request of {place(attempt)}: {kept.status}, {kept.bytes:,} bytes, digest {kept.digest}"]
    return lines if body is None else [*lines, _pretty(body)]


def _pretty(body: bytes) -> str:
    """Indented for people; `-o json` has the very bytes."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


def _said(said: str | None) -> list[str]:
    return [] if said is None else ["── what the provider said, secrets masked", said]


def _gone(one: "Removal") -> str:
    what = "what the provider said" if one.what == "detail" else "the body"
    return f"{what} was {one.status} by {one.by} on {datetime.fromtimestamp(one.at, UTC).astimezone():%Y-%m-%d %H:%M}"
