"""The inbox's HTML. Pure: values in, pages out.

Every value is escaped by construction: `Markup.format` escapes what is not itself `Markup`, and only literals of this
file are made `Markup`. No script anywhere: forms and links do all of it.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from markupsafe import Markup
from pydantic import JsonValue

from inbox import reasons, rounds
from inbox.asked_call import AskedCall, offered
from inbox.shell import endstop
from inbox.waiting import SHOWN, Waiting
from workflows.messages import Asked, Status
from workflows.replies import NEEDS, TAKES, meaning

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
table { border-collapse: collapse; font-size: .8rem; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .1rem .6rem .1rem 0; }
h2 { overflow-wrap: anywhere; }
p[role=alert] { border-left: .3rem solid #c33; padding: .4rem .8rem; background: #fdeeee; }
p[role=status] { border-left: .3rem solid #36c; padding: .4rem .8rem; background: #eef3ff; }
""")

_PAGE: Final = Markup(
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Endstop inbox</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1">{head}'
    '<style nonce="{nonce}">{style}</style></head><body><h1>Endstop inbox</h1>{body}</body></html>'
)
_RUN: Final = Markup('<section><h2><a href="{link}">{run}</a></h2><p>{where}</p>{question}</section>')
_SUB_RUN: Final = Markup('<p role="status">Its sub-run <a href="{link}">{run}</a> asks a person: {label}</p>')
_QUESTION: Final = Markup(
    "<h3>{label}</h3><p>asked {since}</p><pre>{text}</pre>{failures}{gate}{call}<dl>{facts}</dl>{forms}"
)
_ARGUMENTS: Final = Markup("<p>The arguments of <b>{tool}</b>{how}:</p><pre>{arguments}</pre>")
_TROUBLE: Final = Markup('<p role="alert">The arguments of <b>{tool}</b> cannot be shown: {trouble}</p>')
_REST: Final = Markup("<p>{more} more characters: <code>{command}</code> has them whole.</p>")
_FAILURES: Final = Markup("<ul>{lines}</ul>")
_FAILURE: Final = Markup("<li>{line}</li>")
_GATE: Final = Markup("<table><tr>{header}</tr>{rows}</table><p>{earlier}</p>{output}")
_ROW: Final = Markup("<tr>{cells}</tr>")
_TAIL: Final = Markup("<p>What it printed when it failed last{cut}:</p><pre>{tail}</pre>")
_NO_OUTPUT: Final = Markup('<p role="alert">What it printed cannot be shown: {trouble}</p>')
_FACT: Final = Markup("<dt>{name}</dt><dd>{value}</dd>")
_FORM: Final = Markup(
    '<form method="post" action="/answer" autocomplete="off"><p><b>{answer}</b>: {means}</p>{hidden}{field}'
    '<label>your name<input name="by" required maxlength="200"></label>{buttons}</form>'
)
_SEND: Final = Markup("<button>{answer}</button>")
_CHOICE: Final = Markup('<button name="value" value="{option}">{shown}</button>')
_HIDDEN: Final = Markup('<input type="hidden" name="{name}" value="{value}">')
_TEXT: Final = Markup(
    '<label class="wide">{words}<textarea name="value" rows="{rows}"{required}>{filled}</textarea></label>'
)
_LINE: Final = Markup('<label>{words}<input name="value" {kind}{required}></label>')
_LINES: Final = {
    # value that an answer takes: what it is, and what the input field refuses by itself
    "target": ("model, as PROVIDER:MODEL; empty: the next one", Markup("")),
    "amount": ("by how much", Markup('type="number" min="0" step="any" ')),
    "reason": ("why (may be empty)", Markup('maxlength="200" ')),
}
_SHOWN_ELSEWHERE: Final = frozenset({"text", "options", "index"})
"""Facts of a question about a call that the page shows in another place."""
MAX_ARGUMENTS: Final = 65_536
"""Characters of a call's arguments on the page; more are no arguments that a person reads."""
TEXT_ROWS: Final = 4
MOST_ROWS: Final = 24
"""Lines of a text field; longer texts scroll."""


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
        question = Markup("<p>It asks nothing now.</p>") + _sub_runs(found.status)
    else:
        question = _question(found, found.status, found.asked, form_word) + _sub_runs(found.status)
    return _RUN.format(link=_link(found.run), run=found.run, where=_where(found.status), question=question)


def _link(run: str) -> str:
    return f"/run?id={quote(run, safe='')}"


def _sub_runs(status: Status) -> Markup:
    """Its sub-runs that wait for a person, each on its own page."""
    waiting = [child for child in status.children if child.intervention]
    return Markup("").join(
        _SUB_RUN.format(link=_link(child.id), run=child.id, label=child.intervention) for child in waiting
    )


def _where(status: Status | None) -> str:
    return f"{status.status}: agent {status.agent}, stage {status.stage}, turn {status.turn}" if status else ""


def _question(found: Waiting, status: Status, asked: Asked, form_word: str) -> Markup:
    bound = {
        "form_word": form_word,
        "run": found.run,
        "first": status.conversation.id,
        "intervention": asked.id,
        "digest": asked.digest,
    }
    return _QUESTION.format(
        label=asked.label,
        since=datetime.fromtimestamp(asked.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        text=_plain(asked.text),
        failures=_failures(found.failures),
        gate=_gate(found.run, found.gate, asked),
        call=_arguments(found.run, found.call) if found.call else "",
        facts=Markup("").join(
            _FACT.format(name=name, value=_value(value))
            for name, value in asked.facts.items()
            if name not in _SHOWN_ELSEWHERE
        ),
        forms=Markup("").join(_forms(asked, found.call, bound)),
    )


def _failures(failures: Sequence[reasons.LastFailure]) -> Markup:
    """Why each target failed last, as `endstop show` tells it."""
    lines = Markup("").join(_FAILURE.format(line=_plain(reasons.told(failure))) for failure in failures)
    return _FAILURES.format(lines=lines) if failures else Markup("")


def _gate(run: str, failed: rounds.FailedGate | None, asked: Asked) -> Markup:
    """The rounds of the gate that is asked about, as `endstop show` tells them, and the end of what it printed."""
    where = Markup("<p>{}</p>").format(_plain(hint)) if (hint := rounds.whole_output(run, asked)) else Markup("")
    if failed is None:
        return where
    header = Markup("").join(Markup("<th>{}</th>").format(name.lower()) for name in rounds.HEADER)
    rows = Markup("").join(_ROW.format(cells=_cells(row)) for row in rounds.rows(failed.rounds))
    earlier = rounds.earlier(run, failed.rounds)
    return _GATE.format(header=header, rows=rows, earlier=_plain(earlier), output=_output(failed)) + where


def _cells(row: Sequence[object]) -> Markup:
    return Markup("").join(Markup("<td>{}</td>").format(_plain(str(cell))) for cell in row)


def _output(failed: rounds.FailedGate) -> Markup:
    if failed.trouble:
        return _NO_OUTPUT.format(trouble=failed.trouble)
    cut = f", without the {failed.more:,} bytes before" if failed.more else ""
    return _TAIL.format(cut=cut, tail=_plain(failed.tail)) if failed.tail else Markup("")


def _arguments(run: str, call: AskedCall) -> Markup:
    """The arguments, whole where they are not endless."""
    if call.trouble:
        return _TROUBLE.format(tool=call.tool, trouble=call.trouble)
    how = ", as they were written (no plain JSON object)" if call.odd else ""
    more = len(call.pretty) - MAX_ARGUMENTS
    rest = _REST.format(more=f"{more:,}", command=endstop("show", run, flags="-o json")) if more > 0 else ""
    return _ARGUMENTS.format(tool=call.tool, how=how, arguments=call.pretty[:MAX_ARGUMENTS]) + rest


def _value(value: JsonValue) -> str:
    return _plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _plain(text: str) -> str:
    """Control characters are shown, not obeyed: one that turns the direction of writing changes what is read."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def _forms(asked: Asked, call: AskedCall | None, bound: dict[str, str]) -> Iterator[Markup]:
    """A form for each answer; a question's options are buttons of their own, and other words are taken too."""
    options = asked.facts.get("options")
    for answer in offered(asked, call):
        if answer == "reply" and isinstance(options, list) and options:
            buttons = (_CHOICE.format(option=option, shown=_plain(str(option))) for option in options)
            yield _form(answer, asked, bound, Markup(""), Markup("").join(buttons))
        if answer in TAKES:
            yield _form(answer, asked, bound, _field(answer, call), _SEND.format(answer=answer))


def _form(answer: str, asked: Asked, bound: dict[str, str], field: Markup, buttons: Markup) -> Markup:
    fields = {**bound, "answer": answer}
    hidden = Markup("").join(_HIDDEN.format(name=name, value=value) for name, value in fields.items())
    means = meaning(answer, asked.label)
    return _FORM.format(answer=answer, means=means, hidden=hidden, field=field, buttons=buttons)


def _field(answer: str, call: AskedCall | None) -> Markup:
    """The field for what the answer takes; arguments to edit are there already, where all of them were shown."""
    takes = TAKES[answer]
    required = Markup(" required") if answer in NEEDS else ""
    if not takes:
        return Markup("")
    if answer == "edit":
        filled = call.pretty if call and not call.odd and len(call.pretty) <= MAX_ARGUMENTS else ""
        rows = min(max(filled.count("\n") + 2, TEXT_ROWS), MOST_ROWS)
        return _TEXT.format(words="arguments, as one JSON object", rows=rows, filled=filled, required=required)
    if takes == "text":
        return _TEXT.format(words="text", rows=TEXT_ROWS, filled="", required=required)
    words, kind = _LINES[takes]
    return _LINE.format(words=words, kind=kind, required=required)
