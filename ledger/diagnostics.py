"""Lines that point into a file: `file:line: message` in the shapes of compilers and linters.

Here: shapes of single lines. Not here: words that rank a line without a place (`failure_words`), and how lines form an
item (`readings`).
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from ledger.failure_words import Severity
from ledger.quoted_source import is_gutter


class Diagnostic(NamedTuple):
    """One message with a place. The position tells two equal messages apart, and is never part of an identity."""

    path: str
    position: str
    severity: Severity
    code: str
    message: str


_PATH: Final = r"(?P<path>(?=[^\s:]*[A-Za-z])[^\s:()\[\]'\"<>,;=]+)"
_TOOL: Final = r"(?:[\w./+-]+: ?)?"
_SHAPES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # a.c:3:5: error: m | a.ts:3:5 - error m | pyright, pylint, go, flake8
        rf"^\s*+{_TOOL}{_PATH}:(?P<at>\d+(?::\d+)?)(?:-\d+(?::\d+)?)?(?::| -| •)?\s+(?:- )?(?P<said>\S.*)$",
        rf"^\s*+{_TOOL}{_PATH}\((?P<at>\d+(?:, ?\d+){{0,3}})\) ?:? (?P<said>\S.*)$",  # a.cs(3,5): error m
        rf"^{_TOOL}{_PATH}: line (?P<at>\d+): (?P<said>.+)$",  # bash
        rf"^{_PATH}: (?P<at>\d+): (?P<said>.+)$",  # dash
        rf"^{_TOOL}{_PATH}:\[(?P<at>\d+,\d+)\] (?P<said>.+)$",  # Maven
        rf"^\"?{_PATH}\"?,? line (?P<at>\d+)(?:, col(?:umn)? \d+)?[:,] (?P<said>.+)$",
        # GitHub's annotations: the message follows the second pair of colons
        rf"^::(?=error|warning)[^:]*\bfile={_PATH},(?:line=)?(?P<at>\d+)[^:]*::(?P<said>.+)$",
    )
)
_LISTED: Final = re.compile(r"^\s++(?P<at>\d+(?::\d+)?)\s++(?P<said>(?:(?i:error|warning|info)\b|[✖⚠×]|[A-Z]+\d+ ).*)$")  # noqa: RUF001
_FILE: Final = r"[\w@./+-]*[\w+-]\.\w{1,8}"
_HEADING: Final = re.compile(rf"^(?:File \")?({_FILE})(?:(?::\d+){{0,2}}:|\", line \d+, characters .*:)?$")
_DETAIL: Final = re.compile(rf"(?:-->|:::|┌─|─\[|\bat|\bin|\bon|File)\s+\"?({_FILE})\"?(?::\d+|,? line \d+)")
_ARROW: Final = re.compile(r"^\s*+(?:-->|┌─|╭─+\[|╭▸|,-\[) ?([\w@./+-]+):(\d+(?::\d+)?)")

_NAMED: Final = re.compile(r"(?:^|/)(?:[A-Z]\w*file|makefile|configure)$|/|\.[A-Za-z]\w{0,9}$")
_HOST: Final = re.compile(r"^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|local|internal|dev|svc|invalid|test|example|lan)$")
_FRAME_TAIL: Final = re.compile(r"in\b[ `']|\+0x|[A-Z][\w.]*/\d$")
"""What follows `file:line:` in a stack frame, not in a message."""

_LEVEL: Final = re.compile(
    r"[\[(]?(fatal error|error|fatal|err|warning|warn|note|info|hint|help|remark|notice|style|deprecated|[✖×⚠])(?!\w)"  # noqa: RUF001
    r"[\])]?(?:[ \[(]+([\w./-]+)[\])]?(?=:))?\s*[:•-]?\s*",
    re.IGNORECASE,
)
_MILD: Final = dict.fromkeys(("warning", "warn", "⚠", "deprecated", "style"), Severity.WARNING)
_ADVICE: Final = dict.fromkeys(("info", "note", "hint", "help", "remark", "notice"), Severity.ADVICE)
_LETTER: Final = {"w: ": Severity.WARNING, "i: ": Severity.ADVICE}
"""Kotlin's compiler ranks a message by a letter before the file."""
_WARNING_CLASS: Final = re.compile(r"\w*Warning:")
_CODE: Final = re.compile(r"^([A-Z]{1,10}-?\d{2,6}|[a-z]+(?:-[a-z]+)+)(?::| (?=\S))\s*|\s*[\[(]([\w./@-]{3,60})[\])]$")

UNQUOTED: Final = re.compile(r"^TS\d+$")
"""Codes of tools that quote source on a terminal only: the same error with and without it is the same error."""


def heading_of(line: str) -> str:
    """The file under which a linter lists its findings: a path alone on its line."""
    found = _HEADING.match(line)
    return found[1] if found else ""


def place_in(line: str) -> str:
    """The file a line of detail points at, as `--> file:3:5` or `on file line 3`."""
    found = _DETAIL.search(line)
    return found[1] if found else ""


def headline_of(line: str, following: str) -> Diagnostic | None:
    """Read a message whose place follows on a line of its own: `error[E1]: message`, then `--> file:3:5`."""
    arrow = _ARROW.match(following)
    if not arrow or not line.strip() or is_gutter(line):
        return None
    return _graded(arrow[1], arrow[2], line.strip())


@lru_cache(maxsize=1024)
def diagnostic_of(line: str, heading: str = "") -> Diagnostic | None:
    """Read `file:line: message` in any of its shapes; without a file, under the heading above."""
    if not any(c.isdigit() for c in line):
        return None
    for shape in _SHAPES:
        found = shape.match(line)
        if found and _is_file(found["path"]) and not _FRAME_TAIL.match(found["said"]):
            graded = _graded(found["path"], found["at"], found["said"])
            return graded._replace(severity=_LETTER.get(line[:3], graded.severity))
    listed = _LISTED.match(line) if heading else None
    return _graded(heading, listed["at"], listed["said"]) if listed else None


def _is_file(path: str) -> bool:
    """A name with an ending or a folder; `db.example.com:5432` is a port, not a line."""
    return bool(_NAMED.search(path)) and not _HOST.match(path)


def _graded(path: str, at: str, said: str) -> Diagnostic:
    severity, code, word = Severity.ERROR, "", ""
    if level := _LEVEL.match(said):
        word, code = level[1].lower(), level[2] or ""
        severity = _MILD.get(word) or _ADVICE.get(word) or Severity.ERROR
        said = said[level.end() :]
    elif _WARNING_CLASS.match(said):
        severity = Severity.WARNING
    if not code and (found := _CODE.search(said)):
        code = found[1] or found[2]
        said = said[: found.start()] + said[found.end() :]
    if code and severity == Severity.ADVICE and word == "note":  # a linter's: a compiler's has no code
        severity = Severity.WARNING
    return Diagnostic(path, at, severity, code, " ".join(said.split()))
