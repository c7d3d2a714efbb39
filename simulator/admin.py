"""What another process may ask of a running simulator: who it is, what it received, a new script, a release.

These answers speak for no vendor. Paths: `GET /`, `GET /_received`, `POST /_script`, `POST /_release/LABEL`,
`POST /_expire` (all uploaded files) and `POST /_expire/ID`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from simulator.log import Log, Received
from simulator.routing import DIALECTS
from simulator.script import Script, ScriptError
from simulator.wire import Request

RELEASE: Final = "/_release/"
EXPIRE: Final = "/_expire"


@dataclass(frozen=True, kw_only=True)
class Controls:
    """What the admin paths may read and do."""

    log: Log
    script: Callable[[], Script]
    use: Callable[[Script], None]
    release: Callable[[str], None]
    expire: Callable[[str | None], int]


def answer(request: Request, controls: Controls) -> tuple[int, JsonValue]:
    """Status and body for a request that no dialect recognises."""
    match request.method, request.path:
        case "GET", "/":
            return 200, _about(controls)
        case "GET", "/_received":
            return 200, _received(controls.log)
        case "POST", "/_script":
            return _use(request.body, controls)
        case "POST", path if path.startswith(RELEASE) and path != RELEASE:
            controls.release(path.removeprefix(RELEASE))
            return 200, {"released": path.removeprefix(RELEASE)}
        case "POST", path if path == EXPIRE or path.startswith(f"{EXPIRE}/"):
            return 200, {"expired": controls.expire(path.removeprefix(EXPIRE).removeprefix("/") or None)}
        case method, path:
            return 404, {"error": f"simulator: nothing answers {method} {path}; GET / lists what does"}


def _about(controls: Controls) -> JsonValue:
    models: list[JsonValue] = [*sorted(controls.script().models)]
    apis: list[JsonValue] = [dialect.name for dialect in DIALECTS]
    return {
        "simulator": "provider simulator: every answer is scripted, none comes from a model",
        "apis": apis,
        "models": models,
        "received": len(controls.log.received),
        "admin": ["GET /_received", "POST /_script", "POST /_release/LABEL", "POST /_expire[/ID]"],
    }


def _received(log: Log) -> JsonValue:
    return {
        "requests": [_with_body(record) for record in log.received],
        "files": [record.model_dump(mode="json") for record in log.files],
        "answers": [record.model_dump(mode="json") for record in log.answered.values()],
    }


def _with_body(record: Received) -> JsonValue:
    return {**record.model_dump(mode="json"), "body": record.body}


def _use(body: bytes, controls: Controls) -> tuple[int, JsonValue]:
    try:
        script = Script.parse(json.loads(body), name="posted")
    except ScriptError as problem:
        return 422, {"error": str(problem)}
    except (ValueError, RecursionError) as problem:
        return 422, {"error": f"script posted: expected JSON: {problem}"}
    controls.use(script)
    return 200, {"models": [*sorted(script.models)]}
