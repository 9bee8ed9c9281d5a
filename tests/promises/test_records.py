"""Records: P1 complete ones are served, P2 unchanged; P3 damage, P4 claimed sizes do little harm.

`tests/eventfiles/test_torn_files.py` damages files of every kind in further ways, without a server.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from framed import records_of

from tbcore_testing import EventFileWriter, record_bytes, summaries

STEPS = [0, 2**62]


def write(path: Path) -> list[tuple[int, dict[str, list[list[Any]]]]]:
    """Writes a small file; returns the ends of its records, each with the rows up to there."""
    ends: list[tuple[int, dict[str, list[list[Any]]]]] = []
    rows: dict[str, list[list[Any]]] = {}
    with EventFileWriter(path, wall_time=1.5) as writer:
        writer.flush()
        ends.append((path.stat().st_size, {}))
        for number, step in enumerate(STEPS):
            wall_time = 2.5 + number
            writer.add_summary(
                step,
                summaries.scalar("a", number / 4),
                summaries.scalar("b", -number, dtype="float32"),
                wall_time=wall_time,
            )
            for tag, value in (("a", number / 4), ("b", -float(number))):
                rows.setdefault(tag, []).append([wall_time, step, value])
            writer.flush()
            ends.append((path.stat().st_size, {tag: list(of_tag) for tag, of_tag in rows.items()}))
    return ends


def test_p1_a_file_cut_at_any_byte_shows_its_complete_records(
    shared: Any, start: Any, tmp_path: Path
) -> None:
    """For every length, also for a new server; once the rest is written, it shows."""
    ends = write(tmp_path / "whole.tfevents")
    data = (tmp_path / "whole.tfevents").read_bytes()
    folder = shared.logdir / "p1"
    for cut in range(len(data) + 1):
        (folder / f"{cut:04d}").mkdir(parents=True)
        (folder / f"{cut:04d}" / "a.tfevents").write_bytes(data[:cut])
    shared.wait_for_scan()

    for server, prefix in ((shared, "p1/"), (start(folder), "")):
        server.wait_for_scan()
        tags = server.get("/data/plugin/scalars/tags").json()
        assert len(data) > 126
        for cut in range(len(data) + 1):
            run = f"{prefix}{cut:04d}"
            whole = [rows for end, rows in ends if end <= cut]
            expected = whole[-1] if whole else {}
            found = {tag: server.scalars(run, tag) for tag in tags.get(run, [])}
            assert found == expected, f"cut at byte {cut} of {len(data)}"

    for cut in range(len(data) + 1):
        with (folder / f"{cut:04d}" / "a.tfevents").open("ab") as file:
            file.write(data[cut:])
    shared.wait_for_scan()
    for cut in range(len(data) + 1):
        found = {tag: shared.scalars(f"p1/{cut:04d}", tag) for tag in ("a", "b")}
        assert found == ends[-1][1], f"continued at byte {cut} of {len(data)}"


class Flipped(NamedTuple):
    """A file, and runs with copies in which one byte is changed."""

    data: bytes
    bounds: list[tuple[int, int]]
    """Start and end of each record."""
    tags: list[str | None]
    """Tags of the records; None for those that are not shown."""


def write_kinds(path: Path) -> list[str | None]:
    """Writes one record of each kind; returns their tags."""
    with EventFileWriter(path) as writer:
        writer.add_scalar("first", 0.5, 1)
        writer.add_scalar("tensor", 0.25, 2, dtype="float32")
        writer.add_histogram("histogram", [1.0, 2.0], 3)
        writer.add_image("picture", summaries.png(), 4)
        writer.add_audio("clip", summaries.wav(), 5)
        writer.add_graph(b"\x0a\x06\x0a\x01x\x12\x01X")
        writer.add_scalar("last", 0.75, 6)
        writer.add_log_message("so that something follows")
    return [None, "first", "tensor", "histogram", "picture", "clip", "graph", "last", None]


def body(response: Any) -> bytes:
    """The body of a response, or b"" for a 404."""
    assert response.status in (200, 404), response
    return response.body if response.status == 200 else b""


def shown(server: Any, run: str, tag: str) -> bytes:
    """All data that the server shows for a tag: a list, with its pictures or clips if any."""
    if tag in ("picture", "clip"):
        plugin, one = ("images", "Image") if tag == "picture" else ("audio", "Audio")
        listed = server.get(f"/data/plugin/{plugin}/{plugin}", run=run, tag=tag)
        entries = listed.json() if listed.status == 200 else []
        responses = [
            body(server.get(f"/data/plugin/{plugin}/individual{one}?{entry.pop('query')}"))
            for entry in entries
        ]
        return repr(entries).encode() + b"".join(responses) if entries else b""
    if tag == "graph":
        return body(server.get("/data/plugin/graphs/graph", run=run))
    plugin = "histograms" if tag == "histogram" else "scalars"
    return body(server.get(f"/data/plugin/{plugin}/{plugin}", run=run, tag=tag))


@pytest.fixture(scope="session")
def flipped(shared: Any) -> Flipped:
    """Writes a run for each byte of a file, with that byte changed in all bits or in one.

    They are written once for all tests.
    """
    path = shared.logdir / "p2" / "whole" / "a.tfevents"
    tags = write_kinds(path)
    data = path.read_bytes()
    bounds = records_of(data)
    assert len(bounds) == len(tags)
    offsets = range(bounds[1][0], bounds[-1][0])
    for offset in offsets:
        folder = shared.logdir / "p2" / f"{offset}"
        folder.mkdir()
        damaged = bytearray(data)
        damaged[offset] ^= 0xFF if offset % 2 else 1 << offset // 2 % 8
        (folder / "a.tfevents").write_bytes(damaged)
    shared.wait_for_scan()
    return Flipped(data, bounds, tags)


def test_p2_no_flipped_byte_changes_what_is_shown(shared: Any, flipped: Flipped) -> None:
    """Numbers, histograms, pictures, clips and graphs are as logged, or missing."""
    whole = {tag: shown(shared, "p2/whole", tag) for tag in flipped.tags if tag}
    assert all(whole.values())
    num_flips = 0
    for tag, (begin, end) in zip(flipped.tags, flipped.bounds, strict=True):
        for offset in range(begin, end) if tag else ():
            num_flips += 1
            assert shown(shared, f"p2/{offset}", tag) == b"", f"byte {offset} of {tag}"
            # After a wrong length another record follows, or none.
            for other, response in whole.items() if offset < begin + 12 else ():
                assert shown(shared, f"p2/{offset}", other) in (response, b""), f"byte {offset}"
    print(f"{num_flips} flipped bytes")
    assert num_flips > 500


def test_p2_bytes_that_change_later_are_not_shown(start: Any, tmp_path: Path) -> None:
    """Pictures are read from the file on request, when any byte of the record may have changed."""
    path = tmp_path / "logs" / "run" / "a.tfevents"
    with EventFileWriter(path) as writer:
        writer.add_image("picture", summaries.png(), 1)
    data = path.read_bytes()
    server = start(tmp_path / "logs", "--reload_interval", "0")
    server.wait(lambda: server.get("/data/status").json()["passes"])
    [entry] = server.get("/data/plugin/images/images", run="run", tag="picture").json()
    address = f"/data/plugin/images/individualImage?{entry['query']}"
    assert server.get(address).body == summaries.png()

    first, end = records_of(data)[1]
    with path.open("r+b", buffering=0) as file:
        for offset in range(first, end):
            file.seek(offset)
            file.write(bytes([data[offset] ^ 1 << offset % 8]))
            response = server.get(address)
            # The header is not read again, because offset and length of the payload are known.
            if offset < first + 12 and response.status == 200:
                assert response.body == summaries.png()
            else:
                assert response.status == 404, f"byte {offset - first}: {response}"
                assert response.text.count("\n") == 0
            file.seek(offset)
            file.write(data[offset : offset + 1])
    assert server.get(address).body == summaries.png()


def test_p3_damage_loses_its_record_or_the_rest_of_its_file(shared: Any, flipped: Flipped) -> None:
    """This holds for each byte: of a payload, of its checksum, or of a header."""
    listed = {}
    for run, kinds in shared.get("/legacy/data/runs").json().items():
        lists = [kinds[kind] for kind in ("scalars", "histograms", "images", "audio")]
        listed[run] = {tag for tags in lists for tag in tags}
        if kinds["graph"]:
            listed[run].add("graph")
    for number, (begin, end) in enumerate(flipped.bounds):
        for offset in range(begin, end) if flipped.tags[number] else ():
            in_header = offset < begin + 12
            left = flipped.tags[:number] + ([] if in_header else flipped.tags[number + 1 :])
            assert listed[f"p2/{offset}"] == set(filter(None, left)), f"byte {offset}"


def test_p3_an_invalid_event_loses_that_record(shared: Any) -> None:
    """These have correct checksums, but protobuf rejects them, or their values are invalid."""
    payloads = [
        b"\xff" * 20,
        b"\x0a",
        b"\x09\x00",
        b"\x2a\x7f\x0a",  # a summary that is longer than the event
        b"\x2a\x04\x0a\x02\x0a\xff",  # a tag that is longer than its value
        b"\x2a\x06\x0a\x04\x0a\x02\xff\xfe",  # a tag that is not UTF-8
        b"\x0b" * 3000,
        b"",
    ]
    for number, payload in enumerate(payloads):
        with EventFileWriter(shared.logdir / "p3" / f"{number}" / "a.tfevents") as writer:
            writer.add_scalar("a", 1.0, 1)
            writer.add_record(payload)
            writer.add_scalar("a", 2.0, 2)
    shared.wait_for_scan()

    for number in range(len(payloads)):
        assert shared.steps(f"p3/{number}") == [1, 2], payloads[number]


def test_p3_a_bad_header_leaves_the_other_files_of_its_run(shared: Any) -> None:
    """The files before and after it are served."""
    folder = shared.logdir / "p3" / "files"
    for number in range(3):
        with EventFileWriter(folder / f"{number}.tfevents") as writer:
            for step in range(10 * number, 10 * number + 3):
                writer.add_scalar("a", 1.0, step)
    data = bytearray((folder / "1.tfevents").read_bytes())
    data[records_of(bytes(data))[2][0] + 9] ^= 1
    (folder / "1.tfevents").write_bytes(data)
    shared.wait_for_scan()

    assert shared.steps("p3/files") == [0, 1, 2, 10, 20, 21, 22]


def test_p3_each_damaged_file_is_logged_once(start: Any, tmp_path: Path) -> None:
    """Ten scans of growing files with many damaged records log one line for each file."""
    logs = tmp_path / "logs"
    damaged = bytearray(record_bytes(b"x" * 20))
    damaged[20] ^= 1
    bad_header = bytearray(damaged)
    bad_header[9] ^= 1
    kinds = {"payload": damaged * 50_000, "proto": record_bytes(b"\xff" * 9) * 50_000,
             "header": bad_header}  # fmt: skip
    for kind, nonsense in kinds.items():
        with EventFileWriter(logs / kind / f"{kind}.tfevents") as writer:
            writer.add_scalar("a", 1.0, 1)
            writer.add_bytes(bytes(nonsense))
            writer.add_scalar("a", 2.0, 2)
    server = start(logs)

    for step in range(5):
        server.wait_for_scan()
        for kind in kinds:
            with (logs / kind / f"{kind}.tfevents").open("ab") as file:
                file.write(damaged + record_bytes(b"\xff" * 9))
        with EventFileWriter(logs / "fine" / "fine.tfevents") as writer:
            writer.add_scalar("a", 1.0, step)
    server.wait_for_scan()

    for run, steps in (("payload", [1, 2]), ("proto", [1, 2]), ("header", [1])):
        assert server.steps(run) == steps
    assert server.steps("fine") == [*range(5)]
    for kind in kinds:
        lines = [line for line in server.stderr.splitlines() if f"{kind}.tfevents" in line]
        assert len(lines) == 1, lines
    assert len(server.stderr) < 2000


HOLE_BYTES = 1 << 36
TAG_OF = {"scalars": "claim", "histograms": "histogram", "images": "picture", "audio": "clip"}


def test_p4_memory_depends_on_bytes_and_not_on_claimed_sizes(start: Any, tmp_path: Path) -> None:
    """The sizes are in a header, a shape or a picture; other data in the run is served."""
    logs = tmp_path / "logs"
    runs = [*claim_lengths(logs), *claim_holes(logs), *claim_tensors(logs), *claim_pictures(logs)]
    server = start(logs)
    server.wait_for_scan()
    for run in runs:
        with EventFileWriter(logs / run / "z.tfevents") as writer:
            writer.add_scalar("b", 1.0, 7)
    server.wait_for_scan()

    for run in runs:
        assert server.steps(run) == [1], run
        assert server.steps(run, "b") == [7], run
        for tag in TAG_OF.values():
            shown(server, run, tag)
    peak = server.status_figure("VmHWM")
    print(f"{peak / 1024:.0f} MiB at most")
    assert peak < 200 << 10, "KiB"


def claim_lengths(logs: Path) -> list[str]:
    """Writes headers with huge lengths and correct checksums."""
    lengths = [2**64 - 1, 2**63, 2**60, 3 << 30, (1 << 31) - 1, 1 << 30, 1 << 20]
    for length in lengths:
        header = struct.pack("<Q", length)
        # The first 12 bytes of a record are a length of 8 bytes with its checksum. These are taken
        # from a record whose payload is the length.
        checksum = record_bytes(header)[-4:]
        with EventFileWriter(logs / f"{length}" / "a.tfevents") as writer:
            writer.add_scalar("a", 1.0, 1)
            writer.add_bytes(header + checksum + bytes(1000))
    return [f"{length}" for length in lengths]


def claim_holes(logs: Path) -> list[str]:
    """Writes sparse files of 64 GiB, which take a few kilobytes on the disk."""
    for run, length in (("hole", None), ("record", 1 << 28)):
        path = logs / run / "a.tfevents"
        with EventFileWriter(path) as writer:
            writer.add_scalar("a", 1.0, 1)
            if length is not None:
                header = struct.pack("<Q", length)
                writer.add_bytes(header + record_bytes(header)[-4:])
        os.truncate(path, HOLE_BYTES)
    return ["hole", "record"]


def claim_tensors(logs: Path) -> list[str]:
    """Writes tensors whose shapes have more elements than are stored, for each kind of data."""
    runs = []
    for sizes in ([2**62], [2**31, 2**31], [2**20, 2**20, 2**20], [1 << 28]):
        for plugin, tag in TAG_OF.items():
            run = f"{plugin}/{'x'.join(map(str, sizes))}"
            value = summaries.scalar(tag, 1.0, dtype="float32")
            value.metadata.plugin_data.plugin_name = plugin
            value.tensor.ClearField("tensor_shape")
            for size in sizes:
                value.tensor.tensor_shape.dim.add(size=size)
            with EventFileWriter(logs / run / "a.tfevents") as writer:
                writer.add_scalar("a", 1.0, 1)
                writer.add_summary(2, value)
            runs.append(run)
    return runs


def claim_pictures(logs: Path) -> list[str]:
    """Writes pictures and clips with huge sizes in their headers."""
    for run, width in (("wide", 2**31 - 1), ("large", 100_000)):
        header = bytearray(summaries.png())
        header[16:24] = struct.pack(">II", width, width)
        with EventFileWriter(logs / run / "a.tfevents") as writer:
            writer.add_scalar("a", 1.0, 1)
            writer.add_image("picture", bytes(header), 2)
    clip = bytearray(summaries.wav())
    clip[4:8] = clip[40:44] = b"\xff" * 4
    with EventFileWriter(logs / "clip" / "a.tfevents") as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_audio("clip", bytes(clip), 2)
    return ["wide", "large", "clip"]
