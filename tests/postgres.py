"""A real PostgreSQL server, to be thrown away: a cluster in a folder of its own, on a free port, without fsync."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import psycopg

from commands.server import free_port

_numbers = count(1)

MISSING = "this test needs the programs of a PostgreSQL server (initdb, pg_ctl): apt-get install postgresql"


@dataclass
class Postgres:
    """One server. Every test has a schema or a database of its own in it."""

    programs: Path
    folder: Path
    port: int

    def make(self) -> None:
        """Make the cluster. Anybody on this machine may come in: it holds nothing and lives for a session."""
        self._run("initdb", "--no-sync", "--auth=trust", "--username=endstop", "--encoding=UTF8", "--locale=C", "data")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -F"
        self._run("pg_ctl", "start", "--wait", "-D", "data", "-l", "log", "-o", options)

    def stop(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """fast: as an operator would, with all connections cut; immediate: as if the machine lost power."""
        self._run("pg_ctl", "stop", "--wait", "-D", "data", "-m", how)

    def schema(self) -> str:
        """URL of a new, empty schema: as good as a database to a store, and made in no time."""
        name = f"test_{next(_numbers)}"
        self.tell(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def database(self) -> str:
        """URL of a new, empty database, whose connections can be told from those of other tests."""
        name = f"test_{next(_numbers)}"
        self.tell(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str) -> str:
        return f"postgresql://endstop@127.0.0.1:{self.port}/{database}"

    def cut(self, url: str) -> int:
        """Kill every connection to a database of this server; how many there were."""
        cutting = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s"
        return int(self.tell(cutting, url.rpartition("/")[2])[0][0])

    def waiting(self, url: str) -> list[int]:
        """Backends that wait for a lock in a database of this server."""
        asked = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
        return [pid for (pid,) in self.tell(asked, url.rpartition("/")[2])]

    def kill(self, *backends: int) -> None:
        """Kill connections in whatever they are doing."""
        for pid in backends:
            self.tell("SELECT pg_terminate_backend(%s)", pid)

    def runs(self) -> bool:
        return (self.folder / "data" / "postmaster.pid").exists()

    def tell(self, statement: str, *values: str | int) -> list[tuple]:
        """Execute a statement beside all databases of tests."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            done = connection.execute(statement, values)
            return done.fetchall() if done.description else []

    def _run(self, program: str, *arguments: str) -> None:
        with (self.folder / f"{program}.out").open("wb") as out:
            command = [str(self.programs / program), *arguments]
            done = subprocess.run(
                command, cwd=self.folder, stdout=out, stderr=out, check=False, timeout=60, **_unprivileged()
            )
        assert done.returncode == 0, (self.folder / f"{program}.out").read_text()


@contextmanager
def running() -> Iterator[Postgres]:
    """A server for this block."""
    programs = _programs()
    assert programs, MISSING
    folder = Path(tempfile.mkdtemp(prefix="endstop-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, _somebody(), _group())
    with _thrown_away(folder, programs):
        server = Postgres(programs, folder, free_port())
        server.make()
        server.start()
        yield server


@contextmanager
def _thrown_away(folder: Path, programs: Path) -> Iterator[None]:
    """Stop what runs in the folder and remove it after this block, also where the tests are killed: a shell of its own
    waits for the end of a pipe, which is the end of this process.
    """
    script = 'cat; cd "$0"; "$1/pg_ctl" stop --wait -D data -m immediate; rm -rf "$0"'
    shell = subprocess.Popen(
        ["/bin/sh", "-c", script, str(folder), str(programs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **_unprivileged(),
    )
    try:
        yield
    finally:
        shell.communicate(timeout=60)


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl; Debian does not put them on the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: folder.parent.name)
    on_path = shutil.which("initdb")
    found = [*([Path(on_path).resolve().parent] if on_path else []), *reversed(debian)]
    return next((folder for folder in found if (folder / "pg_ctl").exists()), None)


def _unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses root, which tests in a container are."""
    return {"user": _somebody(), "group": _group(), "extra_groups": []} if os.geteuid() == 0 else {}


def _somebody() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _group() -> int:
    return pwd.getpwnam(_somebody()).pw_gid
