"""How much a target thinks is the operator's word for it, in each vendor's own scale and within its answer's tokens."""

from typing import Any

import pytest

from activities.declared import Model
from ledger.target import Target
from simulator import Script
from tests.activities.model_bench import bench

ASKED: dict[tuple[str, str, str], Any] = {
    # protocol, model, declared: what the request then says of thinking
    ("openai-chat", "gpt-5", "low"): {"reasoning_effort": "low"},
    ("openai-responses", "gpt-5", "high"): {"reasoning": {"effort": "high"}},
    ("google", "gemini-3-pro-preview", "low"): {"thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"}},
    ("anthropic-messages", "claude-haiku-4-5", "high"): {"thinking": {"type": "enabled", "budget_tokens": 2_000}},
    ("anthropic-messages", "claude-haiku-4-5", "minimal"): {"thinking": {"type": "enabled", "budget_tokens": 1_024}},
    ("anthropic-messages", "claude-opus-4-8", "low"): {"thinking": {"type": "adaptive"}},
    ("anthropic-messages", "claude-haiku-4-5", "off"): {},
    ("openai-chat", "some-model", "off"): {},
}
WORDS = {"reasoning_effort", "reasoning", "thinkingConfig", "thinking"}


async def said(folder, api: str, model: str, thinking: Any, max_tokens: int = 4_000) -> dict[str, Any]:
    """What a request of a stage with so many tokens says of thinking; the simulator takes it as the vendor would."""
    async with bench(folder, api, script=Script(strict=True)) as b:
        b.caller._models = {f"sim:{model}": Model(thinking=thinking)}
        agent = {"models": [f"sim:{model}"], "limits": {"max_tokens": max_tokens}}
        trip = await b.trip(target=Target(provider="sim", model=model), agent_ref=await b.agent(agent))
        assert trip.outcome.outcome == "answered"
        body = b.sim.requests[0].body
        return {name: held for name, held in (body | body.get("generationConfig", {})).items() if name in WORDS}


@pytest.mark.parametrize(("asked", "words"), ASKED.items(), ids=lambda case: " ".join(case) if len(case) == 3 else None)
async def test_thinking_is_asked_for_in_the_vendors_own_words(tmp_path, asked, words):
    assert await said(tmp_path, *asked) == words


async def test_a_target_of_which_nothing_is_declared_does_what_it_does_by_itself(tmp_path):
    assert await said(tmp_path, "anthropic-messages", "claude-haiku-4-5", None) == {}


async def test_an_answer_too_short_to_think_in_is_asked_for_without_a_thought(tmp_path):
    """Anthropic refuses fewer than 1,024 tokens of thought, and as many as the answer may have."""
    assert await said(tmp_path, "anthropic-messages", "claude-haiku-4-5", "high", max_tokens=2_000) == {}
