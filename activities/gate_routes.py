"""Where the gates of an agent are asked, and which of them cannot be asked in its run.

Here: routes, checked against what this worker declared and imported. Not here: unknown names (`spec`), asking a gate.
"""

from collections.abc import Iterator, Mapping

from activities.contract import Child, Elsewhere, Here, Route
from activities.declared import Declared
from activities.declared_gates import ActivityGate, CommandGate, DeclaredGate, FunctionGate, JudgeGate, SchemaGate
from activities.function_gates import GateFunction
from activities.judging import judging
from activities.spec import InvalidSpec, canonical
from ledger.agent import AgentSpec
from ledger.conversation import digest
from ledger.reading import shown


def gate_routes(
    agent: AgentSpec, declared: Declared, functions: Mapping[str, GateFunction], depth: int
) -> dict[str, Route]:
    """Where each gate of the agent is asked, but for commands, which need no saying.

    `depth` is the run's own. Raises `InvalidSpec`.
    """
    routes: dict[str, Route] = {}
    for where, gate in _gates(agent, declared):
        match gate:
            case CommandGate():
                pass
            case FunctionGate():
                routes[gate.name] = Here(in_workspace=_in_workspace(agent, functions[gate.name], where))
            case SchemaGate():
                routes[gate.name] = Here()
            case ActivityGate():
                routes[gate.name] = _elsewhere(gate)
            case JudgeGate():
                _check_depth(agent, depth, where)
                routes[gate.name] = Child(
                    agent_ref=digest(canonical(_judge(gate, declared))), task_queue=gate.task_queue
                )
    return dict(sorted(routes.items()))


def judges_of(agent: AgentSpec, declared: Declared) -> Iterator[bytes]:
    """The agents of its judges, as their runs look for them in the store."""
    for _, gate in _gates(agent, declared):
        if isinstance(gate, JudgeGate):
            yield canonical(_judge(gate, declared))


def _gates(agent: AgentSpec, declared: Declared) -> Iterator[tuple[str, DeclaredGate]]:
    for stage in agent.stages:
        for name in stage.gates:
            yield f"agent: stage {stage.name}: gate {shown(name)}", declared.gates[name]


def _in_workspace(agent: AgentSpec, function: GateFunction, where: str) -> bool:
    if agent.workspace is None and function.needs_workspace:
        raise InvalidSpec(f"{where} works in a workspace, and the agent names none; set workspace")
    return agent.workspace is not None and function.in_workspace


def _elsewhere(gate: ActivityGate) -> Elsewhere:
    """Asking twice harms nobody: a gate decides nothing."""
    return Elsewhere(
        activity=gate.activity,
        task_queue=gate.task_queue,
        idempotent=True,
        timeout_s=gate.timeout_s,
        heartbeat_s=gate.heartbeat_s,
    )


def _check_depth(agent: AgentSpec, depth: int, where: str) -> None:
    limit = agent.policy.children.depth
    if depth >= limit:
        raise InvalidSpec(
            f"{where} is a judge, a run of its own, and a run at depth {depth} may start none; "
            f"policy.children.depth is {limit}: raise it, or leave the gate out"
        )


def _judge(gate: JudgeGate, declared: Declared) -> AgentSpec:
    return judging(declared.agents[gate.judge])
