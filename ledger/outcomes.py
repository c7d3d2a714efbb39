"""Facts: what the shell tells the ledger. One class a fact; nothing here decides anything."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from ledger.answers import OfCall
from ledger.failures import Failure
from ledger.interventions import Question
from ledger.model import Frozen
from ledger.records import Count, RequestDigest
from ledger.totals import Totals


class Usage(Frozen):
    """Tokens of one trip as the provider counted them. Written as a list where that is shorter, see `packed`."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    cost_usd: float | None = None
    """None: the price is unknown, which is not 0."""
    estimated: bool = False
    """An upper bound: the outcome is unknown, and the provider may have billed it."""

    @model_validator(mode="before")
    @classmethod
    def _unpacked(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        return dict(zip(cls.model_fields, value, strict=False)) if isinstance(value, list) else value

    def packed(self) -> list[JsonValue]:
        """Its fields in order, without names."""
        return list(self.model_dump(mode="json").values())


class ToolRequest(Frozen):
    """One tool call inside an answer, by position; its arguments stay in the store."""

    index: int
    """From 0, in the order of the answer."""
    name: str
    """The tool's name where the stage has such a tool, else ""."""
    arguments: str = ""
    """Digest of the arguments, for a call that a person may have to look at."""
    approval: Literal["", "always", "once"] = ""
    """Whether a person has to approve it; `once`: until the tool was approved in this run."""
    question: Question | None = None
    """What the model asks a person; the reply is the call's result."""
    said: OfCall | None = None
    """A person's word on this call."""
    refused: Literal["", "children", "depth"] = ""
    """The limit that keeps the ledger from starting a sub-agent; the model is told."""
    spend_usd: float | None = None
    """The most that a sub-agent may cost: its share of what the run may still spend; None: no limit."""


class Answered(Frozen):
    """An answer came and is in the store."""

    outcome: Literal["answered"] = "answered"
    finish_reason: str
    stopped_for: str | None = None
    tool_calls: tuple[ToolRequest, ...] = ()
    recovered: str = ""
    """Id of the earlier attempt that wrote the stored answer; a request that was sent all the same came after it."""
    summary: str = ""
    """Place of the answer in the store, where it is a summary that was asked for: it is no part of the conversation."""

    @field_validator("tool_calls", mode="before")
    @classmethod
    def _unpacked(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        named = isinstance(value, list) and all(isinstance(name, str) for name in value)
        return [{"index": i, "name": name} for i, name in enumerate(value)] if named else value


class Refused(Frozen):
    """No usable answer came."""

    outcome: Literal["refused"] = "refused"
    failure: Failure


class Held(Frozen):
    """Nothing was sent: the call could cost more than the run may still spend, or its price is unknown."""

    outcome: Literal["held"] = "held"
    bound_usd: float | None = None
    """The most that the call could cost; None: its price is unknown."""


Outcome = Annotated[Answered | Refused | Held, Field(discriminator="outcome")]


class Captured(Frozen):
    """A request whose exact body the store keeps."""

    bytes: Annotated[int, Field(ge=1, lt=2**63)]
    digest: str
    """Of the body, under which the store has it."""
    context: str
    """Head of the conversation that the request was made of."""

    @model_validator(mode="before")
    @classmethod
    def _unpacked(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        return dict(zip(cls.model_fields, value, strict=False)) if isinstance(value, list) else value


class Sent(Frozen):
    """Identity of the request as it left, by numbers and digests."""

    digest: RequestDigest
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    tool_catalog_version: str = ""
    assembly_version: str = ""
    captured: Captured | None = None
    """None: its body was not captured."""

    @model_validator(mode="before")
    @classmethod
    def _unpacked(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the wire holds
        if not isinstance(value, list):
            return value
        digest, *rest = value
        shape = dict(zip(RequestDigest.model_fields, digest, strict=False))
        return dict(zip(("digest", *list(cls.model_fields)[1:]), (shape, *rest), strict=False))

    def packed(self) -> list[JsonValue]:
        """Its fields in order, without names: history holds it for every attempt."""
        digest = list(self.digest.model_dump(mode="json").values())
        packed: list[JsonValue] = [digest, self.parameters, self.tool_catalog_version, self.assembly_version]
        return packed if self.captured is None else [*packed, list(self.captured.model_dump(mode="json").values())]


class Trip(Frozen):
    """One attempt as the activity saw it."""

    fact: Literal["trip"] = "trip"
    outcome: Outcome
    duration_ms: Count = 0
    waited_ms: Count = 0
    """The wait that rode inside the attempt's activity."""
    sent: Sent | None = None
    """None where nothing was sent, or the worker was lost before it could tell."""
    request_id: str = ""
    usage: Usage | None = None
    files: Count = 0
    """Files that the request named."""


class ToolOutcome(Frozen):
    """One tool call carried out; its result is in the store."""

    index: int
    name: str
    status: Literal["ok", "error", "rejected", "lost", "no_workspace"]
    """error went back to the model as such, rejected on a person's word.

    lost: a worker died in a tool that must not run twice; no_workspace: no worker has the run's workspace.
    """
    step: str = ""
    """Digest of tool, arguments and result; "" where the tool is exempt (polling) or gave none."""
    arguments: str = ""
    """Digest of the arguments."""
    bytes: Count = 0
    """Of the result, as the model is shown it."""
    duration_ms: Count = 0
    totals: Totals | None = None
    """What a sub-agent came to, its own sub-agents included."""


class ToolsRan(Frozen):
    """All calls of one answer were carried out, in order."""

    fact: Literal["tools"] = "tools"
    attempt_id: str
    """The attempt that carried the answer (A3)."""
    results: tuple[ToolOutcome, ...]


class Passed(Frozen):
    verdict: Literal["passed"] = "passed"


class Failing(Frozen):
    """The work does not pass; items and output stay in the store."""

    verdict: Literal["failing"] = "failing"
    version: int
    exact: str
    family: str
    items: Count
    output: str = ""
    """Reference of the full output in the store."""


class Broken(Frozen):
    """The gate itself could not run: infrastructure, never a failure of the work."""

    verdict: Literal["broken"] = "broken"


Verdict = Annotated[Passed | Failing | Broken, Field(discriminator="verdict")]


class GateReport(Frozen):
    """What one gate said, once: `seq` grows over the run, one at or below the last is ignored (X6)."""

    gate: str
    seq: int
    verdict: Verdict
    duration_ms: Count = 0
    totals: Totals | None = None
    """What a judge came to."""


class GatesRan(Frozen):
    fact: Literal["gates"] = "gates"
    reports: tuple[GateReport, ...]


class Compacted(Frozen):
    """The conversation was compacted, or there was nothing to drop: then both places are the same."""

    fact: Literal["compacted"] = "compacted"
    before: str
    """Place of the conversation, `length/head`."""
    after: str
    bytes_before: Count
    bytes_after: Count
    dropped: Count = 0
    """Tool results that became a line which says so."""
    replaced: Count = 0
    """Messages that the summary stands for."""


class Waited(Frozen):
    """A durable wait ended, by its timer or because a person interrupted it."""

    fact: Literal["waited"] = "waited"
    slept_s: float
    interrupted: bool = False


class Began(Frozen):
    """`prepare` is done: the first stage may begin."""

    fact: Literal["began"] = "began"


class Expired(Frozen):
    """Nobody answered an intervention before its deadline."""

    fact: Literal["expired"] = "expired"
    intervention: str
    """Its id: an answer may come, and the next question open, while this is told."""


Fact = Annotated[Began | Trip | Compacted | ToolsRan | GatesRan | Waited | Expired, Field(discriminator="fact")]
