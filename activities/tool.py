"""What a tool is to Endstop, whatever carries it out: what the model is told, how its calls are handled, where it runs.

Here: the shapes that all kinds of tools share. Not here: any kind of tool (`builtin_tools` and the modules of the
others), carrying a call out and keeping its result (`run_tool`), or deciding anything about it (the ledger).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from activities.tool_declaration import Handling, ToolDeclaration
from ledger.model import Frozen


class ToolResult(Frozen):
    """What a tool answers the model."""

    text: str
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One call as a tool gets it."""

    arguments: str
    """JSON text as the model wrote it, or as a person changed it; "" where there are none."""
    run: str
    """Id of the run's conversation."""
    key: str
    """The same for every time that this very call is carried out: something to be idempotent by."""
    folder: Path | None = None
    """The run's workspace, for a tool that works in it."""
    protected: Mapping[str, str] = field(default_factory=dict)
    """Paths in it that a tool refuses to write, each with the gate that checks the work by it."""
    said: tuple[bytes, ...] = ()
    """The conversation up to the answer that carries the call."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that this worker carries out."""

    declaration: ToolDeclaration
    run: Callable[[Asked], Awaitable[ToolResult]]
    """Whatever is wrong with a call is an answer to the model; an exception is trouble of ours and is retried."""
    own_limit: bool = False
    """It keeps its time limit by itself, and has more to say when that is over than that the call was called off."""
    in_workspace: bool = False
    """It works in the run's workspace, on the worker that holds it."""

    @property
    def handling(self) -> Handling:
        return self.declaration.handling
