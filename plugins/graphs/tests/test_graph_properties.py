"""Scopes, nodes, traces and searches agree with a simple reference implementation on any graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore import NotFoundError
from tbcore_graphs.columns import columns_of, columns_of_function, shape_text
from tbcore_graphs.costs import cost_totals
from tbcore_graphs.graph import Graph
from tbcore_graphs.profile import Cost
from tbcore_graphs.proto.graph_pb2 import FunctionDef, GraphDef
from tbcore_graphs.proto.tensor_pb2 import TensorShapeProto

NO_LIMIT = 10_000
NAMES = st.lists(st.sampled_from(["a", "b", "c", "x_1", "x_2"]), min_size=1, max_size=4).map(
    "/".join
)
SHAPES = st.lists(st.lists(st.integers(-1, 3), max_size=2), max_size=2)


@st.composite
def graphs(draw: st.DrawFn) -> GraphDef:
    """Graphs with few names, so that scopes and nodes share some; inputs may name missing nodes."""
    names = draw(st.lists(NAMES, max_size=12, unique=True))
    inputs = st.lists(
        st.builds(
            lambda mark, name, output: f"{mark}{name}{output}",
            st.sampled_from(["", "", "^"]),
            st.sampled_from([*names, "missing"]),
            st.sampled_from(["", "", ":0", ":1", ":7"]),
        ),
        max_size=4,
    )
    graph = GraphDef()
    for name in names:
        node = graph.node.add(
            name=name,
            op=draw(st.sampled_from(["Add", "Const", ""])),
            device=draw(st.sampled_from(["", "", "/cpu:0", "/gpu:0"])),
            input=draw(inputs),
        )
        if draw(st.booleans()):
            for shape in draw(SHAPES):
                dims = node.attr["_output_shapes"].list.shape.add().dim
                for size in shape:
                    dims.add(size=size)
    return graph


Edge = tuple[str, str, bool, int, str]


class Reference:
    """A graph as lists and dictionaries."""

    def __init__(self, graph: GraphDef) -> None:
        names = [node.name for node in graph.node]
        scopes = {name.rpartition("/")[0] for name in names}
        for scope in list(scopes):
            while scope:
                scope = scope.rpartition("/")[0]
                scopes.add(scope)
        self.scopes = scopes - {""}
        self.shown = {
            name: f"{name}/({name.rpartition('/')[2]})" if name in self.scopes else name
            for name in names
        }
        self.nodes = {self.shown[node.name]: node for node in graph.node}
        self.edges: list[Edge] = []
        by_name = {node.name: node for node in graph.node}
        for node in graph.node:
            for text in node.input:
                name = text.removeprefix("^").partition(":")[0]
                control = text.startswith("^")
                # A control input has no output.
                if name not in by_name or (control and ":" in text):
                    continue
                output = int(text.partition(":")[2] or 0)
                shapes = by_name[name].attr["_output_shapes"].list.shape
                shape = ""
                if not control and output < len(shapes):
                    shape = shape_text(shapes[output])
                self.edges.append((self.shown[name], self.shown[node.name], control, output, shape))

    def children(self, scope: str) -> dict[str, str]:
        """Full name of each direct child of a scope to its kind."""
        found: dict[str, str] = {}
        for name in self.nodes:
            if is_below(name, scope):
                rest = name[len(scope) + 1 :] if scope else name
                leaf, slash, _ = rest.partition("/")
                child = f"{scope}/{leaf}" if scope else leaf
                found[child] = "scope" if slash else "op"
        return found

    def visible_entry(self, scope: str, name: str) -> str:
        """The scope or node that represents a node as seen from a scope."""
        container = scope
        while not is_below(name, container):
            container = container.rpartition("/")[0]
        return next(c for c in self.children(container) if name == c or is_below(name, c))


def is_below(name: str, scope: str) -> bool:
    return not scope or name.startswith(f"{scope}/")


def rows(table: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*table.values(), strict=True))


@settings(deadline=None, max_examples=100)
@given(logged=graphs())
def test_every_scope_equals_the_reference(logged: GraphDef) -> None:
    """The children, the edges between them and the edges across the border are the same."""
    reference, graph = Reference(logged), Graph(columns_of(logged.SerializeToString()))

    for scope in ["", *reference.scopes]:
        found = graph.scope(scope, None, limit=NO_LIMIT)
        children = reference.children(scope)
        table = found["children"]
        assert dict(zip(table["name"], table["kind"], strict=True)) == children
        for name, op, nodes, device in zip(
            table["name"], table["op"], table["nodes"], table["device"], strict=True
        ):
            below = [
                node
                for full, node in reference.nodes.items()
                if full == name or is_below(full, name)
            ]
            assert op == (below[0].op if children[name] == "op" else "")
            assert nodes == len(below)
            devices = {node.device for node in below if node.device}
            assert device == (devices.pop() if len(devices) == 1 else "")

        expected: dict[str, Counter[Any]] = {
            "edges": Counter(),
            "ins": Counter(),
            "outs": Counter(),
        }
        shapes: dict[Any, set[str]] = {}
        for source, target, control, _, shape in reference.edges:
            inside = is_below(source, scope), is_below(target, scope)
            near = reference.visible_entry(scope, source)
            far = reference.visible_entry(scope, target)
            if not any(inside) or (all(inside) and near == far):
                continue
            where = "edges" if all(inside) else "ins" if inside[1] else "outs"
            key = (far, near, control) if where == "ins" else (near, far, control)
            expected[where][key] += 1
            shapes.setdefault((where, key), set()).add(shape)
        for where, columns in (("edges", ("from", "to")), ("ins", ("child", "outside")),
                               ("outs", ("child", "outside"))):  # fmt: skip
            actual = Counter[Any]()
            for near, far, count, control, shape in rows(
                {key: found[where][key] for key in (*columns, "count", "control", "shape")}
            ):
                key = (
                    table["name"][near],
                    table["name"][far] if where == "edges" else far,
                    control,
                )
                assert key not in actual
                actual[key] = count
                same = shapes[where, key]
                assert shape == (next(iter(same)) if len(same) == 1 else "")
            assert actual == expected[where]


@settings(deadline=None, max_examples=60)
@given(logged=graphs(), costs=st.dictionaries(NAMES, st.integers(0, 100), max_size=6))
def test_details_of_nodes_and_scopes_equal_the_reference(
    logged: GraphDef, costs: dict[str, int]
) -> None:
    """Inputs are in the order logged; outputs, operations and cost totals are the same."""
    reference, graph = Reference(logged), Graph(columns_of(logged.SerializeToString()))
    node_costs = {name: Cost(cost, 2 * cost) for name, cost in costs.items()}
    totals = cost_totals(graph.columns, graph.tree, node_costs)

    for name, node in reference.nodes.items():
        found = graph.node(graph.entry(name), totals, list(node.input))
        assert (found["name"], found["op"], found["device"]) == (name, node.op, node.device)
        listed = [
            (end["name"], end["control"], end["output"], end["shape"])
            for end in found["inputs"]
            if "missing" not in end
        ]
        assert listed == [
            (source, control, output, shape)
            for source, target, control, output, shape in reference.edges
            if target == name
        ]
        assert len(found["inputs"]) == found["num_inputs"] == len(node.input)
        assert Counter(end["name"] for end in found["outputs"]) == Counter(
            target for source, target, *_ in reference.edges if source == name
        )
        assert found["compute_us"] == costs.get(node.name)
    for scope in reference.scopes:
        found = graph.scope_totals(graph.entry(scope), totals)
        below = {full: node for full, node in reference.nodes.items() if is_below(full, scope)}
        assert found["nodes"] == len(below)
        assert dict(found["ops"]) == Counter(node.op for node in below.values())
        known = [costs[node.name] for node in below.values() if node.name in costs]
        assert found["compute_us"] == (sum(known) if known else None)
        assert found["bytes"] == (2 * sum(known) if known else None)
        ends = [(source in below, target in below) for source, target, *_ in reference.edges]
        assert found["edges"] == ends.count((True, True))
        assert found["num_inputs"] == ends.count((False, True))
        assert found["num_outputs"] == ends.count((True, False))
        inputs = Counter((edge[0], edge[2]) for edge in reference.edges if enters(edge, below))
        outputs = Counter((edge[1], edge[2]) for edge in reference.edges if leaves(edge, below))
        for listed, expected in ((found["inputs"], inputs), (found["outputs"], outputs)):
            assert {(end["name"], end["control"]): end["count"] for end in listed} == expected


def enters(edge: Edge, below: Container[str]) -> bool:
    return edge[0] not in below and edge[1] in below


def leaves(edge: Edge, below: Container[str]) -> bool:
    return edge[0] in below and edge[1] not in below


@settings(deadline=None, max_examples=60)
@given(logged=graphs(), data=st.data())
def test_a_trace_contains_all_ancestors(logged: GraphDef, data: st.DataObject) -> None:
    """Ancestors of a node, or of all nodes in a scope; cycles do not make the search endless."""
    reference, graph = Reference(logged), Graph(columns_of(logged.SerializeToString()))
    start = data.draw(st.sampled_from(["", *reference.scopes, *reference.nodes]))
    ancestors = {name for name in reference.nodes if name == start or is_below(name, start)}
    while True:
        more = {source for source, target, *_ in reference.edges if target in ancestors}
        if more <= ancestors:
            break
        ancestors |= more

    counts = graph.ancestor_counts(graph.entry(start))

    for scope in ["", *reference.scopes]:
        found = graph.trace(scope, counts, limit=NO_LIMIT)
        assert found["nodes"] == len(ancestors)
        assert set(found["names"]) == {
            child
            for child in reference.children(scope)
            if any(name == child or is_below(name, child) for name in ancestors)
        }


@settings(deadline=None, max_examples=60)
@given(
    logged=graphs(),
    text=st.sampled_from(["", "A", "b/", "x_", "(b", "nothing"]),
    op=st.sampled_from([None, "Add", "CONST", "ons", "", "Nothing"]),
    limit=st.integers(0, 20),
)
def test_a_search_equals_the_reference(
    logged: GraphDef, text: str, op: str | None, limit: int
) -> None:
    """Case is ignored. A scope inside a match matches only by its last segment."""
    reference, graph = Reference(logged), Graph(columns_of(logged.SerializeToString()))

    found = graph.search(text, op, limit)

    expected = [
        (name, "op", node.op)
        for name, node in reference.nodes.items()
        if text.lower() in name.lower() and (op is None or op.lower() in node.op.lower())
    ]
    if op is None and text:
        expected += [
            (scope, "scope", "")
            for scope in reference.scopes
            if text.lower() in scope.rpartition("/")[2].lower()
            or (
                text.lower() in scope.lower()
                and text.lower() not in scope.rpartition("/")[0].lower()
            )
        ]
    actual = list(zip(found["names"], found["kinds"], found["ops"], strict=True))
    assert found["total"] == len(expected)
    assert len(actual) == min(limit, len(expected))
    assert set(actual) <= set(expected)
    assert len(set(actual)) == len(actual)
    expected.sort(key=lambda row: (row[1] == "op", row[0].count("/"), len(row[0])))
    assert [len(name) for name, _, _ in actual] == [len(name) for name, _, _ in expected[:limit]]


def test_a_star_in_a_search_matches_any_characters() -> None:
    """Slashes included. `.*` means the same, and the parts must occur in order."""
    logged = GraphDef()
    for name in ("Conv_1/weights/read", "conv_2/bias", "weights/conv", "a*"):
        logged.node.add(name=name, op="X")
    graph = Graph(columns_of(logged.SerializeToString()))

    def found(text: str) -> list[str]:
        names: list[str] = graph.search(text, None, NO_LIMIT)["names"]
        return names

    assert found("conv*weights") == ["Conv_1/weights", "Conv_1/weights/read"]
    assert found("conv_1/weights") == ["Conv_1/weights", "Conv_1/weights/read"]
    assert found("CONV.*s") == ["Conv_1/weights", "conv_2/bias", "Conv_1/weights/read"]
    assert found("conv_*") == ["Conv_1", "conv_2", "conv_2/bias", "Conv_1/weights/read"]
    assert found("a*") == ["a*", "conv_2/bias", "Conv_1/weights/read"]
    assert found("ss*s") == []


@settings(deadline=None, max_examples=100)
@given(logged=graphs(), limit=st.integers(1, 4))
def test_pages_of_children_contain_each_child_once(logged: GraphDef, limit: int) -> None:
    """Consecutive pages are the full list, in the order of the graph."""
    graph = Graph(columns_of(logged.SerializeToString()))
    whole = graph.scope("", None, limit=NO_LIMIT)
    found = [graph.scope("", None, limit=limit, offset=at) for at in range(0, 13, limit)]

    names = [name for page in found for name in page["children"]["name"]]
    assert names == whole["children"]["name"]
    assert {page["total"] for page in found} == {len(whole["children"]["name"])}
    assert found[0]["too_many"] == (len(whole["children"]["name"]) > limit)


def test_scopes_of_the_same_structure_have_the_same_number() -> None:
    """Names do not matter. Other structures have other numbers, and a unique structure has 0."""
    logged = GraphDef()
    for scope, ops in {"a": "XY", "b": "YX", "c": "XX", "d": "XX", "e": "XXX"}.items():
        for number, op in enumerate(ops):
            logged.node.add(name=f"{scope}/inner/n{number}", op=op)
    graph = Graph(columns_of(logged.SerializeToString()))

    a, b, c, d, e = graph.scope("", None, limit=NO_LIMIT)["children"]["structure"]

    assert a == b != c == d
    assert a > 0 < c
    assert e == 0


def test_series_are_folded_when_there_are_too_many_children() -> None:
    """Children that differ in their last number become one row, which can be opened."""
    logged = GraphDef()
    logged.node.add(name="s/input", op="Placeholder")
    for number in range(100):
        before = "s/input" if number == 0 else f"s/layer1_{number - 1}/out"
        logged.node.add(name=f"s/layer1_{number}/out", op="Add", device="/gpu:0", input=[before])
    logged.node.add(name="s/end", op="Sum", input=["s/layer1_99/out"])
    graph = Graph(columns_of(logged.SerializeToString()))

    found = graph.scope("s", None, limit=50)

    assert found["too_many"]
    assert found["children"] == {
        "name": ["s/input", "s/layer1_*", "s/end"],
        "kind": ["op", "series", "op"],
        "op": ["Placeholder", "", "Sum"],
        "nodes": [1, 100, 1],
        "device": ["", "/gpu:0", ""],
        "structure": [0, 1, 0],
        "compute_us": [None] * 3,
        "bytes": [None] * 3,
    }
    assert rows(found["edges"]) == [(0, 1, 1, False, ""), (1, 2, 1, False, "")]

    opened = graph.scope("s", None, limit=50, offset=50, series="s/layer1_*")

    assert opened["children"]["name"] == [f"s/layer1_{number}" for number in range(50, 100)]
    assert opened["total"] == 100
    assert len(opened["edges"]["from"]) == 49
    assert rows(opened["ins"]) == [(0, "s/layer1_49", 1, False, "")]
    assert rows(opened["outs"]) == [(49, "s/end", 1, False, "")]
    with pytest.raises(NotFoundError, match="no series"):
        graph.scope("s", None, limit=50, series="s/in*")


def test_unusual_names_are_preserved() -> None:
    """Segments are never empty, repeated names become unique, and a node may be its own input."""
    names = ["", "/", "a//b", "/x/y", "end/", "a//b", "x" * 5000, "é/ü", "a/b/(b)", "a/b", "a/b/c"]
    logged = GraphDef()
    for name in names:
        logged.node.add(name=name, input=[name])
    graph = Graph(columns_of(logged.SerializeToString()))

    found, queue = [], [""]
    while queue:
        path = queue.pop()
        children = graph.scope(path, None, limit=NO_LIMIT)["children"]
        for name, kind in zip(children["name"], children["kind"], strict=True):
            if kind == "scope":
                queue.append(name)
                assert graph.scope_totals(graph.entry(name), None)["name"] == name
            else:
                found.append(name)
                assert graph.node(graph.entry(name), None, None)["name"] == name

    expected = set(names) - {"", "a/b"} | {"(no name)", "a//b (2)", "a/b/(b))"}
    assert set(found) == expected
    assert len(found) == len(names)


def test_a_node_without_a_name_gets_one() -> None:
    """The empty name is the path of the root scope in requests."""
    logged = GraphDef()
    for op in ("First", "Second"):
        logged.node.add(op=op)
    logged.node.add(name="x", op="X", input=["", "(no name)"])
    graph = Graph(columns_of(logged.SerializeToString()))

    names = graph.scope("", None, limit=NO_LIMIT)["children"]["name"]

    assert names == ["(no name)", "(no name) (2)", "x"]
    ops = [graph.node(graph.entry(name), None, [])["op"] for name in names]
    assert ops == ["First", "Second", "X"]
    assert [end["name"] for end in graph.node(graph.entry("x"), None, ["", "y"])["inputs"]] == [
        "(no name)",
        "y",
    ]


def test_scopes_are_nested_at_most_a_hundred_deep() -> None:
    """A log may contain a name with a million slashes."""
    logged = GraphDef()
    logged.node.add(name="/".join("a" * 1000))
    graph = Graph(columns_of(logged.SerializeToString()))

    path, depth = "", 0
    while (table := graph.scope(path, None, limit=NO_LIMIT)["children"])["kind"] == ["scope"]:
        path, depth = table["name"][0], depth + 1

    assert depth == 100
    assert table["name"] == [logged.node[0].name]


def test_a_function_is_a_graph_with_its_arguments_and_results() -> None:
    """Inputs may name an output and its index; spans point to messages in the serialized graph."""
    logged = GraphDef()
    function = logged.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="x")
    function.signature.output_arg.add(name="y")
    node = function.node_def.add(name="scope/add", op="AddV2", input=["x", "x", "^scope/wait"])
    node.attr["_output_shapes"].list.shape.add().dim.add(size=3)
    function.node_def.add(name="scope/wait", op="NoOp")
    function.ret["y"] = "scope/add:z:0"
    data = logged.SerializeToString()
    columns = columns_of(data)
    assert (columns.names, list(columns.functions)) == ([], ["f"])

    start, end = columns.functions["f"]
    graph = Graph(columns_of_function(data, start, end))

    assert FunctionDef.FromString(data[start:end]) == function
    root = graph.scope("", None, limit=NO_LIMIT)
    assert root["children"]["name"] == ["x", "scope", "y"]
    assert root["children"]["op"] == ["input_arg", "", "output_arg"]
    assert rows(root["edges"]) == [(0, 1, 2, False, ""), (1, 2, 1, False, "3")]
    index = graph.columns.index["scope/add"]
    found = data[graph.columns.start[index] : graph.columns.end[index]]
    assert found == node.SerializeToString()


@pytest.mark.parametrize(
    ("sizes", "unknown_rank", "expected"),
    [([], False, "scalar"), ([-1, 784], False, "?x784"), ([0], False, "0"), ([], True, "?")],
)
def test_shapes_have_short_texts(sizes: list[int], unknown_rank: bool, expected: str) -> None:
    """`?` is an unknown size, or an unknown rank."""
    shape = TensorShapeProto(unknown_rank=unknown_rank)
    for size in sizes:
        shape.dim.add(size=size)
    assert shape_text(shape) == expected
