"""The events of a streamed OpenAI response: how its items come in pieces, each event with its number.

Built from the finished items of `response_items`; the frame around them is the dialect's.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from simulator.dialect import pieces
from simulator.response_items import Item, output_text

Event = dict[str, JsonValue]


def item_events(item: Item, place: int, chunks: int) -> Iterator[Event]:
    """All events of one item, from `response.output_item.added` to `response.output_item.done`."""
    yield _event("output_item.added", output_index=place, item=_opened(item))
    where: Event = {"item_id": item["id"], "output_index": place}
    match item:
        case {"type": "reasoning", "summary": [{"text": str(text)}]}:
            yield from _summary(where, text, chunks)
        case {"type": "message", "content": [{"text": str(text)}]}:
            yield from _text(where, text, chunks)
        case {"type": "function_call", "arguments": str(arguments)}:
            yield from _arguments(where, arguments, chunks)
        case _:
            pass  # reasoning that shows no summary
    yield _event("output_item.done", output_index=place, item=item)


def _event(name: str, **fields: JsonValue) -> Event:
    return {"type": f"response.{name}", **fields}


def _opened(item: Item) -> Item:
    """The item as it is announced: nothing in it yet. Encrypted reasoning is there from the start, to be replaced."""
    empty: dict[str, JsonValue] = {"summary": [], "content": [], "arguments": "", "status": "in_progress"}
    return {name: empty.get(name, value) for name, value in item.items()}


def _summary(where: Event, text: str, chunks: int) -> Iterator[Event]:
    at: Event = {**where, "summary_index": 0}
    yield _event("reasoning_summary_part.added", **at, part={"type": "summary_text", "text": ""})
    for piece in pieces(text, chunks):
        yield _event("reasoning_summary_text.delta", **at, delta=piece)
    yield _event("reasoning_summary_text.done", **at, text=text)
    yield _event("reasoning_summary_part.done", **at, part={"type": "summary_text", "text": text})


def _text(where: Event, text: str, chunks: int) -> Iterator[Event]:
    at: Event = {**where, "content_index": 0}
    yield _event("content_part.added", **at, part=output_text(""))
    for piece in pieces(text, chunks):
        yield _event("output_text.delta", **at, delta=piece, logprobs=[])
    yield _event("output_text.done", **at, text=text, logprobs=[])
    yield _event("content_part.done", **at, part=output_text(text))


def _arguments(where: Event, arguments: str, chunks: int) -> Iterator[Event]:
    for piece in pieces(arguments, chunks):
        yield _event("function_call_arguments.delta", **where, delta=piece)
    yield _event("function_call_arguments.done", **where, arguments=arguments)
