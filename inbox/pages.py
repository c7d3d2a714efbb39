"""The inbox's HTML. Pure: values in, pages out.

Every value is escaped by construction: `Markup.format` escapes what is not itself `Markup`, and only literals of this
file are made `Markup`. No script anywhere: forms and links do all of it.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from markupsafe import Markup
from pydantic import JsonValue

from inbox.waiting import SHOWN, Waiting
from workflows.messages import Asked, Status
from workflows.replies import MEANS, NEEDS, TAKES

_STYLE: Final = Markup("""
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
section { border: 1px solid #bbb; border-radius: .4rem; padding: 0 1rem 1rem; margin: 1.5rem 0; }
form { border-top: 1px solid #ddd; padding: .7rem 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; }
label { display: flex; flex-direction: column; font-size: .85rem; }
label.wide { flex: 1 1 100%; }
textarea, input { font: inherit; padding: .3rem; }
button { font: inherit; padding: .35rem 1rem; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f3f3f3; padding: .6rem; }
h2 { overflow-wrap: anywhere; }
p[role=status] { border-left: .3rem solid #36c; padding: .4rem .8rem; background: #eef3ff; }
""")

_PAGE: Final = Markup(
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Endstop inbox</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1">{head}'
    '<style nonce="{nonce}">{style}</style></head><body><h1>Endstop inbox</h1>{body}</body></html>'
)
_RUN: Final = Markup('<section><h2><a href="{link}">{run}</a></h2><p>{where}</p>{question}</section>')
_QUESTION: Final = Markup("<h3>{label}</h3><p>asked {since}</p><pre>{text}</pre><dl>{facts}</dl>{forms}")
_FACT: Final = Markup("<dt>{name}</dt><dd>{value}</dd>")
_FORM: Final = Markup(
    '<form method="post" action="/answer" autocomplete="off"><p><b>{answer}</b>: {means}</p>{hidden}{field}'
    '<label>your name<input name="by" required maxlength="200"></label><button>{answer}</button></form>'
)
_HIDDEN: Final = Markup('<input type="hidden" name="{name}" value="{value}">')
_TEXT: Final = Markup('<label class="wide">text<textarea name="value" rows="4"{required}></textarea></label>')
_LINE: Final = Markup('<label>{words}<input name="value" {kind}{required}></label>')
_OPTION: Final = Markup('<option value="{option}">')
_CHOICE: Final = Markup(
    '<label class="wide">{words}<input name="value" list="options-{digest}"{required}>'
    '<datalist id="options-{digest}">{options}</datalist></label>'
)
_LINES: Final = {
    # value that an answer takes: what it is, and what the input field refuses by itself
    "target": ("model, as PROVIDER:MODEL; empty: the next one", Markup("")),
    "amount": ("by how much", Markup('type="number" min="0" step="any" ')),
    "reason": ("why (may be empty)", Markup('maxlength="200" ')),
}


def _page(body: Markup, nonce: str, head: str = "") -> str:
    """A whole page; `nonce` lets its own style through the content security policy."""
    return _PAGE.format(body=body, nonce=nonce, head=head, style=_STYLE)


def opened(nonce: str) -> str:
    """What the token's address shows: it moves on by itself, so that the token does not stay in the address bar.

    Not a redirect: a browser sent here from another site would not send the strict cookie along with it.
    """
    link = Markup('<p><a href="/">Open the inbox</a></p>')
    return _page(link, nonce, Markup('<meta http-equiv="refresh" content="0; url=/">'))


def listing(found: Sequence[Waiting], form_word: str, nonce: str) -> str:
    """All runs that wait, each with its question and its forms."""
    runs = Markup("").join(_section(one, form_word) for one in found)
    note = Markup("<p>The newest runs, {} at most.</p>").format(SHOWN)
    return _page(note + runs if found else Markup("<p>No run needs a person.</p>"), nonce)


def single(found: Waiting, form_word: str, nonce: str, told: str = "") -> str:
    """One run; `told` says what came of an answer."""
    status = Markup('<p role="status">{}</p>').format(told) if told else Markup("")
    back = Markup('<p><a href="/">All runs that need a person</a></p>')
    return _page(status + _section(found, form_word) + back, nonce)


def notice(told: str, nonce: str) -> str:
    """Nothing but a sentence: why nothing is shown, or what was refused."""
    return _page(Markup('<p role="status">{}</p>').format(told), nonce)


def _section(found: Waiting, form_word: str) -> Markup:
    if found.status is None:
        question = Markup("<p>No worker answers for this run: start one with <code>endstop worker</code>.</p>")
    elif found.asked is None:
        question = Markup("<p>It asks nothing now.</p>")
    else:
        question = _question(found.run, found.status, found.asked, form_word)
    link = f"/run?id={quote(found.run, safe='')}"
    return _RUN.format(link=link, run=found.run, where=_where(found.status), question=question)


def _where(status: Status | None) -> str:
    return f"{status.status}: agent {status.agent}, stage {status.stage}, turn {status.turn}" if status else ""


def _question(run: str, status: Status, asked: Asked, form_word: str) -> Markup:
    bound = {
        "form_word": form_word,
        "run": run,
        "first": status.conversation.id,
        "intervention": asked.id,
        "digest": asked.digest,
    }
    return _QUESTION.format(
        label=asked.label,
        since=datetime.fromtimestamp(asked.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        text=_plain(asked.text),
        facts=Markup("").join(_FACT.format(name=name, value=_value(value)) for name, value in asked.facts.items()),
        forms=Markup("").join(_form(answer, asked, bound) for answer in asked.answers if answer in TAKES),
    )


def _value(value: JsonValue) -> str:
    return _plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _plain(text: str) -> str:
    """Control characters are shown, not obeyed: one that turns the direction of writing changes what is read."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def _form(answer: str, asked: Asked, bound: dict[str, str]) -> Markup:
    fields = {**bound, "answer": answer}
    hidden = Markup("").join(_HIDDEN.format(name=name, value=value) for name, value in fields.items())
    return _FORM.format(answer=answer, means=MEANS[answer], hidden=hidden, field=_field(answer, asked))


def _field(answer: str, asked: Asked) -> Markup:
    """The field for what the answer takes; a question's options are offered, and other words are taken too."""
    takes = TAKES[answer]
    required = Markup(" required") if answer in NEEDS else ""
    options = asked.facts.get("options")
    if not takes:
        return Markup("")
    if takes == "text" and answer == "reply" and isinstance(options, list) and options:
        offered = Markup("").join(_OPTION.format(option=option) for option in options)
        return _CHOICE.format(words="your reply", digest=asked.digest, required=required, options=offered)
    if takes == "text":
        return _TEXT.format(required=required)
    words, kind = _LINES[takes]
    return _LINE.format(words=words, kind=kind, required=required)
