"""Gates as an operator declares them: every kind is read, every mistake is one line."""

import pytest

from activities.declared_gates import ActivityGate, CommandGate, FunctionGate, JudgeGate, SchemaGate
from tests.test_settings import load, refusal

ONE_OF = 'a gate names exactly one of "command", "activity", "function", "schema" and "judge"'
ACTIVITY = "[gates.x]\nactivity = 'A'\ntask_queue = 'q'\n"
JUDGE = "[agents.critic]\nfile = 'critic.toml'\n[gates.x]\njudge = 'critic'\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "critic.toml").write_text('models = ["openai:gpt-5"]\n')
    return tmp_path


def test_gates_of_every_kind_are_read(folder):
    text = """
        [agents.critic]
        file = "critic.toml"
        [gates.tests]
        command = ["make"]
        protected = ["tests/"]
        [gates.invoice]
        activity = "CheckInvoice"
        task_queue = "billing"
        timeout_s = 5
        heartbeat_s = 1
        [gates.sums]
        function = "checks:sums"
        [gates.form]
        schema = { type = "object" }
        [gates.review]
        judge = "critic"
        task_queue = "judges"
    """
    assert load(folder, text).declared.gates == {
        "tests": CommandGate(name="tests", command=("make",), protected=("tests",)),
        "invoice": ActivityGate(
            name="invoice", activity="CheckInvoice", task_queue="billing", timeout_s=5, heartbeat_s=1
        ),
        "sums": FunctionGate(name="sums", function="checks:sums"),
        "form": SchemaGate.model_validate({"name": "form", "schema": {"type": "object"}}),
        "review": JudgeGate(name="review", judge="critic", task_queue="judges"),
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gates.x]\n", f"FILE: gates.x: {ONE_OF}"),
        ("[gates]\nx = 3", f"FILE: gates.x: {ONE_OF}"),
        ("[gates.x]\ncomand = ['a']", f"FILE: gates.x: {ONE_OF}"),
        (ACTIVITY + "command = ['a']", f"FILE: gates.x: {ONE_OF}"),
        (ACTIVITY + "schema = { type = 'object' }", f"FILE: gates.x: {ONE_OF}"),
        (ACTIVITY + "timout_s = 3", 'FILE: gates.x.timout_s: unknown key, did you mean "timeout_s"?'),
        (ACTIVITY + "timeout_s = 0", "FILE: gates.x.timeout_s: should be greater than 0"),
        (ACTIVITY + "protected = ['a']", "FILE: gates.x.protected: unknown key"),
        ("[gates.x]\nactivity = 'A'", "FILE: gates.x.task_queue: is missing"),
        ("[gates.x]\nfunction = 'sums'", 'FILE: gates.x.function: a function is named as "package.module:function"'),
        ("[gates.x]\nfunction = 'a:b'\nnetwork = true", "FILE: gates.x.network: unknown key"),
        ("[gates.x]\nschema = 'object'", "FILE: gates.x.schema: should be a table of keys and values"),
        ("[gates.x]\njudge = 'a'", 'FILE: gates.x: names the agent "a", which is not declared; there are none'),
        (
            JUDGE + "[gates.y]\njudge = 'critik'",
            'FILE: gates.y: names the agent "critik", which is not declared; did you mean "critic"?',
        ),
        (JUDGE + "timeout_s = 3", "FILE: gates.x.timeout_s: unknown key"),
    ],
)
def test_a_mistake_in_a_gate_is_one_line(folder, text, line):
    assert refusal(folder, text).startswith(line)
