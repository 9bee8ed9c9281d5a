"""The methods of the multiplexer that plugins use."""

from __future__ import annotations

import dataclasses
import doctest
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loaded_logs import board_of
from tables import table_of

from tbcore.errors import DataLossError, DecodeError, NotFoundError
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.eventfiles.proto.event_pb2 import Event, SessionLog
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.http import json_response
from tbcore.kinds import Claim, Kind
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.run import RunData
from tbcore.store.series import ScalarSeries
from tbcore.store.state import RunDetails, TagsByRun
from tbcore.store.status import LoadStatus
from tbcore.store.view import RunView, Schema, TagInfo
from tbcore_testing import EventFileWriter, record_bytes, summaries, write_run
from tbcore_testing.in_thread import Server

ANY = (Claim(),)
SCALARS = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))
HISTOGRAMS = (Claim("histo"), Claim(plugin_name="histograms"))
GRAPHS = (Claim("graph_def"), Claim("meta_graph_def"))


def load(logdir: Path) -> Multiplexer:
    return Multiplexer(board=board_of(logdir))


def test_an_empty_multiplexer_has_no_runs(tmp_path: Path) -> None:
    """Plugins are mounted before anything is loaded."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    assert multiplexer.runs() == []
    assert multiplexer.tags(ANY) == {}
    assert not multiplexer.has(ANY)
    assert board.state.listings.summaries == []
    assert multiplexer.generation == multiplexer.runs_generation == 0
    assert board.status == LoadStatus()
    with pytest.raises(NotFoundError, match=r"^no run 'train'$"):
        multiplexer.scalars("train", "loss")


def test_tags_of_every_run_in_order_of_first_appearance(tmp_path: Path) -> None:
    """Tags with several kinds appear once, and runs without matching tags are listed, too."""
    with EventFileWriter(tmp_path / "train" / "a.tfevents") as writer:
        writer.add_histogram("z", [1.0], 0)
        writer.add_scalar("m", 1, 0)
        writer.add_scalar("a", 1, 0)
        writer.add_scalar("z", 1, 1)
    write_run(tmp_path, "other", histograms={"h": [[1.0]]})
    multiplexer = load(tmp_path)
    assert multiplexer.tags(SCALARS) == {"other": [], "train": ["z", "m", "a"]}
    assert multiplexer.tags(list(HISTOGRAMS)) == {"other": ["h"], "train": ["z"]}
    assert multiplexer.tags(()) == {"other": [], "train": []}
    assert multiplexer.has(HISTOGRAMS)
    assert not multiplexer.has(GRAPHS)


def test_a_claim_may_be_one_of_tags(tmp_path: Path) -> None:
    """Also where a tag has two kinds, of which claims match one each."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for tag in ("grads/a/b", "grads", "loss", "lr1"):
            writer.add_scalar(tag, 0.5, 0)
        writer.add_scalar("both", 1.0, 0)
        writer.add_scalar("both", 2.0, 1, dtype="float64")
    multiplexer = load(tmp_path)
    grads = [Claim(is_scalar=True, tags="grads/*")]
    assert multiplexer.tags(grads) == {"run": ["grads/a/b"]}
    assert multiplexer.tags([*grads, Claim(tags="lr?")]) == {"run": ["grads/a/b", "lr1"]}
    assert multiplexer.last_points("run", grads).tags == ["grads/a/b"]
    assert multiplexer.scalars("run", "grads/a/b", claims=grads).value.tolist() == [0.5]
    with pytest.raises(NotFoundError, match="no tag 'loss' in run 'run'"):
        multiplexer.scalars("run", "loss", claims=grads)
    assert multiplexer.has(grads)
    assert not multiplexer.has([Claim(is_scalar=True, tags="grad")])
    assert not multiplexer.has([Claim("histo", tags="grads/*")])
    one_kind = [Claim("simple_value"), Claim("tensor", tags="grads/*")]
    assert multiplexer.last_points("run", one_kind).value.tolist()[-1] == 1.0
    assert multiplexer.scalars("run", "both", claims=one_kind).value.tolist() == [1.0]


def test_changing_a_result_of_tags_affects_no_other_caller(tmp_path: Path) -> None:
    """Several plugins get the same cached result."""
    write_run(tmp_path, "run", scalars={"loss": [1.0]})
    multiplexer = load(tmp_path)
    tags: Any = multiplexer.tags(SCALARS)
    tags["run"].append("another")
    tags.get("run").clear()
    dict(tags).values().__iter__().__next__().append("another")
    with pytest.raises(TypeError):
        tags["run"] = []
    with pytest.raises(TypeError):
        del tags["run"]
    assert multiplexer.tags(SCALARS) == {"run": ["loss"]}
    assert json_response(tags).body == b'{"run":["loss"]}'
    assert json_response(tags).body is json_response(tags).body  # encoded once, and not copied
    assert json_response({"tags": [tags]}).body == b'{"tags":[{"run":["loss"]}]}'


def test_tag_names_that_are_not_valid_unicode_are_replaced_in_json() -> None:
    """One such name must not make the whole response fail."""
    odd = TagsByRun({"null": ["null", "\ud800"]})
    assert json_response(odd).body == '{"null":["null","\ufffd"]}'.encode()


def test_the_first_metadata_of_a_tag_gives_its_kind(tmp_path: Path) -> None:
    """The kind applies to all values of the tag, including those in other files."""
    for name in ("a", "b"):
        metadata = "first" if name == "a" else "never"
        with EventFileWriter(
            tmp_path / "run" / f"{name}.tfevents",
            metadata=metadata,  # type: ignore[arg-type]
        ) as writer:
            writer.add_scalar("x", 1, 1, dtype="float32")
            writer.add_scalar("x", 2, 2, dtype="float32")
    multiplexer = load(tmp_path)
    assert multiplexer.tags(SCALARS) == {"run": ["x"]}
    assert len(multiplexer.scalars("run", "x", claims=SCALARS)) == 4
    assert multiplexer.metadata("run", "x").plugin_data.plugin_name == "scalars"


def test_the_last_point_of_each_tag_is_the_one_written_last(tmp_path: Path) -> None:
    """The tag may have several kinds, values that need float64, and restarts."""
    write_run(tmp_path, "run", scalars={"a": [(0, 1.0), (9, 0.5, 7.5)], "gone": [(5, 1.0)]})
    with EventFileWriter(tmp_path / "run" / "z.tfevents") as writer:
        writer.add_scalar("both", 1.0, 0)
        writer.add_scalar("both", 0.1, 1, dtype="float64")
        writer.add_scalar("both", 3.0, 2)
        writer.add_scalar("exact", 0.1, 2**62 + 1, dtype="float64")
        writer.add_histogram("h", [1.0], 0)
    multiplexer = load(tmp_path)

    for claims in (SCALARS, (Claim("simple_value"),), ANY):
        last = multiplexer.last_points("run", claims)
        for tag, *point in zip(*last, strict=True):
            series = multiplexer.scalars("run", tag, claims=claims)
            assert point == [series.step[-1], series.wall_time[-1], series.value[-1]], (claims, tag)
    last = multiplexer.last_points("run", SCALARS)
    assert last.tags == ["a", "gone", "both", "exact"]
    assert last.step.tolist() == [9, 5, 2, 2**62 + 1]
    assert last.value.tolist() == [0.5, 1.0, 3.0, 0.1]
    assert last.wall_time[0] == 7.5
    assert multiplexer.last_points("run", HISTOGRAMS).tags == []
    with pytest.raises(NotFoundError, match="no run 'ran'; close: 'run'"):
        multiplexer.last_points("ran", SCALARS)

    write_run(tmp_path, "late", scalars={"a": [(0, 1.0), (1, 2.0)], "gone": [(1, 1.0)]})
    write_run(tmp_path, "late", scalars={"b": [(1, 4.0)]}, restart_at=1)
    multiplexer = load(tmp_path)
    last = multiplexer.last_points("late", SCALARS)
    assert (last.tags, last.value.tolist()) == (["a", "b"], [1.0, 4.0])


def test_metadata_without_a_value_is_an_item(tmp_path: Path) -> None:
    """Hyperparameters are written this way."""
    value = summaries.metadata_only("_hparams_/session_start_info", "hparams", b"\x12\x00")
    write_run(tmp_path, "run", values=[value])
    multiplexer = load(tmp_path)
    metadata = multiplexer.metadata("run", "_hparams_/session_start_info")
    assert metadata.plugin_data.content == b"\x12\x00"
    assert multiplexer.tags((Claim(plugin_name="hparams"),)) == {
        "run": ["_hparams_/session_start_info"]
    }
    (item,) = multiplexer.items("run", "_hparams_/session_start_info", ANY)
    assert item.kind == Kind("", "hparams", False)


def test_a_tag_without_metadata_has_an_empty_one(tmp_path: Path) -> None:
    """Callers need no special case for tags without metadata."""
    write_run(tmp_path, "run", scalars={"loss": [1.0]})
    assert load(tmp_path).metadata("run", "loss").ByteSize() == 0


def test_two_series_of_a_tag_are_merged_as_written(tmp_path: Path) -> None:
    """A writer may log values of a tag in several forms."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for step in range(40):
            dtype = "float64" if step % 3 else None
            writer.add_scalar("loss", step + 0.1 * (step % 3), step, dtype=dtype)
    multiplexer = load(tmp_path)
    series = multiplexer.scalars("run", "loss")
    assert series.step.tolist() == series.ordinal.tolist() == list(range(40))
    assert series.value.tolist() == [step + 0.1 * (step % 3) for step in range(40)]
    one = multiplexer.scalars("run", "loss", claims=(Claim("simple_value"),))
    assert one.ordinal.tolist() == list(range(0, 40, 3))
    sampled = multiplexer.scalars("run", "loss", samples=10)
    with EventFileWriter(tmp_path / "plain" / "a.tfevents") as writer:
        for step in range(40):
            writer.add_scalar("loss", step, step)
    plain = load(tmp_path).scalars("plain", "loss", samples=10)
    assert sampled.ordinal.tolist() == plain.ordinal.tolist()


def test_two_series_of_items_are_merged_as_written(tmp_path: Path) -> None:
    """Both series are sampled together."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for step in range(12):
            writer.add_histogram("h", [1.0], step, as_tensor=step % 2 == 1)
    multiplexer = load(tmp_path)
    items = multiplexer.items("run", "h", HISTOGRAMS)
    assert [item.step for item in items] == list(range(12))
    assert [item.kind.field for item in items[:2]] == ["histo", "tensor"]
    sampled = multiplexer.items("run", "h", HISTOGRAMS, samples=4)
    assert len(sampled) == 4
    assert sampled[-1].step == 11
    assert set(sampled) <= set(items)


def test_samples_are_rows_of_the_whole_series(tmp_path: Path) -> None:
    """Samples are in order, have the last row, and are the same for each tag of that length."""
    values = [float(step) for step in range(500)]
    write_run(tmp_path, "run", scalars={"a": values, "b": values})
    multiplexer = load(tmp_path)
    a = multiplexer.scalars("run", "a", samples=20)
    assert len(a) == 20
    assert a.step.tolist() == a.ordinal.tolist() == a.value.tolist()
    assert a.step[-1] == 499
    assert a.step.tolist() == multiplexer.scalars("run", "b", samples=20).step.tolist()
    assert len(multiplexer.scalars("run", "a", samples=1000)) == 500
    for array in (a.step, a.value, a.ordinal, a.wall_time, multiplexer.scalars("run", "a").step):
        with pytest.raises(ValueError):
            array[0] = 7


def test_each_listed_tag_can_be_requested(tmp_path: Path) -> None:
    """A claim may match a tag without scalars, or one with scalars only."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        writer.add_summary(0, summaries.tensor("v", [1.0, 2.0], plugin_name="scalars"))
        writer.add_scalar("n", 1.0, 0, dtype="float32")
    multiplexer = load(tmp_path)
    claims = (Claim(plugin_name="scalars"),)
    assert multiplexer.tags(claims) == {"run": ["v", "n"]}
    assert len(multiplexer.scalars("run", "v", claims=claims)) == 0
    assert multiplexer.items("run", "n", claims) == []
    with pytest.raises(NotFoundError, match="tag 'v' of run 'run' has no numbers"):
        multiplexer.scalars("run", "v")


def test_items_are_read_back_from_their_file(tmp_path: Path) -> None:
    """Values of summaries are messages, other items are bytes."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        writer.add_summary(3, summaries.scalar("s", 1.0), summaries.histogram("h", [1.0, 2.0]))
        writer.add_graph(b"\x0a\x05\x0a\x03abc")
        writer.add_run_metadata("step1", b"\x0a\x00")
        writer.add_meta_graph(b"\x12\x00")
    multiplexer = load(tmp_path)
    (item,) = multiplexer.items("run", "h", HISTOGRAMS)
    value = item.read()
    assert isinstance(value, Summary.Value)
    assert value.tag == "h"
    assert value.histo.num == 2
    assert (item.step, item.index, item.ordinal) == (3, 1, 0)
    graph, meta_graph = multiplexer.items("run", "", GRAPHS)
    assert graph.read() == b"\x0a\x05\x0a\x03abc"
    assert meta_graph.read() == b"\x12\x00"
    (run_metadata,) = multiplexer.items("run", "step1", ANY)
    assert run_metadata.read() == b"\x0a\x00"
    assert len({i.etag for i in (item, graph, meta_graph, run_metadata)}) == 4
    assert item == multiplexer.item("run", "h", HISTOGRAMS, 0)


def test_etags_depend_on_the_version_of_the_file(tmp_path: Path) -> None:
    """On a disk, it is device and inode: a copy in the place of a file has another version."""
    path = write_run(tmp_path, "run", histograms={"h": [[1.0]]})
    specs = [LogdirSpec(None, str(tmp_path))]
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, specs)
    etags = set()
    for _ in range(2):
        loader.load_once()
        [item] = multiplexer.items("run", "h", HISTOGRAMS)
        status = path.stat()
        assert item.etag.startswith(f"{status.st_dev:x}-{status.st_ino:x}-")
        etags |= {item.etag, multiplexer.items_etag("run", "h", HISTOGRAMS)}
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes() + record_bytes(b""))
        copy.rename(path)
    assert len(etags) == 4


def test_reading_a_changed_or_deleted_item_raises_an_error(tmp_path: Path) -> None:
    """Only bytes that were logged are served. Messages have one line."""
    path = write_run(tmp_path, "run", histograms={"h": [[1.0], [2.0]]})
    first, last = load(tmp_path).items("run", "h", HISTOGRAMS)
    data = path.read_bytes()
    path.write_bytes(data[:-8] + b"\x7f" + data[-7:])
    assert isinstance(first.read(), Summary.Value)
    with pytest.raises(DataLossError, match=r"^the record at offset \d+ of .*$"):
        last.read()
    # A copy has another inode, but the bytes that were logged.
    replacement = path.with_name("x")
    replacement.write_bytes(data)
    replacement.rename(path)
    assert isinstance(last.read(), Summary.Value)
    replacement.write_bytes(data[:-50])
    replacement.rename(path)
    with pytest.raises(DataLossError, match="no longer what was logged"):
        last.read()
    path.unlink()
    with pytest.raises(NotFoundError, match="No such file"):
        first.read()


def test_unprintable_names_are_escaped_in_messages(tmp_path: Path) -> None:
    """A response with the message can be encoded."""
    directory = tmp_path / "a\udcffb\n"
    path = write_run(directory, ".", histograms={"h": [[1.0]]})
    multiplexer = load(tmp_path)
    (run,) = multiplexer.runs()
    assert run == "a\\xffb\n"
    (item,) = multiplexer.items(run, "h", HISTOGRAMS)
    path.unlink()
    with pytest.raises(NotFoundError) as caught:
        item.read()
    message = str(caught.value)
    assert message.encode()
    assert len(message.splitlines()) == 1


def test_an_item_whose_event_lacks_its_value_raises_an_error(tmp_path: Path) -> None:
    """A valid checksum makes this unlikely, but it must not be an internal error."""
    write_run(tmp_path, "run", histograms={"h": [[1.0]]})
    (item,) = load(tmp_path).items("run", "h", HISTOGRAMS)
    with pytest.raises(DecodeError, match="it has no value 5"):
        dataclasses.replace(item, index=5).read()


@pytest.mark.parametrize("ordinal", [-1, 3, 10**30])
def test_an_unknown_ordinal_is_not_found(tmp_path: Path, ordinal: int) -> None:
    """An ordinal whose item was dropped by a restart is not found, either."""
    write_run(tmp_path, "run", histograms={"h": [[1.0], [2.0], [3.0]]})
    multiplexer = load(tmp_path)
    assert multiplexer.item("run", "h", HISTOGRAMS, 2).step == 2
    with pytest.raises(NotFoundError, match=f"tag 'h' of run 'run' has no item {ordinal}"):
        multiplexer.item("run", "h", HISTOGRAMS, ordinal)
    write_run(tmp_path, "run", histograms={"h": [[4.0]]}, restart_at=1)
    multiplexer = load(tmp_path)
    assert [item.ordinal for item in multiplexer.items("run", "h", HISTOGRAMS)] == [0, 3]
    with pytest.raises(NotFoundError):
        multiplexer.item("run", "h", HISTOGRAMS, 1)


def test_messages_suggest_similar_names(tmp_path: Path) -> None:
    """Suggestions are names of runs, or of tags that the claims match."""
    write_run(tmp_path, "train", scalars={"loss": [1.0], "accuracy": [1.0]})
    write_run(tmp_path, "train", histograms={"lost": [[1.0]]})
    multiplexer = load(tmp_path)
    with pytest.raises(NotFoundError, match=r"^no run 'trian'; close: 'train'$"):
        multiplexer.scalars("trian", "loss")
    with pytest.raises(NotFoundError, match=r"^no tag 'los' in run 'train'; close: 'loss'$"):
        multiplexer.scalars("train", "los", claims=SCALARS)
    with pytest.raises(NotFoundError, match=r"^no tag 'zzzzzz' in run 'train'$"):
        multiplexer.metadata("train", "zzzzzz")
    with pytest.raises(NotFoundError) as caught:
        multiplexer.items("train", "\n\ud800" * 10_000, HISTOGRAMS)
    assert len(str(caught.value)) < 2000
    assert len(str(caught.value).splitlines()) == 1


def test_a_wrong_name_among_thousands_of_tags_is_reported_fast() -> None:
    """Any client may send requests for tags that do not exist."""
    event = Event()
    for number in range(20_000):
        event.summary.value.add(tag=f"{'layer/' * 20}{number}", simple_value=1.0)
    data = RunData()
    data.add_item(table_of([event]), data.add_file("a"))
    board = Board()
    multiplexer = Multiplexer(board=board)
    board.commit({"run": data.commit()})
    with pytest.raises(NotFoundError, match="close: 'layer"):
        multiplexer.scalars("run", f"{'layer/' * 20}x")


def test_kinds_count_runs_and_tags(tmp_path: Path) -> None:
    """Each kind also has an example: a run, and a tag in it."""
    write_run(tmp_path, "a", scalars={"x": [1.0], "y": [1.0]}, histograms={"h": [[1.0]]})
    write_run(tmp_path, "b", scalars={"x": [1.0]})
    kinds = board_of(tmp_path).state.listings.summaries
    found = {summary.kind.field: summary for summary in kinds}
    assert set(found) == {"simple_value", "histo"}
    assert found["simple_value"][1:] == (2, 2, "a", "x")
    assert found["histo"] == (Kind("histo"), 1, 1, "a", "h")


def test_tags_that_many_runs_share_are_looked_at_once() -> None:
    """There may be a million runs, and the first page waits for what they have."""

    class Counted(dict[str, TagInfo]):
        num_uses = 0

        def items(self) -> Any:
            self.num_uses += 1
            return super().items()

    kinds = Kind("simple_value", "", True), Kind("histo")
    tags = Counted(x=TagInfo(kinds[:1], None), y=TagInfo(kinds, None))
    shared, other = Schema(tags), Schema({"y": TagInfo(kinds[1:], None)})
    tags.num_uses = 0
    board = Board()
    multiplexer = Multiplexer(board=board)
    views = {"first": RunView(other), **{f"run{n}": RunView(shared) for n in range(100)}}
    board.commit(views)
    found = board.state.listings.summaries
    assert tags.num_uses == 1
    assert [tuple(each) for each in found] == [
        (kinds[1], 101, 1, "first", "y"),
        (kinds[0], 100, 2, "run0", "x"),
    ]
    assert multiplexer.tags(SCALARS) == {"first": [], **{f"run{n}": ["x", "y"] for n in range(100)}}
    assert tags.num_uses <= 3


def details(multiplexer: Multiplexer, run: str = "run") -> RunDetails:
    (found,) = [found for found in multiplexer._board.state.details.values() if found.name == run]
    return found


def test_the_last_event_of_a_run_may_be_of_any_kind(tmp_path: Path) -> None:
    """It is the last event in its file. Of several files the latest of these counts, in whatever
    order they are read."""
    path = tmp_path / "run" / "b.tfevents"
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tmp_path))])

    def last(what: dict[str, Any], wall_time: float, path: Path = path) -> float | None:
        with EventFileWriter(path, file_version=None) as writer:
            writer.add_event(Event(wall_time=wall_time, **what))
        loader.load_once()
        return details(multiplexer).last_event_time

    scalar = Summary(value=[Summary.Value(tag="x", simple_value=1.0)])
    image = Summary(value=[Summary.Value(tag="i", image=Summary.Image(height=1))])
    assert last({"file_version": "brain.Event:2"}, 10.0) == 10.0
    assert last({"summary": scalar}, 11.0) == 11.0
    assert last({"summary": image}, 12.0) == 12.0
    assert last({"summary": Summary()}, 13.0) == 13.0
    assert last({"graph_def": b""}, 14.0) == 14.0
    assert last({"session_log": SessionLog(status=SessionLog.START)}, 15.0) == 15.0
    assert last({"session_log": SessionLog(status=SessionLog.STOP)}, 16.0) == 16.0
    assert last({"summary": scalar}, float("nan")) == 16.0
    assert last({"summary": scalar}, 12.0) == 12.0
    assert last({"summary": scalar}, 11.0, path.with_name("a.tfevents")) == 12.0
    assert last({"summary": scalar}, 17.0, path.with_name("a.tfevents")) == 17.0
    assert details(multiplexer).first_event_time == 10.0


def test_tags_with_nonfinite_values_are_listed(tmp_path: Path) -> None:
    """The list is in the order of tags. Tags whose non-finite values were dropped are not in it."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tmp_path))])
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for step in range(100):
            for tag, value in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
                writer.add_scalar(tag, value, step)
        writer.flush()
        loader.load_once()
        assert details(multiplexer).nonfinite_tags == ()
        writer.add_scalar("c", float("nan"), 100)
        writer.add_scalar("a", float("-inf"), 200, dtype="float64")
        writer.flush()
        loader.load_once()
        assert details(multiplexer).nonfinite_tags == ("a", "c")
        assert board_of(tmp_path).state.details == board.state.details
    write_run(tmp_path, "run", restart_at=150)
    loader.load_once()
    assert details(multiplexer).nonfinite_tags == ("c",)
    write_run(tmp_path, "run", restart_at=50, scalars={"b": [(60, float("inf"))]})
    loader.load_once()
    assert details(multiplexer).nonfinite_tags == ("b",)


def test_a_new_modification_time_makes_no_generation(tmp_path: Path) -> None:
    """The run's details have the time of the newest file as of the last scan."""
    for run in ("a", "b"):
        for file in ("1", "2"):
            with EventFileWriter(tmp_path / run / f"{file}.tfevents") as writer:
                writer.add_scalar("x", 1, 1)
            os.utime(tmp_path / run / f"{file}.tfevents", (100.0, 100.0 + int(file)))
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tmp_path))])
    loader.load_once()
    assert [found.modified for found in board.state.details.values()] == [102.0, 102.0]
    generation = multiplexer.generation
    os.utime(tmp_path / "a" / "1.tfevents", (100.0, 107.5))
    loader.load_once()
    assert [found.modified for found in board.state.details.values()] == [107.5, 102.0]
    assert multiplexer.generation == generation
    write_run(tmp_path, "b", scalars={"x": [2.0]})
    (tmp_path / "a" / "1.tfevents").unlink()
    (tmp_path / "a" / "2.tfevents").unlink()
    loader.load_once()
    assert [found.name for found in board.state.details.values()] == multiplexer.runs() == ["b"]


def test_a_commit_makes_details_of_changed_runs_only() -> None:
    """Reading details computes none."""
    board = Board()
    board.commit({f"run{i}": RunView() for i in range(1000)})
    before = [*board.state.details.values()]
    board.commit({"run7": RunView(last_event_time=5.0)}, (), {"run8": 3.0, "gone": 4.0})
    after = [*board.state.details.values()]
    assert after[7].last_event_time == 5.0
    assert after[8].modified == 3.0
    assert [i for i in range(1000) if after[i] is not before[i]] == [7, 8]


def test_generations_increase_with_changes_only() -> None:
    """There are generations of all data, of each run, and of the list of runs."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    view = RunView()
    board.commit({"a": view, "b": view})
    assert multiplexer.generation == 1
    board.commit({}, ["unknown"])
    assert multiplexer.generation == 1
    same_tags = RunView(view.schema, first_event_time=1.0)
    board.commit({"b": same_tags})
    assert multiplexer.generation == 2
    assert multiplexer.runs_generation == 1
    assert multiplexer.run_generations() == {"a": 1, "b": 2}
    board.commit({}, ["a"])
    assert multiplexer.runs() == ["b"]
    assert multiplexer.runs_generation == multiplexer.generation == 3
    board.commit({"b": RunView(Schema({"new": TagInfo((), None)}))})
    assert multiplexer.runs_generation == 4
    assert multiplexer.first_event_time("b") is None


def test_runs_keep_their_places_and_a_run_that_comes_back_is_new() -> None:
    """New runs come last."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    board.commit({"c": RunView(), "a": RunView()})
    board.commit({"b": RunView(), "c": RunView()})
    assert multiplexer.runs() == ["c", "a", "b"]
    board.commit({"c": RunView()}, ["c"])
    assert multiplexer.runs() == ["a", "b", "c"]


def test_subscribers_are_called_for_commits_and_status_changes() -> None:
    """A subscriber that raises does not affect others."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    generations = []

    def fail() -> None:
        raise RuntimeError("the event loop is closed")

    board.subscribe(fail)
    board.subscribe(lambda: generations.append(multiplexer.generation))
    board.commit({"a": RunView()})
    board.set_status(LoadStatus(loading=True))
    board.set_status(LoadStatus(loading=True))
    assert generations == [1, 1]


def test_a_series_does_not_change_with_later_commits(tmp_path: Path) -> None:
    """Rows that are appended or dropped later do not affect it."""
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        writer.add_session_log("START", 0)
        for step in range(100):
            writer.add_scalar("loss", step, step)
        writer.flush()
        board = Board()
        multiplexer = Multiplexer(board=board)
        loader = Loader(board, [LogdirSpec(None, str(tmp_path))])
        loader.load_once()
        before = multiplexer.scalars("run", "loss")
        writer.add_session_log("START", 10)
        for step in range(10, 60):
            writer.add_scalar("loss", -step, step)
    loader.load_once()
    after = multiplexer.scalars("run", "loss")
    assert before.value.tolist() == list(range(100))
    assert after.value.tolist() == [*range(10), *(-step for step in range(10, 60))]
    assert after.ordinal.tolist() == [*range(10), *range(100, 150)]


def test_wall_times_and_steps_are_exact(tmp_path: Path) -> None:
    """Steps and times are exact to the last bit, also at the ends of their ranges."""
    steps = [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1]
    times = [0.0, -1.5, 1.7e9 + 1e-6, 1e300, float("inf")]
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for step, wall_time in zip(steps, times, strict=True):
            event = Event(step=step, wall_time=wall_time)
            event.summary.value.add(tag="x", simple_value=0.1)
            writer.add_event(event)
    series = load(tmp_path).scalars("run", "x")
    assert series.step.tolist() == steps
    assert series.wall_time.tolist() == times
    assert series.value.tolist() == [float(np.float32(0.1))] * 5


def test_items_are_read_and_decoded_together(tmp_path: Path) -> None:
    """The items are in order, may be in several files, and can be sampled."""
    for start in (0, 2):
        write_run(tmp_path, "run", histograms={"h": [(start, [1.0]), (start + 1, [1.0] * 5)]})
    multiplexer = load(tmp_path)

    found = multiplexer.read_items("run", "h", HISTOGRAMS, lambda value: value.histo.num)

    assert [(item.step, num) for item, num in found] == [(0, 1.0), (1, 5.0), (2, 1.0), (3, 5.0)]
    assert [item for item, _ in found] == multiplexer.items("run", "h", HISTOGRAMS)
    sampled = multiplexer.read_items("run", "h", HISTOGRAMS, lambda value: None, samples=2)
    assert [item for item, _ in sampled] == multiplexer.items("run", "h", HISTOGRAMS, samples=2)
    with pytest.raises(NotFoundError, match="no tag 'x'"):
        multiplexer.read_items("run", "x", HISTOGRAMS, lambda value: None)


def test_unreadable_items_are_left_out_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A record is damaged, the decoder raises for one, and a file is gone. Other items are read."""
    histograms = {"h": [[1.0], [1.0] * 2, [1.0] * 3]}
    path = write_run(tmp_path, "run", histograms=histograms)
    other = write_run(tmp_path, "run", histograms=histograms)
    multiplexer = load(tmp_path)
    data = bytearray(path.read_bytes())
    data[-8] ^= 1
    path.write_bytes(data)
    other.unlink()

    def decode(value: Summary.Value) -> float:
        if value.histo.num == 1:
            raise DecodeError("one is too few")
        return value.histo.num

    for _ in range(2):
        found = multiplexer.read_items("run", "h", HISTOGRAMS, decode)
        assert [num for _, num in found] == [2.0]
    (record,) = caplog.records
    assert "5 of 6 items" in record.message
    assert re.search(r"a?\.tfevents.* offset \d+: one is too few", record.message)

    # If no item is left, the error is raised.
    path.unlink()
    with pytest.raises(NotFoundError, match="No such file"):
        multiplexer.read_items("run", "h", HISTOGRAMS, decode)


def test_a_bug_in_a_decoder_is_raised(tmp_path: Path) -> None:
    """Only errors in the data make an item unreadable."""
    write_run(tmp_path, "run", histograms={"h": [[1.0]]})
    with pytest.raises(ZeroDivisionError):
        load(tmp_path).read_items("run", "h", HISTOGRAMS, lambda value: 1 / 0)


@pytest.mark.parametrize("described", [Multiplexer, ScalarSeries])
def test_the_example_of_a_class_is_right(described: type, tmp_path: Path) -> None:
    loss = [(0, 0.5, 1.7e9), (1, 0.25, 1.7e9 + 1)]
    write_run(tmp_path, "train", scalars={"loss": loss, "lr": [0.1]})
    server = Server(tmp_path, plugins=())
    server.load_once()
    names = {"multiplexer": server.multiplexer, "Claim": Claim}

    (example,) = doctest.DocTestFinder(recurse=False).find(described, globs=names)

    assert doctest.DocTestRunner().run(example).failed == 0
    assert example.examples
