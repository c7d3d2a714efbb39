"""The provider simulator: real HTTP, the vendors' protocols, scripted answers and faults. It stands alone."""

from simulator.log import Answered, Received
from simulator.replies import (
    Cut,
    Drip,
    Error,
    ErrorInStream,
    ErrorWord,
    Hang,
    Huge,
    Raw,
    Refuse,
    Reply,
    Text,
    ToolCall,
    ToolCalls,
    Usage,
)
from simulator.script import Script, ScriptError
from simulator.server import Simulator

__all__ = [
    "Answered",
    "Cut",
    "Drip",
    "Error",
    "ErrorInStream",
    "ErrorWord",
    "Hang",
    "Huge",
    "Raw",
    "Received",
    "Refuse",
    "Reply",
    "Script",
    "ScriptError",
    "Simulator",
    "Text",
    "ToolCall",
    "ToolCalls",
    "Usage",
]
