"""The layouts of particular tools, as rows: where a failing item begins, what names it, where it ends.

Here: text reports whose failing items stand in blocks under a heading. Not here: what the generic reading gets right by
itself (compilers, linters, tracebacks, numbered failures, TAP: `readings`), nor XML and JSON (`structured_reports`).

The first row that finds anything is the whole reading; the generic one is for outputs that fit no row.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.failing_items import Item, Mask, condense


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """One row of the table."""

    tool: str
    sign: re.Pattern[str]
    """Some line matches, or the row does not apply."""
    head: re.Pattern[str]
    """Opens an item; group 1 is its place."""
    end: re.Pattern[str]
    """Closes it, as does the next head."""
    keep: re.Pattern[str] | None = None
    """Only these lines of the block say what failed; without it all do."""
    onward: re.Pattern[str] | None = None
    """From the first such line on, all of the block does: the message of a plain traceback has no margin."""
    drop: re.Pattern[str] | None = None
    """From the first such line on, the block is the test's own chatter."""
    strip: re.Pattern[str] | None = None
    """A margin taken off every line."""
    quoted: re.Pattern[str] | None = None
    """Group 1 is the source line the tool points at; it is not message."""
    located: re.Pattern[str] | None = None
    """Group 1 is the file the item lies in, group 2 the exception's class; the line is not message."""
    whole: re.Pattern[str] | None = None
    """Group 1 opens a message, in the order of the heads, that a head cuts short for the width of a terminal."""
    once: bool = True
    """Whether a test printed twice (a summary repeats it) is one item. Linters find the same thing at two places."""
    kind: str = "test"
    sources: bool = True
    """Whether the quoted source belongs to the identity. Not where the runner names the assertion and its values."""


_FORMS: Final = (
    _Form(
        tool="pytest",
        sign=re.compile(r"^={3,} (?:FAILURES|ERRORS) ={3,}$"),
        head=re.compile(r"^_{3,} (?!_)(.+?) _{3,}$"),
        end=re.compile(r"^(?:={3,} .+ ={3,}|!{3,} .+ !{3,})$"),
        quoted=re.compile(r"^> +(.+)$"),
        located=re.compile(r"^(\S+?):\d+: (\w*)$"),
        keep=re.compile(r"^E\b|^\S+\.py:\d+: in |^\s*File \"|^(?:\w+ )?Traceback|^[A-Z]\w*(?:Error|Exception)\b"),
        onward=re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception)(?::|$)"),
        drop=re.compile(r"^-{3,} (?:Captured|generated) "),
        strip=re.compile(r"^E {3,}(?:File )?(?=\s*\S)|^E$"),
    ),
    _Form(
        tool="pytest",
        sign=re.compile(r"^={3,} short test summary info ={3,}$|^\d+ failed, "),
        head=re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$"),
        end=re.compile(r"^[^FE]|^$"),
        whole=re.compile(r"^(?:E {3}|\S+?:\d+: )(.+)$"),  # --tb=line
    ),
    _Form(
        tool="unittest",
        sign=re.compile(r"^(?:FAIL|ERROR): \S+ \(\S+\)"),
        head=re.compile(r"^(?:FAIL|ERROR): (\S+ \(\S+\).*)$"),
        end=re.compile(r"^={70}$|^Ran \d+ tests? in "),
    ),
    _Form(
        tool="jest",
        sign=re.compile(r"^Test Suites: "),
        head=re.compile(r"^ {2}● (?!Console$)(.+)$"),
        end=re.compile(
            r"^(?: {2}● Console$| {2}console\.\w+$|(?:PASS|FAIL) |Test Suites:|Snapshot Summary"
            r"|Summary of all failing tests)"
        ),
        sources=False,
    ),
    _Form(
        tool="vitest",
        sign=re.compile(r"^⎯+ ?Failed (?:Tests|Suites) \d+ ?⎯+$"),
        head=re.compile(r"^ *FAIL +(\S.*)$"),
        end=re.compile(r"^⎯{5,}"),
        sources=False,
    ),
    _Form(
        tool="cargo test",
        sign=re.compile(r"^test result: FAILED"),
        head=re.compile(r"^---- (\S+)(?: - .*)? stdout ----$"),
        end=re.compile(r"^failures:$|^test result:"),
    ),
    _Form(
        tool="terraform",
        sign=re.compile(r"^ *on \S+\.tf(?:\.json)? line \d+"),
        head=re.compile(r"^Error: (.+)$"),
        end=re.compile(r"^(?:Warning: |Releasing state lock|\S+: (?:Still )?[A-Z][a-z]+ing)"),
        once=False,
        kind="diagnostic",
    ),
    _Form(
        tool="shellcheck",
        sign=re.compile(r"^In \S+ line \d+:$"),
        head=re.compile(r"^In (\S+) line \d+:$"),
        end=re.compile(r"^(?:Did you mean|For more information):"),
        once=False,
        kind="diagnostic",
    ),
)


MAX_WHOLE: Final = 500
"""Messages kept to complete those that are cut: more failures than that are one failure."""


def read_reports(lines: Sequence[str], mask: Mask) -> tuple[Item, ...]:
    """The failing items of the first row that finds any; empty where no row fits."""
    distinct = dict.fromkeys(lines)  # outputs repeat themselves, and blank lines most
    for form in _FORMS:
        if any(form.sign.match(line) for line in distinct):
            whole = _messages(form.whole, lines) if form.whole else []
            items = tuple(_item(form, head, body, mask, whole) for head, body in _blocks(form, lines))
            if items:
                return tuple(dict.fromkeys(items)) if form.once else items
    return ()


def _blocks(form: _Form, lines: Sequence[str]) -> Iterator[tuple[re.Match[str], list[str]]]:
    open_head: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        head = form.head.match(line)
        if open_head and (head or form.end.match(line)):
            yield open_head, body
            open_head = None
        if head:
            open_head, body = head, []
        elif open_head:
            body.append(line)
    if open_head:
        yield open_head, body


def _item(form: _Form, head: re.Match[str], body: Sequence[str], mask: Mask, whole: list[list[str]]) -> Item:
    told = [line for group in head.groups()[1:] if group for line in _completed(group, whole)]
    said = [*told, *_said(form, body)]
    message, source, frames = condense(said, mask)
    source = mask(_last(form.quoted, body, 1)) or source
    place = mask(head[1].strip())
    file = mask(_last(form.located, body, 1)) or (frames[-1].partition(" ")[0] if form.located and frames else "")
    named = _CLASS.search(message)
    return Item(
        kind=form.kind,
        place=f"{file}::{place}" if file and "::" not in place else place,
        code=named[1] if named else _last(form.located, body, 2),
        message=message,
        source=source if form.sources else "",
        frames=frames,
    )


def _messages(opens: re.Pattern[str], lines: Sequence[str]) -> list[list[str]]:
    """Messages with the indented lines below them. One that says again how another began is its place."""
    messages: list[list[str]] = []
    for line in lines:
        opened = opens.match(line)
        again = opened and line[0] != "E" and messages and opened[1] == messages[-1][0]
        if opened and not again:
            messages.append([opened[1]])
        elif messages and line.startswith("     ") and len(messages) <= MAX_WHOLE:
            messages[-1].append(line)
    return messages[:MAX_WHOLE]


def _completed(text: str, whole: list[list[str]]) -> list[str]:
    """Take the first message left that goes on where `text` is cut; two that begin alike are told by their order."""
    start = text.removesuffix("...")
    for index, lines in enumerate(whole):
        if lines[0] == text or (start != text and lines[0].startswith(start)):
            return whole.pop(index)
    return [text]


_CLASS: Final = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Failure|Timeout))\b(?=:| \[|$)")


def _last(pattern: re.Pattern[str] | None, body: Sequence[str], group: int) -> str:
    """A group of the last line that matches: the innermost place is printed last."""
    found = [match[group] for line in body if (match := pattern.match(line))] if pattern else []
    return found[-1].strip() if found else ""


def _said(form: _Form, body: Sequence[str]) -> Iterator[str]:
    whole = form.keep is None
    for line in body:
        if form.drop and form.drop.match(line):
            return
        whole = whole or bool(form.onward and form.onward.match(line))
        if not whole and not (form.keep and form.keep.match(line)):
            continue
        yield form.strip.sub("", line) if form.strip else line
