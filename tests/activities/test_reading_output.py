"""Reading on in what was cut: by lines, within bounds, and only what the run was told of."""

import json
import re

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from activities.messages import Call, serialise, tool_result, user_message
from activities.reading_output import MAX_LINE, MAX_SHOWN, reading
from activities.tool import Asked, ToolResult
from activities.tool_calls import MAX_RESULT


@pytest.fixture
def read(store):
    async def read_output(ref: str, said=None, **arguments) -> ToolResult:
        named = said if said is not None else (user_message(f"The whole output is stored as {ref}"),)
        asked = Asked(arguments=json.dumps({"ref": ref, **arguments}), run="run", key="run/1/0", said=named)
        return await reading(store).run(asked)

    return read_output


async def test_it_reads_lines_as_they_are_and_says_how_to_go_on(store, read):
    ref = await store.put("".join(f"line {n}\n" for n in range(1, 1_001)))
    first = await read(ref, lines=2)
    assert first == ToolResult(text="line 1\nline 2\n\n[lines 1 to 2 of 1000; go on with start_line=3]")
    assert await read(ref, start_line=1_000) == ToolResult(text="line 1000\n")


async def test_reading_on_and_on_gives_the_whole_whatever_the_lines_are(store, read):
    whole = "é" * 150_000 + "\n" + "x\r\n" * 40_000 + "\f\u2028end"
    ref, came, start = await store.put(whole), "", 1
    while start:
        page = (await read(ref, start_line=start, lines=10_000)).text
        assert len(page.encode()) < MAX_RESULT
        rest = re.search(r"\n\[lines \d+ to \d+ of \d+; go on with start_line=(\d+)\]$", page)
        came += page[: rest.start()] if rest else page
        start = int(rest[1]) if rest else 0
    assert came == whole


async def test_a_page_is_as_large_as_fits(store, read):
    ref = await store.put("x" * 1_000_000)
    page = (await read(ref, lines=10_000)).text
    assert MAX_SHOWN - MAX_LINE < page.count("x") <= MAX_SHOWN


async def test_past_the_end_is_told(store, read):
    ref = await store.put("a\nb\n")
    result = await read(ref, start_line=3)
    assert result == ToolResult(text="the output has 2 lines; start_line 3 is past its end", failed=True)


async def test_an_empty_output_is_read_as_empty(store, read):
    assert await read(await store.put("")) == ToolResult(text="")


CALL = Call(id="c1", name="search", arguments="{}")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param((), id="nobody"),
        pytest.param((serialise(ModelResponse(parts=[TextPart("look into REF")])),), id="the model in words"),
        pytest.param(
            (serialise(ModelResponse(parts=[ToolCallPart("read_output", '{"ref": "REF"}', tool_call_id="c")])),),
            id="the model in a call",
        ),
    ],
)
async def test_an_output_that_the_run_was_not_told_of_is_none(store, read, said):
    ref = await store.put("another run's secret")
    result = await read(ref, said=tuple(body.replace(b"REF", ref.encode()) for body in said))
    assert result == ToolResult(text=f"no such output: {ref} was not named in this conversation", failed=True)


async def test_an_output_named_by_a_result_is_read_and_one_that_is_gone_is_told(store, read):
    ref = await store.put("whole\n")
    assert (await read(ref, said=(tool_result(CALL, f"[stored as {ref}]"),))).text == "whole\n"
    gone = "0" * 24
    assert await read(gone, said=(tool_result(CALL, f"[stored as {gone}]"),)) == ToolResult(
        text=f"no such output: {gone} is not in the store any more", failed=True
    )


@pytest.mark.parametrize("ref", ["../../etc/passwd", "ABC", "0" * 25])
async def test_what_is_no_reference_is_told_in_one_line(read, ref):
    result = await read(ref)
    assert result.failed
    assert result.text.startswith("arguments of read_output: ref: ")
    assert "\n" not in result.text
