"""A command of ours as a person may copy it into a shell. Whoever may start a workflow chooses its id: it is quoted."""

import shlex


def endstop(command: str, run: str, *words: str, flags: str = "") -> str:
    """`endstop COMMAND RUN WORDS FLAGS`; `words` are quoted, `flags` are written as they are.

    An id that begins as a flag does comes last, behind `--`.
    """
    quoted = [shlex.quote(word) for word in (run, *words)]
    if run.startswith("-"):
        return " ".join(filter(None, ("endstop", command, flags, "--", *quoted)))
    return " ".join(filter(None, ("endstop", command, *quoted, flags)))
