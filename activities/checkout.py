"""A git repository at a ref, made into a folder by the machine's own `git`.

Here: which commands, in which environment, and what is said where they fail. Not here: which repositories and refs
are allowed (`declared_workspaces`), or what is left out of the folder (`workspace`).

- No hook, no submodule and no prompt; one transport, the declared one, whatever the repository or a redirect says.
- The worker's own git configuration counts, since credentials and proxies are found by it; its API keys are not seen.
- Only the commit is fetched, without its history, but where the server gives a commit to nobody who names it.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from activities.command import Command, NotStarted, run_command
from activities.declared_workspaces import GitWorkspace, Transport

LIMIT_S: Final = 600.0
"""Seconds for all that git does for one workspace."""

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where git is looked up where the worker has no PATH."""

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_INHERITED: Final = (
    "HOME",
    "XDG_CONFIG_HOME",
    "PATH",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    *_PROXIES,
    *map(str.upper, _PROXIES),
)
"""What git needs of the worker's environment to find the repository and to be let in; it gets nothing else."""

_CONFIGURED: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)

_OUTPUT_BYTES: Final = 16_384
_MAX_SAID: Final = 200
"""Characters of git's own words in a refusal."""

_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_WHOLE_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_EVERYTHING: Final = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")


class CheckoutFailed(Exception):  # noqa: N818 - it names what happened
    """The repository cannot be had at this ref; the message is one line."""


def check_out(declared: GitWorkspace, ref: str, into: Path, environ: Mapping[str, str]) -> str:
    """Make the folder `into`, which is not there yet, and return the id of the commit that is in it.

    Blocks for up to `LIMIT_S`; called in a thread without an event loop. Raises `CheckoutFailed`.
    """
    into.mkdir()
    git = _Git(into, declared.transport, environ)
    git("init", "--quiet", "--template=")
    commit = _fetched(git, declared.git, ref)
    git("checkout", "--quiet", "--force", "--no-recurse-submodules", "--detach", commit)
    return commit


class _Git:
    """Runs git's commands in one folder, against one deadline."""

    def __init__(self, folder: Path, transport: Transport, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = _environment(transport, environ)
        self._deadline = time.monotonic() + LIMIT_S

    def __call__(self, *words: str) -> str:
        """Return what the command says."""
        settings = [word for setting in _CONFIGURED for word in ("-c", setting)]
        command = Command(
            argv=("git", *settings, *words),
            folder=self._folder,
            environment=self._environment,
            timeout_s=max(self._deadline - time.monotonic(), 0),
            output_bytes=_OUTPUT_BYTES,
        )
        ran = asyncio.run(run_command(command))
        if isinstance(ran, NotStarted):
            raise CheckoutFailed(f"git cannot be started ({ran.reason}); install git on this worker")
        if ran.limit == "time":
            raise CheckoutFailed(f"git did not come to an end within {LIMIT_S:g} seconds")
        if ran.exit_code or ran.limit:
            raise CheckoutFailed(f"git {words[0]} failed: {_said(ran.output)}")
        return ran.output


def _environment(transport: Transport, environ: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": PATH,
        **{name: environ[name] for name in _INHERITED if name in environ},
        "LC_ALL": "C.UTF-8",
        "GIT_ALLOW_PROTOCOL": transport,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
    }


def _fetched(git: _Git, repository: str, ref: str) -> str:
    """Fetch the ref alone, or everything where only that brings the commit; return the commit's id."""
    fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
    try:
        if not _COMMIT.fullmatch(ref) or _WHOLE_COMMIT.fullmatch(ref):
            git(*fetch, "--depth=1", "--", repository, ref)
            return _commit(git, "FETCH_HEAD")
    except CheckoutFailed:
        if not _COMMIT.fullmatch(ref):
            raise
    git(*fetch, "--", repository, *_EVERYTHING)
    try:
        return _commit(git, ref)
    except CheckoutFailed:  # no commit and no tag begins so: it is a branch that is called by a number or a date
        return _commit(git, f"refs/remotes/origin/{ref}")


def _commit(git: _Git, name: str) -> str:
    said = git("rev-parse", "--verify", f"{name}^{{commit}}").split()
    commit = next((word for word in said if _WHOLE_COMMIT.fullmatch(word)), None)
    if commit is None:
        raise CheckoutFailed(f"git rev-parse failed: {_said(' '.join(said))}")
    return commit


def _said(output: str) -> str:
    """The line of git's that tells most, as it may stand in ours."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it said nothing"]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    line = (telling or lines[-1:])[0].removeprefix("fatal: ").removeprefix("error: ")
    return "".join(char if char.isprintable() else "?" for char in line[:_MAX_SAID])
