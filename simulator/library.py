"""All files APIs behind one desk: which of them a request is for, what it gets, and what goes on record.

The desk checks keys and lets the first uploads fail as the script says; the rest is each API's.
"""

from collections import deque
from dataclasses import dataclass

from simulator.dialect import AskError, Problem
from simulator.files_api import FileAnswer, FilesApi
from simulator.log import Received
from simulator.routing import files_apis
from simulator.script import Script
from simulator.shelf import Shelf
from simulator.turns import received
from simulator.wire import Request


@dataclass(frozen=True, kw_only=True)
class Served:
    """A request about files: its record and its answer."""

    record: Received
    answer: FileAnswer


class Library:
    """The desk. Files outlive a script, the failures of uploads do not."""

    def __init__(self, script: Script, life: str) -> None:
        self.shelf = Shelf()
        self._life = life
        self._apis = files_apis()
        self._served = 0
        self.use(script)

    def use(self, script: Script) -> None:
        self.shelf.expire_after = script.files_expire_after
        self._keys = script.keys
        self._failures = deque(script.uploads)

    def serve(self, request: Request) -> Served | None:
        """Answer a request about files; nothing when it is for no files API."""
        api = next((api for api in self._apis if api.recognises(request)), None)
        if api is None:
            return None
        self._served += 1
        record = received(request, api.name, "", 0, self._served)
        named = api.dialect.request_id_header
        headers = {named: f"req_{self._life}f{self._served:06d}"} if named else {}
        answer = self._answer(request, api)
        return Served(record=record, answer=answer.with_headers(headers))

    def _answer(self, request: Request, api: FilesApi) -> FileAnswer:
        try:
            if self._keys and api.needs_key(request) and api.dialect.key(request.headers) not in self._keys:
                return self._failed(api, Problem(error="auth", model=""))
            if self._failures and api.begins_upload(request):
                return self._failed(api, Problem(error=self._failures.popleft(), model=""))
            return api.answer(request, self.shelf)
        except AskError as problem:
            said = Problem(error=problem.error, model="", message=str(problem), param=problem.param, code=problem.code)
            return self._failed(api, said)

    def _failed(self, api: FilesApi, problem: Problem) -> FileAnswer:
        envelope = api.dialect.error(problem, f"{self._life}f{self._served:06d}")
        return FileAnswer(status=envelope.status, body=envelope.body)
