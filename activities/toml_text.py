"""Reading TOML that somebody wrote by hand or found somewhere: strictly, and in a time that grows with its size.

Here: bytes to tables, or why not. Not here: opening files and their size (who reads them), or what the tables mean.
TOML has no tags, no references and no second value for a key, so that nothing small becomes large; a key of thousands
of parts is the exception: reading it takes their number squared.
"""

import re
import tomllib
from typing import Any, Final

MAX_WHY: Final = 120
"""Characters of the parser's words that are told: some quote a key, which may be long."""

_ENDLESS_KEY: Final = re.compile(r"""(?<![\w\-.])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")
"""A key of more than 64 parts. It is looked for in all of the text: 64 words in prose, each with a dot, are rare."""


class NotToml(ValueError):  # noqa: N818 - it names what it found
    """The content is not used; the message goes on after the name of the file."""


def read_toml(content: bytes) -> dict[str, Any]:
    """Return the document. `NotToml`: it is none, or nested too deeply."""
    try:
        text = content.decode()
        if not _ENDLESS_KEY.search(text):
            return tomllib.loads(text)
    except UnicodeDecodeError:
        raise NotToml("is not UTF-8 text; expected a few lines of TOML") from None
    except tomllib.TOMLDecodeError as problem:
        why, at, place = str(problem).partition(" (at ")
        raise NotToml(f"is not valid TOML: {why[:MAX_WHY]}{at}{place}") from None
    except ValueError:  # Python's own word for digits without end
        raise NotToml("holds a number of thousands of digits; no number here has more than ten") from None
    except RecursionError:
        pass
    raise NotToml("is nested too deeply; expected tables of plain values")
