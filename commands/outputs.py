"""`endstop output ID [GATE|REF]`: the whole of what a failed gate printed, or of a result that was cut for the model.

Here: which output is meant, and how it may be shown. Not here: the end of it that the model was shown (`transcript`).
On a terminal control characters are shown, not obeyed; anywhere else come the very bytes that are stored.
"""

import re
import sys
from typing import Final

import click

from commands.opening import Setup, opened_to_read
from commands.refusals import Refused
from commands.runs import View, look_back
from commands.tables import plain, print_json
from inbox.rounds import rounds_of
from ledger.journal import GateRecord
from ledger.reading import suggestion

_REFERENCE: Final = re.compile(r"[0-9a-f]{24}")


async def show_output(setup: Setup, run: str, wanted: str | None) -> None:
    """Print it. Refused: no gate failed, none of that name did, or the store has not what it printed."""
    from store import ContentMissing  # noqa: PLC0415 - `endstop --help` loads no SQL

    async with opened_to_read(setup) as things:
        view = await look_back(things.server, things.store, run)
        record = _newest(view, wanted)
        ref = record.output if record else wanted or ""
        try:
            content = await things.store.get(ref)
        except ContentMissing as missing:
            raise Refused(f"run {run!r}: {missing}") from None
    for notice in view.notices:
        click.echo(notice, err=True)
    if setup.as_json:
        about: dict[str, object] = {"gate": record.gate, "round": record.round} if record else {}
        print_json({**about, "ref": ref, "output": content.decode(errors="replace")})
    elif sys.stdout.isatty():
        click.echo(plain(content.decode(errors="replace")))
    else:
        sys.stdout.buffer.write(content)


def _newest(view: View, wanted: str | None) -> GateRecord | None:
    """The newest failing round of the gate that is meant, of any where none is named; None for a reference."""
    failed = [record for record in rounds_of(view.entries) if record.output]
    found = [record for record in failed if wanted in (None, record.gate, record.output)]
    if found:
        return found[-1]
    if wanted and _REFERENCE.fullmatch(wanted):
        return None
    if not failed:
        raise Refused(f"run {view.id!r}: no gate has failed, so there is no output to show")
    raise Refused(
        f"run {view.id!r}: no gate {wanted!r} has failed; {suggestion(wanted or '', {r.gate for r in failed})}"
    )
