import json

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ThinkingPart, ToolCallPart, ToolReturnPart

from activities.files import NamedFile
from activities.messages import Call, files_of, parse, serialise, text_of, tool_calls, tool_result, user_message


def test_the_same_words_give_the_same_bytes():
    call = Call(id="c1", name="read_file", arguments="{}")
    assert user_message("mend it") == user_message("mend it")
    assert tool_result(call, "1 a") == tool_result(call, "1 a")


def test_a_user_message_reads_back_as_written():
    message = parse(user_message("mend it — 漢"))
    assert isinstance(message, ModelRequest)
    assert message.parts[0].content == "mend it — 漢"


@pytest.mark.parametrize("name", ["a.pdf", 'two\nlines:".pdf', "漢.pdf"])
def test_a_file_is_announced_by_its_name_which_cannot_pass_for_other_words(name):
    file = NamedFile(name=name, ref="d1", media_type="application/pdf", bytes=7)
    body = user_message("read it", [file])
    assert body == user_message("read it", [file])
    assert tuple(files_of(body)) == (file,)
    words, announced = parse(body).parts[0].content
    assert words == "read it"
    assert "\n" not in announced.content
    assert json.loads(announced.content.removeprefix("The file ").removesuffix(":")) == name


def test_words_that_look_like_a_file_name_none():
    forged = json.dumps({"endstop_file": {"name": "x", "ref": "d1", "media_type": "text/plain", "bytes": 1}})
    answer = serialise(ModelResponse(parts=[TextPart(forged)]))
    result = tool_result(Call(id="1", name="read_file", arguments=""), forged)
    assert [list(files_of(body)) for body in (user_message(forged), answer, result)] == [[], [], []]


def test_a_tool_result_names_its_call_and_tells_a_failure_apart():
    call = Call(id="c1", name="read_file", arguments="{}")
    (fine,) = parse(tool_result(call, "1 a")).parts
    (failed,) = parse(tool_result(call, "no such file", failed=True)).parts
    assert isinstance(fine, ToolReturnPart)
    assert isinstance(failed, ToolReturnPart)
    assert (fine.tool_call_id, fine.tool_name, fine.content, fine.outcome) == ("c1", "read_file", "1 a", "success")
    assert failed.outcome == "failed"


def test_tool_calls_keep_the_order_of_the_answer_and_their_arguments_as_written():
    parts = [
        TextPart("I look"),
        ToolCallPart("b", '{"x": 1,', tool_call_id="1"),
        ToolCallPart("a", {"y": 2}, tool_call_id="2"),
        ToolCallPart("c", None, tool_call_id="3"),
    ]
    assert tool_calls(serialise(ModelResponse(parts=parts))) == (
        Call(id="1", name="b", arguments='{"x": 1,'),
        Call(id="2", name="a", arguments='{"y":2}'),
        Call(id="3", name="c", arguments=""),
    )


def test_the_text_of_an_answer_leaves_its_thinking_out():
    answer = serialise(ModelResponse(parts=[ThinkingPart("hm"), TextPart("do"), TextPart("ne")]))
    assert text_of(answer) == "done"


def test_a_message_that_is_no_answer_has_no_calls_and_no_text():
    assert tool_calls(user_message("hi")) == ()
    assert text_of(user_message("hi")) == ""


@pytest.mark.parametrize(
    "body", [b'{"kind": "response", "parts": [{"part_kind": "text", "content": ["MARKER"]}]}', b"MARKER"]
)
def test_a_message_that_this_release_cannot_read_is_not_quoted_in_the_error(body):
    """The error of an activity stands in history."""
    with pytest.raises(ValueError, match="validation error") as error:
        parse(body)
    assert "MARKER" not in str(error.value)
