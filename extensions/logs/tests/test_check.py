"""`tbcore check`: the faults of a logdir, their positions, and the exit status."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from disk import Disk
from installed_plugins import Distributions

from tbcore.cli import main
from tbcore.engine import Summary
from tbcore.tuning import Tuning
from tbcore_testing import EventFileWriter, record_bytes, summaries, write_run

LONG_AGO = 1_600_000_000.0


def event_file(path: Path, *parts: bytes, mtime: float = LONG_AGO) -> Path:
    """Writes a file with ten scalars, followed by these bytes."""
    with EventFileWriter(path) as writer:
        for step in range(10):
            writer.add_scalar("loss", 0.5, step)
        for part in parts:
            writer.add_bytes(part)
    os.utime(path, (mtime, mtime))
    return path


def run_check(capsys: pytest.CaptureFixture[str], logdir: Path) -> tuple[int, dict[str, Any]]:
    """The exit status and the printed JSON."""
    status = main(["check", str(logdir), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_an_undamaged_logdir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report has the totals and no findings, and the exit status is 0."""
    event_file(tmp_path / "train" / "a.tfevents")
    size = (tmp_path / "train" / "a.tfevents").stat().st_size

    status, report = run_check(capsys, tmp_path)

    assert status == 0
    unshown = report.pop("unshown")
    assert report.pop("other_files") == []
    assert (report.pop("orphaned"), report.pop("other_logs")) == ({}, [])
    assert report == {"runs": 1, "files": 1, "bytes": size, "damaged": 0, "findings": []}
    assert [kind["kind"] for kind in unshown] in ([], ["scalars"])  # whatever is installed
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith(f"1 run, 1 file ({size} B): all can be read\n")


def test_damage_is_named_with_its_offset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each damaged record is reported, and where the unreadable rest of a file begins."""
    good = record_bytes(b"\x09" + bytes(8) + b"\x10\x01")
    wrong_payload = bytearray(good)
    wrong_payload[14] ^= 1
    wrong_length = bytearray(good)
    wrong_length[9] ^= 1
    no_event = record_bytes(b"\xff" * 9)
    path = event_file(
        tmp_path / "train" / "a.tfevents",
        *map(bytes, (wrong_payload, good, no_event, wrong_length, good)),
    )
    start = path.stat().st_size - 4 * len(good) - len(no_event)
    event_file(tmp_path / "eval" / "a.tfevents")

    status, report = run_check(capsys, tmp_path)

    assert status == 1
    assert report["damaged"] == 1
    offsets = [start, start + 2 * len(good), start + 2 * len(good) + len(no_event)]
    assert report["findings"] == [
        {
            "what": "corrupt", "path": str(path), "run": "train", "offset": offset,
            "message": message, "is_damage": True,
        }
        for offset, message in zip(
            offsets,
            [
                f"payload checksum wrong in the record at offset {offsets[0]}",
                f"no valid event in the record at offset {offsets[1]}",
                f"length checksum wrong in the record at offset {offsets[2]}; "
                "the rest of this file cannot be read",
            ],
            strict=True,
        )
    ]  # fmt: skip
    assert main(["check", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(path)
    assert lines[1] == f"    payload checksum wrong in the record at offset {offsets[0]}"
    assert "2 runs, 2 files" in lines[5]
    assert "1 damaged" in lines[5]


def test_a_file_with_much_damage_does_not_fill_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the first findings of a file are printed; JSON has all of them."""
    nonsense = record_bytes(b"\xff" * 9)
    event_file(tmp_path / "a.tfevents", *[nonsense] * 500)
    event_file(tmp_path / "b.tfevents", nonsense)

    _, report = run_check(capsys, tmp_path)
    assert len(report["findings"]) == 501
    assert main(["check", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 30
    assert "    and 480 more; --json has them all" in lines
    assert any(re.fullmatch(r"1 run, 2 files \(.*\): 2 damaged", line) for line in lines)


@pytest.mark.parametrize("num_bytes", [1, 11, 12, 20])
def test_a_file_that_was_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], num_bytes: int
) -> None:
    """A file that was cut off is damaged only if it is old: a writer may still be running."""
    torn = record_bytes(b"x" * 40)[:num_bytes]
    path = event_file(tmp_path / "a.tfevents", torn)
    offset = path.stat().st_size - num_bytes

    status, report = run_check(capsys, tmp_path)

    [finding] = report["findings"]
    assert (status, finding["what"], finding["offset"]) == (1, "cut off", offset)
    assert f"after {num_bytes} of its bytes" in finding["message"]
    os.utime(path)
    status, report = run_check(capsys, tmp_path)
    [finding] = report["findings"]
    assert (status, finding["what"], finding["is_damage"]) == (0, "being written", False)


def test_files_that_are_empty_or_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty file is not damaged; an unreadable one is."""
    (tmp_path / "run").mkdir()
    empty = tmp_path / "run" / "a.tfevents"
    empty.touch()
    broken = event_file(tmp_path / "run" / "b.tfevents")
    real = os.preadv

    def preadv(descriptor: int, *rest: Any) -> int:
        if os.readlink(f"/proc/self/fd/{descriptor}") == str(broken):
            raise OSError(5, "Input/output error")
        return real(descriptor, *rest)

    monkeypatch.setattr(os, "preadv", preadv)

    status, report = run_check(capsys, tmp_path)

    assert status == 3
    assert [(f["what"], f["path"]) for f in report["findings"]] == [
        ("empty", str(empty)), ("unreadable", str(broken)),
    ]  # fmt: skip
    assert report["findings"][1]["message"] == "cannot be read: Input/output error"
    broken.unlink()
    assert run_check(capsys, tmp_path)[0] == 0


def test_a_directory_that_does_not_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing directory is a finding; a remote address is a wrong argument."""
    status, report = run_check(capsys, tmp_path / "nowhere")

    assert status == 1
    assert [f["what"] for f in report["findings"]] == ["missing"]
    assert main(["check", "gs://bucket/logs"]) == 2


def test_unclaimed_data_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], installed: Distributions
) -> None:
    """Unclaimed data is listed with the distribution to install, and is not damage."""
    write_run(tmp_path, "train", images={"picture": [summaries.png()]}, texts={"note": ["a"]})
    with EventFileWriter(tmp_path / "train" / "z.tfevents") as writer:
        writer.add_summary(1, summaries.tensor("odd", [1.0, 2.0], plugin_name="some_plugin"))

    status, report = run_check(capsys, tmp_path)

    assert status == 0
    assert [(u["kind"], u["example_tag"], u["install"]) for u in report["unshown"]] == [
        ("images", "picture", "tbcore-images"), ("text", "note", "tbcore-text"),
        ("some_plugin", "odd", None),
    ]  # fmt: skip
    main(["check", str(tmp_path)])
    last = capsys.readouterr().out.splitlines()[-3:]
    assert last[0].endswith(
        "1 tag in 1 run, for example train: picture; `pip install tbcore-images`"
    )
    assert last[2].startswith("no loaded plugin shows these tensors of some_plugin: ")


def test_data_that_is_not_in_event_files_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], installed: Distributions
) -> None:
    """Profiles, embeddings and debugger dumps, as they are written; other files are not named."""
    files = (
        "run/plugins/profile/2024_01_02/host.xplane.pb",
        "run/plugins/profile/2024_01_02/host.trace.json.gz",
        "torch/host_12.17000000.pt.trace.json",
        "run/projector_config.pbtxt",
        "debug/tfdbg_events.1700000000.host.metadata",
        "run/model.pt",
        "run/profile.txt",
        "run/trace.json",
    )
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "run" / "again").symlink_to(tmp_path)  # each directory counts once
    status, report = run_check(capsys, tmp_path)
    assert status == 0
    assert {found["kind"]: found["num_files"] for found in report["other_files"]} == {
        "debugger": 1,
        "profile": 3,
        "projector": 1,
    }
    example = str(tmp_path / "run" / "projector_config.pbtxt")
    assert report["other_files"][2] == {
        "kind": "projector",
        "num_files": 1,
        "example": example,
        "shown_by": "TensorBoard's Projector (`pip install tensorboard`)",
    }
    assert main(["check", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0 runs, 0 files (0 B): no event files"
    assert lines[2].startswith("not shown: 3 files of the kind profile, for example ")
    assert lines[3] == (
        f"not shown: 1 file of the kind projector, for example {example}; "
        "shown by TensorBoard's Projector (`pip install tensorboard`)"
    )
    assert len(lines) == 4


def test_orphaned_values_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of all tags, also of those that were not logged since; a step that repeats is no restart."""
    losses = [(step, 1.0) for step in range(5)]
    weights = [(step, [1.0]) for step in range(5)]
    write_run(tmp_path, "job", scalars={"loss": losses, "late": losses}, histograms={"h": weights})
    write_run(tmp_path, "job", scalars={"loss": losses[3:]}, restart_at=3)
    write_run(tmp_path, "gone", scalars={"loss": losses})
    write_run(tmp_path, "gone", restart_at=0)
    write_run(tmp_path, "plain", scalars={"loss": losses})
    write_run(tmp_path, "repeats", scalars={"loss": losses + losses})
    status, report = run_check(capsys, tmp_path)
    assert (status, report["orphaned"]) == (0, {"gone": 5, "job": 6})
    assert main(["check", str(tmp_path)]) == 0
    line = "left out, since a restart orphaned them: 11 values in 2 runs, for example gone\n"
    assert line in capsys.readouterr().out


def test_tensors_that_a_plugin_cannot_show_are_not_what_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two numbers are no scalar, whichever plugin their metadata names."""
    write_run(tmp_path, values=[summaries.tensor("two", [1.0, 2.0], plugin_name="scalars")])
    assert main(["check", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "no loaded plugin shows these tensors of scalars: 1 tag in 1 run, for " in printed


@pytest.mark.parametrize("at", range(12))
def test_a_flipped_byte_in_the_first_header_is_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], at: int
) -> None:
    """However the byte is changed: it is still an event file."""
    good = event_file(tmp_path / "a.tfevents").read_bytes()
    for value in {0, 1, 0x1F, 0x8B, 0xFF} - {good[at]}:
        (tmp_path / "a.tfevents").write_bytes(good[:at] + bytes([value]) + good[at + 1 :])
        os.utime(tmp_path / "a.tfevents", (LONG_AGO, LONG_AGO))
        assert run_check(capsys, tmp_path)[0] == 1


def test_files_that_never_were_event_files_are_no_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unity puts a text beside each event file; others are compressed to save space."""
    event_file(tmp_path / "a.tfevents")
    (tmp_path / "a.tfevents.meta").write_text("fileFormatVersion: 2\nguid: 8c2b6f1d7e3a4c55\n")
    status, report = run_check(capsys, tmp_path)
    assert (status, report["damaged"]) == (0, 0)
    [found] = report["findings"]
    assert found == {
        "what": "other file",
        "path": str(tmp_path / "a.tfevents.meta"),
        "message": "is not an event file",
        "run": ".",
        "offset": None,
        "is_damage": False,
    }
    assert main(["check", str(tmp_path)]) == 0
    assert "all can be read; 1 other file\n" in capsys.readouterr().out
    assert main(["ls", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""

    packed = gzip.compress((tmp_path / "a.tfevents").read_bytes())
    (tmp_path / "a.tfevents").write_bytes(packed)
    assert main(["check", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "a.tfevents\n    is not an event file, but compressed by gzip\n" in printed
    assert "no event files; 2 other files\n" in printed
    assert main(["ls", str(tmp_path)]) == 0
    assert "a.tfevents is compressed by gzip, and is not read\n" in capsys.readouterr().err


def test_files_are_named_by_their_places_below_the_log_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the directory itself lies does not matter."""
    logdir = tmp_path / "plugins" / "profile" / "logs"
    write_run(logdir, "train", scalars={"loss": [0.5]})
    assert run_check(capsys, logdir)[1]["other_files"] == []


def test_a_disabled_plugin_is_not_recommended_for_installation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    installed: Distributions,
) -> None:  # fmt: skip
    """Data of an installed plugin that TBCORE_PLUGINS omits is listed without `pip install`."""
    installed.add("tbcore-scalars", {"scalars": "tbcore_scalars"})
    monkeypatch.setenv("TBCORE_PLUGINS", "")
    write_run(tmp_path, "train", scalars={"loss": [0.5]})

    assert main(["check", str(tmp_path)]) == 0

    assert capsys.readouterr().out.splitlines()[1:] == [
        "no loaded plugin shows scalars: 1 tag in 1 run, for example train: loss"
    ]


def test_tags_without_a_value_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        writer.add_summary(1, Summary.Value(tag="nothing"))
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "no loaded plugin shows tags without a value: 1 tag in 1 run, for example .: nothing"
    ]


def test_a_file_that_is_replaced_while_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, disk: Disk
) -> None:
    """A file that is replaced during the check is not damaged, and other files are read."""
    path = event_file(tmp_path / "a" / "a.tfevents")
    event_file(tmp_path / "b" / "a.tfevents")
    disk.after_read = lambda read: path.write_bytes(b"") if read == str(path) else None
    monkeypatch.setattr("tbcore.tuning.DEFAULT", Tuning(piece_bytes=200))

    status, report = run_check(capsys, tmp_path)

    assert status == 0
    assert [(f["what"], f["run"]) for f in report["findings"]] == [("changed", "a")]
