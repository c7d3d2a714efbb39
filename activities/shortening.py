"""A conversation made shorter: what stays word for word, what becomes a line, what a summary stands for.

Pure: stored messages in, stored messages out. A *round* is an answer and all that follows it up to the next answer, so
a tool call and its result are never parted. The first message (the task, with its files), other messages that bring
files, and the newest rounds stay as they are. Not here: when this is done (the ledger), or who writes a summary.
"""

import re
from collections.abc import Sequence
from typing import Final

from activities.messages import files_of, is_answer, is_result, of_nobody, result_of, user_message, with_result
from ledger.conversation import Link, digest
from ledger.model import Frozen

LEAST: Final = 512
"""Bytes of a result's text from which on dropping it frees anything worth a model's second look."""
SUMMARY_KEY: Final = "summary"
_REF: Final = re.compile(r"[0-9a-f]{24,}")
_DROPPED: Final = "[The {bytes} bytes of this result were dropped to make room in the conversation.{again}]"
_AGAIN: Final = " read_output has them under ref {ref}."
_INTRODUCED: Final = (
    "The conversation had become too long. What came between the task above and what follows stands here as a summary:"
    "\n\n{text}"
)


class Shortened(Frozen):
    """What a conversation becomes."""

    kept: tuple[Link, ...]
    dropped: tuple[str, ...] = ()
    """Texts of the results that became a line."""
    replaced: int = 0
    """Messages that the summary stands for."""

    @property
    def size(self) -> int:
        """Bytes of its messages."""
        return sum(len(one.body) for one in self.kept)


def first_verbatim(bodies: Sequence[bytes], limit: int) -> int:
    """Where the newest rounds begin that stay word for word: as many as have `limit` bytes together, one at least.

    Never 0: the first message stays in any case, and is no part of a round. All of it where there is no round yet.
    """
    found, size, length = max(1, len(bodies)), 0, 0
    for position in range(len(bodies) - 1, 0, -1):
        length += len(bodies[position])
        if is_answer(bodies[position]):
            size, length = size + length, 0
            if size > limit and found < len(bodies):
                break
            found = position
    return found if found < len(bodies) else 1


def without_results(messages: Sequence[Link], limit: int, *, readable: bool) -> Shortened:
    """Old tool results become a line each that says how much was dropped, and, if `readable`, how to read it again."""
    end = first_verbatim([one.body for one in messages], limit)
    kept: list[Link] = []
    dropped: list[str] = []
    for position, one in enumerate(messages):
        text = result_of(one.body)[0] if position < end and is_result(one.body) else ""
        if len(text.encode()) >= LEAST:
            dropped.append(text)
            kept.append(one._replace(body=with_result(one.body, _line(text, readable=readable))))
        else:
            kept.append(one._replace(body=of_nobody(one.body)) if dropped else one)
    return Shortened(kept=tuple(kept), dropped=tuple(dropped))


def summarised(messages: Sequence[Link], limit: int, summary: str) -> Shortened:
    """The task, what brings files, the summary of the rest, and the newest rounds."""
    end = first_verbatim([one.body for one in messages], limit)
    first, *old = messages[:end]
    staying = [one for one in old if any(files_of(one.body))]
    text = _without_foreign_refs(summary, messages)
    told = Link(SUMMARY_KEY, user_message(_INTRODUCED.format(text=text)))
    newest = (one._replace(body=of_nobody(one.body)) for one in messages[end:])
    return Shortened(kept=(first, *staying, told, *newest), replaced=len(old) - len(staying))


def _without_foreign_refs(summary: str, messages: Sequence[Link]) -> str:
    """The summary without references that the run was never told: what it is told, `read_output` lets it read."""
    ours = [one.body for one in messages if not is_answer(one.body)]
    return _REF.sub(lambda found: found[0] if any(found[0].encode() in body for body in ours) else "[no ref]", summary)


def _line(text: str, *, readable: bool) -> str:
    content = text.encode()
    return _DROPPED.format(bytes=f"{len(content):,}", again=_AGAIN.format(ref=digest(content)) if readable else "")
