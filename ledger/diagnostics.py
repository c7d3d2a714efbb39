"""Single lines: where one points, how grave it is, what it says.

Here: the shapes of `file:line: message` across compilers and linters, and the vocabulary of failure. Not here: how lines
form an item (`readings`).
"""

import re
from enum import Enum, auto
from typing import Final, NamedTuple

from ledger.failing_items import is_caret, is_gutter, is_noise


class Severity(Enum):
    """How a tool ranks a line. COUNT is a summary of other lines, ADVICE a note on one of them."""

    ERROR = auto()
    WARNING = auto()
    ADVICE = auto()
    COUNT = auto()


class Diagnostic(NamedTuple):
    """One `file:line: message` line."""

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
        rf"^\s*{_TOOL}{_PATH}:(?P<at>\d+(?::\d+)?)(?:-\d+(?::\d+)?)?(?::| -| •)?\s+(?:- )?(?P<said>\S.*)$",
        rf"^\s*{_TOOL}{_PATH}\((?P<at>\d+(?:, ?\d+){{0,3}})\) ?:? (?P<said>\S.*)$",
        rf"^{_TOOL}{_PATH}: line (?P<at>\d+): (?P<said>.+)$",
        rf"^{_PATH}: (?P<at>\d+): (?P<said>.+)$",
        rf"^{_TOOL}{_PATH}:\[(?P<at>\d+,\d+)\] (?P<said>.+)$",
        rf"^\"?{_PATH}\"?,? line (?P<at>\d+)(?:, col(?:umn)? \d+)?[:,] (?P<said>.+)$",
    )
)
_LISTED: Final = re.compile(r"^\s+(?P<at>\d+(?::\d+)?)\s+(?P<said>(?:error|warning|info|✖|⚠|×).*)$", re.IGNORECASE)
_HEADING: Final = re.compile(r"^(?:File \")?((?:\./|/)?[\w@./+-]*[\w+-]\.\w{1,8})(?:(?::\d+){1,2}:|\", line \d+, characters .*:)?$")
_POSITION: Final = re.compile(r"(?:-->|:::|┌─|─\[|\bat|\bin|\bon|File)\s+\"?([\w@./+-]*[\w+-]\.\w{1,8})\"?(?::\d+|,? line \d+)")
_ARROW: Final = re.compile(r"^\s*+(?:-->|┌─|╭─+\[|╭▸|,-\[) ?([\w@./+-]+):(\d+(?::\d+)?)")

_NAMES: Final = re.compile(r"(?:^|/)(?:[A-Z]\w*file|makefile|configure)$|/|\.[A-Za-z]\w{0,9}$")
_HOST: Final = re.compile(r"^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|local|internal|dev|svc|invalid|test|example|lan)$")

_LEVEL: Final = re.compile(
    r"^[\[(]?(fatal error|error|fatal|err|warning|warn|note|info|hint|help|remark|notice|style|deprecated|[✖×⚠])(?!\w)[\])]?"
    r"(?:[ \[(]+([\w./-]+)[\])]?(?=:))?\s*[:•-]?\s*",
    re.IGNORECASE,
)
_LEVELS: Final = {
    "warning": Severity.WARNING,
    "warn": Severity.WARNING,
    "⚠": Severity.WARNING,
    "deprecated": Severity.WARNING,
    "style": Severity.WARNING,
    "info": Severity.ADVICE,
    "note": Severity.ADVICE,
    "hint": Severity.ADVICE,
    "help": Severity.ADVICE,
    "remark": Severity.ADVICE,
    "notice": Severity.ADVICE,
}
_WARNS: Final = re.compile(r"^\s*+(?:\[?\w+\]? )?(?:\[?warn(?:ing)?\b|\w*Warning\b|notice\b)|^[\w:./ -]{0,80}\b(?:NOTICE|\w+Warning|WARNING|warning):")
_ADVISES: Final = re.compile(r"^\s*+[|=]?\s*=?\s*(?:note|hint|help|info|debug|tip|suggestion)\b\s*:", re.IGNORECASE)
_COUNTS: Final = re.compile(
    r"^\W*(?:(?:ERROR|WARN(?:ING)?)\W+)?(?:found |generated |tests?(?: suites| files| run)?:? |total:? |result: |FAILED \(|failed:? )?"
    r"(?:\d+|no|some|one)\b[\w ,;/|()-]*\b(?:errors?|warnings?|fail(?:ed|ures?|ing)?|problems?|issues?|passed|passing|examples?|"
    r"assertions|tests?|runs|violations|offenses?|incomplete|fixable)\b|^\s*+(?:Tests?|Test Suites|Snapshots|Time|Duration|Test Files|"
    r"Start at|Ran all|Finished|Tests run)\b(?=[: ]).*\d|^\s*Ran \d+ |^\W*(?:FAILED|FAILURES!*|FAIL|Failed|ERRORS?|Build failed|BUILD FAILED)\W*$|"
    r"\bdue to \d+ previous|^\W*(?:failures?|errors?|failed)\W+\d+\b|\bgenerated \d+ warning|^FAILED \(\w+=\d+|rated at [\d.-]+/10|"
    r"^ninja: build stopped|errors? (?:prevented|occurred)|^Some errors have detailed|\byou failed \d+|^ERROR SUMMARY|"
    r"^\s*+(?:checked|scanned|processed|analy[sz]ed|compiled|linted|inspected|total|took|elapsed)\b.*\d|\bFiles=\d|^Failed \d+/\d+|"
    r"\bactionable tasks?:|^\s*+[#ℹ] \w+ \d|^BUILD FAILED",
    re.IGNORECASE,
)
_TALLY: Final = re.compile(
    r"\b\d+ (?:tests? )?(?:pass(?:ed|ing)?|fail(?:ed|ing|ures?)?|skip(?:ped)?|ok|errors?|warnings?|tests?|total|todo|pending|ignored)\b|"
    r"\b(?:pass(?:ed)?|succeeded|failed|failures|skipped|cancell?ed|pending|ok|errors|warnings|tests?(?: cases)?|total|assertions|changed|"
    r"ignored)\s*[:= ]\s*\d+",
    re.IGNORECASE,
)
_ERRS: Final = re.compile(
    r"error\b|\berr\b|err!|errno|\bERR_|exception\b|\bfatal|\bpanic|\bfail(?:s|ed|ure|ures|ing)?\b|\bcannot\b|\bcan't\b|\bcould ?n[o']t\b|"
    r"\bcould not\b|\bunable\b|\bnot found\b|\bno such\b|\bdenied\b|\brefused\b|\bundefined\b|\bunresolved\b|\bunexpected\b|\binvalid\b|"
    r"\bunknown\b|\bmissing\b|\bconflict\b|\bkilled\b|\babort(?:ed|ing)?\b|\bfault\b|\btimed? ?out\b|\bassert|\bmismatch|\bdoes not\b|"
    r"\bdoesn't\b|\bdid not\b|\bis not\b|\bout of (?:memory|range|bounds)|\bunbound\b|\bunterminated\b|\billegal\b|\bunsupported\b|"
    r"\bunrecognized\b|\boverflow|\bviolat|\bcrash|\bdumped\b|\bexceed|\breject|\bforbidden\b|\bunauthorized\b|\bCONFLICT\b|\bexpected\b|"
    r"\bmust (?:be|not)\b|\bnot (?:allowed|permitted|supported|defined|declared|exist)|\bno rule\b|\bbroken\b|\bleak|\[emerg\]|"
    r"\b[45]\d\d (?:[A-Z][a-z]+ ?)+|\bwould reformat\b|[✗✘✖×]|^not ok|\*\*\* |Error(?::|$)|\brequires?\b|\bissue\b|"
    r"\bsecurity\b|\bvulnerab|^HTTP/\S+ [45]\d\d|\bexit(?:ed)?(?: with)?(?: code| status)? [1-9]",
    re.IGNORECASE,
)
_LOUD: Final = re.compile(r"^\s*+(?:[\w.-]+: )?(?:fatal|error|err|panic|E)\b", re.IGNORECASE)
_FRAME_TAIL: Final = re.compile(r"in\b[ `']|\+0x|[A-Z][\w.]*/\d$")
"""What follows `file:line:` in a stack frame, not in a message."""

UNQUOTED: Final = re.compile(r"^TS\d+$")
"""Codes of tools that quote source on a terminal only: the same error with and without it is the same error."""

_CODE: Final = re.compile(r"^([A-Z]{1,10}-?\d{2,6}|[a-z]+(?:-[a-z]+)+)(?::| (?=\S))\s*|\s*[\[(]([\w./@-]{3,60})[\])]$")


def heading_of(line: str) -> str:
    """The file under which a linter lists its findings: a path alone on its line."""
    found = _HEADING.match(line)
    return found[1] if found else ""


def place_in(line: str) -> str:
    """The file a line of detail points at, as `--> file:3:5` or `on file line 3`."""
    found = _POSITION.search(line)
    return found[1] if found else ""


def headline_of(line: str, following: str) -> Diagnostic | None:
    """Read a message whose place follows on a line of its own: `error[E1]: message`, then `--> file:3:5`."""
    arrow = _ARROW.match(following)
    if not arrow or not line.strip() or is_gutter(line):
        return None
    return _graded(arrow[1], arrow[2], line.strip())


def diagnostic_of(line: str, heading: str = "") -> Diagnostic | None:
    """Read `file:line: message` in any of its shapes; without a file, under the heading above."""
    if not any(c.isdigit() for c in line):
        return None
    for shape in _SHAPES:
        found = shape.match(line)
        if found and _is_file(found["path"]) and not _FRAME_TAIL.match(found["said"]):
            return _graded(found["path"], found["at"], found["said"])
    listed = _LISTED.match(line) if heading else None
    return _graded(heading, listed["at"], listed["said"]) if listed else None


def _is_file(path: str) -> bool:
    return bool(_NAMES.search(path)) and not _HOST.match(path) and any(c.isalpha() for c in path)


def _graded(path: str, at: str, said: str) -> Diagnostic:
    level = _LEVEL.match(said)
    severity, code = Severity.ERROR, ""
    if level:
        severity, code = _LEVELS.get(level[1].lower(), Severity.ERROR), level[2] or ""
        said = said[level.end() :]
    elif re.match(r"\w*Warning:", said):
        severity = Severity.WARNING
    while not code and (found := _CODE.search(said)):
        code = found[1] or found[2]
        said = said[: found.start()] + said[found.end() :]
    return Diagnostic(path, at, severity, code, re.sub(r"\s{2,}", " ", said).strip())


def severity_of(line: str) -> Severity | None:
    """How grave a line is by its words; None where it says nothing of a failure."""
    if not line.strip() or is_noise(line) or is_gutter(line) or is_caret(line):
        return None
    if _COUNTS.search(line) or len(_TALLY.findall(line)) > 1:
        return Severity.COUNT
    if _ADVISES.match(line):
        return Severity.ADVICE
    if _WARNS.match(line) and not _LOUD.match(line):
        return Severity.WARNING
    return Severity.ERROR if _ERRS.search(line) else None
