"""`replace_pattern`: find every place where a graph does what a small program does, and do something else there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern was found: the pattern's result, and the node for each node of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


class InternalMatch(NamedTuple):
    """The argument that filters get: the results and inputs of the pattern where it was found."""

    anchors: list[Node]
    nodes_map: dict[Node, Any]
    placeholder_nodes: list[Any]
    returning_nodes: list[Node]


class ReplacedPatterns(NamedTuple):
    """A `Match`, and the nodes that took its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace what does the same as `pattern` (a function, module or graph) by `replacement`; the places found."""
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=each.anchor, nodes_map=each.nodes_map) for each in replaced]


def _graph_of(program: Any) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any = None, match_filters: list[Callable[..., bool]] | None = None,
    ignore_literals: bool = False, replacement_callback: Callable[..., Graph] | None = None,
) -> list[ReplacedPatterns]:  # fmt: skip
    """`replace_pattern`, only where all filters agree."""
    wanted = _graph_of(pattern)
    matches = _matches(gm.graph, wanted, ignore_literals)
    kept = [each for each in matches if all(f(_shown(each, wanted), gm.graph, wanted) for f in match_filters or ())]
    fixed = None if replacement is None else _graph_of(replacement)
    renamed: dict[Node, Node] = {}  # results that were replaced, and by what
    done = []
    for match in kept:
        found = {key: renamed.get(node, node) if isinstance(node, Node) else node for key, node in match.items()}
        graph = replacement_callback(_shown(found, wanted), gm.graph, wanted) if replacement_callback else fixed
        assert graph is not None, "Either replacement or replacement_callback is needed."
        done.append(_replace(gm, wanted, graph, found, renamed))
    gm.recompile()
    if isinstance(replacement, Module):
        _bring_attributes(gm, replacement)
    return done


def _shown(match: dict[Node, Any], pattern: Graph) -> InternalMatch:
    results = [match[node] for node in pattern.output_node().all_input_nodes]
    inputs = [match[node] for node in pattern.nodes if node.op == "placeholder" and node in match]
    return InternalMatch(results, match, inputs, results)


# --- finding ---


def _matches(graph: Graph, pattern: Graph, ignore_literals: bool) -> list[dict[Node, Any]]:
    """The places where a graph does what the pattern does, which do not overlap, in order."""
    output = pattern.output_node()
    anchors = [node for node in output.all_input_nodes if node.op != "placeholder"] or output.all_input_nodes
    taken: set[Node] = set()
    matches = []
    for match in _extended({}, graph, anchors, ignore_literals):
        inner = {node for want, node in match.items() if want.op != "placeholder"}
        if not taken.isdisjoint(inner) or not _is_closed(match, inner, output):
            continue
        taken |= inner
        matches.append(match)
    return matches


def _extended(
    match: dict[Node, Any], graph: Graph, anchors: list[Node], ignore_literals: bool
) -> Iterator[dict[Node, Any]]:
    """A match of some of the pattern's results, extended by the others in every way there is."""
    if not anchors:
        yield match
        return
    for node in graph.nodes:
        attempt = dict(match)
        if _fits(anchors[0], node, attempt, ignore_literals):
            yield from _extended(attempt, graph, anchors[1:], ignore_literals)


def _fits(want: Any, have: Any, match: dict[Node, Any], ignore_literals: bool) -> bool:
    """True if a value of the graph is what the pattern wants there; nodes are noted in `match`."""
    if isinstance(want, Node):
        if want in match:
            return match[want] is have
        if want.op == "placeholder":
            match[want] = have
            return True
        if not isinstance(have, Node) or (have.op, have.target) != (want.op, want.target):
            return False
        match[want] = have
        wants, haves = _arguments(want), _arguments(have)
        return _fits(wants, haves, match, ignore_literals)
    if isinstance(have, Node):
        return False
    if isinstance(want, (list, tuple)):
        same = isinstance(have, (list, tuple)) and len(want) == len(have)
        return same and all(_fits(a, b, match, ignore_literals) for a, b in zip(want, have))
    if isinstance(want, dict):
        same = isinstance(have, dict) and want.keys() == have.keys()
        return same and all(_fits(want[key], have[key], match, ignore_literals) for key in want)
    if isinstance(want, slice):
        parts = (
            (want.start, want.stop, want.step),
            (have.start, have.stop, have.step) if isinstance(have, slice) else (),
        )
        return _fits(*parts, match, ignore_literals)
    return ignore_literals or type(want) is type(have) and want == have


def _arguments(node: Node) -> tuple[Any, Any]:
    return tuple(node.args), dict(node.kwargs)


def _is_closed(match: dict[Node, Any], inner: set[Node], output: Node) -> bool:
    """True if no node outside uses one that lies inside, except the results."""
    results = {match[node] for node in output.all_input_nodes}
    return all(node in results or inner.issuperset(node.users) for node in inner)


# --- replacing ---


def _replace(
    gm: GraphModule, pattern: Graph, replacement: Graph, match: dict[Node, Any], renamed: dict[Node, Node]
) -> ReplacedPatterns:
    """Put the replacement in one place."""
    inputs = [node for node in pattern.nodes if node.op == "placeholder"]
    new_inputs = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(inputs) != len(new_inputs):
        raise AssertionError(
            f"The pattern has {len(inputs)} inputs and its replacement {len(new_inputs)}; they must be the same."
        )
    known = {new: match[old] for old, new in zip(inputs, new_inputs)}
    results = [match[node] for node in pattern.output_node().all_input_nodes]
    inner = [node for want, node in match.items() if want.op not in ("placeholder", "output")]
    before = set(gm.graph.nodes)
    place = {node: number for number, node in enumerate(gm.graph.nodes)}
    users = [user for result in results for user in result.users if user not in inner]
    where = min(users, key=place.__getitem__, default=gm.graph.output_node())
    with gm.graph.inserting_before(where):
        copied: Any = gm.graph.graph_copy(replacement, known)
    outputs = copied if isinstance(copied, (tuple, list)) else (copied,)
    if len(outputs) != len(results):
        raise AssertionError(f"The pattern has {len(results)} results and its replacement {len(outputs)}.")
    for old, new in zip(results, outputs):
        if isinstance(new, Node):
            old.replace_all_uses_with(new, lambda user: user not in inner)
            renamed[old] = new
    for node in sorted(inner, key=place.__getitem__, reverse=True):
        if not node.users and not node._erased:
            gm.graph.erase_node(node)
    anchor = pattern.output_node().all_input_nodes[0]
    return ReplacedPatterns(anchor, dict(match), [node for node in gm.graph.nodes if node not in before])


def _bring_attributes(gm: GraphModule, replacement: Module) -> None:
    """Give the module what the replacement's nodes mention, and drop what is no longer mentioned."""
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr"):
            try:
                _attribute_at(gm, str(node.target))
            except AttributeError:
                _copy_attr(replacement, gm, str(node.target))
    gm.delete_all_unused_submodules()
    gm.graph.lint()


def _attribute_at(module: Any, path: str) -> Any:
    from functools import reduce

    return reduce(getattr, path.split("."), module)
