"""Stack frames: the lines of a trace in some twenty languages, and which of them are the project's own.

Here: shapes of one line. Not here: how frames join an item (`failing_items`). Every shape drops line and column.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple


class Frame(NamedTuple):
    """One frame; the function is empty where the language prints it elsewhere or not at all."""

    file: str
    function: str = ""


_LIBRARIES: Final = (
    r"site-packages/|dist-packages/|/lib/python\d|\.pyenv/|<\w",  # Python; <frozen importlib>, <string>
    r"node_modules/|node:|^internal/|^(?:deno|ext|bun):|processTicksAndRejections",
    r"^/usr/|^/opt/|/nix/store|/vendor/|/gems/|phar://|\[C\]",
    r"/rustc/|\.cargo/|/pkg/mod/|^\.\./sysdeps|^\.\./csu|/libsanitizer/|^\?\?$",
)
_PACKAGES: Final = (
    r"^(?:java|jdk|sun|javax|kotlin|scala|junit|org\.junit|org\.gradle|org\.scalatest)[./]",
    r"^(?:System|Microsoft|Xunit|NUnit|testing|runtime)[./]",
)
_FOREIGN_FILE: Final = re.compile("|".join((*_LIBRARIES, *_PACKAGES)))
_FOREIGN_FUNCTION: Final = re.compile("|".join(_PACKAGES))
_AT: Final = r"^\s*+at (?:async )?"
_FILE: Final = r"(?P<file>[^\s:()'\"|]+?)"
_SHAPES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*+File \"(?P<file>[^\"]+)\", line \d+(?:, in (?P<function>.+))?",  # Python
        _AT + r"(?P<function>[^()]+?)(?: \[as \w+\])? \((?P<file>[^()]+?)(?::\d+){0,2}\)$",  # JavaScript, Java
        _AT + r"(?P<function>[^()]+\(.*\)) in (?P<file>\S+?):line \d+",  # C#
        _AT + r"(?P<file>\S+?)(?::\d+){1,2}$",
        r"^\s*+(?P<function>[\w.<>$ ]+?)(?: \[as \w+\])? \((?P<file>[^()]+?):\d+:\d+\)$",  # node's TAP
        r"^\s*+#\d+ +(?:0x[0-9a-f]+ )?in (?P<function>.+?) \(?(?P<file>[^\s()]+?)(?:[:+][\dxa-f]+){0,2}\)?$",  # gdb
        r"^\s*+#\d+ (?P<file>[^\s()]+)\(\d+\): (?P<function>.+)$",  # PHP
        r"^\s*+(?:from |# |\s)?" + _FILE + r":\d+:in [`'](?P<function>[^']+)'",  # Ruby
        r"^\s+(?P<file>\S+\.go):\d+(?: \+0x[0-9a-f]+)?$",
        r"^\s*+(?P<file>\S+\.exs?):\d+: (?P<function>[A-Z][\w.]*/\d)$",  # Elixir
        r"^\s*+" + _FILE + r":\d+: in (?P<function>.+)$",  # pytest, Lua
        r"^\s*+[❯›→] (?:(?P<function>[\w.<>]+) )?" + _FILE + r":\d+(?::\d+)?$",  # noqa: RUF001  vitest prints these
        r"^\s*+(?:at|by) 0x[0-9A-F]+: (?P<function>.+?) \((?:in )?(?P<file>[^():]+)(?::\d+)?\)$",  # valgrind
        r"^\s*+@ (?:\w+ )?(?P<file>[^\s:]+):\d+$",  # Julia
        r"^\s*+\((?:\w+ [\d.]+)\) (?P<file>\S+?):\d+: (?P<function>.+)$",  # Erlang
        r"^\s*+# " + _FILE + r":\d+(?::in .*)?$",  # RSpec
    )
)
_HINT: Final = re.compile(r"^\s*+(?:File \"|at |by 0x|@ |#\d| ?# |from |[❯›→] |\(\w)|:\d|\(.*\d\)$")  # noqa: RUF001
"""One cheap look that spares most lines the sixteen shapes."""

_CALL: Final = re.compile(r"^\s*+(?:\d+: |\[\d+\] )|^\s*+(?=[\w./*()-]+\(.*\)$)|^(?=created by )")
"""A function on the line above its file: Rust's and Julia's numbered ones, Go's with arguments."""


@lru_cache(maxsize=1024)
def frame_of(line: str) -> Frame | None:
    """Read a stack frame of any of the languages; None where the line is something else."""
    if not _HINT.search(line):
        return None
    for shape in _SHAPES:
        if found := shape.match(line):
            named = found.groupdict()
            return Frame(re.sub(r":\d+(?::\d+)?$", "", named["file"]), named.get("function") or "")
    return None


def call_above(lines: Sequence[str], index: int) -> Frame | None:
    """Read a function at `index` whose file stands on the next line."""
    if index + 1 >= len(lines) or not _CALL.match(lines[index]) or frame_of(lines[index]):
        return None
    below = frame_of(lines[index + 1])
    return Frame(below.file, _CALL.sub("", lines[index])) if below and not below.function else None


def is_own(frame: Frame) -> bool:
    """The project's own code: not a language's library, not a dependency, not the runner."""
    return not _FOREIGN_FILE.search(frame.file) and not _FOREIGN_FUNCTION.search(frame.function)
