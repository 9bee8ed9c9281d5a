"""The documented legacy API: each route, parameter and example."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tensorboard.compat.proto import config_pb2, graph_pb2

import tbcore_audio
import tbcore_distributions
import tbcore_graphs
import tbcore_histograms
import tbcore_images
import tbcore_scalars
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore_testing import EventFileWriter, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

PLUGINS = [
    tbcore_audio, tbcore_distributions, tbcore_graphs, tbcore_histograms, tbcore_images,
    tbcore_scalars,
]  # fmt: skip

XENT = [
    [1443856985.705543, 1448, 0.7461960315704346],
    [1443857105.704628, 3438, 0.5427092909812927],
    [1443857225.705133, 5417, 0.5457325577735901],
]
LIMITS = [
    -0.68, -0.62, -0.292, -0.26, -0.11, -0.10, -0.08, -0.07, -0.05, -0.0525, -0.0434, -0.039,
    -0.029, -0.026, 0.42, 0.47, 1.7976931348623157e308,
]  # fmt: skip
COUNTS = [0.0, 1.0] * 8 + [0.0]
HISTOGRAM = [1443871386.185149, 235166, [-0.66, 0.44, 8.0, -0.80, 0.73, LIMITS, COUNTS]]
PICTURE_TIME, PICTURE_STEP = 1440210599.246, 63702821
GRAPH_LIMIT = 1024
NAMES = {
    "scalars": ["xent", "loss", "learning_rate"],
    "histograms": ["foo_histogram", "bar_histogram"],
    "images": ["input/image/2"],
    "audio": ["input/audio/2"],
    "run_metadata": ["forward prop", "inference"],
}

ADDRESSES = {
    "scalars": "data/scalars?run=train_run&tag=xent",
    "samples": "data/scalars?sample_count=10",
    "histograms": "data/histograms?run=train_run&tag=foo_histogram",
    "compressedHistograms": "data/compressedHistograms?run=train_run&tag=foo_histogram",
    "images": "data/images?run=train_run&tag=input%2Fimage%2F2",
    "audio": "data/audio?run=train_run&tag=input%2Faudio%2F2",
    "graph": "data/graph?run=train_run&limit_attr_size=1024&large_attrs_key=_too_large",
    "run_metadata": "data/run_metadata?run=train_run&tag=inference",
}


def example_graph() -> graph_pb2.GraphDef:
    """A graph of three nodes; the second one has two large attributes."""
    graph = graph_pb2.GraphDef()
    graph.node.add(op="Input", name="A")
    node = graph.node.add(op="Input", name="B")
    node.attr["small_attr"].s = b"some string"
    for large in "ab":
        node.attr[large].s = b"x" * GRAPH_LIMIT  # and three bytes around it
    graph.node.add(op="MatMul", name="C", input=["A", "B"])
    return graph


def example_metadata() -> config_pb2.RunMetadata:
    metadata = config_pb2.RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/cpu:0")
    node = device.node_stats.add(
        node_name="_SOURCE", all_start_micros=1458337695775395, op_start_rel_micros=11,
        op_end_rel_micros=12, all_end_rel_micros=38, timeline_label="_SOURCE = NoOp()",
        scheduled_micros=1458337695775363,
    )  # fmt: skip
    node.memory.add(allocator_name="cpu")
    return metadata


@pytest.fixture
def logdir(tbcore_logdir: Path) -> Path:
    """A log directory with the two runs of the documentation."""
    with EventFileWriter(tbcore_logdir / "train_run" / "a.tfevents", wall_time=1.0) as writer:
        writer.add_graph(example_graph().SerializeToString())
        for wall_time, step, value in XENT:
            writer.add_scalar("xent", value, step, wall_time=wall_time)
        writer.add_scalar("loss", 0.5, 1)
        writer.add_scalar("learning_rate", 0.5, 1)
        wall_time, step, (low, high, num, total, squares, limits, counts) = HISTOGRAM
        for tag in NAMES["histograms"]:
            event = Event(wall_time=wall_time, step=step)
            histo = event.summary.value.add(tag=tag).histo
            histo.min, histo.max, histo.num, histo.sum, histo.sum_squares = (
                low, high, num, total, squares,
            )  # fmt: skip
            histo.bucket_limit.extend(limits)
            histo.bucket.extend(counts)
            writer.add_event(event)
        writer.add_image(
            "input/image/2", summaries.png(28, 28), PICTURE_STEP, wall_time=PICTURE_TIME
        )
        writer.add_audio(
            "input/audio/2", summaries.wav([0.0, 0.5]), PICTURE_STEP, wall_time=PICTURE_TIME
        )
        for tag in NAMES["run_metadata"]:
            writer.add_run_metadata(tag, example_metadata().SerializeToString())
    write_run(
        tbcore_logdir, "eval", wall_time=2.0,
        scalars={"precision": [0.5], "recall": [0.25]},
        histograms={tag: [[1.0, 2.0]] for tag in NAMES["histograms"]},
        images={"input": [summaries.png()]}, audio={"input_audio": [summaries.wav()]},
    )  # fmt: skip
    return tbcore_logdir


@pytest.fixture
def client(logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    return tbcore_client(logdir, plugins=PLUGINS, dev=False)


def test_runs_is_an_object_of_tags_by_type(logdir: Path, tbcore_client: MakeClient) -> None:
    """The object is always at legacy/data/runs, and at data/runs with `--api legacy`."""
    client = tbcore_client(logdir, plugins=PLUGINS, api="legacy")

    index = client.get("data/runs").json()

    histograms = NAMES["histograms"]
    assert index == {
        "train_run": {
            **NAMES, "compressedHistograms": histograms, "graph": True, "meta_graph": False,
            "firstEventTimestamp": 1.0,
        },
        "eval": {
            "histograms": histograms, "compressedHistograms": histograms,
            "scalars": ["precision", "recall"], "images": ["input"], "audio": ["input_audio"],
            "graph": False, "meta_graph": False, "run_metadata": [], "firstEventTimestamp": 2.0,
        },
    }  # fmt: skip
    assert client.get("legacy/data/runs").json() == index


def test_a_plugin_that_is_not_installed_leaves_its_type_empty(
    logdir: Path, tbcore_client: MakeClient
) -> None:
    """The addresses of the plugin do not exist."""
    client = tbcore_client(logdir, plugins=[tbcore_scalars])

    train = client.get("legacy/data/runs").json()["train_run"]

    assert train["scalars"] == NAMES["scalars"]
    for kind in ("images", "audio", "histograms", "compressedHistograms", "run_metadata"):
        assert train[kind] == []
    assert train["graph"] is False
    for name, address in ADDRESSES.items():
        expected = 200 if name in ("scalars", "samples") else 404
        assert client.get(address).status_code == expected, address


def test_scalars(client: TbcoreClient) -> None:
    """Rows have wall time, step and value, also as CSV."""
    assert client.get("data/scalars?run=train_run&tag=xent").json() == XENT
    table = client.get("data/scalars?run=train_run&tag=xent&format=csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.split("\r\n") == [
        "Wall time,step,value",
        "1443856985.705543,1448,0.7461960315704346",
        "1443857105.704628,3438,0.5427092909812927",
        "1443857225.705133,5417,0.5457325577735901",
        "",
    ]


@pytest.mark.parametrize(
    ("num_points", "query", "positions"),
    [
        (11, "sample_count=10", [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]),
        (12, "sample_count=10", [0, 1, 2, 3, 4, 6, 7, 8, 9, 11]),
        (12, "", [0, 1, 2, 3, 4, 6, 7, 8, 9, 11]),
        (100, "sample_count=10", [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]),
        (100, "sample_count=3", [0, 49, 99]),
        (100, "sample_count=2", [0, 99]),
        (1, "sample_count=2", [0]),
        (7, "sample_count=10", list(range(7))),
    ],
)
def test_samples_of_all_scalars(
    tbcore_logdir: Path,
    tbcore_client: MakeClient,
    num_points: int,
    query: str,
    positions: list[int],
) -> None:
    """Samples are evenly spaced, with the first and the last one; the default is ten."""
    write_run(tbcore_logdir, "train_run", scalars={"my_tag": list(range(num_points))})
    write_run(tbcore_logdir, "none")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    samples = client.get(f"data/scalars?{query}").json()

    rows = client.get("data/scalars?run=train_run&tag=my_tag").json()
    assert samples == {"train_run": {"my_tag": [rows[i] for i in positions]}, "none": {}}


def test_histograms(client: TbcoreClient) -> None:
    assert client.get(ADDRESSES["histograms"]).json() == [HISTOGRAM]


def test_compressed_histograms(client: TbcoreClient) -> None:
    """The values are those at nine basis points, with the outermost edges as first and last."""
    [[wall_time, step, pairs]] = client.get(ADDRESSES["compressedHistograms"]).json()

    assert [wall_time, step] == HISTOGRAM[:2]
    points = [0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000]
    assert [point for point, _ in pairs] == points
    values = [value for _, value in pairs]
    assert values == sorted(values)
    assert pairs == client.get(
        "data/plugin/distributions/distributions?run=train_run&tag=foo_histogram"
    ).json()[0][2]  # fmt: skip
    table = client.get(f"{ADDRESSES['compressedHistograms']}&format=csv").text.split("\r\n")
    edges = [f"Edge {i} {what}" for i in range(9) for what in ("basis points", "value")]
    assert table[0] == ",".join(["Wall time", "Step", *edges])
    assert [float(cell) for cell in table[1].split(",")] == [
        wall_time, step, *(number for pair in pairs for number in pair),
    ]  # fmt: skip


def test_images(client: TbcoreClient) -> None:
    """The listing has a query for each image, which returns the image."""
    [image] = client.get(ADDRESSES["images"]).json()

    assert image == {
        "width": 28, "height": 28, "wall_time": PICTURE_TIME, "step": PICTURE_STEP,
        "query": "index=0&tagname=input%2Fimage%2F2&run=train_run",
    }  # fmt: skip
    for path in ("data/individualImage", "individualImage", "legacy/data/individualImage",
                 "legacy/individualImage"):  # fmt: skip
        picture = client.get(f"{path}?{image['query']}")
        assert picture.content == summaries.png(28, 28)
        assert picture.headers["content-type"] == "image/png"


@pytest.mark.parametrize("prefix", ["data/", "", "legacy/data/", "legacy/"])
def test_audio(client: TbcoreClient, prefix: str) -> None:
    """The same at the documented address and below legacy/."""
    [clip] = client.get(f"{prefix}audio?run=train_run&tag=input%2Faudio%2F2").json()

    assert clip == {
        "wall_time": PICTURE_TIME, "step": PICTURE_STEP, "content_type": "audio/wav",
        "query": "index=0&tagname=input%2Faudio%2F2&run=train_run",
    }  # fmt: skip
    sound = client.get(f"{prefix}individualAudio?{clip['query']}")
    assert sound.content == summaries.wav([0.0, 0.5])
    assert sound.headers["content-type"] == "audio/wav"


SMALL_NODES = """\
node {
  name: "A"
  op: "Input"
}
node {
  name: "B"
  op: "Input"
  attr {
    key: "_too_large"
    value {
      list {
        s: "a"
        s: "b"
      }
    }
  }
  attr {
    key: "small_attr"
    value {
      s: "some string"
    }
  }
}
node {
  name: "C"
  op: "MatMul"
  input: "A"
  input: "B"
}
"""


@pytest.mark.parametrize(
    "path", ["data/graph", "graph", "legacy/graph", "data/plugin/graphs/graph"]
)
def test_graph_without_large_attributes(client: TbcoreClient, path: str) -> None:
    """Attributes above the limit are replaced by a list of their names."""
    query = f"run=train_run&limit_attr_size={GRAPH_LIMIT}&large_attrs_key=_too_large"
    for accepted, encoding in (("gzip", "gzip"), ("identity", None)):
        response = client.get(f"{path}?{query}", headers={"Accept-Encoding": accepted})

        assert response.headers.get("content-encoding") == encoding
        assert response.text == SMALL_NODES
        assert response.headers["content-type"] == "text/x-protobuf; charset=utf-8"


def test_graph_as_it_was_logged(client: TbcoreClient) -> None:
    """Without a limit, or if no attribute is above it, the graph is complete."""
    from google.protobuf import text_format

    for query in ("", f"&limit_attr_size={GRAPH_LIMIT + 3}&large_attrs_key=_too_large"):
        response = client.get(f"data/graph?run=train_run{query}")
        assert text_format.Parse(response.text, graph_pb2.GraphDef()) == example_graph()


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "run"),
        ("run=train_run&limit_attr_size=1024", "large_attrs_key"),
        ("run=train_run&limit_attr_size=0&large_attrs_key=k", "limit_attr_size"),
        ("run=train_run&limit_attr_size=many&large_attrs_key=k", "limit_attr_size"),
    ],
)
def test_bad_parameters_of_graph(client: TbcoreClient, query: str, named: str) -> None:
    """The error is 400 with one line that names the parameter."""
    response = client.get(f"data/graph?{query}")

    assert response.status_code == 400
    assert named in response.text
    assert len(response.text.splitlines()) == 1


METADATA = """\
step_stats {
  dev_stats {
    device: "/job:localhost/replica:0/task:0/cpu:0"
    node_stats {
      node_name: "_SOURCE"
      all_start_micros: 1458337695775395
      op_start_rel_micros: 11
      op_end_rel_micros: 12
      all_end_rel_micros: 38
      memory {
        allocator_name: "cpu"
      }
      timeline_label: "_SOURCE = NoOp()"
      scheduled_micros: 1458337695775363
    }
  }
}
"""


@pytest.mark.parametrize("path", ["data/run_metadata", "data/plugin/graphs/run_metadata"])
def test_run_metadata(client: TbcoreClient, path: str) -> None:
    """The response is the message in text format, with fields in the order of their numbers."""
    for accepted, encoding in (("gzip", "gzip"), ("identity", None)):
        response = client.get(
            f"{path}?run=train_run&tag=inference", headers={"Accept-Encoding": accepted}
        )

        assert response.headers.get("content-encoding") == encoding
        assert response.text == METADATA
        assert response.headers["content-type"] == "text/x-protobuf; charset=utf-8"


@pytest.mark.parametrize("name", [name for name in ADDRESSES if name != "samples"])
def test_unknown_names_are_not_found(client: TbcoreClient, name: str) -> None:
    """The error is 404 with one line, for every route with a parameter `run`."""
    response = client.get(ADDRESSES[name].replace("train_run", "trian_run"))

    assert response.status_code == 404
    assert "trian_run" in response.text
    assert len(response.text.splitlines()) == 1


@pytest.mark.parametrize("name", ADDRESSES)
def test_all_routes_are_below_legacy_too(client: TbcoreClient, name: str) -> None:
    """So clients of both APIs can use the same server."""
    plain = client.get(ADDRESSES[name])

    assert plain.status_code == 200
    assert client.get(f"legacy/{ADDRESSES[name]}").content == plain.content


def test_related_tags_are_sampled_together(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """D(A)[i] ~ D(B)[i], and the last item is always included."""
    write_run(
        tbcore_logdir, "run",
        scalars={tag: list(range(5000)) for tag in "AB"},
        histograms={"H": [[float(i)] for i in range(300)]},
    )  # fmt: skip
    client = tbcore_client(tbcore_logdir, plugins=PLUGINS)

    def steps(address: str) -> list[int]:
        rows: list[Any] = json.loads(client.get(address).text)
        return [row[1] for row in rows]

    a, b = (steps(f"data/scalars?run=run&tag={tag}") for tag in "AB")
    assert a == b
    assert (len(a), a[-1]) == (1000, 4999)
    histograms = steps("data/histograms?run=run&tag=H")
    assert (len(histograms), histograms[-1]) == (50, 299)


def test_samples_per_plugin_limits_responses(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The limit is per plugin; a request for scalars may override it."""
    write_run(
        tbcore_logdir, "run", scalars={"s": list(range(100))},
        histograms={"h": [[float(i)] for i in range(100)]},
        images={"i": [summaries.png()] * 100}, audio={"a": [summaries.wav()] * 100},
    )  # fmt: skip
    bounds = {"scalars": 20, "histograms": 5, "distributions": 6, "images": 7, "audio": 8}
    client = tbcore_client(tbcore_logdir, plugins=PLUGINS, samples_per_plugin=bounds)

    def count(address: str) -> int:
        return len(client.get(f"data/{address}").json())

    assert count("scalars?run=run&tag=s") == 20
    assert count("scalars?run=run&tag=s&samples=0") == 100
    assert count("histograms?run=run&tag=h") == 5
    assert count("compressedHistograms?run=run&tag=h") == 6
    assert count("images?run=run&tag=i") == 7
    assert count("audio?run=run&tag=a") == 8


def test_any_names_can_be_requested(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """This includes queries of images and clips, and servers with a path prefix."""
    run, tag = "a/b c+d", "100% ä & <x>=1+2#?"
    write_run(
        tbcore_logdir, run, scalars={tag: [1.0]}, images={f"{tag}/i": [summaries.png()]},
        audio={f"{tag}/a": [summaries.wav()]},
    )  # fmt: skip
    client = tbcore_client(tbcore_logdir, plugins=PLUGINS, api="legacy", path_prefix="/x")

    for below in ("", "legacy/"):
        types = client.get(f"{below}data/runs").json()[run]
        assert (types["scalars"], types["images"]) == ([tag], [f"{tag}/i"])
        query = urlencode({"run": run, "tag": tag})
        assert len(client.get(f"{below}data/scalars?{query}").json()) == 1
        for listing, individual, data in (
            ("images", "individualImage", summaries.png()),
            ("audio", "individualAudio", summaries.wav()),
        ):
            query = urlencode({"run": run, "tag": f"{tag}/{listing[0]}"})
            [entry] = client.get(f"{below}data/{listing}?{query}").json()
            for path in (f"data/{individual}", individual):
                response = client.get(f"{below}{path}?{entry['query']}&ts=1.5")
                assert response.content == data
