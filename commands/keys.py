"""`endstop keys`: how much of the store is encrypted under which key, and bringing all of it under the newest.

Here: what is said of it. Not here: doing it (the store), or what Temporal keeps, which nobody can encrypt again.
"""

from pathlib import Path

import click

from commands.opening import open_store, settings_from
from commands.refusals import BadInput
from commands.tables import print_json, table
from commands.words import counted
from encryption import Keys, new_key

NO_KEYS = "content is not encrypted: set [encryption] keys_env in endstop.toml; `endstop keys --new` prints a key"


def print_new() -> int:
    """Print a fresh key, alone on its line."""
    click.echo(new_key())
    return 0


async def show_keys(settings: Path | None, *, rotate: bool, as_json: bool) -> None:
    """Count the store's rows by key; with `rotate` once all of them are under the newest. No server is needed."""
    read = settings_from(settings)
    if rotate and not read.keys.newest:
        raise BadInput(NO_KEYS)
    async with open_store(read) as store:
        written = await store.rekey() if rotate else None
        scrubbed = await store.scrub() if rotate else True
        rows = await store.keys_in_use()
    if as_json:
        print_json({"keys": read.keys.names, "rows": rows, "written": written, "scrubbed": scrubbed})
        return
    click.echo(_table(read.keys, rows))
    if written is not None:
        click.echo(f"encrypted {counted(written, 'row')} with the newest key")
    if not scrubbed:
        click.echo("somebody still reads what was there before: run it again to have it out of the store's files")


def _table(keys: Keys, rows: dict[str, int]) -> str:
    """One line a key: those of the variable, newest first, then those that only the store knows, then what is clear."""
    names = [*keys.names, *sorted(rows.keys() - {*keys.names, ""})]
    written = [[name, str(rows.get(name, 0)), _what(keys, name)] for name in names]
    written += [["-", str(rows[""]), "in clear"]] if rows.get("") else []
    return table(["key", "rows", ""], written) if written else NO_KEYS


def _what(keys: Keys, name: str) -> str:
    if name == keys.newest:
        return "newest: encrypts"
    return "decrypts" if name in keys.names else "missing: not in the variable"
