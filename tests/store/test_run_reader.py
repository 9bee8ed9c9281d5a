"""RunReader: a run whose files are not on a disk is read like any other."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

import pytest

from tbcore.errors import NotFoundError
from tbcore.eventfiles import tail
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import EventFile
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.tail import FileReplacedError, read_first_event_time
from tbcore.kinds import Claim
from tbcore.store import items
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.run_reader import RunReader, preload_small_files
from tbcore.testing import EventFileWriter, summaries
from tbcore.tuning import Tuning

PATH = "s3://bucket/run/a.tfevents"
IMAGES = (Claim("image"),)


class FileInMemory:
    """An open file with the attributes and methods of LocalFile, and without a descriptor."""

    contents: ClassVar[dict[str, bytes]]
    """Maps the path of each file to its bytes."""

    def __init__(self, path: str) -> None:
        if path not in self.contents:
            raise FileNotFoundError(2, "No such key", path)
        size = len(self.contents[path])
        self.opened = EventFile(path, f"etag-of-{size}-bytes", size, size, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def current_size(self) -> int:
        return len(self.contents[self.opened.path])

    def read(self, offset: int, size: int) -> bytes:
        return self.contents[self.opened.path][offset : offset + size]

    def read_into(self, buffer: memoryview, offset: int) -> int:
        data = self.read(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    monkeypatch.setattr(FileInMemory, "contents", found, raising=False)
    monkeypatch.setattr(tail, "LocalFile", FileInMemory)
    monkeypatch.setattr(items, "LocalFile", FileInMemory)
    return found


def logged(path: Path, num_steps: int, *, wall_time: float = 5.0) -> bytes:
    """The bytes of an event file; the first event is larger than 1,000 bytes."""
    path.unlink(missing_ok=True)
    with EventFileWriter(path, wall_time=wall_time) as writer:
        writer.add_graph(bytes([10, 0]) * 1000)
        for step in range(num_steps):
            writer.add_scalar("loss", 0.5, step)
            writer.add_image("image", summaries.png(), step)
    return path.read_bytes()


@pytest.mark.parametrize("small_file_bytes", [0, 1 << 19])
@pytest.mark.parametrize("piece_bytes", [1000, 1 << 16])
def test_files_elsewhere_are_read_through_the_same_object(
    tmp_path: Path, contents: dict[str, bytes], small_file_bytes: int, piece_bytes: int
) -> None:
    """As a whole or in pieces, with large records, growth, payloads and replacement."""
    tuning = Tuning(small_file_bytes=small_file_bytes, piece_bytes=piece_bytes)
    small_files, multiplexer = SmallFileReader(tuning=tuning), Multiplexer()
    reader: RunReader | None = None
    for num_steps in (3, 8):
        contents[PATH] = logged(tmp_path / "a", num_steps)
        files = [FileInMemory(PATH).opened]
        if reader is None:
            reader = RunReader(Decoder(tuning=tuning), files)
        assert reader.update(files)
        while reader.has_work:
            preload_small_files(small_files, [reader])
            reader.read_slice(1 << 20)
        assert reader.read_errors == reader.problems == []
        multiplexer.commit({"run": reader.data.commit()})
        assert multiplexer.scalars("run", "loss").step.tolist() == list(range(num_steps))
        found = multiplexer.items("run", "image", IMAGES)
        values, unreadable = items.decode_items(found, lambda value: value.tag)
        assert ([tag for _, tag in values], unreadable) == (["image"] * num_steps, [])
        assert found[0].etag.startswith(f"etag-of-{len(contents[PATH])}-bytes-")
    assert read_first_event_time(PATH, tuning=tuning) == 5.0
    contents[PATH] = logged(tmp_path / "a", 9, wall_time=6.0)
    assert reader.update([FileInMemory(PATH).opened])
    with pytest.raises(FileReplacedError):
        reader.read_slice(1 << 20)
    del contents[PATH]
    with pytest.raises(NotFoundError, match="No such key"):
        found[0].read()
