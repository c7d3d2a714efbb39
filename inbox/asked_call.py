# ruff: noqa: PLC0415 - a command that shows no call loads no SQL, and no SDK for the format of messages
"""The tool call that a person is asked about: its exact arguments, from the store, checked against the question.

For every door (the command line, the inbox): what cannot be shown as what the run asks about, nobody may let run. Not
here: how it looks on a page or a terminal, or what an answer does.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from pydantic import JsonValue
from temporalio.client import WorkflowHandle

from ledger.answers import Edit
from ledger.conversation import Conversation
from ledger.decisions import RunTools
from ledger.model import Frozen
from workflows.messages import QUERY_LEDGER, Asked
from workflows.reaching import ask
from workflows.replies import Said, arguments_of

ABOUT_A_CALL: Final = frozenset({"ApprovalNeeded", "OutcomeUnknown"})
_LETS_RUN: Final = frozenset({"approve", "retry"})
"""Answers that let a tool run with the arguments that were shown."""


class KeptCalls(Protocol):
    """What is read of the store."""

    async def get(self, ref: str) -> bytes: ...

    async def read(self, conversation: Conversation) -> list[bytes]: ...


class AskedCall(Frozen):
    """A call as a person is shown it."""

    tool: str
    arguments: str = ""
    """JSON text as the model wrote it, or as a person changed it before."""
    trouble: str = ""
    """Why the arguments are not there; "" where they are."""

    @property
    def value(self) -> JsonValue:
        """The arguments for programs: an object, else the text where it is none; None where they are not there."""
        if self.trouble:
            return None
        try:
            return arguments_of(self.arguments or "{}")
        except ValueError:
            return self.arguments

    @property
    def odd(self) -> bool:
        """Whether JSON readers might read them differently: a key twice, a number that is none."""
        return isinstance(self.value, str)

    @property
    def pretty(self) -> str:
        """The arguments for people: JSON that means the same, and can neither command a terminal nor mislead.

        What does not print is written as JSON's own escapes, so that it may be copied; "odd" ones are on one line as
        they were written.
        """
        value = self.value
        if isinstance(value, str):
            return _escaped(value, keep="")
        return "" if value is None else _escaped(json.dumps(value, ensure_ascii=False, indent=2), keep="\n")


def offered(asked: Asked, call: AskedCall | None) -> tuple[str, ...]:
    """The answers that a door may offer: none that lets an unseen call run."""
    unseen = asked.label in ABOUT_A_CALL and (call is None or bool(call.trouble))
    return tuple(answer for answer in asked.answers if not (unseen and answer in _LETS_RUN))


async def misfit(store: KeptCalls, asked: Asked, said: Said) -> str:
    """Why the tool would not take a person's arguments, as far as the run tells what it takes; "" where it does not.

    An approval is used up by the arguments that come with it, whatever the tool makes of them.
    """
    if said.label != "edit" or said.text is None or not asked.tools_ref:
        return ""
    from activities.tool_schemas import fault
    from store import ContentMissing

    try:
        schemas = await store.get(asked.tools_ref)
    except ContentMissing:
        return ""
    return fault(schemas, str(asked.facts.get("tool")), said.text)


async def asked_call(
    handle: WorkflowHandle[Any, Any], store: KeptCalls, conversation: Conversation, asked: Asked
) -> AskedCall | None:
    """The call in question, the last message of the conversation being the answer that made it; None: it is of none.

    Raises Temporal's `RPCError`.
    """
    if asked.label not in ABOUT_A_CALL:
        return None
    from store import ContentMissing, ConversationBroken

    tool, index = str(asked.facts.get("tool")), asked.facts.get("index")
    try:
        answer = (await store.read(conversation))[-1]
        edited = await _edited(handle, store, index) if asked.label == "OutcomeUnknown" else None
    except (ConversationBroken, ContentMissing, IndexError):
        trouble = "the store that was asked does not hold this call; is it the one that the worker uses?"
        return AskedCall(tool=tool, trouble=trouble)
    return _checked(answer, asked, tool, index, edited)


def _checked(answer: bytes, asked: Asked, tool: str, index: JsonValue, edited: str | None) -> AskedCall:
    """The arguments with which the call is, or was, to be made, where they are those that the run asks about."""
    from activities.messages import tool_calls
    from activities.tool_calls import arguments_digest

    calls = dict(enumerate(tool_calls(answer)))
    call, wanted = calls.get(index) if isinstance(index, int) else None, asked.facts.get("arguments")
    if call is None or call.name != tool:
        return AskedCall(tool=tool, trouble=f"the last answer of the conversation has no call of {tool} at that place")
    found = {arguments_digest(text) for text in (call.arguments, edited) if text is not None}
    # A lost call of a tool that may run any number of times has no digest.
    if wanted not in found and (wanted or asked.label == "ApprovalNeeded"):
        has = ", ".join(sorted(found))
        trouble = f"the arguments in the store ({has}) are not those that the run asks about ({wanted})"
        return AskedCall(tool=tool, trouble=trouble)
    return AskedCall(tool=tool, arguments=call.arguments if edited is None else edited)


async def _edited(handle: WorkflowHandle[Any, Any], store: KeptCalls, index: JsonValue) -> str | None:
    """The arguments that a person gave a call before it was lost; None: it kept its own."""
    ledger = await ask(handle, QUERY_LEDGER)
    held = ledger.get("resume") if isinstance(ledger, Mapping) else None
    calls = RunTools.model_validate(held).calls if held and held.get("do") == "run_tools" else ()
    said = next((call.said for call in calls if call.index == index), None)
    if not isinstance(said, Edit):
        return None
    return (await store.get(said.ref)).decode(errors="replace") if said.ref else said.text


def _escaped(text: str, keep: str) -> str:
    return "".join(char if char.isprintable() or char in keep else json.dumps(char)[1:-1] for char in text)
