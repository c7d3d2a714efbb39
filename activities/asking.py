"""The tool `ask_person`: the model puts a question to a person, whose reply is the call's result.

The run waits in front of a person for it (`ledger.calling_tools`); what is here only tells the model how to ask, and
what was wrong with a question that could not be put.
"""

from typing import Annotated, Final

from pydantic import Field, ValidationError

from activities.builtin_tools import declaration
from activities.tool import Asked, Tool, ToolResult
from ledger.model import Frozen
from ledger.reading import one_line

ASK_PERSON: Final = "ask_person"

Option = Annotated[str, Field(min_length=1, max_length=80)]


class AskPerson(Frozen):
    """Ask a person what you cannot find out yourself, and wait for the reply; it may take days."""

    question: Annotated[str, Field(min_length=1, max_length=1_000, description="One question, with all it depends on")]
    options: Annotated[tuple[Option, ...], Field(max_length=10, description="Replies to choose from, if any")] = ()
    confirm: Annotated[bool, Field(description="Whether yes or no is all that you need")] = False

    @property
    def choices(self) -> tuple[str, ...]:
        """The replies that a person is offered; any other is taken too."""
        return self.options or (("yes", "no") if self.confirm else ())


async def _not_put(asked: Asked) -> ToolResult:
    """A question that was put has its reply by now."""
    try:
        AskPerson.model_validate_json(asked.arguments or "{}")
    except ValidationError as error:
        return ToolResult(text=one_line(error, f"arguments of {ASK_PERSON}", AskPerson), failed=True)
    return ToolResult(text="the question is too long to be shown everywhere; ask it in fewer words", failed=True)


ASKING: Final = Tool(declaration=declaration(ASK_PERSON, AskPerson), run=_not_put)
