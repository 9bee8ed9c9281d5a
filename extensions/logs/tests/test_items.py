"""Pictures, clips, histograms, texts and graphs of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tbcore
from tbcore import DataLossError, DecodeError, NotFoundError
from tbcore_logs import LoggedItem, Run
from tbcore_testing import EventFileWriter, summaries, write_run
from tbcore_testing.graphs import Node, graph_def
from tbcore_testing.summaries import png, text


def run_with(tmp_path: Path, **data: object) -> Run:
    write_run(tmp_path, **data)  # type: ignore[arg-type]
    return tbcore.open(tmp_path)["."]


@pytest.mark.parametrize("as_tensors", [False, True])
def test_pictures_are_decoded_on_access(tmp_path: Path, as_tensors: bool) -> None:
    pictures = [png(2, 3), png(4, 3)]
    points = [(5, pictures[0], 50.0), (7, pictures[1], 70.0)]
    images = run_with(tmp_path, images={"samples": points}, as_tensors=as_tensors).images("samples")

    assert [(item.step, item.wall_time) for item in images] == [(5, 50.0), (7, 70.0)]
    assert (images[0].value.width, images[0].value.height) == (2, 3)
    assert [item.value.encoded for item in images] == [[pictures[0]], [pictures[1]]]
    assert repr(images) == "LoggedItems(num_items=2, last_step=7)"
    assert repr(images[0]) == "LoggedItem(step=5, wall_time=50.0)"


def test_items_are_a_sequence(tmp_path: Path) -> None:
    texts = run_with(tmp_path, texts={"notes": ["a", "b", "c"]}).texts("notes")

    assert len(texts) == 3
    assert texts[-1].value == "c"
    assert [item.value for item in texts[1:]] == ["b", "c"]
    assert [item.step for item in reversed(texts)] == [2, 1, 0]
    with pytest.raises(IndexError):
        texts[3]


@pytest.mark.parametrize("as_tensors", [False, True])
def test_clips_have_a_type_and_bytes(tmp_path: Path, as_tensors: bool) -> None:
    run = run_with(tmp_path, audio={"speech": [b"RIFF", b"WAVE"]}, as_tensors=as_tensors)
    first, second = (item.value for item in run.audio("speech"))

    assert (first.content_type, second.content_type) == ("audio/wav", "audio/wav")
    assert second.clips[0].encoded == b"WAVE"


@pytest.mark.parametrize("as_tensors", [False, True])
def test_histograms_have_counts(tmp_path: Path, as_tensors: bool) -> None:
    run = run_with(tmp_path, histograms={"weights": [[1.0, 2.0, 2.0]]}, as_tensors=as_tensors)

    histogram = run.histograms("weights")[0].value
    assert (histogram.min, histogram.max, histogram.num) == (1.0, 2.0, 3.0)


def test_texts_are_strings_or_arrays_of_them(tmp_path: Path) -> None:
    values = [text("table", np.array([["a", "b"]], object)), text("one", np.array(["x"], object))]
    run = run_with(tmp_path, values=values)

    table = run.texts("table")[0].value
    assert isinstance(table, np.ndarray)
    assert table.tolist() == [["a", "b"]]
    assert run.texts("one")[0].value == "x"


def test_graphs_are_serialized(tmp_path: Path) -> None:
    first, second = (graph_def([Node(name, "NoOp")]) for name in ("a", "b"))
    write_run(tmp_path, graph=first)
    graphs = run_with(tmp_path, graph=second, scalars={"loss": [1]}).graph()

    assert [item.value for item in graphs] == [first, second]


def test_without_a_graph_there_are_no_items(tmp_path: Path) -> None:
    graphs = run_with(tmp_path, scalars={"loss": [1]}).graph()

    assert len(graphs) == 0
    assert repr(graphs) == "LoggedItems(num_items=0, last_step=None)"


def test_what_happened_to_a_file_is_found_on_access(tmp_path: Path) -> None:
    """The items are known from before."""
    path = write_run(tmp_path, texts={"notes": ["hello"]})
    texts = tbcore.open(tmp_path)["."].texts("notes")
    item: LoggedItem[object] = texts[0]
    path.write_bytes(path.read_bytes().replace(b"hello", b"HELLO"))

    with pytest.raises(DataLossError, match="wrong payload checksum"):
        _ = item.value
    path.unlink()
    with pytest.raises(NotFoundError, match="cannot read"):
        _ = item.value


def test_a_value_that_is_not_what_its_metadata_says_is_a_decode_error(tmp_path: Path) -> None:
    wrong = text("notes", "x")
    wrong.tensor.dtype = 1
    wrong.tensor.tensor_shape.dim.add(size=2)
    wrong.tensor.float_val.extend([1.0, 2.0])
    run = run_with(tmp_path, values=[wrong])

    with pytest.raises(DecodeError, match="'notes' is not text"):
        _ = run.texts("notes")[0].value


def test_tags_have_the_names_and_descriptions_that_files_have(tmp_path: Path) -> None:
    """Those of the first metadata; a later value may have none."""
    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        for step in range(2):
            value = summaries.scalar("loss", 1.0, dtype="float32")
            if step == 0:
                value.metadata.display_name = "Loss (train)"
                value.metadata.summary_description = "The *mean* of a batch."
            else:
                value.ClearField("metadata")
            writer.add_summary(step, value)
        writer.add_scalar("plain", 1.0, 0)
    tags = tbcore.open(tmp_path)["."].tags
    found = {name: (tag.display_name, tag.description) for name, tag in tags.items()}
    assert found == {"loss": ("Loss (train)", "The *mean* of a batch."), "plain": ("", "")}
