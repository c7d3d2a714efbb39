"""What no command, path or variable can hold is told when the settings are read, and not by the first run."""

import pytest

from tests.test_settings import PROVIDER, refusal

ZERO = "holds a zero byte, which the system takes in no command and no path; take it out"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[gates.g]\ncommand = ["true", "\\u0000"]', f"FILE: gates.g.command[1]: {ZERO}"),
        ('[tools.t]\ndescription = "d"\ncommand = ["a\\u0000b"]', f"FILE: tools.t.command[0]: {ZERO}"),
        ('[mcp.m]\ntools = ["t"]\ncommand = ["serve", "\\u0000"]', f"FILE: mcp.m.command[1]: {ZERO}"),
        ('[gates.g]\ncommand = ["true"]\nreadable = ["/a\\u0000b"]', f"FILE: gates.g.readable[0]: {ZERO}"),
        ('[workspaces.w]\nsource = "a\\u0000b"', f"FILE: workspaces.w.source: {ZERO}"),
        ('[workspaces.w]\narchive = "a\\u0000b.zip"', f"FILE: workspaces.w.archive: {ZERO}"),
        ('workspace_root = "a\\u0000b"', f"FILE: workspace_root: {ZERO}"),
        (
            '[store]\nurl = "sqlite:///a\\u0000b"',
            "FILE: store.url: holds a zero byte, which the system takes",
        ),
        ('[mcp.m]\ntools = ["t"]\ncommand = ["s"]\nenv = ["A\\u0000B"]', "FILE: mcp.m.env[0]: should match pattern"),
        (PROVIDER + 'key_env = "A\\u0000B"', "FILE: providers.a.key_env: should be the NAME of a variable"),
        (
            '[gates.g]\ncommand = ["\\ud800"]',
            "FILE: is not valid TOML: Escaped character is not a Unicode scalar value (at line 2",
        ),
        ("a = 1\na = 2", "FILE: is not valid TOML: Cannot overwrite a value (at "),
    ],
)
def test_what_the_system_refuses_is_one_line(tmp_path, text, line):
    assert refusal(tmp_path, text).startswith(line)
