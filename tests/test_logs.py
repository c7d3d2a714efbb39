"""Logs hold ids and numbers: our events are whole, everybody else's text is withheld, errors are types and places."""

import io
import json
import logging
import subprocess
import sys
import uuid
import warnings
from pathlib import Path

import pytest
import structlog

from logs import configure_logging

ROOT = Path(__file__).parent.parent
MARKER = "MARKER-5f3c9a"


class Captured:
    """Logging configured to write here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stream = io.StringIO()
        self._monkeypatch = monkeypatch

    def configure(self, *, json: bool | None) -> None:
        self._monkeypatch.setattr(sys, "stderr", self.stream)
        configure_logging(json=json)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def captured(monkeypatch):
    root = logging.getLogger()
    before = (root.handlers, root.level, logging.raiseExceptions)
    logs = Captured(monkeypatch)
    logs.configure(json=True)
    yield logs
    root.handlers, logging.raiseExceptions = before[0], before[2]
    root.setLevel(before[1])
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def raised() -> None:
    try:
        {}[MARKER]
    except KeyError as error:
        raise RuntimeError(MARKER) from error


def test_our_event_is_one_flat_line_with_its_ids_and_numbers(captured):
    structlog.stdlib.get_logger("activities.x").info("attempt.failed", target="openai:gpt-5", attempt=2, wait_s=1.5)
    (event,) = captured.events()
    assert event.pop("at").endswith("Z")
    assert event == {"event": "attempt.failed", "level": "info", "target": "openai:gpt-5", "attempt": 2, "wait_s": 1.5}


def test_an_event_by_the_standard_library_with_extra_is_the_same_as_ours(captured):
    logging.getLogger("temporalio.workflow").info("gate.charged", extra={"gate": "tests", "charges": 2})
    (event,) = captured.events()
    assert (event["event"], event["gate"], event["charges"]) == ("gate.charged", "tests", 2)


@pytest.mark.parametrize(
    "name", ["httpx2", "openai._base_client", "sqlalchemy.engine", "asyncio", "temporalio.activity"]
)
def test_the_text_of_somebody_elses_record_is_withheld_and_its_place_kept(captured, name):
    logging.getLogger(name).warning("request failed: %s", MARKER, extra={"body": MARKER})
    (event,) = captured.events()
    assert MARKER not in captured.text
    assert (event["event"], event["logger"]) == ("text.withheld", name)
    assert event["place"].startswith("test_logs.py:")


def test_somebody_elses_chatter_below_a_warning_is_not_logged(captured):
    logging.getLogger("httpx2").info("HTTP Request: POST %s", MARKER)
    assert captured.text == ""


def test_a_sentence_logged_by_us_is_withheld_too_because_it_may_quote(captured):
    structlog.stdlib.get_logger().warning(f"could not read {MARKER}")
    assert MARKER not in captured.text
    assert captured.events()[0]["event"] == "text.withheld"


def test_an_exception_is_its_types_and_where_it_was_raised_never_its_text(captured):
    try:
        raised()
    except RuntimeError:
        structlog.stdlib.get_logger().exception("attempt.broke")
        logging.getLogger("asyncio").exception("Task exception was never retrieved")
    assert MARKER not in captured.text
    assert [event["error"] for event in captured.events()] == ["RuntimeError < KeyError"] * 2
    assert all(event["raised_at"].startswith("test_logs.py:") for event in captured.events())


def test_a_value_that_is_no_id_or_number_is_reduced_to_its_type(captured):
    structlog.stdlib.get_logger().info("attempt.failed", error_body={"message": MARKER}, error=ValueError(MARKER))
    (event,) = captured.events()
    assert (event["error_body"], event["error"]) == ("<dict>", "<ValueError>")


def test_a_value_cannot_forge_a_line_or_move_the_cursor(captured):
    captured.configure(json=False)
    structlog.stdlib.get_logger().info("run.named", name='x"}\n{"event": "run.completed"}\x1b[2J')
    assert captured.text.count("\n") == 1
    assert "\x1b" not in captured.text


def test_an_endless_value_is_cut(captured):
    structlog.stdlib.get_logger().info("run.named", name="x" * 10_000)
    assert len(captured.text) < 400


def test_a_record_that_cannot_be_written_prints_nothing_of_itself(captured):
    logging.getLogger("odd").warning("%d", MARKER)
    assert MARKER not in captured.text


def test_a_warning_of_a_library_goes_the_same_way(captured):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(MARKER, stacklevel=1)
    assert MARKER not in captured.text


def test_without_a_terminal_logs_are_json(captured):
    captured.configure(json=None)
    structlog.stdlib.get_logger().info("worker.ready")
    assert captured.events()[0]["event"] == "worker.ready"


@pytest.fixture(scope="module")
def real_run(temporal_server) -> subprocess.CompletedProcess[str]:
    """A worker process in which an activity, a workflow task and a workflow fail, each with the marker in its text."""
    argv = [sys.executable, "-m", "tests.logged_run", temporal_server, f"logs-{uuid.uuid4().hex}", MARKER]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)


def test_failures_of_activities_and_workflows_are_logged_without_their_text(real_run):
    assert MARKER not in real_run.stderr
    events = {event["event"]: event for event in map(json.loads, real_run.stderr.splitlines())}
    assert events["activity.failed"]["error"] == "RuntimeError < KeyError"
    assert events["workflow_task.failed"]["error"] == "ValueError"
    assert {"workflow_id", "run_id", "activity"} <= set(events["activity.failed"])


def test_temporals_core_writes_nothing_to_stdout_and_no_failure_text(real_run):
    assert real_run.stdout == ""
    core = [line for line in real_run.stderr.splitlines() if "sdk_core" in line]
    assert core, "the failing workflow task makes the core warn; without that line this test proves nothing"


def test_events_of_workflows_and_activities_carry_their_ids_and_what_was_said(real_run):
    events = {event["event"]: event for event in map(json.loads, real_run.stderr.splitlines())}
    assert events["run.began"]["turn"] == 0
    assert "workflow_id" in events["run.began"]
    assert (events["attempt.failed"]["kind"], events["attempt.failed"]["body"]) == ("auth", "<dict>")
