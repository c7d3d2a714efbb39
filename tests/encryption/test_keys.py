"""How the operator's keys are read and named, and what is said where they are none: never a part of them."""

import base64
import os

import pytest

from encryption import AlteredError, KeyMissing, Keys, new_key
from settings import SettingsError, load_settings

KEY, OTHER = new_key(), new_key()


@pytest.mark.parametrize(
    "written",
    [f"{KEY},{OTHER}", f" {KEY}\n{OTHER} ", f"{KEY}, {OTHER},", f"{KEY} {OTHER} {KEY}"],
    ids=["comma", "lines", "both", "twice"],
)
def test_keys_stand_newest_first_between_commas_or_blanks(written):
    keys = Keys.parse(written)

    assert keys.names == (*Keys.parse(KEY).names, *Keys.parse(OTHER).names)
    assert keys.newest == keys.names[0]


def test_a_key_has_the_same_name_however_it_is_spelled():
    raw = os.urandom(32)
    spelled = {encode(raw).decode() for encode in (base64.b64encode, base64.urlsafe_b64encode)}
    assert {Keys.parse(one).newest for one in (*spelled, next(iter(spelled)).rstrip("="))} == {Keys([raw]).newest}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "is not set"),
        (" , ", "is not set"),
        ("secretsecret", "key 1 of 1 is not 32 bytes in base64"),
        (f"{KEY},{OTHER[:-5]}", "key 2 of 2 is not 32 bytes"),
        (f"{KEY}x", "key 1 of 1 is not 32 bytes"),
        (base64.b64encode(os.urandom(33)).decode(), "key 1 of 1 is not 32 bytes"),
        ("ключ-" * 9, "key 1 of 1 is not 32 bytes"),
    ],
    ids=["not set", "nothing but commas", "a word", "a cut key", "a longer key", "33 bytes", "not ASCII"],
)
def test_what_is_no_key_is_refused_in_one_line_that_holds_nothing_of_it(tmp_path, written, said):
    (tmp_path / "endstop.toml").write_text('[encryption]\nkeys_env = "MY_KEYS"\n')

    with pytest.raises(SettingsError) as refused:
        load_settings(tmp_path / "endstop.toml", {"MY_KEYS": written})

    line = str(refused.value)
    assert line.startswith("MY_KEYS: ")
    assert said in line
    assert "\n" not in line
    assert refused.value.__cause__ is None
    for word in written.replace(",", " ").split():
        assert word[:6] not in line


def test_keys_are_on_with_one_setting_and_off_without_it(tmp_path):
    (tmp_path / "off.toml").write_text("")
    (tmp_path / "on.toml").write_text('[encryption]\nkeys_env = "MY_KEYS"\n')

    assert load_settings(tmp_path / "off.toml", {"MY_KEYS": KEY}).keys.newest == ""
    assert load_settings(tmp_path / "on.toml", {"MY_KEYS": KEY}).keys.names == Keys.parse(KEY).names


def test_what_is_printed_of_settings_with_keys_holds_none(tmp_path):
    (tmp_path / "endstop.toml").write_text('[encryption]\nkeys_env = "MY_KEYS"\n')
    settings = load_settings(tmp_path / "endstop.toml", {"MY_KEYS": KEY})

    raw = base64.urlsafe_b64decode(KEY)
    printed = f"{settings!r} {settings.keys!r} {settings.keys}"
    assert settings.keys.newest in printed
    for form in (KEY, raw.hex(), repr(raw)[2:-1], base64.b64encode(raw).decode()):
        assert form not in printed


def test_what_is_encrypted_is_decrypted_by_its_key_alone_and_as_it_was_encrypted_alone():
    keys, name = Keys.parse(f"{KEY},{OTHER}"), Keys.parse(KEY).newest
    content = keys.encrypt(b"clear", b"about")

    assert keys.decrypt(name, content, b"about") == b"clear"
    assert keys.encrypt(b"clear", b"about") != content
    with pytest.raises(KeyMissing, match=name):
        Keys.parse(OTHER).decrypt(name, content, b"about")
    for altered in (content[:-1], content[:5], b"", bytes([content[0] ^ 1]) + content[1:], content + b"x"):
        with pytest.raises(AlteredError):
            keys.decrypt(name, altered, b"about")
    with pytest.raises(AlteredError):
        keys.decrypt(name, content, b"something else")
    with pytest.raises(AlteredError):
        keys.decrypt(Keys.parse(OTHER).newest, content, b"about")
