"""`read_answer`: an answer's text, for a starter who passed its task inline, and for a gate that is elsewhere.

Everyone else reads the transcript from the store, where the answer is whole.
"""

from temporalio import activity

from activities.contract import READ_ANSWER, ReadAnswer
from activities.cutting import head
from activities.messages import text_of
from activities.stored import Transcript


class AnswerReader:
    """The activity `read_answer`."""

    def __init__(self, store: Transcript) -> None:
        self._store = store

    @activity.defn(name=READ_ANSWER)
    async def read_answer(self, request: ReadAnswer) -> str:
        """Return the text of the last message, cut at the limit; "" where it is no answer."""
        messages = await self._store.read(request.conversation)
        return head(text_of(messages[-1]), request.limit) if messages else ""
