"""What is known of a tool before anything is called: what a model is told of it, and how its calls are handled."""

from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from ledger.model import Frozen

ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
"""What every vendor takes as the name of a tool."""

Pattern = Annotated[str, Field(max_length=1_024)]
"""A regular expression, searched in an argument's value: a text as it is, anything else as JSON."""

Approval = Literal["never", "always", "once"] | dict[str, Pattern]
"""Whether a person has to approve a call; `once`: the first in a run. A table of argument patterns: where all match."""


class Handling(Frozen):
    """How the calls of a tool are handled, as the operator declared it."""

    approval: Approval = "never"
    idempotent: bool = False
    """It may run again where a worker died. Else nobody runs it twice: the run asks a person."""
    polling: bool = False
    """The same call with the same result is no standstill."""
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 600


HARMLESS: Final = Handling(idempotent=True)
"""It may run any number of times, and nobody has to be asked."""


class ToolDeclaration(Frozen):
    """What a model is told of a tool: when to use it, and which arguments it takes."""

    name: ToolName
    description: str
    parameters: dict[str, JsonValue]
    """A JSON schema of an object."""
    handling: Handling = Field(default=HARMLESS, exclude=True)
    """Told to nobody."""
