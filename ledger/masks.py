"""Masks: what differs between two runs of the same failure, replaced by a name.

Here: one ordered table of narrow patterns: ids, addresses, ephemeral ports, durations, sizes, temporary paths,
positions. Not here: times (`clock_words`), reading a tool's output (`readings`), or anything that masks a value an
assertion compares.

Every pattern works on a line already cut to 400 characters, is anchored on a literal, a digit or a word boundary, and
never nests quantifiers, so a line costs a bounded number of steps whatever it holds.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.clock_words import mask_times

_EPHEMERAL: Final = range(32_768, 65_536)
"""Linux hands out 32768-60999, IANA names 49152-65535: a port below is somebody's choice and tells services apart."""

_USER_SPACE: Final = range(0x5500_0000_0000, 0x8000_0000_0000)
"""Where Linux x86-64 puts code and heap: `id(x)` in CPython is such an address written in decimal."""

_ASSERTION: Final = re.compile(
    r"==(?!=? FAIL)|!=|\bassert|\b[Ee]xpected\b|\b[Aa]ctual\b|^\s*+[Rr]eceived\b|\(received\)"
    r"|^\s*+(?:left|right|got|want)\b|\bwant\b|\bto (?:be|equal)\b|^\s*+[+-] "
)
_LIMIT: Final = re.compile(
    r"time(?:d[ -]?)?[ -]?out|\bwithin|\blimit|\bmax|exceed|deadline|quota|too (?:large|long|big)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskRow:
    """One row. `values` says whether it also applies where an assertion compares values."""

    holds: str = ""
    """What every text that the pattern matches holds: looked for first, which costs a fiftieth of a match."""
    pattern: re.Pattern[str]
    put: str | Callable[[re.Match[str]], str]
    values: bool = False


def _port(found: re.Match[str]) -> str:
    return f"{found[1]}<port>" if int(found[2]) in _EPHEMERAL else found[0]


def _big_number(found: re.Match[str]) -> str:
    return "<addr>" if int(found[0]) in _USER_SPACE else found[0]


def _long_fraction(found: re.Match[str]) -> str:
    """Mask what was measured or drawn; 0.30000000000000004 is a plain 0.3 and stays a value."""
    return found[0] if "000000" in found[0] or "999999" in found[0] else "<float>"


def _id_like(found: re.Match[str]) -> str:
    text = found[0]
    return "<id>" if any(c.isdigit() for c in text) and any(c.isalpha() for c in text) else text


def _prefixed_id(found: re.Match[str]) -> str:
    """A random tail mixes digits in; a name that ends in a number does not."""
    digits = sum(c.isdigit() for c in found[2])
    return found[0] if digits < _RANDOM_DIGITS or _NAME_AND_NUMBER.match(found[2]) else f"{found[1]}<id>"


_RANDOM_DIGITS: Final = 3
_NAME_AND_NUMBER: Final = re.compile(r"[A-Za-z]+\d+$")


def _temporary(found: re.Match[str]) -> str:
    """Keep the directory's name where a person chose it, and the file's ending always."""
    name = found[2]
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem and len(ending) <= _LONGEST_ENDING else (name, "")
    return f"<tmp>/<name>{ending}" if _RANDOM_NAME.search(stem) else f"<tmp>/{name}"


_LONGEST_ENDING: Final = 5
"""`.json` ends a name; behind a dot, ten letters are mktemp's."""

_RANDOM_NAME: Final = re.compile(
    r"^tmp[\w.-]{4,}$|^cc[A-Za-z0-9]{6}$|[-_.](?=[A-Za-z0-9_]*[0-9_])[A-Za-z0-9_]{6,}$|"
    r"[-_.](?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{6,}$|\d{4,}|^pytest-of-"
)

MASKS: Final = (
    MaskRow(
        holds="-",
        pattern=re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
        put="<uuid>",
        values=True,
    ),
    # pytest's summary cuts a uuid short; the head is as random as the whole
    MaskRow(
        holds="...", pattern=re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]*(?=\.\.\.)"), put="<uuid>", values=True
    ),
    MaskRow(holds="(.text", pattern=re.compile(r"\(\.text[\w.]*\+0x[0-9a-f]+\)"), put="(.text)", values=True),
    MaskRow(pattern=re.compile(r"\b0x[0-9a-fA-F]{5,}\b|@[0-9a-f]{6,8}\b"), put="<addr>", values=True),
    MaskRow(
        holds="/",
        pattern=re.compile(
            r"(?:/private)?(/var/tmp|/tmp|/var/folders/\w+/\w+/T)/([^/\s'\"`:,;)\]}>]+)(?:/pytest-\d+)?(?:/popen-gw\d+)?"
        ),
        put=_temporary,
        values=True,
    ),
    MaskRow(
        holds="- duration: ", pattern=re.compile(r"^- duration: [\d.]+s$"), put="- duration: <duration>", values=True
    ),  # pre-commit
    MaskRow(
        holds="@reproduce_failure(",
        pattern=re.compile(r"@reproduce_failure\(.*"),
        put="@reproduce_failure",
        values=True,
    ),
    MaskRow(pattern=re.compile(r"\b((?:[a-z]{1,12}[_-]){1,2})([A-Za-z0-9]{12,})\b"), put=_prefixed_id, values=True),
    MaskRow(holds="eyJ", pattern=re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), put="<token>", values=True),
    MaskRow(holds=":", pattern=re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b"), put="<mac>", values=True),
    MaskRow(holds="<", pattern=re.compile(r"<\d+\.\d+\.\d+>"), put="<pid>", values=True),
    MaskRow(holds="-", pattern=re.compile(r"-(?=[a-z0-9]*\d)[a-z0-9]{8,10}-[a-z0-9]{5}\b"), put="-<id>", values=True),
    MaskRow(pattern=re.compile(r"\b(?:[0-9a-f]{7,64}|[0-9A-F]{12,64})\b"), put=_id_like, values=True),
    MaskRow(pattern=re.compile(r"\b[A-Za-z0-9+/]{32,}(?![A-Za-z0-9+/])={0,2}"), put=_id_like, values=True),
    # BuildKit's references, in base 36
    MaskRow(pattern=re.compile(r"\b(?=(?:[a-z]*\d){3})[a-z0-9]{25}\b"), put="<id>", values=True),
    MaskRow(pattern=re.compile(r"(?<![\w.])\d{14,15}(?![\w.])"), put=_big_number, values=True),
    MaskRow(holds=".", pattern=re.compile(r"(?<![\w.])-?\d+\.\d{10,}(?:e-?\d+)?\b"), put=_long_fraction, values=True),
    MaskRow(holds="ip-", pattern=re.compile(r"\bip-\d+-\d+-\d+-\d+\b"), put="<host>", values=True),
    MaskRow(
        pattern=re.compile(r"([\w\])]:|\bport['\"]?[=: ]+|['\"](?=[\da-f]*[.:])[\d.:a-f]{3,45}['\"], )(\d{5})\b"),
        put=_port,
        values=True,
    ),
    MaskRow(
        pattern=re.compile(
            r"\b(p?pid|tid|goroutine|transaction|xid|(?:process|parent|child|worker)(?=(?: +|=)\[?\d{3})"
            r"|(?:thread|task)(?=[-#]))"
            r"(['\"]?[ =:#\[-]+)\d+\b",
            re.IGNORECASE,
        ),
        put=r"\1 <pid>",
    ),
    MaskRow(pattern=re.compile(r"\[gw\d+\] ?|\[ *\d+%\]|\(\d+ tests?\b[^)]*\)"), put=""),
    # bash names the dead child by pid before the signal's word
    MaskRow(
        pattern=re.compile(r"^\s*+\d+ (?=(?:Segm|Abort|Kill|Term|Bus|Illeg|Hang|Trace|Float|Quit)[a-z]*\b)"), put=""
    ),
    MaskRow(
        pattern=re.compile(
            r"\b(again|retry|retrying|retries|wait|waiting)( in| after| for)? \d+(?:\.\d+)? ?(?:ms|s|m|seconds?)\b"
        ),
        put=r"\1 <duration>",
    ),
    MaskRow(holds="]", pattern=re.compile(r"(?<=\w)\[\d{2,7}\](?=: )|^\[\d{2,7}\](?=[: ])"), put="<pid>"),
    MaskRow(
        pattern=re.compile(r"\b(DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)(:? +)(?:\[\d+\]|\d+(?= ---))"), put=r"\1"
    ),
    # Ruby's logger, nginx, loguru's function and line
    MaskRow(holds=" #", pattern=re.compile(r" #\d{2,7}\](?= )"), put="]"),
    MaskRow(holds="#", pattern=re.compile(r"\b\d+#\d+: (?:\*\d+ )?"), put=""),
    MaskRow(holds="| ", pattern=re.compile(r"(\| [\w.]+:[\w.<>]+):\d+(?= - )"), put=r"\1"),
    MaskRow(
        holds="-",
        pattern=re.compile(r"\b((?:exec|thread|\w*[Ww]orker|ThreadPoolExecutor)-)\d+(?:_\d+)?\b"),
        put=r"\1<id>",
    ),
    MaskRow(holds="hostname", pattern=re.compile(r"(\bhostname\"?[=:] ?\"?)[\w.-]+"), put=r"\1<host>"),
    MaskRow(holds="thread", pattern=re.compile(r"(\bthread\b.*?)\(\d+\)"), put=r"\1(<pid>)"),
    MaskRow(holds="tuple (", pattern=re.compile(r"\btuple \(\d+,\d+\)"), put="tuple <id>"),
    MaskRow(pattern=re.compile(r"\bseed[ =:]+\d+", re.IGNORECASE), put="seed <seed>"),
    MaskRow(
        pattern=re.compile(r"\b(attempts?|retry|retries|try|tries)([ #:=]+)\d+(?:( of |/)\d+)?", re.IGNORECASE),
        put=r"\1 <count>",
    ),
    MaskRow(holds="×", pattern=re.compile(r"^\s*+\d+ ×(?= )"), put="<count> ×"),  # noqa: RUF001  Playwright counts its polls
    MaskRow(
        pattern=re.compile(r"\b\d+(?= (?:more )?(?:failed )?(?:attempts?|retries|tries|times)\b)", re.IGNORECASE),
        put="<count>",
    ),
    MaskRow(pattern=re.compile(r"\b([Uu]sed|[Rr]equested|[Rr]emaining)([: =]+)\d+"), put=r"\1 <count>"),
    MaskRow(holds="-", pattern=re.compile(r"\b([a-z]+-)\d{4,}\b(?![-.]\d)"), put=r"\1<id>"),
    MaskRow(pattern=re.compile(r"\b(request ?id: ?)[\w-]{6,}", re.IGNORECASE), put=r"\1<id>"),
    MaskRow(
        pattern=re.compile(r"(\b\w*(?:_id|Id|ID)\b|\bid\b|\bcontent-length)(['\"]?\s?[:=]\s?['\"]?)\d{3,}"),
        put=r"\1\2<id>",
    ),
    MaskRow(
        pattern=re.compile(
            r",? ?(?:\b(?:at|on|near) )?\b(?:line|column|col|char|offset|position)s?(?::? |,)\d+(?:-\d+)?",
            re.IGNORECASE,
        ),
        put="",
        values=True,
    ),
    MaskRow(pattern=re.compile(r"\b[LPC]: *\d+(?= \|)|(?<=\.lua) @ \d+$"), put="", values=True),
    MaskRow(
        pattern=re.compile(r"\b((?:elapsed|duration|took|latency|wall_?time)\w*['\"]?\s?[:=]\s?)[\d.]+", re.IGNORECASE),
        put=r"\1<duration>",
    ),
    MaskRow(
        holds="(", pattern=re.compile(r"\((?:line|char|column) \d+\)|\(\d+[:,]\d+(?:-\d+)?\)"), put="", values=True
    ),
    # a file's line, not a host's port
    MaskRow(
        holds=":",
        pattern=re.compile(
            r"(\.(?!(?:com|org|net|io|local|internal|dev|svc|invalid|test|example|lan)\b)[A-Za-z]\w{0,7}['\")\]]?"
            r"|<\w+>|Makefile|Dockerfile):\d+(?::\d+)?(?![\w/])"
        ),
        put=r"\1",
        values=True,
    ),
    MaskRow(holds=":", pattern=re.compile(r"(?<= )\d+:\d+(?:-\d+(?=$| )|(?=: ))"), put=""),
    MaskRow(holds="(", pattern=re.compile(r"\((?=[^()]*\d)[^()]*\b(?:seconds?|secs)\)"), put=""),
    MaskRow(pattern=re.compile(r"^\s*+(?:\d+/\d+ (?=Test\b)|\d+ - )|(?<=Test) +#\d+"), put=""),
    MaskRow(holds=":", pattern=re.compile(r"(?<![\d:])\d\d:\d\d:\d\d[.,]\d+"), put="<time>"),
    MaskRow(holds="LINE ", pattern=re.compile(r"^LINE \d+:"), put="LINE:"),
)

_DURATION: Final = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?) ?(ns|[uµ]s|ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?)\b(?! ?=)", re.IGNORECASE
)
_SPAN: Final = re.compile(r"(?<![\w.])(?:\d+[dhms]){2,}(?!\w)")
_SIZE: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?) ?([kKMGT]i?B)(/s)?\b")

_AFTERTHOUGHT: Final = re.compile(r" \(?<duration>\)?$")
"""Runners print a duration behind a name only when it is long enough."""


def _measured(found: re.Match[str]) -> str:
    return f"<{'size' if 'b' in found[2].lower() else 'duration'}>"


def _limit(found: re.Match[str]) -> str:
    """Two digits tell a limit of 30 s from one of 60 s, and hide that it rang at 2001 ms."""
    return f"{float(found[1]):.1e} {found[2]}"


_VARIES: Final = re.compile(r"\d|/tmp/|/T/")
"""What a line must hold before any row can match: most hold nothing of it."""

_SET: Final = re.compile(r"\{([^{}\[\]()]*)\}")
_ENUMERATION: Final = re.compile(r"(?<=: )[\w.'\"@/-]+(?:, [\w.'\"@/-]+)+$")


def _unordered(text: str) -> str:
    """Sort what was enumerated in no order: the members of `{...}` and a list that ends a sentence."""
    if "," not in text:
        return text
    text = _SET.sub(lambda m: "{" + ", ".join(sorted(part.strip() for part in m[1].split(","))) + "}", text)
    return text if compares_values(text) else _ENUMERATION.sub(lambda m: ", ".join(sorted(m[0].split(", "))), text)


def compares_values(text: str) -> bool:
    """Whether a line is an assertion's: its values are what failed."""
    return bool(_ASSERTION.search(text))


def mask(text: str, at: datetime | None = None) -> str:
    """Replace what varies between runs in one line. Values that an assertion compares are kept."""
    return _unordered(_masked(text, at) if _VARIES.search(text) else text)


def _masked(text: str, at: datetime | None) -> str:
    text = mask_times(text, at)
    asserts = compares_values(text)
    for row in MASKS:
        if row.holds in text and (row.values or not asserts):
            text = row.pattern.sub(row.put, text)
    if asserts:
        return text
    measured = _limit if _LIMIT.search(text) else _measured
    return _AFTERTHOUGHT.sub("", _SIZE.sub(measured, _DURATION.sub(measured, _SPAN.sub("<duration>", text))))
