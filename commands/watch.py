# ruff: noqa: PLC0415 - `endstop --help` loads no Temporal SDK
"""Watching a run: every record as it happens, a live countdown on a terminal, plain lines elsewhere.

The run does not notice: this only queries it. How a record is worded is in `words`, how a question is in `show`.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from commands.connect import rpc_errors
from commands.final_answer import NONE, FinalAnswer, answer_of, told
from commands.opening import open_store, settings_from
from commands.refusals import BadInput, Refused, ServerAway
from commands.runs import asked_of, call_of, describe, failure_of, records_after, state_of, status_of
from commands.show import clock, doing, question, sub_run_line, waiting
from commands.tables import plain, plain_line, print_json_line
from commands.words import line, seconds, used
from inbox.asked_call import ABOUT_A_CALL, AskedCall
from ledger.journal import Entry, JournalRecord, read_journal
from ledger.records import AttemptRecord, UsageRecord
from workflows.messages import Asked, Status

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHandle

POLL_S: Final = 0.4
"""Seconds between two looks at a run that works; a look costs the worker a few milliseconds."""
ASKED_POLL_S: Final = 2.0
"""Seconds between two looks at a run that waits for a person, which may take days."""
TICK_S: Final = 0.2
"""Seconds between two redrawings of the countdown."""
AWAY_POLL_S: Final = 1.0
"""Seconds between two tries to reach a server that is away; each takes up to ten seconds itself."""
AWAY: Final = "the Temporal server does not answer; waiting for it (Ctrl-C ends this, and the run goes on)"

T = TypeVar("T")

Explain = Callable[[JournalRecord], str | None]
"""A sentence to print after a record's line, where there is one."""


class LiveLine:
    """The line at the bottom of a terminal that tells what the run does now; nothing where there is no terminal."""

    def __init__(self, *, on: bool) -> None:
        self._on = on
        self._shown = False

    def show(self, text: str) -> None:
        if self._on:
            width = max(20, shutil.get_terminal_size().columns - 1)
            click.echo(f"\r\x1b[K{plain(text)[:width]}", nl=False)
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False)
            self._shown = False


class Watch:
    """Prints a run until it ends. `as_json` prints one JSON line a record and no other; `explain` adds sentences.

    A server that does not answer is waited for, unless it is `fleeting` and does not come back.
    `settings` name the store, which is opened only to show the arguments of a call that a person is asked about.
    """

    def __init__(
        self,
        client: "Client",
        run: str,
        *,
        settings: Path | None = None,
        as_json: bool = False,
        explain: Explain | None = None,
        fleeting: bool = False,
    ) -> None:
        self._handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(run)
        self._settings = settings
        self._json = as_json
        self._after = 0
        self._explain = explain
        self._live = LiveLine(on=sys.stdout.isatty() and not as_json)
        self._asked = ""
        self._waiting = ""
        self._children: dict[str, str] = {}
        self._lonely = False
        self._fleeting = fleeting
        self._away = False

    async def until_end(self) -> int:
        """The exit code: 0 the run completed, 1 it ended in any other way."""
        end = asyncio.ensure_future(self._ended())
        try:
            while not end.done():
                status = await self._reached(self._look)
                await self._pass_time(end, status)
            end.result()
            await self._reached(self._look)
        finally:
            end.cancel()
            self._live.clear()
        return await self._reached(self._last_words)

    async def until_asked(self) -> Asked | None:
        """Print the run until it asks a person; None: it ended first."""
        end = asyncio.ensure_future(self._ended())
        try:
            while not end.done():
                status = await self._reached(self._look)
                if status and status.intervention and (asked := await self._reached(partial(asked_of, self._handle))):
                    return asked
                await self._pass_time(end, status)
            end.result()
        finally:
            end.cancel()
            self._live.clear()
        return None

    async def _reached(self, act: Callable[[], Awaitable[T]]) -> T:
        """What an act comes to once the server answers; that it does not is said once, on stderr."""
        while True:
            try:
                return await act()
            except ServerAway:
                if self._fleeting:
                    raise
                self._live.clear()
                if not self._away:
                    click.echo(AWAY, err=True)
                self._away = True
                await asyncio.sleep(AWAY_POLL_S)

    async def _look(self) -> Status | None:
        """Print what is new. None: no worker answers, which is said once."""
        status = await status_of(self._handle)
        if status is None:
            if not self._lonely:
                self._say("no worker answers for this run yet; waiting for one (`endstop worker`)")
            self._lonely = True
            return None
        self._lonely = self._away = False  # not sooner: a query that times out may be the server's fault or a worker's
        for raw in await records_after(self._handle, self._after):
            self._after = raw["seq"]
            self._tell(raw)
        self._tell_wait(waiting(status))
        self._tell_children(status)
        if status.intervention:
            await self._tell_question(status)
        return status

    def _tell_wait(self, words: str) -> None:
        """Say once of each wait how long it will be; its record comes when it is over."""
        if words and words != self._waiting:
            self._say(words)
        self._waiting = words

    def _tell_children(self, status: Status) -> None:
        """Each sub-run as it begins, and as it asks a person: it is answered by its own id."""
        for child in status.children:
            known = self._children.get(child.id)
            if known is None or (child.intervention and child.intervention != known):
                self._say(sub_run_line(child))
        self._children = {child.id: child.intervention for child in status.children}

    def _tell(self, raw: dict[str, Any]) -> None:
        self._live.clear()
        if self._json:
            print_json_line(raw)
            return
        for entry in read_journal([raw])[0]:
            self._tell_entry(entry)

    def _tell_entry(self, entry: Entry) -> None:
        if isinstance(entry.record, UsageRecord):
            click.echo(f"            {used(entry.record)}")
            return
        if isinstance(entry.record, AttemptRecord) and entry.record.backoff_ms:
            click.echo(f"          waited {seconds(entry.record.backoff_ms)}")
        click.echo(plain_line(f"{clock(entry.record.at)}  {line(entry.record)}"))
        if self._explain and (sentence := self._explain(entry.record)):
            click.echo(f"            {sentence}")

    async def _tell_question(self, status: Status) -> None:
        asked = await asked_of(self._handle)
        if asked is None or asked.id == self._asked:
            return
        call = await self._call(status, asked)
        self._asked = asked.id
        self._say(f"\n{question(self._handle.id, asked, call)}\n")

    async def _call(self, status: Status, asked: Asked) -> AskedCall | None:
        """The call that is asked about; a store that cannot be opened from here ends no watch."""
        if asked.label not in ABOUT_A_CALL:
            return None
        try:
            async with open_store(settings_from(self._settings)) as store:
                return await call_of(self._handle, store, status, asked)
        except ServerAway:
            raise
        except (BadInput, Refused) as refusal:
            return AskedCall(tool=str(asked.facts.get("tool")), trouble=refusal.message)

    async def _answer(self, status: Status) -> FinalAnswer:
        """What the run came to; a store that cannot be opened from here does not change how it ended."""
        try:
            async with open_store(settings_from(self._settings)) as store:
                return await answer_of(store, status.conversation)
        except (BadInput, Refused) as refusal:
            return FinalAnswer(trouble=refusal.message)

    def _say(self, text: str) -> None:
        """Something that is no record: on stdout for people, on stderr where stdout is for programs."""
        self._live.clear()
        click.echo(plain(text), err=self._json)

    async def _pass_time(self, end: "asyncio.Future[None]", status: Status | None) -> None:
        until = time.monotonic() + (ASKED_POLL_S if status and status.intervention else POLL_S)
        while time.monotonic() < until and not end.done():
            if status:
                self._live.show(f"          {doing(status, time.time())}")
            await asyncio.wait({end}, timeout=TICK_S)

    async def _ended(self) -> None:
        """Return when the run has ended, in whatever way, continuations included.

        That the server is away is told by who looks meanwhile.
        """
        from temporalio.client import WorkflowFailureError

        while True:
            try:
                with rpc_errors(f"run {self._handle.id!r}"):
                    await self._handle.result()
            except WorkflowFailureError:
                return
            except ServerAway:
                await asyncio.sleep(AWAY_POLL_S)
            else:
                return

    async def _last_words(self) -> int:
        described = await describe(self._handle)
        if described is None:
            return 1
        status = await status_of(self._handle)
        state = state_of(described, status)
        reason = await failure_of(self._handle, described)
        answer = await self._answer(status) if status and state == "completed" else NONE
        if self._json:
            print_json_line({"id": self._handle.id, "state": state, "reason": reason, **answer.for_programs()})
        else:
            if shown := told(self._handle.id, answer):
                click.echo(shown)
            click.echo(plain_line(f"{self._handle.id}  {state}" + (f": {reason}" if reason else "")))
        return 0 if state == "completed" else 1
