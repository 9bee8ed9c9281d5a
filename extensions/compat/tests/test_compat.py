"""TensorBoard's classes in `tbcore_compat`, and the same logs read with TensorBoard's own."""

from __future__ import annotations

import dataclasses
import logging
import math
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore
from tbcore.values import HistogramValue
from tbcore_compat import EventAccumulator, EventMultiplexer, SummaryReader, event_accumulator
from tbcore_testing import EventFileWriter, write_run
from tbcore_testing.graphs import Node, graph_def
from tbcore_testing.summaries import metadata_only, png, scalar, tensor, wav

METHODS = {
    "scalars": "Scalars",
    "images": "Images",
    "audio": "Audio",
    "histograms": "Histograms",
    "distributions": "CompressedHistograms",
}


def accumulated(path: Path, **options: Any) -> EventAccumulator:
    return EventAccumulator(str(path), **options).Reload()


# -- EventAccumulator --------------------------------------------------------------------------


def test_all_points_are_given_as_tuples(tmp_path: Path) -> None:
    """Whatever `size_guidance` says."""
    write_run(tmp_path, scalars={"loss": [(5, 0.5, 50.0), *((i, 0.25) for i in range(6, 20006))]})
    accumulator = accumulated(tmp_path, size_guidance={event_accumulator.SCALARS: 10})

    events = accumulator.Scalars("loss")
    assert events[0] == (50.0, 5, 0.5)
    assert (events[0].wall_time, events[0].step, events[0].value) == (50.0, 5, 0.5)
    _, steps, _ = zip(*events, strict=True)
    assert steps == tuple(range(5, 20006))
    assert accumulator.scalars.Keys() == ["loss"]
    assert accumulator.scalars.Items("loss") == events


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scalars_that_are_tensors_are_both(tmp_path: Path, dtype: str) -> None:
    """They stand under scalars, too, with the tensor in both forms that writers use."""
    value = np.array(0.1, dtype)
    write_run(tmp_path, scalars={"loss": [(3, value.item(), 30.0)]}, dtype=dtype)
    accumulator = accumulated(tmp_path)

    assert accumulator.Tags()["scalars"] == accumulator.Tags()["tensors"] == ["loss"]
    assert accumulator.Scalars("loss") == [(30.0, 3, value.item())]
    [(wall_time, step, proto)] = accumulator.Tensors("loss")
    assert (wall_time, step) == (30.0, 3)
    assert proto.tensor_content == value.tobytes()
    assert [*proto.float_val, *proto.double_val] == [value.item()]


def test_tensors_of_one_tag_are_in_the_order_written(tmp_path: Path) -> None:
    """Single numbers and arrays are stored apart."""
    values = [tensor("t", [1.0, 2.0]), tensor("t", 3.0), tensor("t", [4.0, 5.0])]
    write_run(tmp_path, values=values)

    protos = [event.tensor_proto for event in accumulated(tmp_path).Tensors("t")]
    numbers = [
        (*proto.float_val,) or np.frombuffer(proto.tensor_content, "<f4") for proto in protos
    ]
    assert [list(number) for number in numbers] == [[1.0, 2.0], [3.0], [4.0, 5.0]]


def test_other_values_are_events_with_the_logged_bytes(tmp_path: Path) -> None:
    picture, clip = png(2, 3), wav([0.5])
    write_run(
        tmp_path,
        images={"samples": [(1, picture, 10.0)]},
        audio={"speech": [(2, clip, 20.0)]},
        histograms={"weights": [(3, [0.0, 1.0, 1.0, 2.0], 30.0)]},
        texts={"notes": ["first"]},
    )
    accumulator = accumulated(tmp_path)

    assert accumulator.Images("samples") == [(10.0, 1, picture, 2, 3)]
    [audio] = accumulator.Audio("speech")
    assert (audio.encoded_audio_string, audio.content_type) == (clip, "audio/wav")
    [(wall_time, step, histogram)] = accumulator.Histograms("weights")
    assert (wall_time, step) == (30.0, 3)
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (0.0, 2.0, 4.0, 4.0)
    assert sum(histogram.bucket) == 4.0
    assert [event.tensor_proto.string_val[0] for event in accumulator.Tensors("notes")] == [
        b"first"
    ]
    assert accumulator.Tags() == {
        "images": ["samples"],
        "audio": ["speech"],
        "histograms": ["weights"],
        "scalars": [],
        "distributions": ["weights"],
        "tensors": ["notes"],
        "graph": False,
        "meta_graph": False,
        "run_metadata": [],
    }


def test_histograms_are_compressed_to_the_given_shares(tmp_path: Path) -> None:
    """The samples 0 and 1 are taken as evenly distributed from 0 to 1."""
    write_run(tmp_path, histograms={"weights": [[0.0, 1.0], []]})
    accumulator = accumulated(tmp_path, compression_bps=(0, 2500, 5000, 10000))

    full, empty = (
        e.compressed_histogram_values for e in accumulator.CompressedHistograms("weights")
    )
    shares, values = zip(*full, strict=True)
    assert shares == (0, 2500, 5000, 10000)
    # One sample is in the first of thirty buckets, and one in the last.
    np.testing.assert_allclose(values, [0.0, 0.5 / 30, 29 / 30, 1.0])
    assert [value for _, value in empty] == [0.0, 0.0, 0.0, 0.0]


def test_compressed_histograms_are_those_of_the_distributions_tab(tmp_path: Path) -> None:
    """Up to rounding: neither can import the other, and each computes in its original's order."""
    from tbcore_distributions.compress import compress

    rng = np.random.default_rng(0)
    samples = [list(rng.normal(scale=10.0**i, size=1 + 50 * i)) for i in range(5)]
    write_run(tmp_path, histograms={"weights": [*samples, [], [3.0], [0.0, 0.0, 1e6]]})
    accumulator = accumulated(tmp_path)
    ours = [e.compressed_histogram_values for e in accumulator.CompressedHistograms("weights")]

    logged = [event.histogram_value for event in accumulator.Histograms("weights")]
    theirs = compress([HistogramValue._make(map(np.asarray, each)) for each in logged])
    values = [[value for _, value in each] for each in ours]
    np.testing.assert_allclose(values, theirs, rtol=1e-14)


def test_reload_reads_what_was_added(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [1.0]}, filename="a.tfevents")
    accumulator = EventAccumulator(tmp_path)
    assert accumulator.Tags()["scalars"] == []
    assert accumulator.Reload() is accumulator
    write_run(tmp_path, scalars={"loss": [(1, 2.0)]}, filename="a.tfevents")
    assert len(accumulator.Scalars("loss")) == 1

    assert [event.value for event in accumulator.Reload().Scalars("loss")] == [1.0, 2.0]


def test_many_accumulators_take_little_memory(tmp_path: Path) -> None:
    """They keep no buffer, which has 4 MB."""
    write_run(tmp_path, scalars={"loss": [1.0]})
    accumulated(tmp_path)
    tracemalloc.start()
    try:
        kept = [accumulated(tmp_path) for _ in range(5)]
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == 5
    assert size < 4_000_000


def test_only_the_files_of_the_path_are_read(tmp_path: Path) -> None:
    """A file, or a directory without those below."""
    file = write_run(tmp_path, scalars={"a": [1.0]})
    write_run(tmp_path, scalars={"b": [1.0]})
    write_run(tmp_path, "below", scalars={"c": [1.0]})

    assert accumulated(file).Tags()["scalars"] == ["a"]
    assert accumulated(tmp_path).Tags()["scalars"] == ["a", "b"]


def test_orphaned_points_are_kept_on_demand(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [(step, 1.0) for step in range(4)]})
    write_run(tmp_path, scalars={"loss": [(2, 2.0)]}, restart_at=2)

    def steps(purge: bool) -> list[int]:
        accumulator = accumulated(tmp_path, purge_orphaned_data=purge)
        return [event.step for event in accumulator.Scalars("loss")]

    assert steps(True) == [0, 1, 2]
    assert steps(False) == [0, 1, 2, 3, 2]


@pytest.mark.parametrize("opened", ["file", "directory", "run", "runs", "tbparse"])
@pytest.mark.parametrize("start", [0, 2, 9])
def test_every_start_leaves_orphaned_rows(tmp_path: Path, opened: str, start: int) -> None:
    """Also the first one in the only file, as in TensorBoard; `tbcore.open` keeps those rows."""
    run = tmp_path / "a"
    losses = {"loss": [(step, 1.0) for step in range(4)]}
    file = write_run(
        tmp_path, "a", scalars=losses, histograms={"h": [[1.0]] * 4}, filename="tfevents"
    )
    write_run(tmp_path, "a", scalars={"loss": [(4, 2.0)]}, filename="tfevents", restart_at=start)
    kept = [step for step in range(4) if step < start]

    if opened == "tbparse":
        frame = SummaryReader(str(tmp_path)).scalars
        assert frame["step"].tolist() == [*kept, 4]
    elif opened in ("file", "directory"):
        accumulator = accumulated(file if opened == "file" else run)
        assert [event.step for event in accumulator.Scalars("loss")] == [*kept, 4]
        assert len(accumulator.Histograms("h")) == len(kept)
    else:
        multiplexer = EventMultiplexer({"a": str(run)} if opened == "run" else {})
        if opened == "runs":
            multiplexer.AddRunsFromDirectory(str(tmp_path))
        events = multiplexer.Reload().Scalars("a", "loss")
        assert [event.step for event in events] == [*kept, 4]
    assert tbcore.open(tmp_path)["a"]["loss"].step.tolist() == [0, 1, 2, 3, 4]


def test_unknown_names_are_key_errors(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [1.0]})
    accumulator = accumulated(tmp_path)

    with pytest.raises(KeyError, match=r"^no tag 'lost'; close: 'loss'$"):
        accumulator.Scalars("lost")
    with pytest.raises(KeyError):
        accumulator.Tensors("loss")
    with pytest.raises(KeyError):
        accumulator.SummaryMetadata("loss")
    with pytest.raises(KeyError, match="plugin 'mesh'"):
        accumulator.PluginTagToContent("mesh")
    for method in (accumulator.Graph, accumulator.MetaGraph, accumulator.SerializedGraph):
        with pytest.raises(ValueError, match="there is no"):
            method()
    with pytest.raises(ValueError, match="no run metadata"):
        accumulator.RunMetadata("step1")


def test_a_path_that_does_not_exist_and_one_that_is_empty(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        accumulated(tmp_path / "missing")
    empty = accumulated(tmp_path)
    assert empty.Tags()["scalars"] == []
    with pytest.raises(ValueError, match="no events"):
        empty.FirstEventTimestamp()


def test_metadata_and_times(tmp_path: Path) -> None:
    values = [metadata_only("m", "mesh", b"content"), scalar("loss", 1.0, dtype="float32")]
    write_run(tmp_path, values=values, wall_time=100.0)
    accumulator = EventAccumulator(tmp_path)

    assert accumulator.FirstEventTimestamp() == 100.0
    assert accumulator.PluginTagToContent("mesh") == {"m": b"content"}
    assert accumulator.SummaryMetadata("loss").plugin_data.plugin_name == "scalars"
    assert list(accumulator.summary_metadata) == ["m", "loss"]


def test_the_newest_graph_is_given(tmp_path: Path) -> None:
    """One in a metagraph counts only if there is no other."""
    old, new = (graph_def([Node(name, "NoOp")]) for name in ("a", "b"))
    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        writer.add_meta_graph(b"\x12" + bytes([len(old)]) + old)  # field 2, `graph_def`
    accumulator = accumulated(tmp_path)
    assert accumulator.SerializedGraph() == old
    assert (accumulator.Tags()["graph"], accumulator.Tags()["meta_graph"]) == (True, True)

    write_run(tmp_path, graph=old)
    write_run(tmp_path, graph=new)
    assert accumulator.Reload().SerializedGraph() == new


# -- EventMultiplexer --------------------------------------------------------------------------


def test_runs_of_a_directory_are_named_by_their_paths(tmp_path: Path) -> None:
    for run in (".", "train", "eval/last"):
        write_run(tmp_path, run, scalars={"loss": [1.0]})
    multiplexer = EventMultiplexer().AddRunsFromDirectory(tmp_path)

    assert multiplexer.RunPaths() == {
        run: str(tmp_path / run) for run in (".", "train", "eval/last")
    }
    assert multiplexer.Runs()["train"]["scalars"] == []
    assert multiplexer.Reload() is multiplexer
    assert multiplexer.Runs()["train"]["scalars"] == ["loss"]
    assert [event.value for event in multiplexer.Scalars("eval/last", "loss")] == [1.0]
    named = EventMultiplexer().AddRunsFromDirectory(tmp_path, "mine")
    assert sorted(named.Runs()) == ["mine/.", "mine/eval/last", "mine/train"]


def test_runs_that_are_added_later_are_read_at_once(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write_run(tmp_path, run, values=[metadata_only("m", "mesh", run.encode())])
    multiplexer = EventMultiplexer({"first": str(tmp_path / "a")}).Reload()
    multiplexer.AddRun(tmp_path / "b", "second")

    contents = {"first": {"m": b"a"}, "second": {"m": b"b"}}
    assert multiplexer.PluginRunToTagToContent("mesh") == contents
    assert multiplexer.PluginRunToTagToContent("text") == {}
    multiplexer.AddRun(tmp_path / "b", "first")
    assert multiplexer.PluginRunToTagToContent("mesh")["first"] == {"m": b"b"}


def test_a_directory_is_added_again_for_its_new_runs(tmp_path: Path) -> None:
    write_run(tmp_path, "a", scalars={"loss": [1.0]}, filename="a.tfevents")
    multiplexer = EventMultiplexer().AddRunsFromDirectory(tmp_path).Reload()
    first = multiplexer.GetAccumulator("a")
    write_run(tmp_path, "a", scalars={"loss": [(1, 2.0)]}, filename="a.tfevents")
    write_run(tmp_path, "b", scalars={"loss": [3.0]})
    assert list(multiplexer.Reload().Runs()) == ["a"]
    assert len(multiplexer.Scalars("a", "loss")) == 2

    multiplexer.AddRunsFromDirectory(tmp_path)
    assert [event.value for event in multiplexer.Scalars("b", "loss")] == [3.0]
    assert multiplexer.GetAccumulator("a") is first


def test_runs_that_are_gone_are_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write_run(tmp_path, "a", scalars={"loss": [1.0]})
    multiplexer = EventMultiplexer().AddRunsFromDirectory(tmp_path).Reload()
    file.unlink()
    file.parent.rmdir()

    assert multiplexer.Reload().Runs() == {}
    assert "run 'a' is gone" in caplog.text
    with pytest.raises(KeyError, match="no run 'a'"):
        multiplexer.Scalars("a", "loss")


def test_an_unknown_run_is_answered_with_similar_names(tmp_path: Path) -> None:
    write_run(tmp_path, "train", scalars={"loss": [1.0]})
    multiplexer = EventMultiplexer().AddRunsFromDirectory(tmp_path).Reload()

    with pytest.raises(KeyError, match=r"^no run 'trian'; close: 'train'$"):
        multiplexer.Scalars("trian", "loss")


def test_a_directory_must_be_none_or_one(tmp_path: Path) -> None:
    file = write_run(tmp_path, scalars={"loss": [1.0]})
    assert EventMultiplexer().AddRunsFromDirectory(tmp_path / "missing").Runs() == {}
    with pytest.raises(ValueError, match="is not a directory"):
        EventMultiplexer().AddRunsFromDirectory(file)


# -- side by side ------------------------------------------------------------------------------


@pytest.mark.parametrize("logs", [pytest.param("real", marks=pytest.mark.slow), "frameworks"])
def test_real_logs_are_read_as_tensorboard_reads_them(
    real_logs: Path, logs: str, caplog: pytest.LogCaptureFixture
) -> None:
    """All values, metadata and graphs are equal; only `scalars` has more tags: those of tensors."""
    module = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is not installed, and it is what the values are compared with",
    )
    root = real_logs.parent / logs
    if not root.is_dir():
        pytest.skip(f"no logs at {root}")
    caplog.set_level(logging.ERROR)
    num_compared = 0
    for directory in sorted({path.parent for path in root.rglob("*tfevents*") if path.is_file()}):
        all_values = module.STORE_EVERYTHING_SIZE_GUIDANCE
        num_compared += compare(
            module.EventAccumulator(str(directory), all_values).Reload(),
            EventAccumulator(str(directory), event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE),
        )
    print(f"{num_compared} values compared")
    assert num_compared > 1000


def compare(theirs: Any, ours: EventAccumulator) -> int:
    """Compares all that two accumulators have; returns the number of values."""
    expected, tags = theirs.Tags(), ours.Reload().Tags()
    assert {*tags["scalars"]} - {*expected["scalars"]} <= {*expected["tensors"]}
    assert {*tags["scalars"]} >= {*expected["scalars"]}
    for form in expected.keys() - {"scalars"}:
        assert tags[form] == expected[form] or sorted(tags[form]) == sorted(expected[form])
    assert ours.FirstEventTimestamp() == theirs.FirstEventTimestamp()
    assert {**ours.summary_metadata}.keys() == theirs.summary_metadata.keys()
    for tag, metadata in theirs.summary_metadata.items():
        assert ours.SummaryMetadata(tag).SerializeToString() == metadata.SerializeToString()
    if expected["graph"]:
        assert ours.Graph() == theirs.Graph()
    if expected["meta_graph"]:
        assert ours.MetaGraph() == theirs.MetaGraph()
    for tag in expected["run_metadata"]:
        assert ours.RunMetadata(tag) == theirs.RunMetadata(tag)
    num_values = 0
    for form, method in METHODS.items():
        for tag in expected[form]:
            rows = [dataclasses.astuple(event) for event in getattr(theirs, method)(tag)]
            assert are_equal(getattr(ours, method)(tag), rows), (ours.path, method, tag)
            num_values += len(rows)
    for tag in expected["tensors"]:
        events = theirs.Tensors(tag)
        for own, event in zip(ours.Tensors(tag), events, strict=True):
            assert own[:2] == (event.wall_time, event.step)
            assert_equal_tensors(own.tensor_proto, event.tensor_proto)
        num_values += len(events)
    return num_values


def are_equal(ours: Any, theirs: Any) -> bool:
    """Whether values are equal, also in tuples and lists. Interpolated numbers may differ a bit."""
    if isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(are_equal, ours, theirs))
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9) or (ours != ours and theirs != theirs)
    return bool(ours == theirs)


def assert_equal_tensors(ours: Any, theirs: Any) -> None:
    from tensorboard.util.tensor_util import make_ndarray

    own, expected = make_ndarray(ours), make_ndarray(theirs)
    assert (own.dtype, own.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize("name", ["ScalarEvent", "ImageEvent", "HistogramEvent", "TensorEvent"])
def test_events_are_those_of_both_generations(name: str) -> None:
    """Named tuples until TensorBoard 2.5, dataclasses since; their own classes agree if there."""
    made = getattr(event_accumulator, name)
    values = list(range(len(made._fields)))
    event = made(*values)
    assert [*event] == values
    assert list(zip(*[event, event], strict=True))[2] == (2, 2)
    assert event[2] == 2
    assert dataclasses.astuple(event) == tuple(values)
    for as_dict in (vars(event), dataclasses.asdict(event), event._asdict(), event.__dict__):
        assert as_dict == dict(zip(made._fields, values, strict=True))
    assert [field.name for field in dataclasses.fields(event)] == list(made._fields)
    assert dataclasses.replace(event, step=9).step == 9
    assert pickle.loads(pickle.dumps(event)) == event
    assert repr(event).startswith(f"{name}(wall_time=0, step=1, ")
    with pytest.raises(AttributeError):
        event.step = 3
    theirs = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert vars(getattr(theirs, name)(*values)) == vars(event)


def test_metadata_equals_that_of_tensorboard(tmp_path: Path) -> None:
    summary_pb2 = pytest.importorskip("tensorboard.compat.proto.summary_pb2")
    write_run(tmp_path, "a", as_tensors=True, scalars={"loss": [1.0]})
    found = EventAccumulator(str(tmp_path / "a")).Reload().SummaryMetadata("loss")
    assert found == summary_pb2.SummaryMetadata.FromString(found.SerializeToString())
