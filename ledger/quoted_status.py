"""The status that somebody further up answered with, where a gateway only quotes it in a sentence.

Here: the forms in which it is quoted, and when the quote outranks the line it came under. Not here: statuses that an
error object names in a field (`clues`).
"""

import re
from typing import Final

_QUOTED: Final = re.compile(
    # "Error code: 429 - {...}" (OpenAI's and Anthropic's SDKs), "status code 401", "HTTP 404", "API error 402: ..."
    r"\b(?:error code|status(?:[ _]code)?|http(?:/\d(?:\.\d)?| status| error)?|api error)[ :=(]{1,3}(4\d\d)\b"
    # "[provider/model] [400]: ..." (routers that name the route they took)
    r"|\[(4\d\d)\]:"
    # "400 Bad Request {...}" (Go's and Java's HTTP clients); the phrases are RFC 9110's and RFC 6585's
    r"|\b(4\d\d) (?:bad request|unauthorized|payment required|forbidden|not found|method not allowed|gone"
    r"|request entity too large|payload too large|content too large|unprocessable|too many requests)\b"
    # the class of the exception that a gateway in Python prints: "litellm.NotFoundError"
    r"|\b(badrequest|authentication|permissiondenied|notfound|unprocessableentity|ratelimit)error\b"
)
_CLASSES: Final = {
    "badrequest": 400,
    "authentication": 401,
    "permissiondenied": 403,
    "notfound": 404,
    "unprocessableentity": 422,
    "ratelimit": 429,
}
"""The exceptions that OpenAI's and Anthropic's SDKs, and gateways built on them, raise for a status."""
_FAILED_DEPENDENCY: Final = 424
_SERVER: Final = 500


def quoted_status(said: str, status: int | None) -> int | None:
    """Return the innermost 4xx that `said` (lower case) quotes where `status` blames a server, else `status`.

    A gateway that answers 424 or 5xx because a provider refused the request tells the truth in words only. A line that
    says 4xx itself is believed, and no quoted 5xx is: it says no more than the line does.
    """
    if status is None or (status != _FAILED_DEPENDENCY and status < _SERVER):
        return status
    quotes = [next(filter(None, groups)) for groups in _QUOTED.findall(said)]
    if not quotes:
        return status
    return _CLASSES.get(quotes[-1]) or int(quotes[-1])
