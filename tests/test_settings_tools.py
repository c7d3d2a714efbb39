"""Tools and MCP servers as an operator declares them: everything is read, every mistake is one line."""

import pytest

from activities.catalog import routes
from activities.contract import Elsewhere, Here
from tests.test_settings import load, refusal

MARKER = "sk-marker-5f3c9a"
ACTIVITY = "[tools.t]\nactivity = 'A'\ntask_queue = 'q'\ndescription = 'd'\n"
FUNCTION = "[tools.t]\nfunction = 'shop:stock'\n"
COMMAND = "[tools.t]\ncommand = ['true']\ndescription = 'd'\n"
MCP = "[mcp.m]\ncommand = ['serve']\ntools = ['find']\n"
WEB = "[mcp.m]\nurl = 'https://h/mcp'\ntools = ['find']\n"


def test_all_kinds_of_tools_are_read_and_each_has_its_route(tmp_path):
    declared = load(
        tmp_path,
        """
        [tools.refund]
        activity = "Refund"
        task_queue = "billing"
        description = "Pay back."
        timeout_s = 30
        heartbeat_s = 5
        approval = { amount = '^\\d{3}' }
        [tools.stock]
        function = "shop:stock"
        idempotent = true
        polling = true
        [tools.lint]
        command = ["make", "lint"]
        description = "Lint."
        readable = ["/opt/jdk"]
        network = true
        approval = "once"
        [mcp.github]
        command = ["npx", "server"]
        env = ["GITHUB_TOKEN"]
        tools = ["find.issue"]
        approval = "always"
        [mcp.search]
        url = "https://search.example/mcp"
        key_env = "SEARCH_KEY"
        tools = ["web"]
        timeout_s = 7
        """,
    ).declared
    assert routes(declared) == {
        "list_files": Here(in_workspace=True),
        "read_file": Here(in_workspace=True),
        "write_file": Here(in_workspace=True),
        "ask_person": Here(local=True),
        "read_output": Here(local=True),
        "refund": Elsewhere(activity="Refund", task_queue="billing", timeout_s=30, heartbeat_s=5),
        "stock": Here(idempotent=True),
        "lint": Here(idempotent=False, in_workspace=True),
        "github_find_issue": Here(idempotent=False),
        "search_web": Here(idempotent=False, timeout_s=7),
    }
    assert declared.tools["refund"].approval == {"amount": r"^\d{3}"}
    assert declared.tools["stock"].handling.polling


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[tools.t]\ndescription = 'd'\n", 'FILE: tools.t: a tool names exactly one of "activity", "function"'),
        ("[tools.t]\nfunction = 'a:b'\ncommand = ['c']\n", 'FILE: tools.t: a tool names exactly one of "activity"'),
        (
            "[tools.'a b']\nfunction = 'm:f'\n",
            "FILE: tools.a b: should match pattern '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'",
        ),
        ("[tools.t]\nfunction = 'shop.stock'\n", "FILE: tools.t.function: "),
        (FUNCTION + "description = 'd'\n", "FILE: tools.t.description: unknown key"),
        ("[tools.t]\ncommand = []\ndescription = 'd'\n", "FILE: tools.t.command: should not be empty"),
        ("[tools.t]\ncommand = ['true']\n", "FILE: tools.t.description: is missing"),
        (
            COMMAND + "readable = ['jdk']\n",
            'FILE: tools.t.readable[0]: a readable path is absolute, such as "/opt/jdk"',
        ),
        (
            ACTIVITY + "approval = 'maybe'\n",
            'FILE: tools.t.approval: should be "never", "always", "once", or a pattern',
        ),
        (ACTIVITY + "approval = { amount = 9 }\n", 'FILE: tools.t.approval: should be "never", "always", "once", or a'),
        (
            ACTIVITY + f"approval = {{ amount = '{MARKER}(' }}\n",
            'FILE: tools.t.approval: the pattern of "amount" is no regular expression',
        ),
        (ACTIVITY + "timeout_s = 0\n", "FILE: tools.t.timeout_s: should be greater than 0"),
        (
            "[tools.read_file]\nfunction = 'm:f'\n",
            'FILE: two tools would be known as "read_file"; give the declared one another name',
        ),
        (
            "[tools.read_output]\nfunction = 'm:f'\n",
            'FILE: two tools would be known as "read_output"; give the declared one another name',
        ),
        (
            MCP + "[tools.m_find]\nfunction = 'm:f'\n",
            'FILE: two tools would be known as "m_find"; give the declared one another name',
        ),
        (
            MCP.replace("'find'", "'find.it', 'find/it'"),
            'FILE: two tools would be known as "m_find_it"; give the declared one another name',
        ),
        ("[mcp.m]\ntools = ['find']\n", 'FILE: mcp.m: an MCP server names either "command" or "url"'),
        (MCP + "url = 'http://h'\n", 'FILE: mcp.m: an MCP server names either "command" or "url"'),
        ("[mcp.m]\ncommand = ['serve']\n", "FILE: mcp.m.tools: is missing"),
        ("[mcp.m]\ncommand = ['serve']\ntools = []\n", "FILE: mcp.m.tools: should not be empty"),
        (
            MCP + "key_env = 'K'\n",
            'FILE: mcp.m: "key_env" is the token for "url"; what a program gets is named by "env"',
        ),
        (
            WEB + "env = ['K']\n",
            'FILE: mcp.m: "env" is what a program gets; the variable of a bearer token for "url" is "key_env"',
        ),
        (MCP + f"env = ['{MARKER}']\n", "FILE: mcp.m.env[0]: should match pattern '^[A-Za-z_]\\w*$'"),
        (WEB + f"key = '{MARKER}'\n", "FILE: mcp.m.key: unknown key"),
        (
            WEB.replace("https://h", f"https://u:{MARKER}@h"),
            "FILE: mcp.m.url: a server's url holds no user or password; name the variable of the token as key_env",
        ),
        (
            WEB.replace("https://h", "ftp://h"),
            'FILE: mcp.m.url: a server\'s url is "https://host[:port]/path", with http or https and a host',
        ),
        (
            WEB.replace("https://h", "https://h:port"),
            'FILE: mcp.m.url: a server\'s url is "https://host[:port]/path"; its host or port cannot be read',
        ),
        (MCP + "approval = { x = '(' }\n", 'FILE: mcp.m.approval: the pattern of "x" is no regular expression'),
        (MCP + "idempotant = true\n", 'FILE: mcp.m.idempotant: unknown key, did you mean "idempotent"?'),
    ],
)
def test_a_mistake_is_one_line_that_names_place_and_expectation(tmp_path, text, line):
    assert refusal(tmp_path, text).startswith(line)


def test_an_agents_file_that_is_not_there_is_told_with_the_table_that_names_it(tmp_path):
    line = refusal(tmp_path, "[agents.a]\nfile = 'nope.toml'\n")
    assert line.endswith(
        "nope.toml: cannot be read (No such file or directory); [agents.a] names it: correct file there"
    )
