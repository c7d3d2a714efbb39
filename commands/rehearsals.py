# ruff: noqa: PLC0415 - heavy imports stay inside commands, so that `endstop --help` is fast
"""The commands that play on simulated models, as the command line has them: `demo` and `drill`."""

from pathlib import Path

import click

from commands.flags import OUTPUT_FLAG, SETTINGS_FLAG, run_to_end


@click.command()
@click.argument("name", required=False)
def demo(*, name: str | None) -> int:
    """Play a guided tour that ends by itself. Failures, a failover, repairs, guidance. With NAME: that example."""
    from commands.demo import play, tour

    return run_to_end(tour() if name is None else play(name))


@click.command()
@click.argument("agent", type=Path)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="FAULT",
    help="How they go away, repeatable: down, rate_limited, key_refused (without a word these three), overloaded, "
    "unreachable, quota_exhausted, billing, model_unavailable, content_refused.",
)
@OUTPUT_FLAG
@SETTINGS_FLAG
def drill(*, agent: Path, faults: tuple[str, ...], output: str, settings: Path | None) -> int:
    """Rehearse that each model of an agent goes away. Who answers instead, when, or who is asked? AGENT is its file.

    Simulated models, a server and a worker of its own: no key is used and no run of yours is touched. Exit code 0: no
    outage of one model or provider needs a person.
    """
    from commands.drill import drill as rehearse

    return run_to_end(rehearse(settings, agent, faults, as_json=output == "json"))
