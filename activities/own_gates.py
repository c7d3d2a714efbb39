"""The gates that our own workers ask without a command: functions and schemas; opened with the worker.

Here: which gates there are, opening them, and what one finds. Not here: the commands (`run_gate`), gates that are
elsewhere (the workflow calls them), or the verdict that is kept (`verdicts`).
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.cutting import head
from activities.declared import Declared
from activities.declared_gates import FunctionGate, SchemaGate
from activities.function_gates import Fails, Found, GateFunction
from activities.functions import FunctionThreads, make_importable
from activities.tool_unusable import ToolUnusable

MAX_SCHEMA: Final = 4_096
"""Bytes of a schema that a model is shown; it fits into the end of an output that a repair plan quotes."""


@dataclass(frozen=True, kw_only=True)
class OwnGates:
    """By name."""

    functions: dict[str, GateFunction] = field(default_factory=dict)
    schemas: dict[str, SchemaGate] = field(default_factory=dict)

    async def found(self, gate: str, answer: str, workspace: Path | None) -> Found:
        """Ask a gate of ours once. KeyError: it is none."""
        if gate in self.functions:
            return await self.functions[gate].found(answer, workspace)
        return misfits(self.schemas[gate], answer)


def open_gates(declared: Declared, folder: Path, threads: FunctionThreads) -> OwnGates:
    """The gates. `folder` is that of endstop.toml. Raises `ToolUnusable`, one line for the operator."""
    make_importable(folder)
    functions: dict[str, GateFunction] = {}
    schemas: dict[str, SchemaGate] = {}
    for name, gate in declared.gates.items():
        if isinstance(gate, FunctionGate):
            functions[name] = GateFunction.of(gate, threads)
        elif isinstance(gate, SchemaGate):
            schemas[name] = checked(gate)
    return OwnGates(functions=functions, schemas=schemas)


def misfits(gate: SchemaGate, answer: str) -> Fails | None:
    """Why an answer is not JSON that fits, and the schema, which nobody else tells the model."""
    from activities.output_schema import misfit  # noqa: PLC0415 - a tenth of a second, for those who declare a schema

    fault = misfit(gate.fits, answer)
    if fault is None:
        return None
    schema = json.dumps(gate.fits, ensure_ascii=False, separators=(",", ":"))
    shown = schema if len(schema.encode()) <= MAX_SCHEMA else f"{head(schema, MAX_SCHEMA)}..."
    return Fails(text=f"error: answer: {fault}\nnote: it has to be JSON, with nothing around it, that fits {shown}")


def checked(gate: SchemaGate) -> SchemaGate:
    """The gate, whose schema is one. Raises `ToolUnusable`."""
    from activities.output_schema import refusal  # noqa: PLC0415 - as above

    try:
        problem = refusal(gate.fits)
    except RecursionError:
        problem = "is nested too deeply"
    if problem:
        raise ToolUnusable(f"gate {gate.name}: schema: {problem}")
    return gate
