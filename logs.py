"""Logs: one flat, dotted event a fact ("attempt.failed"), with ids and numbers. Never content.

Here: how events are written, and what is let through. What happens is logged where it happens, through structlog, in
workflows through `workflow.logger` with `extra=` (a structlog logger would repeat itself on replay).

Only our own events carry words. Of any other record (Temporal's SDK and its core, HTTP and SQL libraries) the text is
withheld, because it may quote a prompt, an answer or an error message: logger, level, place in the source and the
types of the exceptions are kept. The same holds for exceptions attached to our own events.
"""

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, Final

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger
from temporalio import activity, workflow
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

EVENT: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
"""What our events look like; a record of any other shape is somebody else's."""

MAX_TEXT: Final = 200
"""Characters of a value that are logged; ids are shorter."""

CORE: Final = "temporalio.core"

_KNOWN: Final = {
    # how the SDK's own messages begin -> what they are called here; their text is withheld all the same
    "Completing activity as failed": "activity.failed",
    "Completing as failure during heartbeat": "activity.failed",
    "Failed activation on workflow": "workflow_task.failed",
    "Failed handling activation on workflow": "workflow_task.failed",
    "Worker failed, shutting down": "worker.failed",
}
_IDS: Final = {
    "workflow_id": "workflow_id",
    "run_id": "run_id",
    "workflow_run_id": "run_id",
    "activity_id": "activity_id",
    "activity_type": "activity",
}
"""What is kept of the context that Temporal's loggers add -> what it is called here."""
_CONTEXTS: Final = ("temporal_workflow", "temporal_activity")


def configure_logging(*, json: bool | None = None) -> None:
    """Write all logs to stderr: as JSON lines, or for people. None: JSON where stderr is no terminal."""
    as_json = not sys.stderr.isatty() if json is None else json
    stamped: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]
    structlog.configure(
        processors=[*stamped, ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    _handle(ProcessorFormatter(foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *stamped], processors=_last(as_json)))
    # Temporal's loggers would append their context to the text, where no id can be found again.
    activity.logger.activity_info_on_message = False
    workflow.logger.workflow_info_on_message = False


def core_runtime() -> Runtime:
    """Temporal's core with its logs sent through ours; by itself it prints failure messages to stdout."""
    forwarding = LogForwardingConfig(
        logger=logging.getLogger(CORE), prepend_target_on_message=False, append_log_fields_to_message=False
    )
    levels = TelemetryFilter(core_level="WARN", other_level="ERROR")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=levels, forwarding=forwarding)))


def _handle(formatter: logging.Formatter) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(_is_wanted)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False  # else a record that cannot be written is printed, arguments and all


def _last(as_json: bool) -> list[Processor]:  # noqa: FBT001 - resolved by the caller
    if as_json:
        return [only_facts, ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()]
    console = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), timestamp_key="at", exception_formatter=structlog.dev.plain_traceback
    )
    return [only_facts, ProcessorFormatter.remove_processors_meta, console]


def _is_wanted(record: logging.LogRecord) -> bool:
    """Our events from info on, everybody else's from warning on."""
    return record.levelno >= logging.WARNING or _event(record) is not None


def _event(record: logging.LogRecord) -> str | None:
    """The event's name, if the record is one of ours."""
    message = record.msg.get("event") if isinstance(record.msg, Mapping) else record.msg
    return message if isinstance(message, str) and not record.args and EVENT.fullmatch(message) else None


def only_facts(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Keep of an event what may be logged: all ids and numbers of ours, hardly anything of somebody else's."""
    record: logging.LogRecord = event["_record"]
    facts = _ours(event) if _event(record) else _foreign(record)
    facts |= _raised(event.get("exc_info"))
    kept = {key: event[key] for key in ("at", "level", "_record", "_from_structlog")}
    return {"event": facts.pop("event"), **kept, **facts}


def _ours(event: EventDict) -> dict[str, Any]:
    left_out = {*_CONTEXTS, "_record", "_from_structlog", "exc_info", "stack_info", "stack", "exception"}
    return _context(event) | {key: _plain(value) for key, value in event.items() if key not in left_out}


def _foreign(record: logging.LogRecord) -> dict[str, Any]:
    text = record.msg if isinstance(record.msg, str) else ""
    name = next((name for start, name in _KNOWN.items() if text.startswith(start)), "text.withheld")
    facts = _context(vars(record)) | {"event": name, "logger": _plain(record.name)}
    return facts if record.name.startswith(CORE) else facts | {"place": f"{record.filename}:{record.lineno}"}


def _context(carrier: Mapping[str, Any]) -> dict[str, Any]:
    """The ids of the workflow or activity that Temporal's loggers put beside a record."""
    contexts = [carrier[key] for key in _CONTEXTS if isinstance(carrier.get(key), Mapping)]
    return {name: _plain(context[key]) for context in contexts for key, name in _IDS.items() if key in context}


def _raised(exc_info: Any) -> dict[str, str]:  # noqa: ANN401 - what loggers take: True, an exception, a triple
    """Types of an exception and of what caused it, and where it was raised; never its message."""
    if exc_info is True:
        exc_info = sys.exc_info()
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if not isinstance(error, BaseException):
        return {}
    chain: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(chain) < 8:  # noqa: PLR2004 - a chain may be circular
        chain.append(type(seen).__name__)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return {"error": " < ".join(chain)} | _raised_at(error)


def _raised_at(error: BaseException) -> dict[str, str]:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return {}
    file = frame.tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return {"raised_at": f"{file}:{frame.tb_lineno}"}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever was logged
    """A number or a short text on one line; of anything else only the type, since its text may be content."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        text = value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "..."
        return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return f"<{type(value).__name__}>"
