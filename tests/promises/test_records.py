"""Records: P1, whole ones are served wherever a file is cut, and none is invented.

`tests/test_torn_files.py` cuts files of every kind without a server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tbcore.testing import EventFileWriter, summaries

STEPS = [0, 2**62]


def write(path: Path) -> list[tuple[int, dict[str, list[list[Any]]]]]:
    """A small file; where its records end, and the rows that are there at each end."""
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


def test_p1_a_file_cut_at_any_byte_shows_its_whole_records(
    shared: Any, start: Any, tmp_path: Path
) -> None:
    """At every byte; again from a server that starts with it; and the rest, when it comes."""
    ends = write(tmp_path / "whole.tfevents")
    data = (tmp_path / "whole.tfevents").read_bytes()
    folder = shared.logdir / "p1"
    for cut in range(len(data) + 1):
        (folder / f"{cut:04d}").mkdir(parents=True)
        (folder / f"{cut:04d}" / "a.tfevents").write_bytes(data[:cut])
    shared.wait_for_look()

    for server, prefix in ((shared, "p1/"), (start(folder), "")):
        server.wait_for_look()
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
    shared.wait_for_look()
    for cut in range(len(data) + 1):
        found = {tag: shared.scalars(f"p1/{cut:04d}", tag) for tag in ("a", "b")}
        assert found == ends[-1][1], f"continued at byte {cut} of {len(data)}"
