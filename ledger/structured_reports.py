"""Reports a tool writes for machines: XML (JUnit, Checkstyle) and JSON (SARIF, linters' reporters).

Here: finding the failing items in such a document by the names everybody gives them. Not here: text reports
(`report_forms`, `readings`). A document that is cut off, malformed or names no failure is left to the text readings.

The standard library parses both: no entity is ever expanded (a document that declares one is refused), and depth is
bounded by the parsers themselves.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final
from xml.etree import ElementTree as ET

from ledger.failing_items import Item, Mask, condense

_FAILED: Final = ("failure", "error", "violation")
_MESSAGES: Final = ("message", "msg", "text", "description", "reason")
_FILES: Final = ("filePath", "file", "filename", "fileName", "path", "uri", "resource", "loc_path")
_RULES: Final = ("ruleId", "rule", "code", "check_id", "check_name", "cop_name", "linter", "rule_id", "type")
_MILD: Final = frozenset({"note", "none", "info", "information", "hint", "ignored", "pass", "passed", "ok"})

_EVENTS: Final = re.compile(r'\{"(?:Time|Action|ImportPath|reason)":')

MAX_DEPTH: Final = 40
"""Levels walked into a JSON document; SARIF needs eight."""


def read_structured(text: str, mask: Mask) -> tuple[Item, ...]:
    """The failing items of a document that is XML or JSON as a whole; empty where it is neither or names none."""
    body = text.strip()
    if body.startswith("<"):
        return tuple(_xml_items(body, mask))
    if body.startswith(("{", "[")):
        return tuple(_json_items(body, mask))
    return ()


def told_by_events(text: str) -> str:
    """The text that a stream of JSON objects carries, one event a line; any other text as it is.

    `go test -json` wraps what it prints in `Output`, each test's in order; cargo wraps messages in `rendered`.
    """
    if not text.startswith("{") or not _EVENTS.match(text):
        return text
    told: dict[str, list[str]] = {}
    for line in text.split("\n"):
        event = _event(line)
        said = event.get("Output") if event else f"{line}\n"
        said = said or _inner(event, "message").get("rendered")
        if isinstance(said, str):
            told.setdefault(f"{event.get('Package')} {event.get('Test')}", []).append(said)
    return "".join(said for parts in told.values() for said in parts)


def _event(line: str) -> Mapping[str, object]:
    try:
        event = json.loads(line) if line.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _xml_items(body: str, mask: Mask) -> Iterator[Item]:
    if "<!DOCTYPE" in body or "<!ENTITY" in body:
        return
    try:
        root = ET.fromstring(body)  # noqa: S314  no declarations, hence no entities to expand
    except ET.ParseError:
        return
    for parent in root.iter():
        for child in parent:
            if child.tag.rpartition("}")[2] in _FAILED:
                yield _xml_item(parent, child, mask)


def _xml_item(parent: ET.Element, failed: ET.Element, mask: Mask) -> Item:
    names = (parent.get("classname") or parent.get("file") or "", parent.get("name") or "")
    said = [failed.get("message") or "", *(failed.text or "").splitlines()]
    message, source, frames = condense([line for line in dict.fromkeys(said) if line.strip()], mask)
    return Item(
        kind="report",
        place=mask("::".join(name for name in names if name)),
        code=mask(failed.get("type") or failed.get("source") or ""),
        message=message,
        source=source,
        frames=frames,
    )


def _json_items(body: str, mask: Mask) -> Iterator[Item]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):  # text that only begins like JSON, or brackets without end
        return
    yield from _walk(document, "", mask, 0)


def _walk(node: object, file: str, mask: Mask, depth: int) -> Iterator[Item]:
    if depth > MAX_DEPTH:
        return
    if isinstance(node, list):
        for child in node:
            yield from _walk(child, file, mask, depth + 1)
    elif isinstance(node, dict):
        file = _text(node, _FILES) or file
        rule = _text(node, _RULES)
        message = _text(node, _MESSAGES) or _text(_inner(node, "message"), _MESSAGES)
        place = file or _location(node, 0) or _inside(node)
        if message and place and _rank(node) not in _MILD and not _holds_findings(node):
            said, source, frames = condense(message.splitlines(), mask)
            yield Item(kind="report", place=mask(place), code=mask(rule), message=said, source=source, frames=frames)
            return
        for child in node.values():
            yield from _walk(child, file, mask, depth + 1)


def _holds_findings(node: Mapping[str, object]) -> bool:
    return any(
        isinstance(child, list) and any(isinstance(one, dict) for one in child)
        for key, child in node.items()
        if key != "locations"
    )


def _text(node: Mapping[str, object], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := node.get(key), str) and value), "")


def _inner(node: Mapping[str, object], key: str) -> Mapping[str, object]:
    child = node.get(key)
    return child if isinstance(child, dict) else {}


def _rank(node: Mapping[str, object]) -> str:
    return _text(node, ("level", "severity", "status")).lower()


def _inside(node: Mapping[str, object]) -> str:
    """The path into a document that a validator names, as pydantic's `loc`."""
    path = node.get("loc")
    return ".".join(str(step) for step in path) if isinstance(path, list) else ""


def _location(node: object, depth: int) -> str:
    """A file named somewhere below `location` or `locations`, as in SARIF."""
    if depth > MAX_DEPTH:
        return ""
    if isinstance(node, list):
        return next((found for child in node if (found := _location(child, depth + 1))), "")
    if isinstance(node, dict):
        below = (_location(child, depth + 1) for key, child in node.items() if "ocation" in key)
        return _text(node, _FILES) or next((found for found in below if found), "")
    return ""
