"""What the store raises when it is not usable or does not hold what a reference names; each text is one line.

A defect of ours (a table that is gone, a value that does not fit) is not here: it stays SQLAlchemy's own error.
"""


class StoreUnavailable(Exception):  # noqa: N818 - the state, as the command line prints it
    """The store cannot be opened; what is there was left as it was."""

    def __init__(self, where: str, reason: str, remedy: str) -> None:
        super().__init__(f"cannot open the store {where}: {reason}; {remedy}")


class StoreTroubled(Exception):  # noqa: N818 - the state
    """The store does not work now and may again. Whether it did what was asked is not known; it may be asked again."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the store does not work now: {reason}")
        self.reason = reason
        """As the database words it, without content."""


class ContentMissing(Exception):  # noqa: N818 - the state
    """No content is stored under this reference, or what is stored there is no longer what was put."""

    def __init__(self, ref: str, reason: str) -> None:
        super().__init__(f"content {ref!r} {reason}; is this the store that the run was started with?")
        self.ref = ref


class ConversationBroken(Exception):  # noqa: N818 - the state
    """The store does not hold the chain that a conversation's reference names. `position` is from 0."""

    def __init__(self, conversation: str, position: int, reason: str) -> None:
        super().__init__(
            f"conversation {conversation!r} is broken at position {position}: {reason}; "
            "is this the store that the run was started with?"
        )
        self.conversation = conversation
        self.position = position


class ConversationRedacted(ConversationBroken):
    """A person had the conversation's messages removed. `position` is from 0."""

    def __init__(self, conversation: str, position: int) -> None:
        Exception.__init__(
            self, f"conversation {conversation!r} was redacted: message {position} is not there any more"
        )
        self.conversation = conversation
        self.position = position
