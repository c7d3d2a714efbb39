"""The vocabulary of failure: what a line of any tool says about success, failure, advice and counts.

Here: words. Not here: shapes that point into a file (`diagnostics`), and what follows from a word (`readings`).
"""

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from ledger.quoted_source import is_caret, is_gutter


class Severity(Enum):
    """How a tool ranks a line. COUNT is a summary of other lines, ADVICE a note on one of them."""

    ERROR = auto()
    WARNING = auto()
    ADVICE = auto()
    COUNT = auto()


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_PASSED: Final = _any(r"\bPASS(?:ED)?\b", r"\.\.\. ?ok\b", r"\[ +OK +\]", r"\[ RUN +\]", r"[█▉━]{4,}", r"--:--:--")
_QUIET: Final = _any(
    r"\s*+(?:"
    r"\[?(?:INFO|DEBUG|TRACE)\b",
    r"I\d{4} \d\d:\d\d",  # klog's INFO
    r"\{(?=.*\"(?:level|severity)\": ?\"(?:info|debug|trace|notice)\")",
    r"[\u2713\u2714√✓✔]",
    r"ok\b",
    r"-- (?!.*(?:fail|error|cannot|could not|not found))",  # CMake's progress
    r"\?\s+\S+\s+\[no test files\]",
    r"\d+ (?:Warning|Error)\(s\)$",
    r"\d+(?:\.\d+)?%",
    r"\d+/\d+ \[[=#>. -]{5,}\]",
    r"[-=_*~─━⎯. #+]{5,}$",
    r"goroutine \d+",
    r"\[Previous line repeated",
    r"During handling of|The above exception",
    r"Stack ?trace:?$|stack backtrace:|Traceback|thrown in|\.\.\. \d+ more",
    r"hint:|help:|note: (?:run with|this error originates)",
    r"For (?:more|further) information|Run with|See also|A complete log of this run",
    r"=== (?!FAIL)|exit status",
    r"(?:Using CPython|(?:Resolved|Prepared|Installed|Uninstalled|Audited) \d+ packages?)\b",
    # commands that make echoes, and where gcc says which function it is in
    r"(?:/\S+/)?(?:cc|c\+\+|gcc|g\+\+|clang|clang\+\+|ld|ar|rustc|javac|node|python\d?) ",
    r"g?make(?:\[\d+\])?: (?:Entering|Leaving|\*\*\* Waiting for unfinished jobs)",
    r"\S+: (?:In (?:member |static )?(?:function|constructor|lambda)|At (?:top level|global scope))",
    r"In file included from |from \S+[:,]$",
    r"(?:-->|:::|┌─|╭─+\[|╭▸|╰──+|╵)",
    r".{0,60}ms: (?:Mark|Scav)",  # V8's garbage collector
    # HTTP headers that say nothing of the answer
    r"(?:date|server|via|age|etag|set-cookie|x-[\w-]+|cf-[\w-]+|content-length|last-modified|expires): ",
    r"(?:connection|keep-alive|vary|request-id): ",
    r"(?:Compiling|Download|Fetching|Resolving|Collecting|Installing|Building|Linking|Updating|Preparing|Using cached"
    r"|Running|Checking|Looking|Processing|Generating|Copying|Starting|\$ |\[\d+/\d+\] )"
    r"(?!.*(?:fail|error|cannot|not found)))",
)
_COUNTS: Final = _any(
    r"^\W*(?:(?:ERROR|WARN(?:ING)?)\W+)?"
    r"(?:found |generated |tests?(?: suites| files| run)?:? |total:? |result: |FAILED \(|failed:? )?"
    r"(?:\d+|no|some|one)\b[\w ,;/|()-]*\b"
    r"(?:(?-i:errors?|ERRORS)|warnings?|fail(?:ed|ures?|ing)?|problems?|issues?|passed|passing|examples?|assertions"
    r"|tests?(?! +#)|runs"
    r"|violations|offenses?|incomplete|fixable)\b",
    r"^\s*+(?:Tests?|Test Suites|Snapshots|Time|Duration|Test Files|Start at|Ran all|Finished|Tests run)\b(?=[: ]).*\d",
    r"^\s*+Ran \d+ |\bFiles=\d|^Failed \d+/\d+",
    r"^\W*(?:FAILED|FAILURES!*|FAIL|ERRORS?|Build failed)\W*$|^BUILD FAILED",
    r"\bdue to \d+ previous|\bgenerated \d+ warning|^Some errors have detailed|errors (?:prevented|occurred)",
    r"^\W*(?:failures?|errors?|failed)\W+\d+\W*$|^FAILED \(\w+=\d+|^ERROR SUMMARY|\byou failed \d+",
    r"rated at [\d.-]+/10|^ninja: build stopped|\bactionable tasks?:",
    r"\((?:FAILED|ERROR) - \d+\)$",  # RSpec's pointer to a numbered failure
    r"^\d+ files? (?:would be|already|left) ",
    r"^Errors {2,}Files$",  # the head of tsc's table of counts
    r"^\s*+[#ℹ] \w+ \d",  # noqa: RUF001  node prints it
    r"^\s*+(?:checked|scanned|processed|analy[sz]ed|compiled|linted|inspected|total|took|elapsed)\b.*\d",
)
_COUNTED: Final = (
    r"(?:pass(?:ed|ing)?|succeeded|fail(?:ed|ing|ures?)?|skip(?:ped)?|cancell?ed|ok|errors?|warnings?|tests?(?: cases)?"
    r"|total|todo|pending|ignored|assertions|changed)"
)
_TALLY: Final = _any(rf"\b\d+ (?:tests? )?{_COUNTED}\b", rf"\b{_COUNTED}(?:\s*[:=]\s*| )\d+")
"""One pair of a number and such a word may be a message; two are a summary."""

_ADVISES: Final = _any(r"\s*+[|=]?\s*+=?\s*+(?:note|hint|help|info|debug|tip|suggestion)\s*+:")
_WARNS: Final = re.compile(
    r"\s*+(?:\[?\w+\]? )?(?i:\[?warn(?:ing)?\b|\w*Warning\b|notice\b)"
    r"|[\w:./ -]{0,80}\b(?:NOTICE|\w+Warning|WARNING|warning):"
)
_LOUD: Final = _any(r"\s*+(?:[\w.-]+: )?(?:fatal|error|err|panic|E)\b", r"\s*+WARNING: (?:DATA RACE|ThreadSanitizer)")

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z']+")
_WORDS: Final = """
    error errors err errno exception exceptions fatal panic panicked fail fails failed failure failures failing
    traceback cannot can't couldn't unable not doesn't didn't isn't denied refused undefined unresolved
    undeclared unexpected invalid unknown missing conflict conflicts killed abort aborted aborting fault timed
    timeout assert asserts assertion mismatch mismatched unbound unterminated illegal unsupported unrecognized
    overflow violates violated violation crash crashed dumped exceed exceeds exceeded reject rejected rejects
    forbidden unauthorized expected broken leak leaked requires issue security vulnerability vulnerabilities
    emerg
"""
_FAILURES: Final = frozenset(_WORDS.split())
_SAID: Final = _any(
    r"\bno (?:such|rule)\b",
    r"\bdata race\b",
    r"\bat \S+ line \d+\.?$",  # Perl's end of a message
    r"\bout of (?:memory|range|bounds)",
    r"\bmust (?:be|not)\b",
    r"\bwould reformat\b",
    r"[✗✘✖×]",  # noqa: RUF001  test runners print these
    r"^not ok|\*\*\* |err!",
    r"^HTTP/\S+ [45]\d\d|\b[45]\d\d (?:[A-Z][a-z]+ ?)+",
    r"\bexit(?:ed)?(?: with)?(?: code| status)? [1-9]",
)


def is_noise(line: str) -> bool:
    """Progress, passing tests, rulers and advice: lines that change without the failure changing."""
    return bool(_QUIET.match(line) or _PASSED.search(line))


# asked again for every block a line may end
@lru_cache(maxsize=1024)
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
    return Severity.ERROR if _speaks_of_failure(line) else None


def _speaks_of_failure(line: str) -> bool:
    words = {word.lower() for word in _WORD.findall(line)}
    return not words.isdisjoint(_FAILURES) or bool(_SAID.search(line))
