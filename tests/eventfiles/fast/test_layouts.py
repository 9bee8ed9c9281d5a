"""Layouts and cycles: which payloads have a layout, and that usual logs are decoded by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls import Watch
from tables import rows_of, steps_of

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.fast import layouts
from tbcore.eventfiles.fast.layouts import learn
from tbcore.eventfiles.fast.row_templates import find_cycle
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.summary_pb2 import Summary, SummaryMetadata
from tbcore.eventfiles.tail import FileReader
from tbcore_testing import record_bytes
from tbcore_testing.tensors import array_proto

METADATA = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))


def simple(tag: str = "loss") -> Summary.Value:
    return Summary.Value(tag=tag, simple_value=0.5)


def tensor(array: object, tag: str = "loss") -> Summary.Value:
    return Summary.Value(tag=tag, tensor=array_proto(np.asarray(array)))


def event(*values: Summary.Value, step: int = 1, **fields: object) -> bytes:
    return Event(
        wall_time=1.5, step=step, summary=Summary(value=values), **fields
    ).SerializeToString()


@pytest.mark.parametrize(
    ("payload", "slots"),
    [
        (event(simple()), [("loss", "simple_value")]),
        (event(simple(), step=0), [("loss", "simple_value")]),
        (event(simple(), step=2**55), [("loss", "simple_value")]),
        (event(simple("é"), simple("lr")), [("é", "simple_value"), ("lr", "simple_value")]),
        (event(tensor(np.float32(1))), [("loss", "tensor")]),
        (event(tensor(np.float64([[1]]))), [("loss", "tensor")]),
        (event(tensor(np.int64(1))), [("loss", "tensor")]),
        (
            event(Summary.Value(node_name="n", tensor=array_proto(np.float32(1)))),
            [("n", "tensor")],
        ),
    ],
)
def test_scalars_have_layouts(payload: bytes, slots: list[tuple[str, str]]) -> None:
    layout = learn(payload)
    assert layout is not None
    assert [(s.tag, s.field) for s in layout.slots] == slots


def test_metadata_is_part_of_the_layout() -> None:
    value = simple()
    value.metadata.CopyFrom(METADATA)
    layout = learn(event(value))
    assert layout is not None
    assert layout.slots[0].metadata == METADATA.SerializeToString()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x09" * 40,
        event(),
        event(simple(), step=-1),
        event(simple(), step=2**56),
        event(tensor([1.0, 2.0])),
        event(tensor(True)),
        event(tensor(np.array(b"text", object))),
        event(tensor(np.float32(1), tag="__health_pill__/x")),
        event(Summary.Value(tag="loss", histo={"num": 1})),
        event(Summary.Value(tag="loss", metadata=METADATA)),
        event(simple(), source_metadata={"writer": "w"}),
        Event(file_version="brain.Event:2", wall_time=1.0).SerializeToString(),
        event(simple()) + b"\x10\x02",
        event(simple("x" * 5000)),
        event(simple("loss")).replace(b"loss", b"\xff\xff\xff\xff"),
        event(simple())[:-1],
    ],
)
def test_other_payloads_have_no_layout(payload: bytes) -> None:
    """Events that are not scalars, and scalars that writers do not encode in this way."""
    assert learn(payload) is None


def test_two_values_in_one_value_have_no_layout() -> None:
    """Protobuf uses the last one. A layout is only learnt if there is a single one."""
    value = simple().SerializeToString() + tensor(np.float32(1), "").SerializeToString()
    summary = b"\x0a" + bytes([len(value)]) + value
    payload = b"\x09" + bytes(8) + b"\x10\x01\x2a" + bytes([len(summary)]) + summary
    assert Event.FromString(payload).summary.value[0].WhichOneof("value") == "tensor"
    assert learn(payload) is None


@pytest.mark.parametrize(
    ("numbers", "length"),
    [
        ([], 0),
        ([1], 0),
        ([1, 1], 1),
        ([1, 2, 1, 2], 2),
        ([9, 1, 1, 2, 1, 1, 2], 3),
        ([1, 2, 3, 1, 2, 4], 0),
        ([-1, -1], 0),
        ([1, -1, 1, -1], 0),
    ],
)
def test_find_cycle(numbers: list[int], length: int) -> None:
    """The shortest cycle that occurs twice at the end; -1 is a record without a layout."""
    assert find_cycle(np.array(numbers, np.int64)) == length


# ------------------------------------------------------------------------------ whole files


@pytest.fixture
def num_parsed(calls_of: Watch) -> Callable[[], int]:
    """Returns the number of events that protobuf has parsed so far."""
    return calls_of(Event.FromString).__len__


def columns(path: Path, decoder: Decoder) -> dict[str, list[tuple[int, Any]]]:
    """Tag to the steps and values of all its scalars in the file."""
    found: dict[str, list[tuple[int, Any]]] = {}
    file = FileReader(str(path), 0, decoder)
    while not file.caught_up:
        for row in rows_of(file.read()):
            found.setdefault(row.tag, []).append((row.step, row.content))
    assert file.problems == []
    return found


def write(path: Path, num_steps: int, tags: list[str]) -> None:
    """Writes a scalar for each of these tags at each step."""
    parts = [record_bytes(Event(wall_time=1.0, file_version="brain.Event:2").SerializeToString())]
    for step in range(num_steps):
        for i, tag in enumerate(tags):
            value = Summary.Value(tag=tag, simple_value=step + i / 8)
            parts.append(record_bytes(event(value, step=step)))
    path.write_bytes(b"".join(parts))


MANY_TAGS = [f"t{i}" for i in range(90)]


@pytest.mark.parametrize("tags", [["loss"], ["a", "b", "a", "a", "c"], MANY_TAGS])
def test_regular_logs_are_not_parsed_by_protobuf(
    tmp_path: Path, num_parsed: Callable[[], int], tags: list[str]
) -> None:
    """The cycle is learnt from a few hundred records, and by a second run from far fewer."""
    decoder = Decoder()
    write(tmp_path / "1.tfevents", 1000, tags)
    write(tmp_path / "2.tfevents", 300, tags)
    found = columns(tmp_path / "1.tfevents", decoder)
    for tag in set(tags):
        indices = [i for i, t in enumerate(tags) if t == tag]
        assert found[tag] == [(s, s + i / 8) for s in range(1000) for i in indices]
    first = num_parsed()
    assert 0 < first <= 10 * len(tags) + 100
    columns(tmp_path / "2.tfevents", decoder)
    assert num_parsed() - first <= 4 * len(tags) + 40


def test_irregular_logs_are_not_parsed_by_protobuf(
    tmp_path: Path, num_parsed: Callable[[], int]
) -> None:
    """Scalars in random order have layouts, although there is no cycle."""
    rng = np.random.default_rng(3)
    parts = []
    for step in range(1, 3000):
        for i in range(8):
            if rng.random() < 0.4:
                parts.append(record_bytes(event(simple(f"tag/{i}"), step=step)))
    (tmp_path / "1.tfevents").write_bytes(b"".join(parts))
    found = columns(tmp_path / "1.tfevents", Decoder())
    assert sum(map(len, found.values())) == len(parts)
    assert num_parsed() < len(parts) / 20


def test_many_field_offsets_of_one_length_are_left_to_protobuf(
    tmp_path: Path, calls_of: Watch
) -> None:
    """The work is bounded by a small multiple of the records, even in a file made to be slow."""
    calls = calls_of(layouts.learn, layouts._LayoutGroup._hash, Event.FromString)
    records = []
    for first in range(1, 30):
        for second in range(1, 30):
            # Two tags share 60 bytes with a third one.
            tags = "a" * first, "b" * second, "c" * (60 - first - second)
            values = [Summary.Value(tag=tag, simple_value=1.0) for tag in tags]
            records += [record_bytes(event(*values, step=step)) for step in (1, 2)]
    path = tmp_path / "1.tfevents"
    path.write_bytes(b"".join(records))
    found = columns(path, Decoder())
    assert sum(map(len, found.values())) == 3 * len(records)
    assert len({len(record) for record in records}) == 1
    num = Counter(call.name for call in calls)
    num_hashed = sum(len(call.arguments["constants"]) for call in calls if call.name == "_hash")
    assert 0 < num["learn"] < 2 * len(records)
    assert 0 < num_hashed < 200 * len(records)
    # To learn a layout takes one more.
    assert 0 < num["FromString"] - num["learn"] <= len(records)


def test_many_tags_of_one_length_are_learnt_at_once(tmp_path: Path, calls_of: Watch) -> None:
    """Each layout is learnt only once."""
    calls = calls_of(layouts.learn, Event.FromString)
    path = tmp_path / "1.tfevents"
    write(path, 40, [f"tag{i:04}" for i in range(500)])
    found = columns(path, Decoder())
    assert {len(rows) for rows in found.values()} == {40}
    num = Counter(call.name for call in calls)
    assert 0 < num["learn"] < 3 * 500 + 100  # the step 0 has no bytes, all others have one
    assert 0 < num["FromString"] - num["learn"] < 4 * 500


@pytest.mark.parametrize(
    ("damaged_row", "num_steps"),
    [(0, 40), (1, 40), (2, 40), (39, 40), (0, 150), (1, 150), (2, 150), (70, 150), (149, 150)],
)
def test_damage_inside_a_block_affects_one_record(
    tmp_path: Path, damaged_row: int, num_steps: int
) -> None:
    """Even in its first rows: then there is no block, after checksums in it were overwritten."""
    decoder = Decoder()
    warm = tmp_path / "warm.tfevents"
    write(warm, 200, ["loss", "lr"])
    columns(warm, decoder)
    parts = []
    for step in range(1, num_steps + 1):
        for tag in ("loss", "lr"):
            parts.append(bytearray(record_bytes(event(simple(tag), step=step))))
    parts[2 * damaged_row][-6] ^= 1
    path = tmp_path / "a.tfevents"
    path.write_bytes(b"".join(parts) + parts[-1])
    file = FileReader(str(path), 0, decoder)
    steps = steps_of(file.read())
    assert steps == [s for s in range(1, num_steps + 1) if s != damaged_row + 1]
    assert len(file.problems) == 1
