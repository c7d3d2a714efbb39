"""What a starter asks for (`AgentSpec`) and what `prepare` made of it (`Plan`).

A spec names what the operator declared; it cannot bring a URL, a command or a key, so there is no field for one.
A plan holds identity and numbers only: instructions and task stay in the store.
"""

import json
import re
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, Field, JsonValue, ValidatorFunctionWrapHandler, field_validator, model_validator

from ledger.model import Frozen
from ledger.policy import Policy
from ledger.target import Target

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
FilePath = Annotated[str, Field(min_length=1, max_length=4_096)]
"""Path of a file below the agent's workspace."""
_NO_REF: Final = re.compile(r"^[-/.]|[\s~^:?*\[\\]|\.\.|@\{|//|[/.]$|\.lock$")
"""What git takes for an option, a range, a pattern or a place of its own (git-check-ref-format)."""


def a_ref(name: str) -> str:
    """Refuse what is no plain name of a branch, a tag or a commit."""
    if not name.isprintable() or _NO_REF.search(name):
        raise ValueError('should be a branch, a tag or a commit, such as "main" or "release-2"')
    return name


Ref = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(a_ref)]
MAX_STAGES = 32
MAX_FILES = 20
"""Files of one stage; vendors take 20 images and more in one request."""
MAX_SCHEMA_BYTES = 65_536
"""UTF-8 bytes of an output schema as JSON; it goes along with every request of the stage."""


class Limits(Frozen):
    """Limits of one stage."""

    turns: Annotated[int, Field(strict=True, ge=1, lt=2**31)] = 100
    max_tokens: Annotated[int, Field(strict=True, ge=1, lt=2**31)] = 8_192
    """Output tokens of one answer; sent to every vendor (Anthropic's client would default to 128,000)."""
    temperature: Annotated[float, Field(strict=True, ge=0, le=2)] | None = None


class StageSpec(Frozen):
    """A named phase of a run. `models` has no default: which model spends your money is your choice."""

    name: Name
    instructions: str = ""
    models: Annotated[tuple[Target, ...], Field(min_length=1, max_length=16)]
    tools: tuple[Name, ...] = ()
    gates: tuple[Name, ...] = ()
    files: Annotated[tuple[FilePath, ...], Field(max_length=MAX_FILES)] = ()
    """Images, PDFs and texts of the workspace, as they are when the run starts; they come with the stage's task."""
    output: dict[str, JsonValue] | None = None
    """JSON schema of the object that the stage's answer is; None: free text. `prepare` checks that it is a schema."""
    limits: Limits = Limits()

    @field_validator("output", mode="wrap")
    @classmethod
    def _is_of_an_object(cls, given: Any, read: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401 - as pydantic has it
        """Vendors take a schema of an object only."""
        if given is None:
            return None
        try:
            output = read(given)
            size = len(json.dumps(output, ensure_ascii=False, allow_nan=False).encode())
        except ValueError:  # where in it is of no use: a path of the schema's own names, as long as that is deep
            raise ValueError("should be a JSON schema: a table of JSON values, not nested too deeply") from None
        if output.get("type") != "object":
            raise ValueError('should be a JSON schema with type "object" at its top')
        if size > MAX_SCHEMA_BYTES:
            raise ValueError(f"has {size:,} bytes as JSON, at most {MAX_SCHEMA_BYTES:,} are taken")
        return output

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for field in ("models", "tools", "gates", "files"):
            names = getattr(self, field)
            if len(set(names)) != len(names):
                raise ValueError(f"stage {self.name}: {field} names one thing twice")
        return self


class AgentSpec(Frozen):
    """An agent. A single stage may be written flat: `{"models": [...], "instructions": ...}`."""

    name: Name = "agent"
    workspace: Name | None = None
    """A workspace that the operator declared; needed by file tools and command gates."""
    workspace_ref: Ref | None = None
    """Branch, tag or commit of a workspace from git, where the operator allows another than the declared one."""
    policy: Policy = Policy()
    stages: Annotated[tuple[StageSpec, ...], Field(min_length=1, max_length=MAX_STAGES)]

    @model_validator(mode="before")
    @classmethod
    def _single_stage_written_flat(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        if not isinstance(value, dict) or "stages" in value:
            return value
        flat = {k: v for k, v in value.items() if k in StageSpec.model_fields and k != "name"}
        rest = {k: v for k, v in value.items() if k not in flat}
        return rest | {"stages": [{"name": "main", **flat}]}

    @model_validator(mode="after")
    def _stage_names_are_unique(self) -> Self:
        names = [stage.name for stage in self.stages]
        if len(set(names)) != len(names):
            raise ValueError("two stages have the same name")
        return self


class StagePlan(Frozen):
    """A stage as the ledger needs it."""

    name: str
    models: tuple[Target, ...]
    gates: tuple[str, ...] = ()
    turns: int = 100


class Plan(Frozen):
    """What `prepare` resolved; in history from then on."""

    agent: str = ""
    """The agent's name."""
    stages: tuple[StagePlan, ...]
    policy: Policy = Policy()
    context_tokens: dict[str, int] = Field(default_factory=dict)
    """Known context windows by target; a target of unknown size is never called larger."""
    workspace: str = ""
    """Name of the claimed workspace; "" where the agent has none."""
    revision: str = ""
    """What it was made of: `git:COMMIT` or `sha256:DIGEST` of an archive; "" : a folder, as it was."""
    worker: str = ""
    """Task queue of the worker that holds it."""
    agents: tuple[str, ...] = ()
    """Tools whose calls are runs of their own."""
    gates_outside: tuple[str, ...] = ()
    """Gates that do not work in the workspace."""
    depth: int = 0
    """0: nobody started this run as a sub-agent."""
