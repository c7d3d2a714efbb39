"""A real server, a worker with a scripted world, and the inbox over real HTTP, as a browser would use it."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.worker import Worker

from activities import contract
from inbox.serving import serving
from store import Store
from tests.faults.conftest import eventually
from tests.workflows.scripted import World
from workflows.agent import AgentWorkflow

SHOWN = (
    contract.ATTRIBUTE_STATUS,
    contract.ATTRIBUTE_INTERVENTION,
    contract.ATTRIBUTE_MODEL,
    contract.ATTRIBUTE_SPEND,
)


class ListedWorld(World):
    """A world in which the search attributes exist, so that its runs are listed."""

    @activity.defn(name=contract.PREPARE)
    async def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        return {**await super().prepare(order), "search_attributes": SHOWN}


class Forms(HTMLParser):
    """The forms of a page: each with its method and its fields, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self.methods: set[str] = set()
        self.tags: set[str] = set()
        self.buttons: list[str] = []
        """What the buttons send that send a value of their own."""
        self._text = ""
        """The name of the text field whose content is being read."""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        if tag == "form":
            self.found.append({})
            self.methods.add(given["method"] or "")
        elif tag in ("input", "textarea") and self.found:
            self.found[-1][given["name"] or ""] = given.get("value") or ""
            self._text = (given["name"] or "") if tag == "textarea" else ""
        elif tag == "button" and "value" in given:
            self.buttons.append(given["value"] or "")

    def handle_data(self, data: str) -> None:
        if self._text:
            self.found[-1][self._text] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = ""


async def end(run: WorkflowHandle) -> None:
    """Terminate a run that has not ended: the server is shared, and another test's list would wait for its worker."""
    if (await run.describe()).status is WorkflowExecutionStatus.RUNNING:
        await run.terminate()


@dataclass
class Stage:
    """A worker with a scripted world on a task queue of its own, and the inbox with a browser that is let in."""

    client: Client
    store: Store
    address: str
    """What `endstop inbox` prints."""
    browser: httpx2.AsyncClient
    closing: AsyncExitStack
    queue: str = field(default_factory=lambda: f"inbox-{uuid4().hex[:8]}")

    async def work(self, world: World) -> None:
        worker = Worker(self.client, task_queue=self.queue, workflows=[AgentWorkflow], activities=world.activities())
        await self.closing.enter_async_context(worker)

    async def start(self, run: str = "", **options: Any) -> WorkflowHandle:
        """Start a run, and wait until it asks something."""
        given = {"agent": {"models": ["openai:first", "anthropic:second"]}, "task": "do it"}
        handle = await self.client.start_workflow(
            "AgentWorkflow", given, id=run or f"run-{uuid4()}", task_queue=self.queue, **options
        )
        self.closing.push_async_callback(end, handle)
        await eventually(lambda: handle.query("intervention"))
        return handle

    async def forms(self, run: str) -> dict[str, dict[str, str]]:
        """The run's forms, by the answer that each sends."""
        page = await self.browser.get("/run", params={"id": run})
        return {form["answer"]: form for form in Forms(page.text).found}

    async def post(self, form: dict[str, str], **typed: str) -> httpx2.Response:
        return await self.browser.post("/answer", data={**form, "by": "ada", **typed})

    async def listed(self, run: str) -> str:
        """The list's page, once the run is on it: the server's index lags a little."""

        async def page() -> str:
            found = (await self.browser.get("/")).text
            return found if run in found else ""

        return await eventually(page)


@pytest.fixture
async def stage(client: Client, tmp_path: Path) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as closing:
        store = await Store.open(f"sqlite:///{tmp_path / 'store.db'}")
        closing.push_async_callback(store.close)
        address = await closing.enter_async_context(serving(client, store, port=0))
        base = re.sub(r"/\?token=.*", "", address)
        browser = await closing.enter_async_context(httpx2.AsyncClient(base_url=base, timeout=60))
        assert (await browser.get(address)).status_code == 200
        yield Stage(client, store, address, browser, closing)


@pytest.fixture
async def stranger(stage: Stage) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that never had the token."""
    async with httpx2.AsyncClient(base_url=stage.browser.base_url, timeout=60) as browser:
        yield browser
