"""Settings are read strictly from one file; every mistake is one line that shows where, and never a value."""

from pathlib import Path

import pytest

from settings import Settings, SettingsError, load_settings

MARKER = "sk-marker-5f3c9a"


def write(folder: Path, text: str) -> Path:
    file = folder / "endstop.toml"
    file.write_text(text)
    return file


def load(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    return load_settings(write(tmp_path, text), environ or {})


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    line = str(caught.value)
    assert "\n" not in line
    assert MARKER not in line
    return line.replace(str(tmp_path / "endstop.toml"), "FILE")


def test_without_a_file_there_are_three_providers_a_local_store_and_no_gate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = load_settings(environ={"OPENAI_API_KEY": MARKER})
    declared = settings.declared
    assert {name: (p.api, p.base_url, p.key_env) for name, p in declared.providers.items()} == {
        "openai": ("openai-chat", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        "anthropic": ("anthropic-messages", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        "google": ("google", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    }
    assert settings.store_url == f"sqlite:///{tmp_path}/.endstop/store.db"
    assert declared.workspace_root == tmp_path / ".endstop/workspaces"
    assert (declared.gates, declared.workspaces, settings.task_queue, settings.source) == ({}, {}, "endstop", None)


def test_a_key_comes_from_the_variable_that_the_file_names_and_is_never_printed(tmp_path):
    text = '[providers.a]\napi = "openai-chat"\nbase_url = "http://localhost:1/v1/"\nkey_env = "A_KEY"\n'
    provider = load(tmp_path, text, {"A_KEY": f" {MARKER}\n"}).declared.providers["a"]
    assert provider.key is not None
    assert provider.key.get_secret_value() == MARKER
    assert MARKER not in repr(provider)
    assert provider.base_url == "http://localhost:1/v1"


@pytest.mark.parametrize("environ", [{}, {"A_KEY": ""}, {"A_KEY": "  "}], ids=["unset", "empty", "blank"])
def test_a_variable_without_a_value_is_a_missing_key_and_not_an_empty_one(tmp_path, environ):
    text = '[providers.a]\napi = "openai-chat"\nbase_url = "http://h"\nkey_env = "A_KEY"\n'
    assert load(tmp_path, text, environ).declared.providers["a"].key is None


def test_a_file_that_declares_providers_declares_all_of_them(tmp_path):
    text = '[providers.local]\napi = "openai-chat"\nbase_url = "http://localhost:11434/v1"\n'
    assert set(load(tmp_path, text).declared.providers) == {"local"}


@pytest.mark.parametrize(
    ("api", "base_url", "more", "files"),
    [
        ("openai-responses", "https://api.openai.com/v1", "", True),
        ("openai-chat", "http://localhost:11434/v1", "", False),
        ("openai-responses", "https://me.openai.azure.com/openai/v1", "files = true", True),
        ("anthropic-messages", "https://api.anthropic.com", "files = false", False),
    ],
)
def test_files_are_uploaded_to_the_vendors_themselves_and_elsewhere_where_it_is_said(
    tmp_path, api, base_url, more, files
):
    text = f'[providers.p]\napi = "{api}"\nbase_url = "{base_url}"\n{more}\n'
    assert load(tmp_path, text).declared.providers["p"].files is files


def test_everything_the_file_can_say_is_read_and_paths_are_relative_to_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    settings = load(
        tmp_path,
        """
        workspace_root = "copies"
        task_queue = "night"
        sandbox = "none"
        [models."openai:gpt-5"]
        context_tokens = 400000
        input_usd_per_mtok = 1.25
        output_usd_per_mtok = 10
        cache_read_usd_per_mtok = 0
        [gates.tests]
        command = ["python", "-m", "pytest"]
        timeout_s = 60
        output_bytes = 4096
        protected = ["tests/", "pyproject.toml"]
        readable = ["/opt/jdk"]
        network = true
        [workspaces.calc]
        source = "project"
        [store]
        url = "sqlite:///kept/store.db"
        """,
    )
    gate = settings.declared.gates["tests"]
    assert (gate.name, gate.command) == ("tests", ("python", "-m", "pytest"))
    assert (gate.timeout_s, gate.output_bytes) == (60, 4_096)
    assert (gate.protected, gate.readable, gate.network) == (("tests", "pyproject.toml"), (Path("/opt/jdk"),), True)
    assert settings.declared.sandbox == "none"
    assert settings.declared.workspaces["calc"].source == tmp_path / "project"
    assert settings.declared.workspace_root == tmp_path / "copies"
    model = settings.declared.models["openai:gpt-5"]
    assert (model.context_tokens, model.input_usd_per_mtok, model.output_usd_per_mtok) == (400_000, 1.25, 10)
    assert (model.cache_read_usd_per_mtok, model.cache_write_usd_per_mtok) == (0, None)
    assert settings.store_url == f"sqlite:///{tmp_path}/kept/store.db"
    assert settings.task_queue == "night"


def test_gates_run_in_a_sandbox_unless_the_operator_says_otherwise(tmp_path):
    declared = load(tmp_path, "[gates.x]\ncommand = ['a']").declared
    assert declared.sandbox == "bubblewrap"
    assert declared.gates["x"].network is False


@pytest.mark.parametrize("store", ["sqlite:///kept/store.db", "sqlite:///kept/store.db?timeout=3"])
def test_settings_store_and_workspaces_are_nothing_for_a_gate_to_see(tmp_path, store):
    settings = load(tmp_path, f"[store]\nurl = '{store}'")
    kept = tmp_path / "kept" / "store.db"
    beside = [Path(f"{kept}{end}") for end in ("-wal", "-shm", "-journal")]
    assert settings.private == (settings.source, kept, *beside, tmp_path / ".endstop" / "workspaces")
    assert load(tmp_path, "[store]\nurl = 'postgresql://db/endstop'").private == (settings.source, settings.private[-1])


@pytest.mark.parametrize("url", ["sqlite:////var/lib/endstop.db", "postgresql://db/endstop"])
def test_a_store_that_says_exactly_where_it_is_stays_as_it_was_written(tmp_path, url):
    assert load(tmp_path, f'[store]\nurl = "{url}"\n').store_url == url


def test_the_variable_wins_over_the_file_in_the_folder_and_the_argument_over_both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, 'task_queue = "here"')
    named = tmp_path / "named.toml"
    named.write_text('task_queue = "named"')
    given = tmp_path / "given.toml"
    given.write_text('task_queue = "given"')
    environ = {"ENDSTOP_CONFIG": str(named)}
    assert load_settings(environ={}).task_queue == "here"
    assert load_settings(environ=environ).task_queue == "named"
    assert load_settings(given, environ).task_queue == "given"


PROVIDER = '[providers.a]\napi = "openai-chat"\nbase_url = "http://h"\n'
IN_THE_FILE = "a key does not belong into the file: put it into a variable and name that as key_env"
NOR_IN_AN_ADDRESS = "a key does not belong into the file, nor into an address: put it into a variable, key_env"
THE_NAME = "should be the NAME of a variable, in capitals, such as OPENAI_API_KEY; never the key itself"
A_URL = 'a base URL is "https://host[:port]/path", with http or https and a host'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gatse.x]\ncommand = ['a']", 'FILE: gatse: unknown key, did you mean "gates"?'),
        ("[gates.x]\ncommand = ['a']\ntimout_s = 1", 'FILE: gates.x.timout_s: unknown key, did you mean "timeout_s"?'),
        (
            "[gates.x]\nname = 'y'\ncommand = ['a']",
            'FILE: gates.x: unknown key "name"; the name is already in the table\'s heading',
        ),
        ("[gates.x]\ncommand = 'pytest -q'", "FILE: gates.x.command: should be a list"),
        ("[gates.x]\ncommand = []", "FILE: gates.x.command: should not be empty"),
        ("[gates.x]\ncommand = ['a']\ntimeout_s = -1", "FILE: gates.x.timeout_s: should be greater than 0"),
        (
            "[gates.x]\ncommand = ['a']\ntimeout_s = inf",
            "FILE: gates.x.timeout_s: should be less than or equal to 86400",
        ),
        (f"[gates.x]\ncommand = ['a']\ntimeout_s = '{MARKER}'", "FILE: gates.x.timeout_s: should be a valid number"),
        ("sandbox = 'docker'", "FILE: sandbox: should be 'bubblewrap' or 'none'"),
        ("sandbox = false", "FILE: sandbox: should be 'bubblewrap' or 'none'"),
        (
            "[gates.x]\ncommand = ['a']\nprotected = ['../y']",
            "FILE: gates.x.protected[0]: the path must stay in the workspace; .. is not allowed",
        ),
        (
            "[gates.x]\ncommand = ['a']\nprotected = ['tests/*.py']",
            'FILE: gates.x.protected[0]: a protected path is no pattern; name a file, or a folder such as "tests/"',
        ),
        (
            "[gates.x]\ncommand = ['a']\nreadable = ['opt']",
            'FILE: gates.x.readable[0]: a readable path is absolute, such as "/opt/jdk"',
        ),
        ("gates = 3", "FILE: gates: should be a table of keys and values"),
        ("workspaces.a = 3", 'FILE: workspaces.a: a workspace is made of exactly one of "source", "git" and "archive"'),
        ("task_queue = 2020-01-01", "FILE: holds a date or a time; no setting is one, so put it into quotes"),
        (
            f"[store]\nurl = '{MARKER}'",
            'FILE: store.url: a store is "sqlite:///path/to/file" or "postgresql://host/database"',
        ),
        (
            f"{PROVIDER}[models.'a:m']\ninput_usd_per_mtok = 1",
            "FILE: models.a:m: a price needs both input_usd_per_mtok and output_usd_per_mtok; 0 says that it is free",
        ),
        (
            f"{PROVIDER}[models.'a:m']\ninput_usd_per_mtok = -1\noutput_usd_per_mtok = 1",
            "FILE: models.a:m.input_usd_per_mtok: should be greater than or equal to 0",
        ),
        ("[models.gpt5]\ncontext_tokens = 1", 'FILE: [models] names targets such as "openai:gpt-5"'),
        (
            '[models."opnai:x"]',
            'FILE: [models] names the provider "opnai", which is not declared; did you mean "openai"?',
        ),
        (
            PROVIDER.replace("providers.a", "providers.OpenAI"),
            'FILE: providers.OpenAI: a provider\'s name is lower case letters, digits, "_", "." and "-"',
        ),
        (
            PROVIDER.replace("openai-chat", "smtp"),
            "FILE: providers.a.api: should be 'openai-chat', 'openai-responses', 'anthropic-messages' or 'google'",
        ),
        (PROVIDER + f"api_key = '{MARKER}'", f"FILE: providers.a: {IN_THE_FILE}"),
        (PROVIDER + f"Key = '{MARKER}'", f"FILE: providers.a: {IN_THE_FILE}"),
        (
            PROVIDER + f"key_env = '{MARKER}'",
            f"FILE: providers.a.key_env: {THE_NAME}",
        ),
        (PROVIDER + f"headers = {{Authorization = 'Bearer {MARKER}'}}", f"FILE: providers.a.headers: {IN_THE_FILE}"),
        (
            PROVIDER + f'headers = {{x = "{MARKER}\\r\\ny: z"}}',
            "FILE: providers.a.headers: a header is a name of letters, digits and hyphens, and one line of text",
        ),
        (
            PROVIDER + "without = ['messages']",
            "FILE: providers.a.without[0]: should be a field that a request can do without, such as stream_options",
        ),
        (
            PROVIDER.replace("openai-chat", "google") + "without = ['temperature']",
            'FILE: providers.a: without is for the protocols of OpenAI and Anthropic, not for api "google"',
        ),
        (PROVIDER + f"query = {{key = '{MARKER}'}}", f"FILE: providers.a.query: {NOR_IN_AN_ADDRESS}"),
        (
            PROVIDER + f"key_env = 'K'\nkey_header = 'api key {MARKER}'",
            "FILE: providers.a.key_header: should be the name of a header, such as api-key",
        ),
        (
            PROVIDER + "key_header = 'api-key'",
            "FILE: providers.a: key_header says where the key goes, so key_env must name the variable that holds it",
        ),
        (
            PROVIDER + "project = 'p'",
            "FILE: providers.a: project and location go together: with both, Google's models are asked at Vertex AI",
        ),
        (
            PROVIDER + "project = 'p'\nlocation = 'global'",
            'FILE: providers.a: project and location are for api "google", which then asks at Vertex AI',
        ),
        (
            PROVIDER.replace("openai-chat", "google") + "project = 'p'\nlocation = 'global'\nkey_env = 'K'",
            "FILE: providers.a: Vertex AI takes no key_env; GOOGLE_APPLICATION_CREDENTIALS names the account",
        ),
        (
            PROVIDER + "location = 'a/../b'",
            "FILE: providers.a.location: should be a name of Google Cloud: lower case letters, digits and hyphens",
        ),
        (PROVIDER.replace("http://h", "ftp://h"), f"FILE: providers.a.base_url: {A_URL}"),
        (PROVIDER.replace("http://h", "file:///etc/passwd"), f"FILE: providers.a.base_url: {A_URL}"),
        (PROVIDER.replace("http://h", "api.openai.com"), f"FILE: providers.a.base_url: {A_URL}"),
        (
            PROVIDER.replace("http://h", "http://h:port"),
            'FILE: providers.a.base_url: a base URL is "https://host[:port]/path"; its host or port cannot be read',
        ),
        (
            PROVIDER.replace("http://h", f"http://u:{MARKER}@h"),
            "FILE: providers.a.base_url: a base URL holds no user or password; name the variable of the key as key_env",
        ),
        (
            PROVIDER.replace("http://h", f"http://h/?key={MARKER}"),
            "FILE: providers.a.base_url: a base URL has no ? and no #",
        ),
        (
            PROVIDER.replace("http://h", "http://h /x"),
            "FILE: providers.a.base_url: a base URL has no spaces and no control characters",
        ),
        (f"key = = '{MARKER}'", "FILE: is not valid TOML: Invalid value (at line 1, column 7)"),
        ("a = " + "[" * 100_000, "FILE: is nested too deeply; expected tables of plain values"),
        ("a = " + "9" * 5_000, "FILE: holds a number of thousands of digits; no number here has more than ten"),
        ("# " + "x" * 2**20, "FILE: is larger than 1 MiB; settings are a few lines of TOML"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_place_and_expectation(tmp_path, text, line):
    assert refusal(tmp_path, text) == line


def test_a_file_that_is_named_and_not_there_is_not_replaced_by_defaults(tmp_path):
    with pytest.raises(SettingsError, match="No such file or directory"):
        load_settings(environ={"ENDSTOP_CONFIG": str(tmp_path / "gone.toml")})


def test_an_agents_path_with_a_zero_byte_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match=r"cannot be read \(it holds a zero byte\); \[agents.a\] names it"):
        load(tmp_path, '[agents.a]\nfile = "a\\u0000b"')


def test_a_folder_or_a_file_of_other_bytes_in_its_place_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path, {})
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="is not UTF-8 text"):
        load_settings(tmp_path / "binary", {})
