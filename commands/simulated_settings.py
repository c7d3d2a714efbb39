# ruff: noqa: PLC0415 - `endstop --help` loads no price list
"""An operator's settings as a worker of a drill reads them: the same models and rows, at simulated providers.

What stays: which providers there are and which API each speaks, what is said of the agent's models, and the rows of the
classifier. What is replaced: addresses and keys. All else (tools, gates, store, workspaces, encryption) is left out.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from activities.declared import Api, Model, Provider
from activities.toml_text import read_toml
from commands.outages import targets_of
from ledger.agent import AgentSpec
from ledger.target import Target

if TYPE_CHECKING:
    from settings import Settings

_PROBE: Final = 1_000_000
"""Tokens, whose price is the price of a million."""


def at_simulator(api: Api, url: str) -> str:
    """The base URL of a provider that a simulator plays."""
    return url + ("/v1" if api.startswith("openai") else "")


def simulated(settings: "Settings", agent: AgentSpec, urls: Mapping[str, str]) -> str:
    """The settings as TOML; `urls` has the simulator of each provider of the agent."""
    providers, models = settings.declared.providers, settings.declared.models
    said = {one: models.get(str(one), Model()) for one in targets_of(agent)}
    if agent.policy.spend.limit_usd is not None:
        said = {one: _priced(one, providers[one.provider], model) for one, model in said.items()}
    return toml(
        {
            "providers": {
                name: {"api": providers[name].api, "base_url": at_simulator(providers[name].api, url)}
                for name, url in urls.items()
            },
            "models": {str(one): model.model_dump(mode="json", exclude_none=True) for one, model in said.items()},
            "classify": read_toml(settings.source.read_bytes()).get("classify", []) if settings.source else [],
        }
    )


def _priced(target: Target, provider: Provider, said: Model) -> Model:
    """The model with its listed price: the list knows some providers by their address alone, which is another here."""
    from activities.pricing import Tariff

    tariff = Tariff(target=target, provider=provider, own=said)
    prices = (tariff.most(_PROBE, 0), tariff.most(0, _PROBE))
    if said.input_usd_per_mtok is not None or None in prices:
        return said
    return said.model_copy(update={"input_usd_per_mtok": prices[0], "output_usd_per_mtok": prices[1]})


def toml(document: Mapping[str, Any]) -> str:
    """A document of tables, lists and plain values as TOML, a line for each of its keys."""
    return "".join(f"{name} = {_value(value)}\n" for name, value in document.items())


def _value(value: Any) -> str:  # noqa: ANN401 - as TOML has it
    match value:
        case dict():
            return "{" + ", ".join(f"{_value(name)} = {_value(held)}" for name, held in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_value, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
