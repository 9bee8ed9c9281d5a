"""Rounds: how many records are walked to decode a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from calls import Watch
from tables import rows_of

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.fast.layouts import learn
from tbcore.eventfiles.fast.row_templates import RowTemplate
from tbcore.eventfiles.framing import find_frames
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.tail import FileReader
from tbcore.tuning import Tuning
from tbcore_testing import EventFileWriter, record_bytes


def test_a_row_template_leaves_the_buffer_unchanged() -> None:
    """Records after a block are decoded in another way, which verifies their checksums again."""
    events = [Event(wall_time=1.5 + step, step=step) for step in range(1, 101)]
    for event in events:
        event.summary.value.add(tag="loss", simple_value=1.0)
    payloads = [event.SerializeToString() for event in events]
    layout = learn(payloads[0])
    assert layout is not None
    data = b"".join(map(record_bytes, payloads))
    buffer = bytearray(data + bytes(64))
    template = RowTemplate([layout], np.array([0]), Tuning())
    assert template.count_repeats(buffer, 0, len(data), min_repeats=101) == 0
    assert template.count_repeats(buffer, 0, len(data), min_repeats=100) == 100
    assert buffer == data + bytes(64)


def test_each_record_is_walked_about_once(tmp_path: Path, calls_of: Watch) -> None:
    """Even if every few steps other records interrupt a cycle of scalars."""
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
    calls = calls_of(find_frames)
    decoder = Decoder()
    for _ in range(3):
        file = FileReader(str(path), 0, decoder)
        assert len(rows_of(file.read())) == num_records - 1
        assert file.problems == []
    assert 0 < sum(len(call.result.starts) for call in calls) < 3 * 2 * num_records
