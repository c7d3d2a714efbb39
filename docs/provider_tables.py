"""The classifier's rows as Markdown, for `providers.md`: one table a vendor, and one a cause that any of them may name.

Here: what a row says in plain words. Not here: the page around it, and how it is kept up to date (`tables.py`).
"""

from collections.abc import Iterable, Iterator

from ledger.classifier_row import Row
from ledger.classifier_rows_causes import ACCESS, KEYS, NAMED, POLICY
from ledger.classifier_rows_china import CHINA
from ledger.classifier_rows_gateways import GATEWAYS
from ledger.classifier_rows_google_amazon import AMAZON, GOOGLE
from ledger.classifier_rows_limits import ALLOWANCES, MONEY, SIZES
from ledger.classifier_rows_openai_anthropic import ANTHROPIC, OPENAI
from ledger.classifier_rows_status import CAPACITY, FAULTS, RATES, STATUSES
from ledger.classifier_rows_transport import ANSWERS, TRANSPORT
from ledger.failures import Failure

SHOWN = 6
"""Values of one condition that a cell shows; the code has them all."""

FIRST = (
    ("How the trip broke off", TRANSPORT),
    ("How a whole answer ended", ANSWERS),
)
VENDORS = (*CHINA, *GATEWAYS, *GOOGLE, *AMAZON, *OPENAI, *ANTHROPIC)
LAST = (
    ("Money", MONEY),
    ("Allowances", ALLOWANCES),
    ("Sizes", SIZES),
    ("Policy", POLICY),
    ("Access", ACCESS),
    ("Keys", KEYS),
    ("What a 403 or 404 names", NAMED),
    ("No room", CAPACITY),
    ("Rates", RATES),
    ("Faults", FAULTS),
    ("What is left: shared codes and the status", STATUSES),
)
NAMES = {
    "ark": "Volcengine Ark", "bedrock": "Amazon Bedrock", "cliproxy": "CLIProxyAPI", "dashscope": "Alibaba DashScope",
    "google": "Google: Gemini, Vertex AI, Cloud Code", "huggingface": "Hugging Face", "hunyuan": "Tencent Hunyuan",
    "litellm": "LiteLLM", "llamacpp": "llama.cpp", "minimax": "MiniMax", "newapi": "New API", "nvidia": "NVIDIA",
    "openai": "OpenAI, Azure included", "opengateway": "OpenGateway", "openrouter": "OpenRouter",
    "qianfan": "Baidu Qianfan", "siliconflow": "SiliconFlow", "spark": "iFlytek Spark", "tgi": "TGI",
    "watsonx": "IBM watsonx", "workersai": "Cloudflare Workers AI", "zhipu": "Zhipu, z.ai",
}  # fmt: skip
"""Names of vendors where they are not simply the rule's first word."""


def rows() -> str:
    """Every row in the order of `ledger/classify.py`, vendors each by themselves."""
    sections = [*FIRST, *_by_vendor(VENDORS), *LAST]
    return "\n\n".join(f"### {title}\n\n{_table(listed)}" for title, listed in sections)


def matches(row: Row) -> str:
    """The conditions of a row, all of which must hold."""
    return "; ".join(_conditions(row))


def _by_vendor(listed: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    found: dict[str, list[Row]] = {}
    for row in listed:
        found.setdefault(row.rule.partition(".")[0], []).append(row)
    return [(NAMES.get(vendor, vendor.capitalize()), own) for vendor, own in found.items()]


def _table(listed: Iterable[Row]) -> str:
    head = ["| rule | matches | kind | flags | source |", "|---|---|---|---|---|"]
    return "\n".join(
        head + [f"| {row.rule} | {matches(row)} | {row.kind.value} | {_flags(row)} | {row.source} |" for row in listed]
    )


def _conditions(row: Row) -> Iterator[str]:
    lists = (
        ("provider", row.providers),
        ("broke off as", row.ended),
        ("status", row.statuses),
        ("body is", row.shapes),
        ("finish reason", [f"`{reason}`" for reason in row.finishes]),
        ("code", [f"`{code}`" for code in row.codes]),
        ("says", [_quoted(phrase) for phrase in row.phrases]),
        ("but not", [_quoted(phrase) for phrase in row.unless]),
    )
    yield from (f"{what} {_some(values)}" for what, values in lists if values)
    if row.named is not None:
        yield "an error is named" if row.named else "no error is named"
    if row.over_limit is not None:
        yield f"asks for {'' if row.over_limit else 'no '}more than the whole limit"
    yield from _waits(row)


def _waits(row: Row) -> Iterator[str]:
    if row.wait_over is not None:
        yield f"states a wait over {row.wait_over:g} s"
    if row.wait_within is not None:
        yield f"states a wait of {row.wait_within:g} s at most"
    if row.wait_unstated:
        yield "states no wait"


def _some(values: Iterable[str]) -> str:
    listed = list(values)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


def _quoted(phrase: str) -> str:
    return f'"{phrase.replace(" * ", " … ")}"'


def _flags(row: Row) -> str:
    """The flags as they apply: the row's own, else those of its kind."""
    judged = Failure.of(
        row.kind,
        transient=row.transient,
        capacity=row.capacity,
        failover=row.failover,
        renew_files=row.renew_files,
        outcome_unknown=row.outcome_unknown,
    )
    names = ("transient", "capacity", "failover", "renew_files", "outcome_unknown")
    return ", ".join(name for name in names if getattr(judged, name)) or "-"
