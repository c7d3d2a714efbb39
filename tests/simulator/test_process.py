"""The simulator as a process of its own, and what another process may ask of it over HTTP."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulator import Script, Text
from simulator.routing import DIALECTS

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "simulator"]
SCRIPT = Script(models={"m": (Text(text="one"), Text(text="two", held_until="go"))})


def run(*arguments):
    return subprocess.run([*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)


@contextmanager
def started(*arguments):
    """A simulator in a process of its own, and its address."""
    with subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        line = child.stdout.readline()
        assert line.startswith("simulator listening on http://127.0.0.1:")
        yield child, line.split()[-1]
        child.kill()


@pytest.fixture(scope="module")
def shared():
    with started() as (_, url):
        yield url


@pytest.fixture
def url(shared):
    """One process for all that only ask; each test starts at the top of the script."""
    http(f"{shared}/_script", SCRIPT.model_dump_json())
    return shared


def http(url, body=None, headers=None):
    data = None if body is None else body.encode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, data=data, headers=headers or {}), timeout=30
        ) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def ask(url):
    request = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    status, answer = http(f"{url}/v1/chat/completions", json.dumps(request))
    return answer["choices"][0]["message"]["content"] if status == 200 else status


def test_it_follows_its_script_and_says_what_it_received(tmp_path):
    (tmp_path / "script.json").write_text(SCRIPT.model_dump_json())
    with started("--script", tmp_path / "script.json", "--log", tmp_path / "log.jsonl") as (_, url):
        assert ask(url) == "one"
        status, seen = http(f"{url}/_received")
    assert status == 200
    assert [record["body"]["model"] for record in seen["requests"]] == ["m"]
    assert [record["outcome"] for record in seen["answers"]] == ["sent"]
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2


def test_a_held_answer_can_be_released_from_outside(url):
    ask(url)
    assert http(f"{url}/_release/go", "") == (200, {"released": "go"})
    assert ask(url) == "two"


def test_a_posted_script_replaces_the_old_one_and_counts_from_one_again(url):
    assert ask(url) == "one"
    assert http(f"{url}/_script", SCRIPT.model_dump_json()) == (200, {"models": ["m"]})
    assert ask(url) == "one"
    _, seen = http(f"{url}/_received")
    before, after = seen["requests"][-2:]
    assert (before["number"], after["number"]) == (1, 1)
    assert after["seq"] == before["seq"] + 1


@pytest.mark.parametrize(
    ("body", "complaint"),
    [("{", "expected JSON"), ('{"models": {"m": [{"kind": "txt"}]}}', "models.m.0"), ("[]", "script posted")],
    ids=["no json", "unknown kind", "no object"],
)
def test_a_bad_posted_script_is_refused_and_the_old_one_stays(url, body, complaint):
    status, answer = http(f"{url}/_script", body)
    assert status == 422
    assert complaint in answer["error"]
    assert ask(url) == "one"


def test_uploaded_files_expire_when_another_process_says_so(url):
    form = '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b\r\n'
    form += 'content-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n--b--\r\n'
    kind = {"content-type": "multipart/form-data; boundary=b"}
    one, two = (http(f"{url}/v1/files", form, kind)[1]["id"] for _ in range(2))
    assert http(f"{url}/_expire/{one}", "") == (200, {"expired": 1})
    assert http(f"{url}/v1/files/{one}")[0] == 404
    assert http(f"{url}/v1/files/{two}")[0] == 200
    assert http(f"{url}/_expire", "") == (200, {"expired": 1})
    assert http(f"{url}/v1/files/{two}")[0] == 404
    assert {request["path"] for request in http(f"{url}/_received")[1]["files"]} > {f"/v1/files/{one}", "/v1/files"}


def test_it_introduces_itself(url):
    status, about = http(url)
    assert status == 200
    assert about["apis"] == [dialect.name for dialect in DIALECTS]
    assert about["models"] == ["m"]


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/messages/batches", "/_release/", "/nowhere"])
def test_an_unknown_path_is_a_404_that_names_it(url, path):
    status, answer = http(f"{url}{path}", "{}")
    assert status == 404
    assert f"POST {path}" in answer["error"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_ends_with_zero(number):
    with started() as (process, _):
        process.send_signal(number)
        assert process.wait(timeout=30) == 0


def test_a_bad_script_is_one_line_and_exit_code_2(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text("modles = 1")
    ended = run("--script", str(file))
    assert ended.returncode == 2
    assert ended.stderr == f"script {file}: modles: Extra inputs are not permitted\n"


def test_a_port_in_use_is_one_line_and_exit_code_1(url):
    ended = run("--port", url.rsplit(":", 1)[-1])
    assert ended.returncode == 1
    assert ended.stderr.startswith("simulator: cannot listen on 127.0.0.1:")
    assert ended.stderr.count("\n") == 1


def test_it_stands_alone():
    seen = "import sys, simulator.__main__; print({m.partition('.')[0] for m in sys.modules})"
    modules = subprocess.run([sys.executable, "-c", seen], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    strangers = {"ledger", "workflows", "activities", "store", "openai", "anthropic", "pydantic_ai", "temporalio"}
    assert not {name for name in strangers if f"'{name}'" in modules}
