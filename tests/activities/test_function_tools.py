"""Functions of an operator's module: what a model is told of them, how they are called, what comes of it."""

import asyncio
import itertools
import json

import pytest

from activities.declared_tools import FunctionTool
from activities.function_tools import function_tool
from activities.functions import MAX_REASON, FunctionThreads
from activities.tool import Asked, ToolResult
from activities.tool_unusable import ToolUnusable
from tests.faults.conftest import eventually

NUMBERS = itertools.count()


@pytest.fixture
def threads():
    used = FunctionThreads()
    yield used
    used.close()


@pytest.fixture
def made(tmp_path, monkeypatch, threads):
    """Write a module with this code, and make a tool of one of its functions."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(code, function="act", **more):
        name = f"operators_module_{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(code)
        declared = FunctionTool(name="act", function=f"{name}:{function}", **more)
        return function_tool(declared, threads)

    return make


async def called(tool, arguments="{}", key="run/1/0") -> ToolResult:
    return await tool.run(Asked(arguments=arguments, run="run", key=key))


ORDER = '''
from typing import Annotated, Literal
from pydantic import BaseModel, Field

class Line(BaseModel):
    article: str
    pieces: int = 1

def act(
    lines: list[Line],
    speed: Annotated[Literal["slow", "fast"], Field(description="How it is sent")] = "slow",
    copy: bool = False,
) -> str:
    """Order articles.

    At most ten lines.
    """
    return f"{sum(line.pieces for line in lines)} {speed} {copy}"
'''


def test_the_signature_is_the_schema_and_the_docstring_the_description(made):
    told = made(ORDER, approval="always").declaration
    assert (told.name, told.description) == ("act", "Order articles.\n\nAt most ten lines.")
    assert told.handling.approval == "always"
    parameters = told.parameters
    assert (parameters["type"], parameters["required"]) == ("object", ["lines"])
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["speed"] == {
        "default": "slow",
        "description": "How it is sent",
        "enum": ["slow", "fast"],
        "type": "string",
    }
    assert parameters["properties"]["copy"] == {"default": False, "type": "boolean"}
    assert parameters["$defs"]["Line"]["required"] == ["article"]


async def test_arguments_arrive_as_what_their_annotations_say(made):
    tool = made(ORDER)
    lines = [{"article": "a", "pieces": 2}, {"article": "b"}]
    assert await called(tool, json.dumps({"lines": lines})) == ToolResult(text="3 slow False")
    assert (await called(tool, json.dumps({"lines": lines, "speed": "fast", "copy": True}))).text == "3 fast True"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("{}", "arguments of act: number: is missing"),
        ('{"number": "many"}', "arguments of act: number: should be a valid integer, unable to parse string"),
        ('{"number": 1, "numbr": 2}', 'arguments of act: numbr: unknown key, did you mean "number"?'),
        ('{"number": 1', "arguments of act: is not valid JSON"),
    ],
)
async def test_a_misfit_is_one_line_to_the_model_and_the_function_is_not_called(made, tmp_path, arguments, line):
    mark = tmp_path / "called"
    tool = made(f'def act(number: int) -> None:\n    """Act."""\n    open("{mark}", "w")\n')
    result = await called(tool, arguments)
    assert (result.failed, "\n" in result.text, mark.exists()) == (True, False, False)
    assert result.text.startswith(line)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'as it is: é'", "as it is: é"),
        ("{'a': [1, 2.5], 'b': None}", '{"a":[1,2.5],"b":null}'),
        ("None", "null"),
        ("datetime.date(2026, 11, 30)", '"2026-11-30"'),
        ("Found(name='x')", '{"name":"x"}'),
    ],
)
async def test_a_text_is_the_result_as_it_is_and_anything_else_as_json(made, expression, text):
    tool = made(
        "import datetime\nfrom pydantic import BaseModel\nclass Found(BaseModel):\n    name: str\n"
        f'def act():\n    """Act."""\n    return {expression}\n'
    )
    assert await called(tool) == ToolResult(text=text)


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("raise KeyError('order 7')", "KeyError: 'order 7'"),
        ("raise StopIteration", "StopIteration: "),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import asyncio; raise asyncio.CancelledError('inside')", "CancelledError: inside"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt: "),
        ("raise TimeoutError('the shop is slow')", "TimeoutError: the shop is slow"),
        ("return {object()}", "PydanticSerializationError: "),
    ],
)
async def test_an_exception_is_told_to_the_model_by_its_type_and_message(made, kind, statement, text):
    if (kind, statement) == ("async def", "raise StopIteration"):
        text = "RuntimeError: coroutine raised StopIteration"
    result = await asyncio.wait_for(called(made(f'{kind} act():\n    """Act."""\n    {statement}\n')), 30)
    assert result.failed
    assert result.text.startswith(text)


async def test_a_long_exception_is_cut(made):
    result = await called(made('def act():\n    """Act."""\n    raise ValueError("x" * 1_000_000)\n'))
    assert len(result.text) == MAX_REASON


async def test_an_idempotency_key_is_the_calls_and_no_argument_of_the_models(made):
    tool = made('def act(number: int, *, idempotency_key: str):\n    """Act."""\n    return idempotency_key\n')
    assert set(tool.declaration.parameters["properties"]) == {"number"}
    assert (await called(tool, '{"number": 1}', key="run/7/2")).text == "run/7/2"
    assert (await called(tool, '{"number": 1, "idempotency_key": "mine"}')).failed


HOLDS_UP = '''
import pathlib, threading, time
async def act(until: str):
    """Hold up the loop that this runs on, until a file is there."""
    for _ in range(3_000):
        if pathlib.Path(until).exists():
            return threading.current_thread().name
        time.sleep(0.01)
    return "nobody could make the file"
'''


async def test_async_functions_run_on_a_loop_of_their_own_and_hold_up_no_other(made, tmp_path):
    held = asyncio.create_task(called(made(HOLDS_UP), json.dumps({"until": str(tmp_path / "there")})))
    plain = made('def act():\n    """Act."""\n    import threading\n    return threading.current_thread().name\n')
    assert (await called(plain)).text.startswith("function_")
    (tmp_path / "there").touch()
    assert (await held).text == "functions"


WAITS = (
    "import asyncio, pathlib\n"
    'async def act(begun: str, mark: str):\n    """Act."""\n'
    "    pathlib.Path(begun).touch()\n"
    "    try:\n        await asyncio.Event().wait()\n    finally:\n        pathlib.Path(mark).touch()\n"
)


async def waiting(made, folder) -> asyncio.Task[ToolResult]:
    """A call of an `async` function that waits for nothing, has begun, and makes the file "ended" where it ends."""
    begun, ended = folder / "begun", folder / "ended"
    running = asyncio.create_task(called(made(WAITS), json.dumps({"begun": str(begun), "mark": str(ended)})))
    await eventually(lambda: asyncio.to_thread(begun.exists))
    return running


async def test_a_cancelled_async_function_is_cancelled_and_answers_nothing(made, tmp_path):
    running = await waiting(made, tmp_path)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await eventually(lambda: asyncio.to_thread((tmp_path / "ended").exists))


async def test_an_async_function_that_still_waits_when_its_worker_ends_is_cancelled_too(made, threads, tmp_path):
    running = await waiting(made, tmp_path)
    threads.close()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (tmp_path / "ended").exists()


async def test_annotations_that_are_written_as_text_are_read(made):
    code = (
        'from __future__ import annotations\ndef act(number: int) -> str:\n    """Act."""\n    return str(number + 1)\n'
    )
    assert (await called(made(code), '{"number": 1}')).text == "2"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        pytest.param("", "is not there: FILE has no act", id="no such function"),
        pytest.param("act = 7", "is no function but of type int", id="no function"),
        pytest.param("def act(): pass", "has no docstring, which is what a model is told of it; write one", id="bare"),
        pytest.param(
            'def act(*numbers: int):\n    """Act."""',
            "takes *numbers, and a model gives arguments by name only",
            id="any number",
        ),
        pytest.param(
            'def act(**more: int):\n    """Act."""',
            "takes **more, and a model gives arguments by name only",
            id="any name",
        ),
        pytest.param(
            'def act(number: int, /):\n    """Act."""',
            "takes number by position, and a model gives arguments by name only",
            id="by position",
        ),
        pytest.param(
            'def act(number=1):\n    """Act."""', "has a parameter number without a type; annotate it", id="untyped"
        ),
        pytest.param(
            'def act(number: "Unknown"):\n    """Act."""',
            "has a signature that cannot be read (name 'Unknown' is not defined); annotate with types",
            id="a type that is not there",
        ),
        pytest.param(
            'def act(number: object()):\n    """Act."""',
            "has a parameter that no JSON can be (",
            id="no type",
        ),
        pytest.param(
            'import threading\ndef act(lock: threading.Thread):\n    """Act."""',
            "has a parameter that no JSON can be (",
            id="no data",
        ),
        pytest.param(
            'from collections.abc import Callable\ndef act(then: Callable[[], int]):\n    """Act."""',
            "has a parameter that no JSON can be (",
            id="a function as a parameter",
        ),
        pytest.param(
            'def act(_number: int):\n    """Act."""',
            "has a parameter _number, a name that pydantic keeps; give it another",
            id="private",
        ),
        pytest.param(
            'def act(model_fields_set: int):\n    """Act."""',
            "has a parameter model_fields_set, a name that pydantic keeps; give it another",
            id="reserved",
        ),
        pytest.param(
            'def act(idempotency_key: int):\n    """Act."""', "has a parameter idempotency_key that is no str", id="key"
        ),
        pytest.param(
            "import no_such_module_anywhere",
            "cannot be imported (ModuleNotFoundError: No module named 'no_such_module_anywhere'); "
            "it is looked for beside endstop.toml too",
            id="what it needs is not there",
        ),
        pytest.param(
            "raise SystemExit(0)",
            "cannot be imported (SystemExit: 0); it is looked for beside endstop.toml too",
            id="a module that ends the process",
        ),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_one_line(made, tmp_path, code, line):
    with pytest.raises(ToolUnusable) as caught:
        made(code)
    said = str(caught.value)
    assert "\n" not in said
    (file,) = tmp_path.glob("*.py")
    assert said.replace(str(file), "FILE").startswith(f"tool act: {file.stem}:act {line}")


def test_a_module_that_is_not_there_is_one_line(threads):
    with pytest.raises(ToolUnusable, match=r"^tool act: no_such_module_here:act cannot be imported"):
        function_tool(FunctionTool(name="act", function="no_such_module_here:act"), threads)
