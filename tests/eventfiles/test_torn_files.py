"""Truncated and damaged files: complete records are served, and nothing that was not logged."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from framed import records_of

import tbcore_scalars
from tbcore import Claim, DecodeError, NotFoundError, values
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter, TbcoreClient, summaries

NOT_SCALAR = (Claim(is_scalar=False),)
SCALARS = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))

Row = tuple[int, float, Any]
"""Step, wall time, and the number, the message or the bytes."""


class Content(NamedTuple):
    """The data of a run, by tag."""

    scalars: dict[str, list[Row]]
    items: dict[str, list[Row]]


def write_every_kind(path: Path) -> None:
    """Writes about 4 kB with each kind of event and value, in each form."""
    with EventFileWriter(path) as writer:
        writer.add_graph(b"\x0a\x05\x0a\x03abc")
        writer.add_meta_graph(b"\x12\x00")
        writer.add_session_log("START", 0)
        writer.add_log_message("hello")
        writer.add_run_metadata("step1", b"\x0a\x00")
        writer.add_summary(0, summaries.metadata_only("_hparams_/session", "hparams", b"\x12\x00"))
        for step in range(12):
            writer.add_scalar("loss", 1.0 / (step + 1), step)
            writer.add_scalar("lr", 10.0**-step, step, dtype="float32")
        for index, dtype in enumerate(sorted(summaries.DATA_TYPES)):
            if not dtype.startswith(("bool", "complex", "q")):
                writer.add_scalar(
                    f"of/{dtype}", 3, 200 + index, dtype=dtype, as_bytes=index % 2 == 0
                )
        writer.add_summary(
            130,
            summaries.scalar("loss", 0.5),
            summaries.histogram("h", [1.0, 2.0], num_buckets=2),
            summaries.scalar("lr", 0.25, dtype="float32"),
        )
        writer.add_summary(3, summaries.histogram("h3", [1.0], num_buckets=2, as_tensor=True))
        writer.add_image("image", summaries.png(), 4)
        writer.add_image("images", [summaries.png(), summaries.png(2, 1)], 2**40, as_tensor=True)
        writer.add_audio("audio", summaries.wav([0.5] * 10), 5)
        writer.add_audio("clips", [summaries.wav(), summaries.wav()], 6, as_tensor=True)
        writer.add_text("text", ["some", "words"], 7)
        writer.add_summary(8, summaries.tensor("custom", [1.0, 2.0], plugin_name="mine"))
        writer.add_summary(9, summaries.tensor("anonymous", [[1, 2]], dtype="int64"))
        writer.add_session_log("STOP", 131)
        for step in range(131, 140):
            writer.add_scalar("loss", 0.25, step)


def content_of(payloads: Sequence[bytes]) -> Content:
    """The data in these events, decoded by protobuf."""
    content = Content({}, {})
    scalar_tags = set()
    for payload in payloads:
        event = Event.FromString(payload)
        what = event.WhichOneof("what")
        rows: list[tuple[dict[str, list[Row]], str, Any]] = []
        if what in ("graph_def", "meta_graph_def"):
            rows.append((content.items, "", getattr(event, what)))
        elif what == "tagged_run_metadata":
            tagged = event.tagged_run_metadata
            rows.append((content.items, tagged.tag, tagged.run_metadata))
        for value in event.summary.value:
            # Only the first value of a tag has the metadata.
            if value.metadata.plugin_data.plugin_name == "scalars":
                scalar_tags.add(value.tag)
            if value.HasField("simple_value") or value.tag in scalar_tags:
                rows.append((content.scalars, value.tag, values.scalar(value)))
            else:
                rows.append((content.items, value.tag, value))
        for series, tag, payload_of_row in rows:
            series.setdefault(tag, []).append((event.step, event.wall_time, payload_of_row))
    return content


def served(multiplexer: Multiplexer, run: str, tags: Sequence[str]) -> Content:
    """The data in the multiplexer for exactly these tags, with items read from the file."""
    content = Content({}, {})
    if run not in multiplexer.runs():
        return content
    listed = {tag for tag in multiplexer.tags((Claim(),))[run] if tag}
    assert listed <= set(tags), f"invented: {listed - set(tags)}"
    for tag in tags:
        try:
            series = multiplexer.scalars(run, tag)
            content.scalars[tag] = list(
                zip(
                    series.step.tolist(),
                    series.wall_time.tolist(),
                    series.value.tolist(),
                    strict=True,
                )
            )
        except NotFoundError:
            pass
        try:
            items = multiplexer.items(run, tag, NOT_SCALAR)
            content.items[tag] = [(item.step, item.wall_time, item.read()) for item in items]
        except NotFoundError:
            pass
    return content


def all_tags(content: Content) -> list[str]:
    return [*content.scalars, *content.items]


def load(logdir: Path) -> Multiplexer:
    board = Board()
    multiplexer = Multiplexer(board=board)
    Loader(board, [LogdirSpec(None, str(logdir))]).load_once()
    return multiplexer


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a file with every kind of data."""
    path = tmp_path_factory.mktemp("kinds") / "a.tfevents"
    write_every_kind(path)
    data = path.read_bytes()
    assert 3500 < len(data) < 6000
    return data


def payloads_of(data: bytes) -> list[bytes]:
    return [data[start + 12 : end - 4] for start, end in records_of(data)]


def test_a_file_that_grows_byte_by_byte_shows_exactly_its_whole_records(
    tbcore_logdir: Path, every_kind: bytes
) -> None:
    """This holds after each byte, for each kind of data."""
    ends = [end for _, end in records_of(every_kind)]
    payloads = payloads_of(every_kind)
    tags = all_tags(content_of(payloads))
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tbcore_logdir))])
    (tbcore_logdir / "run").mkdir()
    num_whole = 0
    with (tbcore_logdir / "run" / "a.tfevents").open("ab", buffering=0) as file:
        loader.load_once()
        for size in range(1, len(every_kind) + 1):
            file.write(every_kind[size - 1 : size])
            before = multiplexer.generation
            loader.load_once()
            if num_whole < len(ends) and size == ends[num_whole]:
                num_whole += 1
                found = served(multiplexer, "run", tags)
                assert found == content_of(payloads[:num_whole]), f"at byte {size}"
            else:
                assert multiplexer.generation == before or size == 1, f"at byte {size}"
    assert num_whole == len(ends)


def test_a_file_cut_anywhere_shows_exactly_its_whole_records(
    tbcore_logdir: Path, every_kind: bytes
) -> None:
    """This holds for a new server, at 200 random lengths."""
    bounds = records_of(every_kind)
    payloads = payloads_of(every_kind)
    tags = all_tags(content_of(payloads))
    (tbcore_logdir / "run").mkdir()
    for size in sorted(random.Random(1).sample(range(len(every_kind)), 200)):
        (tbcore_logdir / "run" / "a.tfevents").write_bytes(every_kind[:size])
        num_whole = sum(end <= size for _, end in bounds)
        found = served(load(tbcore_logdir), "run", tags)
        assert found == content_of(payloads[:num_whole]), f"cut at byte {size}"


@pytest.mark.slow
def test_a_growing_file_over_http(
    tbcore_logdir: Path, tbcore_client: Callable[..., TbcoreClient], every_kind: bytes
) -> None:
    """Each response has exactly the scalars of complete records, at 200 random lengths."""
    bounds = records_of(every_kind)
    payloads = payloads_of(every_kind)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    (tbcore_logdir / "run").mkdir()
    with (tbcore_logdir / "run" / "a.tfevents").open("ab", buffering=0) as file:
        done = 0
        for size in [
            *sorted(random.Random(2).sample(range(len(every_kind)), 199)),
            len(every_kind),
        ]:
            file.write(every_kind[done:size])
            done = size
            client.reload()
            expected = content_of(payloads[: sum(end <= size for _, end in bounds)]).scalars
            tags = client.get("data/plugin/scalars/tags").json().get("run", [])
            assert tags == list(expected), f"at byte {size}"
            for tag in tags:
                query = {"run": "run", "tag": tag}
                rows = client.get("data/plugin/scalars/scalars", params=query).json()
                assert rows == [
                    [wall_time, step, value] for step, wall_time, value in expected[tag]
                ]


def scalar_record(writer: EventFileWriter) -> None:
    writer.add_scalar("target", 0.5, 300)


def tensor_record(writer: EventFileWriter) -> None:
    writer.add_scalar("target", 0.5, 300, dtype="float32")


def image_record(writer: EventFileWriter) -> None:
    writer.add_image("target", summaries.png(), 300)


def merged_record(writer: EventFileWriter) -> None:
    writer.add_summary(300, summaries.scalar("target", 1.0), summaries.scalar("other", 2.0))


def graph_record(writer: EventFileWriter) -> None:
    writer.add_graph(b"\x0a\x05\x0a\x03abc", step=300)


def start_record(writer: EventFileWriter) -> None:
    writer.add_session_log("STOP", 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    "write_target",
    [scalar_record, tensor_record, image_record, merged_record, graph_record, start_record],
)
@pytest.mark.parametrize("neighbours", [2, 100], ids=["few neighbours", "a long periodic file"])
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.release)])
def test_each_flipped_bit_of_a_record_adds_no_data(
    tbcore_logdir: Path,
    write_target: Callable[[EventFileWriter], None],
    neighbours: int,
    every: int,
) -> None:
    """A flip in the payload loses that record; one in the length loses the rest of the file.

    Flipped is every fifth of these bits, and each before a release: those of the record or, in the
    long file, of its header, and every seventh of its payload.
    """
    path = tbcore_logdir / "run" / "a.tfevents"
    with EventFileWriter(path) as writer:
        for step in range(neighbours):
            writer.add_scalar("a", step, step)
            writer.add_scalar("b", -step, step)
        write_target(writer)
        for step in range(400, 400 + neighbours):
            writer.add_scalar("a", step, step)
            writer.add_scalar("b", -step, step)
    data = path.read_bytes()
    payloads = payloads_of(data)
    target = 1 + 2 * neighbours
    start, end = records_of(data)[target]
    before, after = payloads[:target], payloads[target + 1 :]
    tags = all_tags(content_of(payloads))
    assert served(load(tbcore_logdir), "run", tags) == content_of(payloads)

    only_before, both_sides = content_of(before), content_of(before + after)
    stride = 1 if neighbours == 2 else 7
    header_bits = range(start * 8, (start + 12) * 8, every)
    other_bits = range((start + 12) * 8, end * 8, stride * every)
    for bit in (*header_bits, *other_bits):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        expected = only_before if bit < (start + 12) * 8 else both_sides
        found = served(load(tbcore_logdir), "run", tags)
        assert found == expected, f"byte {bit // 8 - start} of the record, bit {bit % 8}"


def test_a_damaged_last_record_is_tried_again(tbcore_logdir: Path) -> None:
    """The record may not be completely written; once it is, it is served, and those after it."""
    path = tbcore_logdir / "run" / "a.tfevents"
    with EventFileWriter(path) as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_scalar("a", 2.0, 2)
    data = path.read_bytes()
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tbcore_logdir))])
    path.write_bytes(data[:-6] + b"\x55" + data[-5:])
    loader.load_once()
    assert multiplexer.scalars("run", "a").step.tolist() == [1]

    with path.open("r+b") as file:
        file.seek(len(data) - 6)
        file.write(data[-6:-5])
    loader.load_once()
    assert multiplexer.scalars("run", "a").step.tolist() == [1, 2]

    with EventFileWriter(path) as writer:
        writer.add_scalar("a", 3.0, 3)
    loader.load_once()
    assert multiplexer.scalars("run", "a").step.tolist() == [1, 2, 3]


def test_a_damaged_first_record_has_no_wall_time(
    tbcore_logdir: Path, tbcore_client: Callable[..., TbcoreClient]
) -> None:
    """Its wall time is neither used to sort runs nor shown."""
    path = tbcore_logdir / "run" / "a.tfevents"
    with EventFileWriter(path) as writer:
        writer.add_scalar("a", 1.0, 1)
    data = bytearray(path.read_bytes())
    data[15] ^= 1  # in the wall time
    path.write_bytes(data)

    index = tbcore_client(tbcore_logdir).get("legacy/data/runs").json()

    assert index["run"]["firstEventTimestamp"] is None


def test_damage_in_one_file_leaves_the_next_file_of_the_run(tbcore_logdir: Path) -> None:
    """A wrong length ends reading of that file only."""
    for index in range(2):
        with EventFileWriter(tbcore_logdir / "run" / f"{index}.tfevents") as writer:
            for step in range(10 * index, 10 * index + 3):
                writer.add_scalar("a", step, step)
    first = tbcore_logdir / "run" / "0.tfevents"
    data = bytearray(first.read_bytes())
    start, _ = records_of(bytes(data))[2]
    data[start + 3] ^= 0x40
    first.write_bytes(data)

    multiplexer = load(tbcore_logdir)

    assert multiplexer.scalars("run", "a", claims=SCALARS).step.tolist() == [0, 10, 11, 12]


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 4096, b"no event file at all\n" * 50, b"\xff" * 100, b"\x01"]
)
def test_other_files_are_runs_without_data(tbcore_logdir: Path, content: bytes) -> None:
    """The run in the same directory is served."""
    (tbcore_logdir / "bad").mkdir()
    (tbcore_logdir / "bad" / "a.tfevents").write_bytes(content)
    with EventFileWriter(tbcore_logdir / "good" / "a.tfevents") as writer:
        writer.add_scalar("a", 1.0, 1)

    assert load(tbcore_logdir).tags(SCALARS) == {"good": ["a"], "bad": []}


def test_a_valid_record_that_is_not_an_event_is_skipped(tbcore_logdir: Path) -> None:
    """The other records are served."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_record(b"\xff\xff\xff")
        writer.add_record(b"")
        writer.add_scalar("a", 2.0, 2)

    assert load(tbcore_logdir).scalars("run", "a").step.tolist() == [1, 2]


@pytest.mark.parametrize("sizes", [[1] * 65, [2**40, 2**40], [2**62], [0, 2**62, 2**62], [-1]])
def test_a_tensor_of_an_absurd_shape_is_not_a_scalar(tbcore_logdir: Path, sizes: list[int]) -> None:
    """The other values are served."""
    value = summaries.scalar("a", 5.0, dtype="float32")
    for size in sizes:
        value.tensor.tensor_shape.dim.add(size=size)
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_summary(2, value)
        writer.add_scalar("a", 3.0, 3)

    multiplexer = load(tbcore_logdir)

    assert multiplexer.scalars("run", "a", claims=SCALARS).step.tolist() == [1, 3]
    for item in multiplexer.items("run", "a", NOT_SCALAR):
        with pytest.raises(DecodeError):
            values.scalar(item.read())  # type: ignore[arg-type]
