"""Every graph of real logs is printed as protobuf prints it from TensorBoard's reader.

TensorBoard has its own descriptors for these messages, so a field that is missing or misnamed in
ours would be found.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

import tbcore_graphs
from tbcore_testing import TbcoreClient, make_client

GRAPHS = "data/plugin/graphs"

Logged = dict[tuple[str, str], dict[str, Any]]
"""(run, form) to tags, each with its last message."""


@pytest.fixture(scope="module")
def logged(real_logs: Path) -> Logged:
    """The messages in the files."""
    loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader",
        reason="tensorboard is not installed, and it is what the graphs are compared with",
    )
    from tensorboard.compat.proto import event_pb2

    found: Logged = defaultdict(dict)
    plugins: dict[tuple[str, str], str] = {}
    for path in sorted(p for p in real_logs.rglob("*tfevents*") if p.is_file()):
        run = str(path.parent.relative_to(real_logs))
        for record in loader.RawEventFileLoader(str(path)).Load():
            event = event_pb2.Event.FromString(record)
            match event.WhichOneof("what"):
                case "graph_def" | "meta_graph_def" as what:
                    found[run, what][""] = getattr(event, what)
                case "tagged_run_metadata":
                    tagged = event.tagged_run_metadata
                    found[run, "tagged_run_metadata"][tagged.tag] = tagged.run_metadata
            for value in event.summary.value:
                plugin = plugins.setdefault(
                    (run, value.tag), value.metadata.plugin_data.plugin_name
                )
                if plugin.startswith("graph_"):
                    found[run, plugin][value.tag] = value.tensor.string_val[0]
    return found


@pytest.fixture(scope="module")
def client(real_logs: Path) -> TbcoreClient:
    return make_client(real_logs, plugins=[tbcore_graphs])


def compared(client: TbcoreClient, route: str, expected: Any, **query: str) -> None:
    """Asserts that our text is that of the message, and can be parsed to the same message."""
    response = client.get(f"{GRAPHS}/{route}", params=query)
    assert response.status_code == 200, response.text
    text = text_format.MessageToString(expected, as_utf8=True)
    assert response.text == (text or "\n"), query
    assert text_format.Parse(response.text, type(expected)()) == expected


def test_every_graph_of_real_logs_is_printed_unchanged(
    client: TbcoreClient, logged: Logged
) -> None:
    """These are graphs of runs and of functions; all nodes are there."""
    from tensorboard.compat.proto import config_pb2, graph_pb2, meta_graph_pb2

    num_graphs = 0
    runs = {run for run, form in logged if form != "tagged_run_metadata"}
    assert set(client.get(f"{GRAPHS}/runs").json()) == runs
    for run in sorted(runs):
        expected: dict[str, Any] = {}
        if (run, "meta_graph_def") in logged:
            meta = meta_graph_pb2.MetaGraphDef.FromString(logged[run, "meta_graph_def"][""])
            expected["graph"] = meta.graph_def
        if (run, "graph_def") in logged:
            expected["graph"] = graph_pb2.GraphDef.FromString(logged[run, "graph_def"][""])
        for form in ("graph_run_metadata", "graph_run_metadata_graph"):
            for tag, data in logged.get((run, form), {}).items():
                functions = config_pb2.RunMetadata.FromString(data).function_graphs
                assert len(functions) <= 1
                graph = functions[0].pre_optimization_graph if functions else graph_pb2.GraphDef()
                expected[f"run_metadata:{tag}"] = graph
        overview = client.get(f"{GRAPHS}/overview", params={"run": run}).json()["graphs"]
        described = {graph["id"]: graph for graph in overview}
        for name, graph in expected.items():
            compared(client, "graph", graph, run=run, graph=name)
            if name in described:
                assert described[name]["nodes"] == len(graph.node)
                functions = [f.signature.name for f in graph.library.function]
                assert described[name]["functions"] == functions
            else:
                assert not graph.node
            num_graphs += 1
    print(f"{num_graphs} graphs of {len(runs)} runs compared")
    assert num_graphs


def test_all_run_metadata_of_real_logs_is_printed_unchanged(
    client: TbcoreClient, logged: Logged
) -> None:
    """This holds for both forms."""
    from tensorboard.compat.proto import config_pb2

    num_compared = 0
    tags = client.get(f"{GRAPHS}/run_metadata_tags").json()
    for (run, form), contents in logged.items():
        if form in ("tagged_run_metadata", "graph_run_metadata"):
            for tag, data in contents.items():
                assert tag in tags[run]
                expected = config_pb2.RunMetadata.FromString(data)
                compared(client, "run_metadata", expected, run=run, tag=tag)
                num_compared += 1
    assert num_compared == sum(map(len, tags.values()))
    assert num_compared


def test_every_layer_of_real_keras_models_is_a_node(client: TbcoreClient, logged: Logged) -> None:
    """All layers but the first have an input."""
    num_models = 0
    for (run, form), contents in logged.items():
        for tag in contents if form == "graph_keras_model" else ():
            overview = client.get(f"{GRAPHS}/overview", params={"run": run}).json()
            [graph] = [found for found in overview["graphs"] if found["id"] == f"keras:{tag}"]
            # None of these models contains another one.
            assert graph["nodes"] == len(json.loads(contents[tag])["config"]["layers"])
            assert graph["edges"] >= graph["nodes"] - 1
            num_models += 1
    assert num_models
