"""`read_answer`: the text a run ends with, for a starter who passed its task inline.

Everyone else reads the transcript from the store, where the answer is whole.
"""

from temporalio import activity

from activities.contract import MAX_INLINE_ANSWER, READ_ANSWER, ReadAnswer
from activities.cutting import head
from activities.messages import text_of
from activities.stored import Transcript


class AnswerReader:
    """The activity `read_answer`."""

    def __init__(self, store: Transcript) -> None:
        self._store = store

    @activity.defn(name=READ_ANSWER)
    async def read_answer(self, request: ReadAnswer) -> str:
        """Return the text of the last message, cut at `MAX_INLINE_ANSWER` bytes; "" where it is no answer."""
        messages = await self._store.read(request.conversation)
        return head(text_of(messages[-1]), MAX_INLINE_ANSWER) if messages else ""
