"""The result of `call_model` as it crosses the wire: history holds it for every attempt, so it is small.

Only that. `contract.ModelReply` reads it again, and what shortens its parts is beside them (`packed`).
"""

from typing import Any

from activities.contract import ModelReply


def written(reply: ModelReply) -> dict[str, Any]:
    """Without defaults, save the tag that tells the outcomes apart: history holds this for every attempt."""
    form: dict[str, Any] = reply.model_dump(mode="json", exclude_defaults=True)
    form["conversation"] = reply.conversation.place
    trip = form["trip"]
    trip["outcome"]["outcome"] = reply.trip.outcome.outcome
    if calls := trip["outcome"].get("tool_calls"):
        trip["outcome"]["tool_calls"] = _named(calls)
    if reply.trip.sent:
        trip["sent"] = reply.trip.sent.packed()
    if reply.trip.usage:
        trip["usage"] = reply.trip.usage.packed()
    return form


def _named(calls: list[dict[str, Any]]) -> list[Any]:
    """By name alone where their places say the rest, which is almost always."""
    plain = all(call.keys() <= {"index", "name"} for call in calls)
    return [call["name"] for call in calls] if plain else calls
