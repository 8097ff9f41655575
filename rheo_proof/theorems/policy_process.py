"""Predictable policies as a Markov decision process for other tools: insert, insert, stop; then verification.

What the policy does is a choice, what it reveals and what verification draws is chance, request by request as in
`chain.py`. After the emitted string come target samples, so every end state is a completed string of D + 1 tokens. The
least and the largest probability of such a string over all policies is then a question for a model checker, and the
answer rests neither on the class enumerator nor on our backward induction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheo_proof.exact.number import ONE
from rheo_proof.schemes.scheme import Scheme
from rheo_proof.schemes.tree import Tree
from rheo_proof.theorems.chain import Point, Program, between
from rheo_proof.theorems.policies import Policies, State
from rheo_proof.theorems.process import Process, Way, explored, numbered

CHOOSE = "choose"


def policy_process(policies: Policies, states: int | None = None, watch: Callable[[], None] = lambda: None) -> Process:
    """The decision process of all predictable policies; `out_...` labels the end states by the completed string.

    Raises `LimitReached` when there are more than `states` states; `watch` is called for each and may raise, too.

    >>> from rheo_proof.exact.toys import two_tokens
    >>> from rheo_proof.schemes.drafting.rheo import Rheo
    >>> from rheo_proof.schemes.verifying.rheo import Rheo as Verification
    >>> process = policy_process(Policies(two_tokens(1), Verification(), [Rheo(1, 0, 1, 1, 1)]))
    >>> [choice.words for choice in process.choices[0]]
    ['stop', 'insert the sampled slot of the root']
    """
    program = Program(Scheme(policies.draftings[0], policies.verifying), policies.model, complete=True)

    def way(point: Point) -> Way:
        return _insertions(policies, point.state) if point.phase == CHOOSE else program.way(point)

    return numbered(explored(between(CHOOSE, policies.start()), way, states, watch), "mdp")


def _insertions(policies: Policies, state: State) -> Way:
    """The choices of a policy at a state."""
    ways: list[tuple[str, Any]] = [("stop", [(between("tree", Tree(state.nodes)), ONE)])]
    for action in policies.actions(state):
        leads = [(between(CHOOSE, after), mass) for _, mass, after in policies.successors(state, action)]
        ways.append((policies.phrase(state, action), leads))
    inside = "; ".join(f"{_name(policies, state, node.path)} {node.kind}" for node in state.nodes)
    return Way((-1,), f"the policy chooses; inside: {inside or 'nothing'}", ways)


def _name(policies: Policies, state: State, path: tuple[int, ...]) -> str:
    return ",".join(map(str, state.prefix(path)))
