"""What the operator declares on the worker, as types: providers, gates, workspaces, prices of a model.

`settings.py` fills them from `endstop.toml`; agents can only name them. Light: no SDK is loaded here.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from activities.declared_gates import DeclaredGate
from activities.declared_tools import DeclaredTool, McpServer
from activities.declared_workspaces import DeclaredWorkspace
from ledger.agent import AgentSpec, Name
from ledger.classifier_row import Row
from ledger.model import Frozen

Api = Literal["openai-chat", "openai-responses", "anthropic-messages", "google"]
"""The protocols of vendors that we speak: one row each in `vendors.ROWS`."""

Thinking = Literal["off", "minimal", "low", "medium", "high"]
"""How much a model thinks before it answers; each vendor's own scale is met as nearly as it can be."""


class Provider(Frozen):
    """One endpoint that speaks one vendor protocol."""

    name: Name
    api: Api
    base_url: str
    """Where requests go; agents cannot change it. No trailing slash."""
    key: SecretStr | None = None
    """Read from the variable `key_env` by `settings.py`; None where the endpoint needs none or it is missing."""
    key_env: str = ""
    key_header: str = ""
    """The header that carries the key where it is not the protocol's own; `authorization` carries it as a bearer."""
    headers: dict[str, str] = Field(default_factory=dict)
    query: dict[str, str] = Field(default_factory=dict)
    """Added to every request's address, such as Azure's `api-version`."""
    without: tuple[str, ...] = ()
    """Fields of a request that this endpoint refuses, such as Mistral's `stream_options`: they are left out."""
    files: bool = False
    """It has its vendor's files API: a file goes there once and is named by id; else it travels in each request."""
    project: str = ""
    """Google Cloud project: with it and `location`, api `google` is spoken as Vertex AI speaks it."""
    location: str = ""


Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
"""US dollars for a million tokens."""


class Model(Frozen):
    """What the operator knows of one target."""

    context_tokens: Annotated[int, Field(ge=1)] | None = None
    thinking: Thinking | None = None
    """None: what the model does by itself."""
    input_usd_per_mtok: Price | None = None
    """The operator's own prices outrank the price list's; 0 is a price, None is none."""
    output_usd_per_mtok: Price | None = None
    cache_read_usd_per_mtok: Price | None = None
    """None: as any other input."""
    cache_write_usd_per_mtok: Price | None = None
    """None: as any other input."""

    @model_validator(mode="after")
    def _prices_are_whole(self) -> Self:
        """Half a price would count the other half as nothing."""
        halves = (self.input_usd_per_mtok is None, self.output_usd_per_mtok is None)
        cached = self.cache_read_usd_per_mtok is not None or self.cache_write_usd_per_mtok is not None
        if any(halves) and (cached or not all(halves)):
            raise ValueError("a price needs both input_usd_per_mtok and output_usd_per_mtok; 0 says that it is free")
        return self


SandboxKind = Literal["bubblewrap", "none"]
"""What is around commands that run what a model wrote; without one they can do what the worker can."""


class Capture(Frozen):
    """Whether exact requests may be kept, and for how long; what providers say of failures is kept as long."""

    allowed: bool = True
    """False: an agent that asks for it is refused."""
    expires_days: Annotated[int, Field(ge=1, le=36_500)] | Literal["never"] = 30
    """Days (of 24 hours) after which a body is removed; it goes within a day after that."""

    @property
    def days(self) -> int | None:
        """None: never."""
        return self.expires_days if isinstance(self.expires_days, int) else None


class Declared(Frozen):
    """Everything the operator declared."""

    providers: dict[str, Provider] = Field(default_factory=dict)
    models: dict[str, Model] = Field(default_factory=dict)
    gates: dict[str, DeclaredGate] = Field(default_factory=dict)
    sandbox: SandboxKind = "bubblewrap"
    """Around the commands of gates and tools."""
    workspaces: dict[str, DeclaredWorkspace] = Field(default_factory=dict)
    workspace_root: Path = Path(".endstop/workspaces")
    """Where the copies live: `workspace_root / run / name`."""
    tools: dict[str, DeclaredTool] = Field(default_factory=dict)
    mcp: dict[str, McpServer] = Field(default_factory=dict)
    agents: dict[str, AgentSpec] = Field(default_factory=dict)
    """Agents that runs may start: as sub-agents, and as judges."""
    capture: Capture = Capture()
    rules: tuple[Row, ...] = ()
    """The operator's own rows of the classifier, which outrank ours."""
