"""What the operator says of captured requests, and what he is told where he says it wrongly."""

import pytest

from settings import Settings, SettingsError, load_settings


def settings(tmp_path, text: str) -> Settings:
    (tmp_path / "endstop.toml").write_text(text)
    return load_settings(tmp_path / "endstop.toml", {})


@pytest.mark.parametrize(
    ("text", "allowed", "days"),
    [
        ("", True, 30),
        ("[capture]\nallowed = false\n", False, 30),
        ("[capture]\nexpires_days = 7\n", True, 7),
        ('[capture]\nexpires_days = "never"\n', True, None),
    ],
)
def test_requests_may_be_captured_and_expire_after_thirty_days_unless_told_otherwise(tmp_path, text, allowed, days):
    capture = settings(tmp_path, text).declared.capture
    assert (capture.allowed, capture.days) == (allowed, days)


@pytest.mark.parametrize("value", ["0", "-1", '"soon"', "true", "1.5"])
def test_a_time_that_is_none_is_refused_by_its_place(tmp_path, value):
    with pytest.raises(SettingsError, match=r"endstop\.toml: capture\.expires_days") as refused:
        settings(tmp_path, f"[capture]\nexpires_days = {value}\n")
    assert "\n" not in str(refused.value)


def test_a_declared_agent_that_asks_for_what_is_forbidden_is_refused(tmp_path):
    (tmp_path / "judge.toml").write_text('models = ["openai:gpt-5"]\n[policy]\ncapture = true\n')
    with pytest.raises(SettingsError, match=r"agents\.judge: agent: policy\.capture: the operator does not allow"):
        settings(tmp_path, '[capture]\nallowed = false\n[agents.judge]\nfile = "judge.toml"\n')
