"""What fails: the item, and how the lines that describe one are condensed into it.

Here: `Item`, and the parts every tool shares (stack frames of many languages, source lines under a caret, noise). Not
here: where in an output an item begins and ends (`readings`, `report_forms`), nor the hash (`fingerprint`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ledger.model import Frozen

MAX_MESSAGE: Final = 4_000
"""Characters of one item's message: an assertion's whole diff fits, a dumped object does not."""

MAX_FRAMES: Final = 12
"""Innermost frames kept of a stack; recursion repeats the rest."""


class Item(Frozen):
    """One failing thing. No line or column numbers; text is masked already. Empty means the tool did not say."""

    kind: str
    """What read it: `diagnostic`, `exception`, `test`, `line` … ."""
    place: str = ""
    """File or test id."""
    code: str = ""
    """The tool's own code, or the exception's class."""
    message: str = ""
    source: str = ""
    """The statement the tool points at."""
    frames: tuple[str, ...] = ()
    """`file in function` of the project's own frames, in the tool's order."""


_FOREIGN: Final = re.compile(
    r"site-packages/|dist-packages/|/lib/python\d|node_modules/|node:|^internal/|<\w|^/usr/|^/opt/|/rustc/|\.cargo/|/pkg/mod/|"
    r"/gems/|/vendor/|\.pyenv/|/nix/store|^\.\./sysdeps|^\.\./csu|/libsanitizer/|^(?:java|jdk|sun|javax|kotlin|scala|junit|"
    r"org\.junit|org\.gradle|org\.scalatest|System|Microsoft|Xunit|NUnit|testing|runtime)[./]|^(?:deno|ext|bun):|phar://|\[C\]|"
    r"processTicksAndRejections|^\?\?$"
)

_P: Final = r"([^\s:()'\"|]+?)"
_FRAMES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*+File \"([^\"]+)\", line \d+(?:, in (.+))?",
        r"^\s*+at (?:async )?(?P<f>[^()]+?)(?: \[as \w+\])? \((?P<p>[^()]+?)(?::\d+){0,2}\)$",
        r"^\s*+at (?:async )?(?P<f>[^()]+\(.*\)) in (?P<p>\S+?):line \d+",
        r"^\s*+at (?:async )?(?P<p>\S+?)(?::\d+){1,2}$",
        r"^\s*+(?P<f>[\w.<>$ ]+?)(?: \[as \w+\])? \((?P<p>[^()]+?):\d+:\d+\)$",
        r"^\s*+#\d+ +(?:0x[0-9a-f]+ )?in (?P<f>.+?) \(?(?P<p>[^\s()]+?)(?:[:+][\dxa-f]+){0,2}\)?$",
        r"^\s*+#\d+ (?P<p>[^\s()]+)\(\d+\): (?P<f>.+)$",
        r"^\s*+(?:from |# |\s)?" + _P + r":\d+:in [`'](?P<f>[^']+)'",
        r"^\s+(?P<p>\S+\.go):\d+(?: \+0x[0-9a-f]+)?$",
        r"^\s*+(?P<p>\S+\.exs?):\d+: (?P<f>[A-Z][\w.]*/\d)$",
        r"^\s*+" + _P + r":\d+: in (?P<f>.+)$",
        r"^\s*+[❯›→] (?:(?P<f>[\w.<>]+) )?" + _P + r":\d+(?::\d+)?$",
        r"^\s*+(?:at|by) 0x[0-9A-F]+: (?P<f>.+?) \((?:in )?(?P<p>[^():]+)(?::\d+)?\)$",
        r"^\s*+@ (?:\w+ )?(?P<p>[^\s:]+):\d+$",
        r"^\s*+\((?:\w+ [\d.]+)\) (?P<p>\S+?):\d+: (?P<f>.+)$",
        r"^\s*+# " + _P + r":\d+(?::in .*)?$",
    )
)
_CALLED: Final = re.compile(r"^\s*+(?:\d+: |\[\d+\] )|^\s*+(?=[\w./*()-]+\(.*\)$)|^(?=created by )")
"""A function on the line above its file: Rust's and Julia's numbered ones, Go's with arguments."""

_FRAME_HINT: Final = re.compile(r"^\s*+(?:File \"|at |by 0x|@ |#\d| ?# |from |[❯›→] |\(\w)|:\d|\(.*\d\)$")
_CARET: Final = re.compile(r"^\s*+(?:\d+ ?)?[|│·:]?[\s|│·╵]*+(?:\^[\^~\-]*|~+\^?~*|─*┬─*|[━▲^]+)(?=\s|$)")
_POINTERS: Final = "^~━▲┬"
_GUTTER: Final = re.compile(r"^\s*+(?:(>)\s*)?\d+(?: ?[|│▏┆]|:(?!\d)|\t|\s\s)|^\s*+[|│┆·]")
_NOISE: Final = re.compile(
    r"\bPASS(?:ED)?\b|\.\.\. ?ok\b|\[ +OK +\]|\[ RUN +\]|^\s*+(?:\[?(?:INFO|DEBUG|TRACE)\b|[\u2713\u2714√✓✔]|ok\b|\d+(?:\.\d+)?%|[-=_*~─━⎯─. #+]{5,}$|goroutine \d+|"
    r"\[Previous line repeated|During handling of|The above exception|Stack ?trace:?$|stack backtrace:|Traceback|"
    r"hint:|help:|note: (?:run with|this error originates)|For (?:more|further) information|Run with|See also|=== |"
    r"(?:Compiling|Download|Fetching|Resolving|Collecting|Installing|Building|Linking|Updating|Preparing|Using cached|Running|Checking|"
    r"Looking|Processing|Generating|Copying|Starting|\$ |\[\d+/\d+\] )(?!.*(?:fail|error|cannot|not found))|I\d{4} \d\d:\d\d|(?:date|server|via|age|etag|set-cookie|x-[\w-]+|cf-[\w-]+|content-length|last-modified|expires|"
    r"connection|keep-alive|vary|request-id): |exit status|(?:-->|:::|┌─|╭─+\[|╭▸|╰──+|╵)|.{0,60}ms: (?:Mark|Scav)|\.\.\. \d+ more|thrown in|\d+/\d+ \[[=#>. -]{5,}\]|A complete log of this run)|[█▉━]{4,}|--:--:--",
    re.IGNORECASE,
)


def is_noise(line: str) -> bool:
    """Progress, passing tests, rulers and advice: lines that change without the failure changing."""
    return bool(_NOISE.search(line))


def is_caret(line: str) -> bool:
    """A line that only points at a column of the line before."""
    return any(mark in line for mark in _POINTERS) and bool(_CARET.match(line))


def is_gutter(line: str) -> bool:
    """A numbered line of quoted source, or the bar that continues it."""
    return bool(_GUTTER.match(line))


def ungutter(line: str) -> str:
    """The source behind the number and the bar."""
    return re.sub(r"^\s*>?\s*\d*\s*[|│▏┆·:]?[|/ ]*", "", line)


def frame_of(line: str) -> tuple[str, str] | None:
    """(file, function) where the line is a stack frame of some language, else None."""
    if not _FRAME_HINT.search(line):
        return None
    for pattern in _FRAMES:
        if found := pattern.match(line):
            named = found.groupdict()
            path = named.get("p") or found[1] or ""
            function = named.get("f") or (found[2] if not named and found.lastindex == 2 else "") or ""
            return re.sub(r":\d+(?::\d+)?$", "", path), function
    return None


def is_call(lines: Sequence[str], index: int) -> bool:
    """A function whose file stands on the next line."""
    if index + 1 >= len(lines) or not _CALLED.match(lines[index]) or frame_of(lines[index]):
        return False
    below = frame_of(lines[index + 1])
    return below is not None and not below[1]


def is_own(path: str, function: str = "") -> bool:
    """The project's own code: not a language's library, not a dependency, not the runner."""
    return not _FOREIGN.search(path) and not _FOREIGN.search(function)


def statement_at(source: str, caret: str) -> str:
    """The statement a caret points into: what stands beside it on the same line is not the failure."""
    column = next((at for at, mark in enumerate(caret) if mark in _POINTERS), 0)
    bare = ungutter(source) if is_gutter(source) else source
    column = max(0, min(column - (len(source) - len(bare)), len(bare) - 1))
    start = max(bare.rfind(mark, 0, column) for mark in ";{}") + 1
    end = min((at for mark in ";{}" if (at := bare.find(mark, column)) >= 0), default=len(bare))
    return bare[start:end].strip() or bare.strip()


def condense(lines: Sequence[str], mask: Callable[[str], str]) -> tuple[str, str, tuple[str, ...]]:
    """(message, source, frames) of the lines of one item. Blank lines, context and noise are dropped."""
    message: list[str] = []
    frames: list[str] = []
    source = ""
    skip = -1
    alone = sum(is_gutter(line) for line in lines) == 1
    for index, line in enumerate(lines):
        if index <= skip or not line.strip():
            continue
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if (below := frame_of(following)) and is_call(lines, index):
            frames.extend(_own((below[0], _CALLED.sub("", line))))
            skip = index + 1
            continue
        if is_caret(following) and not is_caret(line):
            source = source or statement_at(line, following)
            continue
        if frame := frame_of(line):
            frames.extend(_own(frame))
            skip, quoted = _quoted_source(lines, index)
            source = quoted if quoted and is_own(*frame) else source
            continue
        if is_caret(line):
            message.append(_CARET.sub("", line).strip())
            continue
        if is_noise(line):
            continue
        if is_gutter(line) or (line.strip().isdigit() and index and is_gutter(lines[index - 1])):
            source = source or (ungutter(line) if alone or line.lstrip().startswith(">") else "")
            continue
        message.append(line.strip())
    text = " ".join(" ".join(mask(part).split()) for part in message)
    return text[:MAX_MESSAGE], " ".join(mask(source).split()), tuple(mask(f) for f in frames[-MAX_FRAMES:])


def _own(frame: tuple[str, str]) -> Iterator[str]:
    path, function = frame
    if is_own(path, function):
        yield f"{path} in {function.split('(')[0]}" if function else path


def _quoted_source(lines: Sequence[str], index: int) -> tuple[int, str]:
    """Python quotes a frame's source, deeper indented, on the next line: (last line consumed, the source)."""
    if index + 1 >= len(lines) or not lines[index].lstrip().startswith('File "'):
        return index, ""
    depth = len(lines[index]) - len(lines[index].lstrip())
    quoted = lines[index + 1]
    if not quoted.strip() or len(quoted) - len(quoted.lstrip()) <= depth or frame_of(quoted):
        return index, ""
    last = index + 1
    while last + 1 < len(lines) and is_caret(lines[last + 1]):
        last += 1
    return last, quoted.strip()
