"""`append`: puts what the ledger wants the model told into one user message.

Here: the words, and what of a gate's output is shown. Not here: when something is told (the ledger), or a call's
result (`run_tool`). The message is bounded whatever a gate wrote; the whole output stays in the store.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol, assert_never

import pydantic_core
from temporalio import activity

from activities.agents import Agents
from activities.catalog import READ_OUTPUT
from activities.contract import APPEND, Append
from activities.cutting import head, tail
from activities.files import MANIFEST, NamedFile
from activities.messages import user_message
from activities.spoken import spoken
from activities.stored import Contents, Transcript
from activities.tried import opening, tried
from ledger.agent import AgentSpec
from ledger.conversation import Conversation, digest
from ledger.failing_items import Item
from ledger.fingerprint import fingerprint
from ledger.notes import GuideNote, Note, RepairNote, StageNote

MAX_TAIL: Final = 6_144
"""Bytes of a gate's output that are shown, from its end."""
MAX_ITEMS: Final = 20
MAX_ITEM: Final = 300
"""Bytes of one failing item."""


class NoteStore(Contents, Transcript, Protocol):
    """What notes need of the store."""


class NoteWriter:
    """The activity `append`."""

    def __init__(self, store: NoteStore) -> None:
        self._store = store
        self._agents = Agents(store)

    @activity.defn(name=APPEND)
    async def append(self, request: Append) -> str:
        """Return the conversation's place with the notes as its last message.

        The same notes at the same head append once.
        """
        agent = await self._agents.get(request.agent_ref)
        said = [await self._said(note, agent, request.conversation) for note in request.notes]
        key = f"notes:{digest(pydantic_core.to_json(request.notes))}"
        message = user_message("\n\n".join(said), await self._files(request, agent))
        stored = await self._store.append(request.conversation, key, message)
        return stored.conversation.place

    async def _files(self, request: Append, agent: AgentSpec) -> list[NamedFile]:
        """The files of a stage that begins; they come with the words that say so."""
        stages = (agent.stages[note.stage] for note in request.notes if isinstance(note, StageNote))
        names = [name for stage in stages for name in stage.files]
        if not names:
            return []
        known = {file.name: file for file in MANIFEST.validate_json(await self._store.get(request.files_ref))}
        return [known[name] for name in names]

    async def _said(self, note: Note, agent: AgentSpec, conversation: Conversation) -> str:
        match note:
            case RepairNote():
                output = (await self._store.get(note.output)).decode(errors="replace")
                root = folder_in(output, conversation.id, agent.workspace or "")
                before = await self._store.read(conversation) if note.round > 1 else []
                plan = await asyncio.to_thread(repair_plan, note, output, root, before)
                return f"{plan.rstrip()}\n\n{whole_output(note)}" if _can_read_on(agent, note) else plan
            case GuideNote():
                return f"A person says:\n{await spoken(self._store, note)}"
            case StageNote():
                return _hand_over(agent, note.stage)
            case _:
                assert_never(note)


def repair_plan(note: RepairNote, output: str, root: str, before: Sequence[bytes] = ()) -> str:
    """Say what failed, whether it was seen before and when, what was tried, and what the gate printed last.

    Bounded in size. `before` are the messages that the plan follows.
    """
    parts = [f"{opening(note.gate, note.round)} Your work is not accepted before it passes."]
    if note.seen:
        parts.append(
            f"This is the same failure as in {_rounds(note.seen)}: what was done since did not mend it. "
            "A different approach is needed."
        )
    parts.append(tried(note, before))
    parts.append(_failing(fingerprint(output, root=root).items))
    plain = output.replace(f"{root}/", "") if root else output
    parts.append(f"The end of its output:\n{tail(plain, MAX_TAIL)}")
    return "\n\n".join(part for part in parts if part)


def whole_output(note: RepairNote) -> str:
    """Say how the model gets at all that the gate printed."""
    return (
        f"The whole output is stored as {note.output}: read it with {READ_OUTPUT} where its end does not tell enough."
    )


def _can_read_on(agent: AgentSpec, note: RepairNote) -> bool:
    """Whether a stage that has this gate has the tool too."""
    return any(READ_OUTPUT in stage.tools for stage in agent.stages if note.gate in stage.gates)


def folder_in(output: str, run: str, workspace: str) -> str:
    """Return the path of the run's workspace as the output writes it, "" where it does not.

    Tools print absolute paths; the model's file tools take relative ones. The folder need not be on this worker.
    """
    ending = f"/{run}/{workspace}"
    found = output.find(ending) if workspace else -1
    if found < 0:
        return ""
    start = found
    while start > 0 and not output[start - 1].isspace() and output[start - 1] not in _AROUND_A_PATH:
        start -= 1
    return output[start : found + len(ending)]


_AROUND_A_PATH: Final = frozenset("\"'`()<>[]{}=:,;")


def _rounds(rounds: tuple[int, ...]) -> str:
    *before, last = (str(number) for number in rounds)
    return f"rounds {', '.join(before)} and {last}" if before else f"round {last}"


def _failing(items: tuple[Item, ...]) -> str:
    lines = list(dict.fromkeys(_line(item) for item in items))
    if not lines:
        return ""
    more = [f"- and {len(lines) - MAX_ITEMS} more"] if len(lines) > MAX_ITEMS else []
    return "\n".join(["What fails:", *(f"- {line}" for line in lines[:MAX_ITEMS]), *more])


def _line(item: Item) -> str:
    message = item.message.strip().partition("\n")[0]
    return head(": ".join(part for part in (item.place, item.code, message) if part), MAX_ITEM)


def _hand_over(agent: AgentSpec, stage: int) -> str:
    begins = f'The stage "{agent.stages[stage].name}" begins.'
    return begins if stage == 0 else f'{begins} The stage "{agent.stages[stage - 1].name}" is done.'
