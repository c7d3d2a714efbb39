"""`endstop demo`: one whole run on a stage of its own, that ends by itself.

Everything is real but the models: server, worker process, HTTP, SQL, pytest in a workspace. Without a name it is the
guided tour, of `examples/fix-tests/`, explained as it happens; with one it is that example. On a terminal the visitor
answers; elsewhere the demo does, with what the example's `person.toml` says.
"""

import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import click

from commands.examples import Example, example
from commands.opening import Opened, Setup, opened
from commands.reading import show_run
from commands.refusals import BadInput, Refused
from commands.replying import Reply, answer_run
from commands.runs import status_of
from commands.stage import Stage, played
from commands.starting import read_request, start
from commands.tour_words import ASKED, WELCOME, Narrator
from commands.watch import Explain, Watch
from inbox.shell import endstop
from workflows.replies import Said

TOUR: Final = "fix-tests"
PAUSE_S: Final = 2.0
"""Seconds to read a question where nobody can press Enter."""

Person = Callable[[Setup, str], Awaitable[None]]
"""Answers what a run asks."""


async def tour() -> int:
    """Play the tour. The exit code: 0 the run completed or was stopped by its person."""
    found = example(TOUR)
    click.echo(WELCOME + "\n")
    return await played(found, "tour", _act(_guide(found.answers), Narrator().explain))


async def play(name: str) -> int:
    """Play an example. The exit code as of the tour."""
    found = example(name)
    click.echo(f"{found.about}\n")
    person = visitor if sys.stdin.isatty() else Scripted(found.answers)
    return await played(found, name, _act(person))


def _act(person: Person, explain: Explain | None = None) -> Callable[[Stage], Awaitable[int]]:
    """A whole play: the run, then the look back at it."""

    async def act(stage: Stage) -> int:
        async with opened(stage.setup) as things:
            code = await perform(stage.setup, things, stage.example, stage.run, person, explain)
        await _look_back(stage)
        return code

    return act


async def perform(
    setup: Setup, things: Opened, example: Example, run: str, person: Person, explain: Explain | None = None
) -> int:
    """Start the example's run, watch it, have what it asks answered, watch it to its end.

    The exit code: 0 where it ended in an answer or by its person's word, 1 where it failed.
    """
    request = read_request(setup, example.folder / "agent.toml", f"@{example.folder / 'task.md'}", run)
    click.echo("\n$ endstop start agent.toml --task @task.md --watch\n")
    await start(things, request)
    watch = Watch(things.client, run, settings=setup.settings, explain=explain, fleeting=True)
    while await watch.until_asked() is not None:
        await person(setup, run)
    await watch.until_end()
    status = await status_of(things.client.get_workflow_handle(run))
    return 0 if status and status.status in {"completed", "stopped"} else 1


class Scripted:
    """A person who answers in this order, and has no other answer."""

    def __init__(self, answers: tuple[Said, ...], pause_s: float = PAUSE_S) -> None:
        self._left = list(answers)
        self._pause_s = pause_s

    async def __call__(self, setup: Setup, run: str) -> None:
        """Show the command and give it. Refused: there is no answer left."""
        if not self._left:
            raise Refused(f"run {run!r} asks more than the example has answers for in its person.toml")
        said = self._left.pop(0)
        click.echo(f"Nobody can type here, so the demo does:\n\n$ {_typed(run, said)}\n")
        await asyncio.sleep(self._pause_s)
        await answer_run(setup, run, Reply(**said.model_dump()))


def _typed(run: str, said: Said) -> str:
    given = [word for name, value in said.given.items() for word in (f"--{name}", str(value))]
    return endstop("answer", run, said.label, flags=shlex.join(given))


async def visitor(setup: Setup, run: str) -> None:
    """The visitor at the terminal. An answer that cannot be taken leaves the question open, to be asked again."""
    try:
        await answer_run(setup, run, Reply(), shown=True)
    except (BadInput, Refused) as refusal:
        click.echo(refusal.message)


def _guide(answers: tuple[Said, ...]) -> Person:
    """The tour's person: on a terminal the visitor may say it in other words."""

    async def guide(setup: Setup, run: str) -> None:
        click.echo(f"{ASKED}\n")
        if not sys.stdin.isatty():
            return await Scripted(answers)(setup, run)
        usual = answers[0].text
        words = f"Tell the model something, or press Enter for:\n  {usual}"
        prompt = asyncio.to_thread(click.prompt, words, default=usual, show_default=False, prompt_suffix="\n> ")
        return await answer_run(setup, run, Reply(label="guide", text=await prompt))

    return guide


async def _look_back(stage: Stage) -> None:
    click.echo(f"\n$ {endstop('show', stage.run)}\n")
    await show_run(stage.setup, stage.run)
    if sys.stdin.isatty():
        words = f"\nThe Web UI at {stage.server.ui} shows the same run, until you press Enter"
        await asyncio.to_thread(click.prompt, words, default="", show_default=False, prompt_suffix=" ")
    click.echo(f"\nNow with your own models, in examples/{stage.example.name}:")
    click.echo("`endstop dev`, and in a second shell `endstop start agent.toml --task @task.md --watch`")
