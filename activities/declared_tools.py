"""The tools that the operator declares in `endstop.toml`, as types. Agents can only name them.

Here: what each kind of tool needs, and the names under which models know them. Light: nothing is imported for a tool,
and no server is started, before a worker carries it out.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Discriminator, Field, JsonValue, Tag, field_validator, model_validator

from activities.declared_words import CommandWord, PlainPath
from activities.tool_declaration import Approval, Handling, ToolDeclaration, ToolName
from ledger.agent import Name

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]
"""Name of an environment variable."""

Words = Annotated[str, Field(min_length=1, max_length=4_096)]
ProgramWord = Annotated[CommandWord, Field(min_length=1, max_length=4_096)]
NOTHING_ASKED: dict[str, JsonValue] = {"type": "object", "properties": {}}
"""The schema of a tool without arguments."""
TASK_ASKED: dict[str, JsonValue] = {
    "type": "object",
    "required": ["task"],
    "properties": {"task": {"type": "string", "description": "What it should do, with all that it has to know"}},
}
"""The schema of every sub-agent."""


def _a_function(named: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", named):
        raise ValueError('a function is named as "package.module:function"')
    return named


Imported = Annotated[str, AfterValidator(_a_function)]
"""`package.module:function` of the operator's, imported when the worker starts."""


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError('a readable path is absolute, such as "/opt/jdk"')
    return path


ReadablePath = Annotated[PlainPath, AfterValidator(_absolute)]
"""What a command's sandbox shows besides the system, read-only: a compiler in /opt, say."""


class _Declared(Handling):
    """What every declared tool may say of its calls."""

    name: ToolName

    @field_validator("approval", mode="before")
    @classmethod
    def _is_one_of_two_forms(cls, given: Any) -> Any:  # noqa: ANN401 - whatever the file holds
        """Told before pydantic tells of both forms at once."""
        patterns = isinstance(given, dict) and all(isinstance(one, str) for one in given.values())
        if not patterns and given not in ("never", "always", "once"):
            raise ValueError('should be "never", "always", "once", or a pattern for an argument: { amount = "^9" }')
        return given

    @field_validator("approval")
    @classmethod
    def _patterns_compile(cls, approval: Approval) -> Approval:
        for argument, pattern in approval.items() if isinstance(approval, dict) else ():
            try:
                re.compile(pattern)
            except re.error:
                raise ValueError(f'the pattern of "{argument}" is no regular expression') from None
        return approval

    @property
    def handling(self) -> Handling:
        """How its calls are handled."""
        return Handling.model_validate({name: getattr(self, name) for name in Handling.model_fields})


class ActivityTool(_Declared):
    """An activity of somebody's worker, in any language: it gets the arguments as one JSON object."""

    activity: Words
    """The activity's type."""
    task_queue: Words
    description: Words
    parameters: dict[str, JsonValue] = Field(default_factory=lambda: dict(NOTHING_ASKED))
    """A JSON schema of an object; a call that does not fit it is told to the model and never made."""
    heartbeat_s: Annotated[float, Field(gt=0, le=86_400)] | None = None
    """Where the activity heartbeats: how long without one until its worker counts as lost."""

    @property
    def declaration(self) -> ToolDeclaration:
        """What a model is told of it."""
        return ToolDeclaration(
            name=self.name, description=self.description, parameters=self.parameters, handling=self.handling
        )


class FunctionTool(_Declared):
    """A Python function of the operator's: its signature is the schema, its docstring the description."""

    function: Imported


class CommandTool(_Declared):
    """A command in the run's workspace, sandboxed as a gate's is; it takes no argument of the model's."""

    command: Annotated[tuple[ProgramWord, ...], Field(min_length=1)]
    description: Words
    output_bytes: Annotated[int, Field(ge=1_024, le=64 * 2**20)] = 2**20
    """What is kept of the output: the first and the last half of this each."""
    readable: tuple[ReadablePath, ...] = ()
    network: bool = False
    """Whether it has the machine's network; without a sandbox it has."""

    @property
    def declaration(self) -> ToolDeclaration:
        """What a model is told of it."""
        return ToolDeclaration(
            name=self.name, description=self.description, parameters=dict(NOTHING_ASKED), handling=self.handling
        )


class AgentTool(_Declared):
    """A sub-agent: a call is a run of another agent, its answer the result."""

    agent: Name
    """One that is declared under `[agents]`."""
    description: Words
    task_queue: str = ""
    """Of the workers that run it, which use the same store; "" : the run's own."""

    @property
    def declaration(self) -> ToolDeclaration:
        """What a model is told of it; its argument is the same for all sub-agents."""
        return ToolDeclaration(
            name=self.name, description=self.description, parameters=dict(TASK_ASKED), handling=self.handling
        )


KINDS: Final = ("activity", "function", "command", "agent")
"""The keys of which a tool has exactly one."""


def _kind(table: Any) -> str | None:  # noqa: ANN401 - whatever the file holds
    """The one kind that is named; None where that is none or several."""
    keys = table if isinstance(table, dict) else getattr(type(table), "model_fields", ())
    named = [kind for kind in KINDS if kind in keys]
    return named[0] if len(named) == 1 else None


DeclaredTool = Annotated[
    Annotated[ActivityTool, Tag("activity")]
    | Annotated[FunctionTool, Tag("function")]
    | Annotated[CommandTool, Tag("command")]
    | Annotated[AgentTool, Tag("agent")],
    Discriminator(
        _kind,
        custom_error_type="tool_kind",
        custom_error_message='a tool names exactly one of "activity", "function", "command" and "agent"',
    ),
]


def _an_address(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError('a server\'s url is "https://host[:port]/path"; its host or port cannot be read') from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise ValueError('a server\'s url is "https://host[:port]/path", with http or https and a host')
    if parts.username is not None or parts.password is not None:
        raise ValueError("a server's url holds no user or password; name the variable of the token as key_env")
    return url


class McpServer(_Declared):
    """A server of the Model Context Protocol: a program that is started, or an address."""

    command: tuple[ProgramWord, ...] = ()
    env: tuple[Variable, ...] = ()
    """Variables of the worker that the program gets besides PATH, HOME and LANG; it gets no other."""
    url: Annotated[str, AfterValidator(_an_address)] = ""
    """Of its streamable HTTP endpoint."""
    key_env: Variable | Literal[""] = ""
    """The variable that holds the bearer token for `url`."""
    tools: Annotated[tuple[Words, ...], Field(min_length=1)]
    """By the server's own names; models know them as `server_tool`."""

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError('an MCP server names either "command" or "url"')
        if self.env and not self.command:
            raise ValueError('"env" is what a program gets; the variable of a bearer token for "url" is "key_env"')
        if self.key_env and not self.url:
            raise ValueError('"key_env" is the token for "url"; what a program gets is named by "env"')
        return self

    def known_as(self, tool: str) -> str:
        """The name under which models know a tool of this server: what vendors take, at most 64 characters."""
        return re.sub(r"[^A-Za-z0-9_-]", "_", f"{self.name}_{tool}")[:64]
