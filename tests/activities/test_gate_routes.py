"""Where the gates of an agent are asked, by what the operator declared; and which agents are refused for a gate."""

from contextlib import closing
from pathlib import Path

import pytest

from activities.contract import Child, Elsewhere, Here
from activities.declared import Declared
from activities.declared_gates import ActivityGate, CommandGate, FunctionGate, JudgeGate, SchemaGate
from activities.function_gates import GateFunction
from activities.functions import FunctionThreads
from activities.gate_routes import gate_routes, judges_of
from activities.judging import VERDICT
from activities.spec import InvalidSpec, check_agent, read_agent
from ledger.agent import AgentSpec
from ledger.conversation import digest

CRITIC = AgentSpec.model_validate({"name": "critic", "models": ["openai:small"]})


def of_answer(answer: str) -> None: ...


def of_both(answer: str, workspace: Path | None = None) -> None: ...


def of_workspace(workspace: Path) -> None: ...


FUNCTIONS = {function.__name__: function for function in (of_answer, of_both, of_workspace)}
DECLARED = Declared.model_validate(
    {
        "gates": {
            "tests": CommandGate(name="tests", command=("make",)),
            "invoice": ActivityGate(name="invoice", activity="Check", task_queue="billing", timeout_s=5, heartbeat_s=1),
            "form": SchemaGate.model_validate({"name": "form", "schema": {"type": "object"}}),
            "review": JudgeGate(name="review", judge="critic", task_queue="judges"),
        }
        | {name: FunctionGate(name=name, function=f"{__name__}:{name}") for name in FUNCTIONS},
        "agents": {"critic": CRITIC},
    }
)


@pytest.fixture
def routed():
    with closing(FunctionThreads()) as threads:
        functions = {
            name: GateFunction.of(gate, threads)
            for name, gate in DECLARED.gates.items()
            if isinstance(gate, FunctionGate)
        }

        def routes(*gates, depth=0, **agent):
            spec = AgentSpec.model_validate({"models": ["openai:gpt-5"], "gates": gates, **agent})
            return gate_routes(spec, DECLARED, functions, depth)

        yield routes


def test_a_command_needs_no_saying_so_that_runs_of_before_go_where_they_went(routed):
    assert routed("tests", workspace="app") == {}


def test_each_kind_is_asked_where_it_is(routed):
    routes = routed("form", "invoice")
    assert routes["form"] == Here()
    assert routes["invoice"] == Elsewhere(
        activity="Check", task_queue="billing", idempotent=True, timeout_s=5, heartbeat_s=1
    )


def test_a_function_runs_in_the_workspace_where_it_can_use_one_and_there_is_one(routed):
    with_one = routed("of_answer", "of_both", "of_workspace", workspace="app")
    assert with_one == {
        "of_answer": Here(),
        "of_both": Here(in_workspace=True),
        "of_workspace": Here(in_workspace=True),
    }
    assert routed("of_answer", "of_both") == {"of_answer": Here(), "of_both": Here()}


def test_a_function_that_cannot_do_without_a_workspace_refuses_an_agent_without_one(routed):
    with pytest.raises(InvalidSpec) as caught:
        routed("of_workspace")
    line = "agent: stage main: gate of_workspace works in a workspace, and the agent names none; set workspace"
    assert str(caught.value) == line


def test_a_judge_is_a_run_of_its_agent_which_answers_with_a_verdict(routed):
    agent = AgentSpec.model_validate({"models": ["openai:gpt-5"], "gates": ["review"]})
    (judge,) = judges_of(agent, DECLARED)
    assert read_agent(judge).stages[-1].output == dict(VERDICT)
    assert routed("review") == {"review": Child(agent_ref=digest(judge), task_queue="judges")}


@pytest.mark.parametrize(("depth", "limit"), [(0, 0), (3, 3), (4, 3)])
def test_a_run_too_deep_to_start_another_refuses_a_judge(routed, depth, limit):
    with pytest.raises(InvalidSpec) as caught:
        routed("review", depth=depth, policy={"children": {"depth": limit}})
    assert str(caught.value) == (
        f"agent: stage main: gate review is a judge, a run of its own, and a run at depth {depth} may start none; "
        f"policy.children.depth is {limit}: raise it, or leave the gate out"
    )
    assert routed("review", depth=limit - 1, policy={"children": {"depth": limit}})
    assert routed("form", depth=depth, policy={"children": {"depth": limit}})


def test_only_a_command_needs_a_workspace_before_functions_are_known():
    declared = DECLARED.model_copy(update={"providers": {"openai": None}})
    agent = {"models": ["openai:gpt-5"], "gates": ["form", "invoice", "review", "of_answer"]}
    check_agent(AgentSpec.model_validate(agent), declared, {})
    with pytest.raises(InvalidSpec, match=r"^agent: stage main: gate tests works in a workspace, and the agent names"):
        check_agent(AgentSpec.model_validate(agent | {"gates": ["form", "tests"]}), declared, {})
