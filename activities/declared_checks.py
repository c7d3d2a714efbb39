"""What can be told to be wrong with a declared tool or gate before any run meets it, by a look at it alone.

For a worker that starts, and for `endstop doctor`. Every refusal is a `ToolUnusable` of one line. Not here: opening
what is declared (`toolbox`, `own_gates`), which finds out the rest.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from activities.declared import Declared
from activities.declared_gates import CommandGate
from activities.declared_tools import CommandTool
from activities.tool_declaration import ToolDeclaration
from activities.tool_unusable import ToolUnusable
from activities.workspace_command import OWN_PYTHON, STANDARD_PATH
from ledger.reading import shown, suggestion


def check_declared(declared: Declared, known: Mapping[str, ToolDeclaration]) -> None:
    """Raise for the first that cannot be meant so. `known` is what models are told of every tool.

    The approval of an MCP server is for all its tools, of which some may lack an argument.
    """
    for name in declared.tools:
        check_approval(known[name])
    for kind, named in (("gate", declared.gates), ("tool", declared.tools)):
        for name, one in named.items():
            if isinstance(one, CommandGate | CommandTool):
                check_program(f"{kind} {name}", one.command[0])


def check_approval(tool: ToolDeclaration) -> None:
    """A pattern of an argument that no call has would ask about every call.

    Nothing is said where the schema leaves open which arguments there are.
    """
    approval, known = tool.handling.approval, tool.parameters.get("properties")
    if not isinstance(approval, dict) or not isinstance(known, dict) or tool.parameters.get("additionalProperties"):
        return
    for argument in approval:
        if argument not in known:
            hint = suggestion(argument, known)
            raise ToolUnusable(f'tool {tool.name}: approval: it has no argument "{shown(argument)}"; {hint}')


def check_program(check: str, word: str) -> None:
    """A command's first word is a program on the path of commands, or a path; in a workspace nothing is looked for."""
    there = Path(word).exists() if Path(word).is_absolute() else "/" in word or shutil.which(word, path=STANDARD_PATH)
    if word != OWN_PYTHON and not there:
        where = "" if "/" in word else f" in {STANDARD_PATH}"
        raise ToolUnusable(f"{check}: there is no program {shown(word)}{where}; install it, or name it by its path")
