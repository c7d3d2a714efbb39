"""Several processes on one file, and processes that are killed: what was committed is there, the rest never was."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.conversation import Conversation
from store import Store

ROOT = Path(__file__).parents[2]
RUN = Conversation(id="run-1")


def started(program: str, url: str, before: str = "") -> subprocess.Popen[str]:
    """A process of its own that runs the body of a coroutine over `store`, the store at `url`; `before` comes first."""
    lines = [
        "import asyncio, os, sys",
        "import sqlalchemy",
        "from ledger.conversation import Conversation",
        "from store import Store",
        before,
        "async def main():",
        "    store = await Store.open(sys.argv[1])",
        "    run = Conversation(id='run-1')",
        *(f"    {line}" for line in program.splitlines()),
        "    await store.close()",
        "asyncio.run(main())",
    ]
    command = [sys.executable, "-c", "\n".join(lines), url]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


async def test_stores_opened_at_once_on_a_new_file_all_open(url):
    stores = await asyncio.gather(*(Store.open(url) for _ in range(8)))

    ref = await stores[0].put("task")
    assert [await store.get(ref) for store in stores] == [b"task"] * 8
    for store in stores:
        await store.close()


def test_two_processes_that_append_to_one_conversation_agree_on_every_message(url):
    program = """\
for turn in range(60):
    appended = await store.append(run, f"request {turn}", f"answer {turn} of {os.getpid()}".encode(), str(os.getpid()))
    run = appended.conversation
print(run.length, run.head)
print("\\n".join(body.decode() for body in await store.read(run)))"""
    processes = [started(program, url) for _ in range(2)]

    told = [process.communicate(timeout=60)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], told
    assert told[0] == told[1]
    assert len(told[0].splitlines()) == 61


async def test_concurrent_answers_to_one_request_leave_one_and_keep_the_others(url):
    stores = [await Store.open(url) for _ in range(2)]

    answers = await asyncio.gather(
        *(stores[number % 2].append(RUN, "request", b"answer %d" % number, str(number)) for number in range(20))
    )

    assert len({answer.body for answer in answers}) == 1
    assert [answer.recovered for answer in answers].count(False) == 1
    assert len(await stores[0].unused_answers(RUN.id)) == 19
    for store in stores:
        await store.close()


@pytest.mark.parametrize(
    ("death", "kept"),
    [
        pytest.param(
            """sqlalchemy.event.listen(sqlalchemy.Engine, "commit", lambda _: os._exit(9))
await store.append(task, "request", b"answer", "1.1.1")""",
            False,
            id="after the insert and before the commit",
        ),
        pytest.param(
            """await store.append(task, "request", b"answer", "1.1.1")
os._exit(9)""",
            True,
            id="right after the append",
        ),
    ],
)
async def test_an_append_is_whole_or_was_never_there_when_its_process_dies(url, death, kept):
    begin = """task = (await store.append(run, "task", b"task")).conversation\n"""
    process = started(begin + death, url)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 9, told

    store = await Store.open(url)
    task = await store.latest(RUN.id) if not kept else (await store.append(RUN, "task", b"task")).conversation
    assert task is not None
    found = await store.find(task, "request")
    assert (found is not None and found.attempt) == (kept and "1.1.1")
    again = await store.append(task, "request", b"answer", "1.1.2")
    assert again.recovered == kept
    assert await store.read(again.conversation) == [b"task", b"answer"]
    await store.close()


async def test_a_process_that_dies_while_it_makes_the_tables_leaves_a_file_that_opens(url):
    process = started("", url, before="sqlalchemy.event.listen(sqlalchemy.Engine, 'commit', lambda _: os._exit(9))")
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 9, told

    store = await Store.open(url)
    assert await store.get(await store.put("task")) == b"task"
    await store.close()


async def test_an_append_that_is_cancelled_is_stored_and_blocks_nobody(store):
    for ticks in range(1, 25):
        request = f"request {ticks}"
        appending = asyncio.create_task(store.append(RUN, request, b"answer", "cancelled"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        for _ in range(2):
            appending.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(appending, return_exceptions=True)
        found = await store.find(RUN, request)
        assert found is not None
        assert found.attempt == "cancelled"
        assert not (await store.append(RUN, f"other {ticks}", b"answer")).recovered


async def test_an_append_that_is_cancelled_blocks_nobody_and_can_be_made_again(store):
    for ticks in range(25):
        request = f"request {ticks}"
        appending = asyncio.create_task(store.append(RUN, request, b"answer"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        appending.cancel()
        await asyncio.gather(appending, return_exceptions=True)
        assert (await store.append(RUN, request, b"answer")).body == b"answer"


def test_a_program_that_forgets_to_close_the_store_ends_all_the_same(url):
    process = started("await store.put('task')\nreturn", url)

    told, _ = process.communicate(timeout=60)

    assert (process.returncode, told) == (0, "")
