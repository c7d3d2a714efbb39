"""`python -m simulator --script FILE [--port N] [--log FILE]`: the simulator as a process of its own.

Prints one line with its address when it is ready, and ends with 0 on SIGINT and SIGTERM.
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from simulator.script import Script, ScriptError
from simulator.server import Simulator


async def _run(script: Script, host: str, port: int, log: Path | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Simulator(script, log, host=host, port=port) as sim:
        print(f"simulator listening on {sim.url}", flush=True)  # noqa: T201 - the line that says ready
        await stop.wait()


def serve(script: Script, host: str = "127.0.0.1", port: int = 0, log: Path | None = None) -> None:
    """Run until told to stop; port 0 takes a free one. OSError: the address or the log cannot be used."""
    asyncio.run(_run(script, host, port, log))


def main(argv: list[str] | None = None) -> int:
    """The process's exit code: 0 stopped, 1 address or log not usable, 2 script or arguments not usable."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description="A scripted provider simulator.")
    parser.add_argument("--script", type=Path, help="TOML or JSON; without it every model gets a canned answer")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 (default) takes a free port")
    parser.add_argument("--log", type=Path, help="append one JSON line per request and per answer")
    args = parser.parse_args(argv)
    try:
        script = Script.load(args.script) if args.script else Script()
        serve(script, args.host, args.port, args.log)
    except ScriptError as problem:
        return _fail(str(problem), 2)
    except OSError as problem:
        return _fail(f"simulator: cannot listen on {args.host}:{args.port} or write its log: {problem}", 1)
    return 0


def _fail(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # noqa: T201 - the one line the caller reads
    return code


if __name__ == "__main__":
    sys.exit(main())
