"""The one error of a declared tool or gate that this worker cannot carry out: it ends the worker before any work."""


class ToolUnusable(Exception):  # noqa: N818 - what the operator reads
    """A declared tool or gate cannot be opened here; the message is one line: which, why, and what to do."""
