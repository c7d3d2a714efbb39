"""What OpenAI's responses API refuses about items that it must know again: foreign, forgotten, or torn from each other.

An id must be one that the vendor issued. An item that is only named must have been stored too, and so must reasoning
unless it comes encrypted; calls and messages come whole (the vendor's guide to stateless reasoning sends all of
`response.output` back). An item of an answer that was reasoned needs its reasoning before it, reasoning needs what
followed it. Sources of rules and wording: platform.openai.com/docs/guides/reasoning (encrypted reasoning items),
openai/codex#8128, Wei-Shaw/sub2api#2863 (encrypted content), can1357/oh-my-pi#41 (status 404),
0xPlaygrounds/rig#751 (required reasoning), coder/xum#59 (required following item).
"""

from collections.abc import Mapping
from typing import Final

from simulator.dialect import AskError
from simulator.response_items import ItemId
from simulator.signatures import issued
from simulator.strict import Object, text_of

PREFIXES: Final[Mapping[str, str]] = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
WHOLE: Final = ("message", "function_call")
HEAD: Final = 4
"""Characters of an encrypted content that the vendor quotes at each end."""


def check_known(items: list[Object]) -> None:
    """AskError for the first item that the vendor would not take back."""
    ids: set[str] = set()
    for index, item in enumerate(items):
        name = text_of(item, "id")
        if name and name in ids:
            raise AskError(
                f"Duplicate item found with id {name}. Remove duplicate items from your input and try again.",
                param="input",
            )
        ids.add(name)
        _known(index, item, name)
    for index, item in enumerate(items):
        _follows(index, item, items)


def _known(index: int, item: Object, name: str) -> None:
    kind = _kind(item)
    prefix = PREFIXES.get(kind)
    if name and prefix and not name.startswith(prefix):
        raise AskError(
            f"Invalid 'input[{index}].id': '{name}'. Expected an ID that begins with '{prefix}'.",
            param=f"input[{index}].id",
            code="invalid_value",
        )
    if sealed := text_of(item, "encrypted_content"):
        if not issued("openai", sealed):
            raise AskError(
                f"The encrypted content {sealed[:HEAD]}...{sealed[-HEAD:]} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )
        return
    if kind != "function_call_output" and (name or kind == "reasoning") and not _known_again(kind, name):
        raise AskError(
            f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input.",
            "file_missing",  # the same status 404 in the same envelope
            param="input",
        )


def _known_again(kind: str, name: str) -> bool:
    known = ItemId.read(name)
    return known is not None and (known.stored or kind in WHOLE)


def _follows(index: int, item: Object, items: list[Object]) -> None:
    known = ItemId.read(text_of(item, "id"))
    if known is None:
        return
    if text_of(item, "id").startswith("rs_"):
        _has_follower(item, known, items[index + 1] if index + 1 < len(items) else {})
    elif known.reasoned and not _has_reasoning(known, items[:index]):
        missing = ItemId(answer=known.answer, place=0, stored=known.stored, reasoned=True).written("rs")
        raise AskError(
            f"Item '{text_of(item, 'id')}' of type '{_kind(item)}' was provided without its required 'reasoning' item: "
            f"'{missing}'.",
            param="input",
        )


def _has_follower(item: Object, known: ItemId, after: Object) -> None:
    next_id = ItemId.read(text_of(after, "id"))
    same = next_id is not None and next_id.answer == known.answer
    nameless = not text_of(after, "id") and (_kind(after) == "function_call" or after.get("role") == "assistant")
    if not same and not nameless:
        raise AskError(
            f"Item '{text_of(item, 'id')}' of type 'reasoning' was provided without its required following item.",
            param="input",
        )


def _has_reasoning(known: ItemId, before: list[Object]) -> bool:
    ids = (ItemId.read(text_of(item, "id")) for item in before)
    return any(other is not None and (other.answer, other.place) == (known.answer, 0) for other in ids)


def _kind(item: Object) -> str:
    return text_of(item, "type") or ("message" if "role" in item else "")
