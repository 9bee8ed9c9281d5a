"""Data that `tbcore_testing` writes is read back unchanged by the core, and by TensorBoard if it is
installed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tbcore import Claim, DecodeError, values
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.eventfiles.tensors import tensor_to_numpy
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter, summaries

ALL = (Claim(),)
LOGICAL = {"bfloat16": "<f4", "float16": "<f4"}
"""dtype of generated values for types that numpy does not have, or that are narrow."""


class Tensor(NamedTuple):
    dtype: str
    array: Any
    content: bool


@st.composite
def tensors(draw: Callable[..., Any]) -> Tensor:
    """A strategy for tensors of any type and shape, in both forms."""
    dtype = draw(st.sampled_from(sorted(summaries.DATA_TYPES)))
    stored = np.dtype(LOGICAL.get(dtype, summaries.DATA_TYPES[dtype].dtype))
    elements = None
    if stored.kind in "fc":
        # Values that every type represents exactly, so that the result can be compared bit by bit.
        elements = st.sampled_from([0.0, -0.0, 1.0, -2.5, 0.09375, 240.0, np.inf, -np.inf, np.nan])
    shape = draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    return Tensor(dtype, draw(arrays.arrays(stored, shape, elements=elements)), draw(st.booleans()))


def write(path: Path, written: list[Tensor]) -> None:
    with EventFileWriter(path) as writer:
        for number, (dtype, array, content) in enumerate(written):
            writer.add_tensor(
                f"tensor {number}",
                array,
                number,
                dtype=dtype,
                as_bytes=content,
                plugin_name="mine",
                plugin_content=b"\x00\xff",
            )


def read(folder: Path) -> Multiplexer:
    board = Board()
    multiplexer = Multiplexer(board=board)
    Loader(board, [LogdirSpec(None, str(folder))]).load_once()
    return multiplexer


def same(found: Any, array: Any) -> bool:
    """Whether shape and bits are the same."""
    return found.shape == array.shape and found.astype(array.dtype).tobytes() == array.tobytes()


@given(st.lists(tensors(), min_size=1, max_size=12))
@settings(max_examples=40)
def test_tensors_of_every_type_are_read_back_by_the_core(written: list[Tensor]) -> None:
    """Quantized tensors, which the core does not decode, raise an error with the type."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "run" / "a.tfevents", written)
        multiplexer = read(Path(folder))
        for number, (dtype, array, content) in enumerate(written):
            tag = f"tensor {number}"
            metadata = multiplexer.metadata("run", tag).plugin_data
            assert (metadata.plugin_name, metadata.content) == ("mine", b"\x00\xff")
            if array.size == 1 and array.dtype.kind in "fiu" and dtype[0] != "q":
                found = multiplexer.scalars("run", tag, claims=ALL).value
                assert same(found, array.reshape(1).astype(np.float64)), (dtype, array)
                continue
            [item] = multiplexer.items("run", tag, ALL)
            value = item.read()
            assert not isinstance(value, bytes)
            # As bytes: in some versions of protobuf, a message with NaN does not equal itself.
            wanted = summaries.tensor_proto(array, dtype, as_bytes=content)
            assert value.tensor.SerializeToString() == wanted.SerializeToString()
            if dtype[0] == "q":
                with pytest.raises(DecodeError, match=f"DT_{dtype.upper()}"):
                    tensor_to_numpy(value.tensor)
            elif array.size or not content:
                assert same(tensor_to_numpy(value.tensor), array), (dtype, array)


@given(st.lists(tensors(), min_size=1, max_size=12))
@settings(max_examples=40)
def test_tensors_of_every_type_are_read_back_by_tensorboard(written: list[Tensor]) -> None:
    loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader",
        reason="tensorboard is not installed, and it is what the files are read with",
    )
    from tensorboard.util.tensor_util import make_ndarray

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tfevents"
        write(path, written)
        events = list(loader.LegacyEventFileLoader(str(path)).Load())
    assert [event.step for event in events[1:]] == list(range(len(written)))
    for event, (dtype, array, content) in zip(events[1:], written, strict=True):
        [value] = event.summary.value
        assert value.metadata.plugin_data.content == b"\x00\xff"
        assert value.tensor.dtype == summaries.DATA_TYPES[dtype].number
        if dtype == "bfloat16" or (dtype in ("uint32", "uint64") and not (content and array.size)):
            # TensorBoard has a numpy type for the first one only if TensorFlow is installed, and
            # does not read the repeated fields of the others.
            continue
        found = make_ndarray(value.tensor)
        if found.dtype.names:
            # A quantized type is a structure with one field.
            found = found[found.dtype.names[0]]
        assert same(found, array), (dtype, array, found)


def test_every_other_kind_is_read_back(tmp_path: Path) -> None:
    """Histograms, pictures, clips, texts and curves are decoded from both forms."""
    pictures = [summaries.png(4, 3), summaries.png(4, 3, (1, 2, 3))]
    clip = summaries.wav([0.0, 0.5])
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        for form in (False, True):
            writer.add_histogram(f"histogram {form}", [1.0, 2.0, 4.0], 0, as_tensor=form)
            writer.add_audio(f"audio {form}", clip, 0, as_tensor=form)
        writer.add_image("image", pictures[0], 0)
        writer.add_image("images", pictures, 0, as_tensor=True)
        writer.add_summary(0, summaries.text("text", [["a", "é"], ["", "🙂"]]))
        writer.add_summary(0, summaries.pr_curve("curve", [True, False], [0.75, 0.25]))
        writer.add_record(b"\xff no event")
        writer.add_record(b"bad", damage="payload")
        writer.add_scalar("after", 0.5, 1)
        writer.add_record(b"bad", damage="torn")
    multiplexer = read(tmp_path)

    def value(tag: str) -> Any:
        [item] = multiplexer.items("run", tag, ALL)
        return item.read()

    for form in (False, True):
        table = values.bucket_table(value(f"histogram {form}"))
        assert (table[0, 0], table[-1, 1], table[:, 2].sum()) == (1.0, 4.0, 3.0)
        audio = values.audio(value(f"audio {form}"), multiplexer.metadata("run", f"audio {form}"))
        assert (audio.content_type, audio.clips[0].encoded) == ("audio/wav", clip)
    assert values.image(value("image")) == (4, 3, pictures[:1])
    assert values.image(value("images")) == (4, 3, pictures)
    assert values.text(value("text")).tolist() == [["a", "é"], ["", "🙂"]]
    curve = tensor_to_numpy(value("curve").tensor)
    # At the middle threshold 0.5 there is one true positive and one true negative.
    assert curve[:, 5].tolist() == [1, 0, 1, 0, 1, 1]
    assert multiplexer.scalars("run", "after").value.tolist() == [0.5]


def test_a_wrong_length_ends_a_file(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "run" / "a.tfevents") as writer:
        writer.add_scalar("loss", 0.5, 0)
        writer.add_record(b"bad", damage="length")
        writer.add_scalar("loss", 0.25, 1)
    assert read(tmp_path).scalars("run", "loss").value.tolist() == [0.5]
