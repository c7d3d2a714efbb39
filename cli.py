# ruff: noqa: PLC0415 - heavy imports stay inside commands, so that `endstop --help` is fast
"""The command `endstop`: its commands, flags and exit codes. What each does is in `commands/`.

Exit codes: 0 done, 1 refused or failed, 2 not usable as typed. Errors are one line on stderr. `-o json` answers on
stdout in JSON that stays as it is from release to release.
"""

from pathlib import Path
from typing import Any, NoReturn

import click

from commands.flags import OUTPUT_FLAG, SETTINGS_FLAG, VERSION_FLAG, run_process, run_to_end, setup_flags
from commands.opening import Setup
from commands.refusals import OneLineGroup
from commands.rehearsals import demo, drill
from inbox.shell import endstop

DEV_UI = "http://localhost:8233"
GOES_ON = "no longer watching; the run goes on, `{}` shows it"


@click.group(cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@VERSION_FLAG
def main() -> None:
    """Runs LLM agents on Temporal so that every run ends: in an answer, or in front of a person."""


main.add_command(demo)
main.add_command(drill)


@main.command()
@setup_flags
def worker(*, setup: Setup) -> int:
    """Run a worker until it is told to stop."""
    from commands.working import work

    return run_to_end(work(setup))


@main.command()
@click.option("--script", type=Path, help="What simulated models answer (TOML).")
@click.option("--simulate", is_flag=True, help="Use simulated models although a key is set.")
@click.option("--ui-port", type=click.IntRange(1, 65_535), help="Port of the Web UI; else the server's plus 1000.")
@setup_flags
def dev(*, setup: Setup, script: Path | None, simulate: bool, ui_port: int | None) -> int:
    """Run a Temporal server with its UI, a worker and the inbox. Models are simulated where no key is set."""
    from commands.dev import develop

    return run_to_end(develop(setup, script=script, simulate=simulate, ui_port=ui_port))


@main.command()
@click.argument("agent", type=Path)
@click.option("--task", required=True, help="What to do: the text, @FILE, or - for standard input.")
@click.option("--id", "wanted", help="The run's id; else one that names the agent.")
@click.option("--capture", is_flag=True, help="Keep the exact requests of this run, as [policy] capture = true does.")
@click.option("--watch", is_flag=True, help="Show every attempt, wait, failover and charge until the run ends.")
@OUTPUT_FLAG
@setup_flags
def start(*, setup: Setup, agent: Path, task: str, wanted: str | None, capture: bool, watch: bool) -> int:
    """Start a run of the agent in the file AGENT."""
    from commands.starting import begin, read_request

    request = read_request(setup, agent, task, wanted, capture=capture)
    return run_to_end(begin(setup, request, watch=watch), goes_on=GOES_ON.format(endstop("watch", request.run)))


@main.command("ls")
@click.option("--needs-human", is_flag=True, help="Only runs that wait for a person.")
@OUTPUT_FLAG
@setup_flags
def list_runs(*, setup: Setup, needs_human: bool) -> int:
    """List the runs, those that go on first. The newest of each come first."""
    from commands.listing import list_them

    return run_to_end(list_them(setup, needs_human=needs_human))


@main.command()
@click.argument("run", metavar="ID")
@OUTPUT_FLAG
@setup_flags
def show(*, setup: Setup, run: str) -> int:
    """Show where a run stands, what it tried, and what it asks."""
    from commands.reading import show_run

    return run_to_end(show_run(setup, run))


@main.command()
@click.argument("run", metavar="ID")
@click.option("--after", type=click.IntRange(min=0), default=0, help="Only records after this sequence number.")
@click.option("--details", is_flag=True, help="Also what providers said of failures, secrets masked, while it is kept.")
@OUTPUT_FLAG
@setup_flags
def journal(*, setup: Setup, run: str, after: int, details: bool) -> int:
    """Tell what happened in a run, one line a record."""
    from commands.reading import show_journal

    return run_to_end(show_journal(setup, run, after, with_details=details))


@main.command()
@click.option("--since", help="Only what happened since: 7d, 12h, 30m, 2w ago, or a date such as 2026-11-01.")
@click.option("--agent", help="Only the runs of the agent of this name.")
@click.option("--output", "-o", "form", type=click.Choice(["text", "json", "csv"]), default="text")
@click.option("--csv", "form", flag_value="csv", help="The same as -o csv: one row a number.")
@SETTINGS_FLAG
def stats(*, settings: Path | None, since: str | None, agent: str | None, form: Any) -> int:  # noqa: ANN401 - a choice
    """Add up failures, waits, failovers and costs across runs. Questions too; all of it from the store."""
    from commands.stats import show_stats

    return run_to_end(show_stats(settings, since, agent, form))


@main.command()
@click.argument("run", metavar="ID")
@click.option("--attempt", metavar="T.C.A", help="Print what this attempt sent instead, where it was captured.")
@click.option("--redact", is_flag=True, help="Remove all that the run, which has ended, said and was told.")
@click.option("--force", is_flag=True, help="With --redact: you know that it ended, though nobody can tell.")
@OUTPUT_FLAG
@setup_flags
def transcript(*, setup: Setup, run: str, attempt: str | None, redact: bool, force: bool) -> int:
    """Print a run's conversation, or remove it."""
    from commands.reading import print_transcript

    return run_to_end(print_transcript(setup, run, attempt, redact=redact, force=force))


@main.command()
@click.argument("run", metavar="ID")
@click.option("--attempt", metavar="T.C.A", help="Only this attempt's, such as 3.1.2; else all of the run.")
@OUTPUT_FLAG
@setup_flags
def redact(*, setup: Setup, run: str, attempt: str | None) -> int:
    """Remove captured requests and error details of a run. Their sizes and digests stay."""
    from commands.removing import redact_run

    return run_to_end(redact_run(setup, run, attempt))


@main.command()
@click.argument("run", metavar="[ID]", required=False)
@click.option("--run-id", help="Only this execution of the run; else all that Temporal still has.")
@click.option("--file", help="A history that `temporal workflow show --output json` printed; - is standard input.")
@click.option("--all", "every", is_flag=True, help="Every run that is under way.")
@OUTPUT_FLAG
@setup_flags
def replay(*, setup: Setup, run: str | None, run_id: str | None, file: str | None, every: bool) -> int:
    """Tell whether a run could go on with the code installed here. Nothing is called and nothing changes."""
    from commands.replay import replay as replay_runs

    return run_to_end(replay_runs(setup, run, run_id, file, every=every))


@main.command()
@OUTPUT_FLAG
@setup_flags
def doctor(*, setup: Setup) -> int:
    """Check what a setup needs, line by line, and say what to do. Exit code 0: nothing is wrong."""
    from commands.doctor import examine

    return run_to_end(examine(setup))


@main.command("output")
@click.argument("run", metavar="ID")
@click.argument("wanted", metavar="[GATE|REF]", required=False)
@OUTPUT_FLAG
@setup_flags
def print_output(*, setup: Setup, run: str, wanted: str | None) -> int:
    """Print all that a failed gate printed. The newest, or GATE's; or what the store has under REF."""
    from commands.outputs import show_output

    return run_to_end(show_output(setup, run, wanted))


@main.command()
@click.argument("run", metavar="ID")
@OUTPUT_FLAG
@setup_flags
def watch(*, setup: Setup, run: str) -> int:
    """Show what happens in a run as it happens, until the run ends."""
    from commands.reading import watch_run

    return run_to_end(watch_run(setup, run), goes_on=GOES_ON.format(endstop("watch", run)))


@main.command()
@click.argument("run", metavar="ID")
@click.argument("label", required=False)
@click.argument("value", metavar="[VALUE]", required=False)
@click.option("--text", help="Words for guide, reply, reject; a JSON object for edit: the text, @FILE, or -.")
@click.option("--target", help="The model for failover, as PROVIDER:MODEL.")
@click.option("--amount", type=float, help="The amount for raise: turns, or US dollars.")
@click.option("--reason", help="Why, for stop.")
@click.option("--intervention", help="Answer only this intervention; else the one that is open now.")
@click.option("--digest", help="With --intervention: the digest of what was shown.")
@OUTPUT_FLAG
@setup_flags
def answer(*, setup: Setup, run: str, **given: Any) -> int:  # noqa: ANN401 - the flags above
    """Answer what a run asks. Without LABEL, on a terminal, show it and ask."""
    from commands.replying import Reply, answer_run

    return run_to_end(answer_run(setup, run, Reply(**given)))


@main.command()
@click.argument("file", default="-")
@OUTPUT_FLAG
@SETTINGS_FLAG
def classify(*, file: str, output: str, settings: Path | None) -> int:
    """Judge a provider's answers in FILE as a run would.

    FILE (- is standard input) is JSON, or JSON lines. Any key may be missing, but not all of the last four:

    {"provider": "openai", "api": "openai-chat", "status": 429, "headers": {"retry-after": "20"}, "body": "...",
    "transport": null}
    """
    from commands.classify import tell

    tell(file, settings, as_json=output == "json")
    return 0


@main.command()
@click.argument("file", default="-")
@click.option("--root", default="", help="The checkout's folder, cut off paths.")
@click.option("--exit-code", type=int, default=1, show_default=True, help="The tool's exit code.")
@click.option("--at", help="When it ran (RFC 3339 or unix seconds): times close to it are masked.")
@click.option("--jsonl", is_flag=True, help="FILE holds lines of {output, rc, root, at}; answer each with a line.")
@OUTPUT_FLAG
def fingerprint(*, file: str, output: str, jsonl: bool, **known: Any) -> int:  # noqa: ANN401 - the flags above
    """Show the identity of a failing tool's output. FILE (- is standard input) has it; its items are shown too."""
    from commands.fingerprint import known_of, tell, tell_each

    if jsonl:
        return 0 if tell_each(file, known_of(**known)) else 2
    tell(file, known_of(**known), as_json=output == "json")
    return 0


@main.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=8234, show_default=True, help="0: any free one.")
@setup_flags
def inbox(*, setup: Setup, port: int) -> int:
    """Serve a page that lists what runs ask, and takes answers. It is for this machine."""
    from commands.serving import serve

    return run_to_end(serve(setup, port))


@main.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=8235, show_default=True, help="0: any free one.")
@click.option("--ui", default=DEV_UI, show_default=True, metavar="URL", help="Where the Web UI is: only it may ask.")
@SETTINGS_FLAG
def codec(*, port: int, ui: str, settings: Path | None) -> int:
    """Let Temporal's Web UI and command show encrypted payloads."""
    from commands.decoding import serve

    return run_to_end(serve(settings, port, ui))


@main.command()
@click.option("--new", is_flag=True, help="Print a fresh key instead.")
@click.option("--rotate", is_flag=True, help="Encrypt all that the store has with the newest key.")
@OUTPUT_FLAG
@SETTINGS_FLAG
def keys(*, settings: Path | None, output: str, new: bool, rotate: bool) -> int:
    """Show how much of the store is encrypted under which key."""
    from commands.keys import print_new, show_keys

    return print_new() if new else run_to_end(show_keys(settings, rotate=rotate, as_json=output == "json"))


@main.command()
@click.argument("run", metavar="ID")
@click.argument("directive", type=click.Choice(["guide", "stop", "pause", "model"]))
@click.argument("value", required=False)
@click.option("--reason", default="", help="Why, for stop.")
@OUTPUT_FLAG
@setup_flags
def tell(*, setup: Setup, run: str, directive: str, value: str | None, reason: str) -> int:
    """Tell a run something unasked: guide, pause, model or stop. With guide TEXT, model PROVIDER:MODEL."""
    from commands.replying import tell_run

    return run_to_end(tell_run(setup, run, directive, value=value, reason=reason))


def run() -> NoReturn:
    """The command's process."""
    run_process(main)


if __name__ == "__main__":
    run()
