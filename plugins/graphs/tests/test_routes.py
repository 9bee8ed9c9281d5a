"""The routes of graphs as a client sees them: every logged form, the text format and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from google.protobuf import text_format

import tbcore_graphs
from tbcore_graphs.proto.graph_pb2 import GraphDef, NodeDef
from tbcore_graphs.proto.run_metadata_pb2 import RunMetadata
from tbcore_testing import EventFileWriter, RouteTests, TbcoreClient, summaries, write_run

routes = import_module("tbcore_graphs.routes")
"""Imported by name: in the package, `routes` is the hook."""

MakeClient = Callable[..., TbcoreClient]

PLUGIN = "data/plugin/graphs"


def graph_of(*names: str) -> GraphDef:
    """A graph in which each node is the input of the next."""
    nodes = [
        NodeDef(name=name, op="Op", input=[before] if before else [])
        for before, name in zip(["", *names], names, strict=False)
    ]
    return GraphDef(node=nodes)


def meta_graph(graph: GraphDef) -> bytes:
    """A serialized MetaGraphDef: field 1 is its description, field 2 the graph."""
    return in_field(1, b"\x0a\x00") + in_field(2, graph.SerializeToString())


def in_field(number: int, data: bytes) -> bytes:
    """A serialized message with these bytes in one field."""
    size = len(data)
    return bytes([number << 3 | 2, size & 0x7F | 0x80, size >> 7]) + data


def metadata_of(*graphs: GraphDef, **times: int) -> RunMetadata:
    metadata = RunMetadata()
    for graph in graphs:
        metadata.function_graphs.add().pre_optimization_graph.CopyFrom(graph)
    device = metadata.step_stats.dev_stats.add(device="/cpu:0")
    for name, time in times.items():
        stats = device.node_stats.add(node_name=name, all_end_rel_micros=time)
        stats.memory.add(total_bytes=10 * time)
    return metadata


def add_tensor(path: Path, plugin: str, tag: str, *contents: bytes) -> None:
    """Writes string tensors under a tag, with a plugin's metadata."""
    with EventFileWriter(path) as writer:
        for step, content in enumerate(contents):
            value = summaries.metadata_only(tag, plugin, b"1")
            value.tensor.dtype = 7
            value.tensor.string_val.append(content)
            writer.add_summary(step, value)


KERAS = {
    "class_name": "Sequential",
    "config": {
        "name": "model",
        "layers": [
            {"class_name": "Dense", "config": {"name": "first", "units": 3}},
            {"class_name": "Dense", "config": {"name": "second"}},
        ],
    },
}


def write_logs(tbcore_logdir: Path) -> None:
    """Writes one run for each form of graph, and one without a graph."""
    write_run(tbcore_logdir, "def", graph=graph_of("old").SerializeToString())
    with EventFileWriter(tbcore_logdir / "def" / "events.out.tfevents.2") as writer:
        writer.add_graph(graph_of("a", "b/c").SerializeToString())
        writer.add_meta_graph(meta_graph(graph_of("meta")))
        writer.add_run_metadata("step 1", metadata_of(a=5).SerializeToString(), step=1)
        writer.add_run_metadata("step 1", metadata_of(a=7).SerializeToString(), step=2)
    with EventFileWriter(tbcore_logdir / "meta" / "a.tfevents") as writer:
        writer.add_meta_graph(meta_graph(graph_of("before")))
        writer.add_meta_graph(meta_graph(graph_of("meta", "meta/x")))
    traced = metadata_of(graph_of("f"), x=3).SerializeToString()
    add_tensor(tbcore_logdir / "traced" / "a.tfevents", "graph_run_metadata", "t", traced)
    with_graph = metadata_of(graph_of("g")).SerializeToString()
    add_tensor(tbcore_logdir / "plain" / "a.tfevents", "graph_run_metadata_graph", "p", with_graph)
    model = json.dumps(KERAS).encode()
    add_tensor(tbcore_logdir / "keras" / "a.tfevents", "graph_keras_model", "keras", model)
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})


class TestRoutes(RouteTests):
    plugin = tbcore_graphs
    routes: ClassVar = {
        f"{PLUGIN}/graph?run=def": ["data/graph", "graph", "legacy/data/graph", "legacy/graph"],
        f"{PLUGIN}/run_metadata?run=def&tag=step 1": [
            "data/run_metadata", "legacy/data/run_metadata",
        ],
        **{
            f"{PLUGIN}/{address}": []
            for address in (
                "runs", "run_metadata_tags", "overview?run=def", "scope?run=def&tag=step 1",
                "node?run=def&name=a&tag=step 1", "search?run=def&text=a",
            )
        },
    }  # fmt: skip

    def write_logs(self, logdir: Path) -> None:
        write_logs(logdir)


@pytest.fixture
def logdir(tbcore_logdir: Path) -> Path:
    """The logs of `write_logs`."""
    write_logs(tbcore_logdir)
    return tbcore_logdir


@pytest.fixture
def client(logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    return tbcore_client(logdir, plugins=[tbcore_graphs], dev=False)


def text(client: TbcoreClient, run: str, route: str = "graph", **more: Any) -> str:
    response = client.get(f"{PLUGIN}/{route}", params={"run": run, **more})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/x-protobuf; charset=utf-8"
    return response.text


def node_names(client: TbcoreClient, run: str, **more: Any) -> list[str]:
    graph = text_format.Parse(text(client, run, **more), GraphDef())
    return [node.name for node in graph.node]


def test_runs_with_a_graph_in_any_form_are_listed(client: TbcoreClient) -> None:
    """Others are not: a front end would never finish reading their empty text."""
    assert sorted(client.get(f"{PLUGIN}/runs").json()) == [
        "def", "keras", "meta", "plain", "traced",
    ]  # fmt: skip
    assert client.get("data/plugins_listing").json() == {"graphs": True}


def test_a_graph_def_takes_precedence_over_a_meta_graph_def(client: TbcoreClient) -> None:
    """Of each, the last one in any of the run's files is used."""
    assert node_names(client, "def") == ["a", "b/c"]
    assert node_names(client, "meta") == ["meta", "meta/x"]


def test_functions_and_models_are_graphs(client: TbcoreClient) -> None:
    """They have ids; without a main graph, the first of them is the graph of the run."""
    assert node_names(client, "traced") == ["f"]
    assert node_names(client, "plain", graph="run_metadata:p") == ["g"]
    assert node_names(client, "keras", graph="keras:keras") == ["model/first", "model/second"]


def test_several_functions_become_one_graph(logdir: Path, tbcore_client: MakeClient) -> None:
    """Each has its own scope and library, and calls refer to the renamed functions."""
    first, second = graph_of("a", "b"), graph_of("a")
    first.node[1].input.append("^a")
    first.node[1].op = "f"
    first.node[1].attr["g"].func.name = "f"
    first.node[1].attr["other"].func.name = "elsewhere"
    first.library.function.add().signature.name = "f"
    second.library.gradient.add(function_name="f", gradient_func="g")
    data = metadata_of(first, second).SerializeToString()
    add_tensor(logdir / "two" / "a.tfevents", "graph_run_metadata", "t", data)

    graph = text_format.Parse(
        text(tbcore_client(logdir, plugins=[tbcore_graphs]), "two"), GraphDef()
    )

    assert [(node.name, list(node.input)) for node in graph.node] == [
        ("graph_1/a", []),
        ("graph_1/b", ["graph_1/a", "^graph_1/a"]),
        ("graph_2/a", []),
    ]
    b = graph.node[1]
    assert (b.op, b.attr["g"].func.name) == ("graph_1_f", "graph_1_f")
    assert b.attr["other"].func.name == "elsewhere"
    assert graph.library.function[0].signature.name == "graph_1_f"
    assert graph.library.gradient[0].gradient_func == "graph_2_g"


def test_the_text_of_a_function_contains_only_that_function(
    logdir: Path, tbcore_client: MakeClient
) -> None:
    """The function is in the library of an otherwise empty GraphDef, and parses back."""
    graph = graph_of("a")
    for name in ("f", "g"):
        function = graph.library.function.add()
        function.signature.name = name
        function.node_def.add(name=f"in_{name}", op="Op")
    write_run(logdir, "calls", graph=graph.SerializeToString())
    traced = metadata_of(graph).SerializeToString()
    add_tensor(logdir / "traced_calls" / "a.tfevents", "graph_run_metadata", "t", traced)
    client = tbcore_client(logdir, plugins=[tbcore_graphs])

    for run, prefix in (("calls", ""), ("traced_calls", "run_metadata:t/")):
        found = text_format.Parse(text(client, run, graph=f"{prefix}function:g"), GraphDef())
        assert len(found.node) == 0
        assert list(found.library.function) == [graph.library.function[1]]
    gone = client.get(f"{PLUGIN}/graph?run=calls&graph=function:h")
    assert (gone.status_code, "'h'" in gone.text) == (404, True)


def test_run_metadata_is_the_last_of_its_tag(client: TbcoreClient) -> None:
    """This holds for both forms of run metadata."""
    tags = client.get(f"{PLUGIN}/run_metadata_tags").json()
    assert {run: tags[run] for run in ("def", "traced", "plain", "numbers")} == {
        "def": ["step 1"], "traced": ["t"], "plain": [], "numbers": [],
    }  # fmt: skip
    found = text(client, "def", "run_metadata", tag="step 1")
    assert text_format.Parse(found, RunMetadata()) == metadata_of(a=7)
    traced = text_format.Parse(text(client, "traced", "run_metadata", tag="t"), RunMetadata())
    assert traced == metadata_of(graph_of("f"), x=3)


def test_the_legacy_api_has_graphs(client: TbcoreClient) -> None:
    """The routes and the names of data types are those that its front ends use."""
    response = client.get("data/graph?run=def&limit_attr_size=1024&large_attrs_key=_too_large")
    assert response.text == text(client, "def")
    index = client.get("legacy/data/runs").json()
    found = {
        run: (entry["graph"], entry["meta_graph"], entry["run_metadata"])
        for run, entry in index.items()
    }
    assert found == {
        "def": (True, True, ["step 1"]),
        "meta": (True, True, []),
        "traced": (True, False, ["t"]),
        "plain": (True, False, []),
        "keras": (True, False, []),
        "numbers": (False, False, []),
    }


def test_an_empty_graph_is_one_empty_line(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Front ends read up to a line end. The empty line parses as an empty graph."""
    with EventFileWriter(tbcore_logdir / "a.tfevents") as writer:
        writer.add_meta_graph(b"")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_graphs])

    assert client.get(f"{PLUGIN}/runs").json() == ["."]
    assert text(client, ".") == "\n"
    [graph] = client.get(f"{PLUGIN}/overview?run=.").json()["graphs"]
    assert (graph["nodes"], graph["edges"], graph.get("error")) == (0, 0, None)


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("graph", 400, ["run"]),
        ("graph?run=missing", 404, ["missing"]),
        ("graph?run=numbers", 404, ["numbers", "no graph"]),
        ("graph?run=def&graph=keras:x", 404, ["keras:x", "'graph'"]),
        ("graph?run=def&limit_attr_size=x&large_attrs_key=k", 400, ["limit_attr_size"]),
        ("graph?run=def&limit_attr_size=0&large_attrs_key=k", 400, ["limit_attr_size"]),
        ("graph?run=def&limit_attr_size=5", 400, ["large_attrs_key"]),
        ("run_metadata?run=def", 400, ["tag"]),
        ("run_metadata?tag=step 1", 400, ["run"]),
        ("run_metadata?run=def&tag=step", 404, ["step"]),
        ("run_metadata?run=missing&tag=step", 404, ["missing"]),
        ("overview?run=missing", 404, ["missing"]),
        ("scope?run=def&path=nowhere", 404, ["nowhere"]),
        ("scope?run=def&graph=function:f", 404, ["f"]),
        ("scope?run=def&tag=other", 404, ["other"]),
        ("scope?run=def&limit=0", 400, ["limit"]),
        ("scope?run=def&offset=-1", 400, ["offset"]),
        ("scope?run=def&series=x", 404, ["series"]),
        ("node?run=def", 400, ["name"]),
        ("node?run=def&name=nothing", 404, ["nothing"]),
        ("trace?run=def", 400, ["name"]),
        ("trace?run=def&name=nothing", 404, ["nothing"]),
        ("trace?run=def&name=a&path=nowhere", 404, ["nowhere"]),
        ("search?run=numbers&text=x", 404, ["no graph"]),
    ],
)
def test_errors_are_one_line_with_the_requested_name(
    client: TbcoreClient, query: str, status: int, words: list[str]
) -> None:
    """For a missing parameter, the line names the parameter."""
    response = client.get(f"{PLUGIN}/{query}")

    assert response.status_code == status, response.text
    assert len(response.text.splitlines()) == 1
    assert all(word in response.text for word in words), response.text


def test_a_key_without_a_limit_is_ignored(client: TbcoreClient) -> None:
    """TensorBoard ignored it, too."""
    assert text(client, "def", large_attrs_key="k") == text(client, "def")


HOSTILE = {
    "truncated": graph_of("a" * 50).SerializeToString()[:-3],
    "text": b"this is no graph",
    "name is not UTF-8": b"\x0a\x04\x0a\x02\xff\xfe",
    "length past the end": b"\x0a\xff\xff\xff\xff\x0f",
    "unterminated varint": b"\xff" * 20,
    "nested messages": b"\x0a\x80\x01" + b"\x3a\x7e" * 64,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("form", ["graph_def", "meta_graph_def", "run_metadata", "keras"])
def test_invalid_bytes_are_a_one_line_error(
    tbcore_logdir: Path, tbcore_client: MakeClient, form: str, data: bytes
) -> None:
    """In every form and on every route. The overview succeeds and contains the error."""
    path = tbcore_logdir / "bad" / "a.tfevents"
    if form == "keras":
        add_tensor(path, "graph_keras_model", "t", data)
    elif form == "run_metadata":
        # Field 4 of RunMetadata is a traced function, and field 2 of that is its graph.
        add_tensor(path, "graph_run_metadata", "t", in_field(4, in_field(2, data)))
    else:
        with EventFileWriter(path) as writer:
            if form == "graph_def":
                writer.add_graph(data)
            else:
                writer.add_meta_graph(in_field(2, data))
    write_run(tbcore_logdir, "good", graph=graph_of("a").SerializeToString())
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_graphs])

    for route in ("graph?", "scope?", "node?name=a&", "trace?name=a&", "search?text=a&"):
        response = client.get(f"{PLUGIN}/{route}run=bad")
        assert response.status_code == 404
        assert len(response.text.splitlines()) == 1
        assert "cannot be decoded" in response.text
    if form == "run_metadata":
        assert client.get(f"{PLUGIN}/run_metadata?run=bad&tag=t").status_code == 404
    [graph] = client.get(f"{PLUGIN}/overview?run=bad").json()["graphs"]
    assert "cannot be decoded" in graph["error"]
    assert node_names(client, "good") == ["a"]


def test_a_tensor_without_strings_is_not_a_graph(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Such as one with numbers under the tag of a graph."""
    with EventFileWriter(tbcore_logdir / "a.tfevents") as writer:
        value = summaries.metadata_only("t", "graph_run_metadata", b"1")
        value.tensor.dtype = 1
        value.tensor.float_val.extend([1.0, 2.0])
        writer.add_summary(0, value)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_graphs])

    assert client.get(f"{PLUGIN}/graph?run=.").status_code == 404
    assert client.get(f"{PLUGIN}/run_metadata?run=.&tag=t").status_code == 404


def test_a_file_that_was_deleted_or_replaced_is_404(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Bytes that differ from those that were logged are never served."""
    path = write_run(tbcore_logdir, "train", graph=graph_of("a").SerializeToString())
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_graphs])
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Op", b"Xx"))
    for route in ("graph", "scope"):
        assert client.get(f"{PLUGIN}/{route}?run=train").status_code == 404
    path.unlink()
    for route in ("graph", "scope"):
        assert client.get(f"{PLUGIN}/{route}?run=train").status_code == 404
    client.reload()
    assert client.get(f"{PLUGIN}/runs").json() == []


def test_a_graph_that_is_rewritten_is_read_again(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Cached values never go stale."""
    write_run(tbcore_logdir, "train", graph=graph_of("a").SerializeToString())
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_graphs])
    assert node_names(client, "train") == ["a"]
    assert client.get(f"{PLUGIN}/scope?run=train").json()["children"]["name"] == ["a"]

    write_run(tbcore_logdir, "train", graph=graph_of("b").SerializeToString())
    client.reload()

    assert node_names(client, "train") == ["b"]
    assert client.get(f"{PLUGIN}/scope?run=train").json()["children"]["name"] == ["b"]


def test_long_text_is_sent_while_it_is_generated(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The second response comes from the cache and is the same."""
    graph = graph_of(*(f"scope/node_{i}" for i in range(40_000)))
    write_run(tbcore_logdir, "train", graph=graph.SerializeToString())
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_graphs])
    client.headers["Accept-Encoding"] = "identity"

    with patch.object(routes, "graph_text", wraps=routes.graph_text) as graph_text:
        responses = [client.get(f"{PLUGIN}/graph?run=train") for _ in range(2)]

    expected = text_format.MessageToString(graph, as_utf8=True)
    assert [response.text == expected for response in responses] == [True, True]
    assert "content-length" not in responses[0].headers
    assert graph_text.call_count == 1
    head = client.head(f"{PLUGIN}/graph?run=train")
    assert (head.status_code, head.content) == (200, b"")


def test_overview_lists_graphs_and_metadata(client: TbcoreClient) -> None:
    """The graph of the run is first. Ids are those that the parameter `graph` accepts."""
    found = client.get(f"{PLUGIN}/overview?run=def").json()
    assert found["graphs"] == [
        {"id": "graph", "title": "Graph", "source": "graph_def",
         "nodes": 2, "edges": 1, "functions": []}
    ]  # fmt: skip
    assert found["metadata_tags"] == [{"tag": "step 1", "step": 2}]
    assert found["version"].startswith("graph=")
    [keras] = client.get(f"{PLUGIN}/overview?run=keras").json()["graphs"]
    assert (keras["id"], keras["source"], keras["nodes"]) == ("keras:keras", "keras", 2)
    assert client.get(f"{PLUGIN}/overview?run=numbers").json()["graphs"] == []


def test_costs_are_those_of_the_requested_tag(client: TbcoreClient) -> None:
    """From the tag's last metadata; null for nodes that are not in it."""
    children = client.get(f"{PLUGIN}/scope?run=def&tag=step 1").json()["children"]
    assert children["name"] == ["a", "b"]
    assert children["compute_us"] == [7, None]
    assert children["bytes"] == [70, None]
    node = client.get(f"{PLUGIN}/node?run=def&tag=step 1&name=a").json()
    assert (node["compute_us"], node["bytes"]) == (7, 70)


def test_devices_come_from_metadata_where_available(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Most graphs contain none. Nodes without metadata have the device that the graph gives."""
    graph = graph_of("s/a", "s/b", "t/c", "t/d")
    graph.node[2].device = "/wanted:0"
    graph.node[3].device = "/wanted:0"
    metadata = RunMetadata()
    for device, names in {"/cpu:0": ["s/a", "s/b", "t/c"], "/gpu:0": ["s/b"]}.items():
        stats = metadata.step_stats.dev_stats.add(device=device)
        for name in names:
            stats.node_stats.add(node_name=name, all_end_rel_micros=1)
        # Enough nodes that the message is decoded in several parts.
        for index in range(20_000):
            stats.node_stats.add(node_name=f"elsewhere/{index}", all_end_rel_micros=1)
    with EventFileWriter(tbcore_logdir / "a.tfevents") as writer:
        writer.add_graph(graph.SerializeToString())
        writer.add_run_metadata("m", metadata.SerializeToString())
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_graphs])

    def get(route: str, **query: str) -> Any:
        return client.get(f"{PLUGIN}/{route}", params={"run": ".", **query}).json()

    assert get("scope")["children"]["device"] == ["", "/wanted:0"]
    assert get("scope", tag="m")["children"]["device"] == ["", ""]
    assert get("scope", tag="m", path="s")["children"]["device"] == ["/cpu:0", "/gpu:0"]
    assert get("scope", tag="m", path="t")["children"]["device"] == ["/cpu:0", "/wanted:0"]
    assert get("node", tag="m", name="s/b")["device"] == "/gpu:0"
    assert get("node", name="s/b")["device"] == ""
    assert get("node", tag="m", name="s")["devices"] == [["/cpu:0", 1], ["/gpu:0", 1]]
