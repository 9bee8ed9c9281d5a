"""Rounds: how many records are walked to decode a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tbcore.eventfiles import decoder as decode
from tbcore.eventfiles.batch import Batch
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.layouts import learn
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.row_templates import RowTemplate
from tbcore.eventfiles.tail import FileReader
from tbcore.testing import EventFileWriter, record_bytes
from tbcore.tuning import Tuning


def test_a_period_that_is_not_taken_leaves_the_bytes_as_they_are() -> None:
    """Its records are decoded in another way then, checksums included."""
    events = [Event(wall_time=1.5 + step, step=step) for step in range(1, 101)]
    for event in events:
        event.summary.value.add(tag="loss", simple_value=1.0)
    payloads = [event.SerializeToString() for event in events]
    layout = learn(payloads[0])
    assert layout is not None
    data = b"".join(map(record_bytes, payloads))
    buffer = bytearray(data + bytes(64))
    period = RowTemplate([layout], Tuning())
    assert period.count_rows(buffer, 0, len(data) + 64, min_rows=101) == 0, "others come behind"
    assert buffer[: len(data)] == data
    assert period.count_rows(buffer, 0, len(data), min_rows=101) == 100
    assert buffer[: len(data)] != data, "or there is nothing to be careful about"


def test_records_are_not_walked_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where scalars that come in turns are interrupted by something else every few steps."""
    path = tmp_path / "a.tfevents"
    num_records = 1
    with EventFileWriter(path) as writer:
        for step in range(1_000):
            for tag in range(10):
                writer.add_scalar(f"tag{tag}", step, step)
            if step % 4 == 3:
                for tag in range(3 + step % 7):
                    writer.add_histogram(f"weights{tag}", [1.0, 2.0], step)
                num_records += 3 + step % 7
            num_records += 10
    walked = 0

    def find_frames(*arguments: Any, **options: Any) -> Any:
        nonlocal walked
        frames = real(*arguments, **options)
        walked += len(frames.starts)
        return frames

    real = decode.find_frames
    monkeypatch.setattr(decode, "find_frames", find_frames)
    decoder = Decoder()
    for _ in range(3):
        file, num_rows = FileReader(str(path), 0, decoder), 0
        for item in file.read():
            if isinstance(item, Batch):
                columns = [*item.scalars, *item.references]
                num_rows += sum(len(column.step) for column in columns)
        assert file.problems == []
        assert num_rows == num_records - 1
    assert walked < 3 * 2 * num_records
