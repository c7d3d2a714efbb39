"""Cutting text to a number of UTF-8 bytes, on character boundaries.

Only that: what is cut, and what is said about it, is the caller's.
"""


def head(text: str, limit: int) -> str:
    """Return the beginning of `text`, at most `limit` bytes."""
    return text.encode()[:limit].decode(errors="ignore")


def tail(text: str, limit: int) -> str:
    """Return the end of `text`, at most `limit` bytes."""
    content = text.encode()
    return content[max(len(content) - limit, 0) :].decode(errors="ignore")


def middle_out(text: str, limit: int, note: str) -> str:
    """Return `text` where it has at most `limit` bytes, else its beginning and its end with `note` between.

    Beginning and end have `limit` bytes together. `{bytes}` in the note stands for the number of bytes left out.
    """
    total = len(text.encode())
    if total <= limit:
        return text
    first, last = head(text, limit // 2), tail(text, limit - limit // 2)
    left_out = total - len(first.encode()) - len(last.encode())
    return f"{first}\n{note.format(bytes=left_out)}\n{last}"


def whole_characters(text: str) -> str:
    """The text as it can be stored: half a character, as Python has for a file's name that is no UTF-8, is escaped."""
    return text.encode(errors="backslashreplace").decode()
