"""W&B: samples of two versions, and files made here, against what was logged, bit for bit."""

from __future__ import annotations

import json
import os
import random
import re
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from held import held_by
from loaded_logs import Logs
from source_runs import Rows, as_bits, items_of, points_of, rows_of

import tbcore
from tbcore.engine import EventFile, FileReplacedError, encode_varint
from tbcore.values import session_end
from tbcore_formats import RunFacts, wandb_runs
from tbcore_formats.wandb_file import FileReader
from tbcore_formats.wandb_runs import Reader

SAMPLES = Path(__file__).parent / "wandb_samples"
TRUTH = json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))
HEADER = b":W&B\xe1\xbe\0"
DAMAGED = ["damaged, incomplete or too long records are left out"]


def truth_of(name: str) -> Rows:
    found: dict[str, list[tuple[int, float]]] = {}
    for row in TRUTH[name]["history"]:
        media = [key.removesuffix("_type") for key in row["items"] if key.endswith("\x1f_type")]
        for key, text in row["items"].items():
            value = json.loads(text, parse_int=float)
            if (
                isinstance(value, float | bool)
                and key[0] != "_"
                and not key.startswith(tuple(media))
            ):
                found.setdefault(key.replace("\x1f", "."), []).append((row["step"], float(value)))
    return found


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    """A protobuf message of fields, each with its number."""
    found = b""
    for number, value in parts:
        data = value.encode() if isinstance(value, str) else value
        is_int = isinstance(data, int)
        found += encode_varint(number << 3 | (0 if is_int else 2))
        found += encode_varint(data) if isinstance(data, int) else encode_varint(len(data)) + data
    return found


def row(step: int | None, **values: str) -> bytes:
    """A row of the history as W&B wrote it until 2023: keys, and values in JSON."""
    items = [(1, message((1, key), (16, text))) for key, text in values.items()]
    steps = [] if step is None else [(2, message((1, step)))]
    return message((1, 7), (2, message(*items, *steps)))


def run(name: str = "", started: int = 1_790_000_000, **others: Any) -> bytes:
    fields = {"run_id": 1, "config": 4, "group": 6, "notes": 9, "tags": 10, "sweep": 12}
    fields |= {"entity": 2, "project": 3, "resumed": 18, "resume": 24}
    extra = [(fields[key], value) for key, value in others.items()]
    return message((17, message((8, name), (17, message((1, started))), *extra)))


def log(records: Iterable[bytes]) -> bytes:
    """The bytes of a file."""
    found = bytearray(HEADER)
    for record in records:
        at, is_first, is_last = 0, True, False
        while not is_last:
            left = 32768 - len(found) % 32768
            if left < 7:
                found += bytes(left)
                left = 32768
            data = record[at : at + left - 7]
            is_last = at + len(data) == len(record)
            kind = 1 if is_first and is_last else (2 if is_first else 3) + is_last
            crc = zlib.crc32(bytes([kind]) + data)
            found += struct.pack("<IHB", crc, len(data), kind) + data
            at, is_first = at + len(data), False
    return bytes(found)


@pytest.mark.parametrize("name", TRUTH)
def test_a_sample_equals_the_truth(name: str) -> None:
    found, lines = rows_of(items_of(Reader(), SAMPLES / name))
    assert (as_bits(found), lines) == (as_bits(truth_of(name)), [])


def test_a_folder_of_samples() -> None:
    """Runs have the names that users gave them, below the folder with the folder `wandb`."""
    logs = tbcore.open(SAMPLES)
    hparams = {
        "lr": 0.001, "opt.name": "adam", "opt.betas": "[0.9,0.999]", "flag": True,
        "group": "g1",
    }  # fmt: skip
    assert {name: run.hparams for name, run in logs.items()} == {
        "header-only/new": {},
        "torn/baseline run": hparams,
        "wandb-0.19/baseline run": {**hparams, "late": 5.0},
        "wandb-0.19/odd": {},
        "wandb-0.31-live/live": {},
        "wandb-0.31/baseline run": {**hparams, "late": 5.0},
        "wandb-0.31/odd": {},
    }
    assert all(
        re.search(r"/(torn|wandb-0.31-live)/.* ends within ", line) for line in logs.problems
    )


@pytest.mark.parametrize("name", TRUTH)
def test_the_facts_of_a_sample(name: str) -> None:
    facts = [item for item in items_of(Reader(), SAMPLES / name) if isinstance(item, RunFacts)]
    truth = TRUTH[name].get("run")
    assert len(facts) == (truth is not None)
    for found in facts:
        code = TRUTH[name].get("exit_code")
        status = 3 if code is None else 2 if code else 1
        assert (found.group, found.started, found.status) == ("", truth["start_time"], status)
        assert found.hparams.get("group", "") == truth["group"]
        notes = {"notes": truth["notes"], "tags": ", ".join(truth["tags"])}
        notes |= {"project": truth["project"], "job_type": truth.get("job_type", "")}
        assert found.texts == {tag: text for tag, text in notes.items() if text}
        assert (found.ended is not None) == (code is not None)
        assert found.ended is None or found.ended > truth["start_time"]


@pytest.mark.parametrize("name", TRUTH)
def test_each_prefix_gives_a_prefix_of_the_points(name: str, tmp_path: Path) -> None:
    """At many random lengths, and around each border of two blocks; and so does a file that grows
    by such pieces. There is no line about it."""
    whole, numbers = (SAMPLES / name).read_bytes(), random.Random(name)
    borders = [border + n for border in range(0, len(whole) + 1, 32768) for n in range(-9, 10)]
    sizes = {numbers.randrange(len(whole) + 1) for _ in range(150)} | {*borders, len(whole)}
    path, growing, reader = tmp_path / "x.wandb", tmp_path / "y.wandb", Reader()
    expected, grown = as_bits(truth_of(name)), dict[str, list[tuple[int, float]]]()
    growing.write_bytes(b"")
    for size in sorted(size for size in sizes if 0 <= size <= len(whole)):
        path.write_bytes(whole[:size])
        found, lines = rows_of(items_of(Reader(), path))
        assert lines == []
        for tag, bits in as_bits(found).items():
            assert bits == expected[tag][: len(bits)]
        with growing.open("ab") as file:
            file.write(whole[file.tell() : size])
        more, lines = rows_of(items_of(reader, growing))
        assert lines == []
        for tag, pairs in more.items():
            grown.setdefault(tag, []).extend(pairs)
        assert as_bits(grown) == as_bits(found)
    assert as_bits(grown) == expected


def test_all_forms_of_rows(tmp_path: Path) -> None:
    """With keys and dicts, as until 2023; with a step in the row or among the items, or none."""
    nested = [(1, message((2, "n"), (2, "é"), (16, "-0"))), (2, message((1, 9)))]
    records = [
        run(config=message((1, message((1, "a"), (16, '{"b": {"c": 1}, "_type": 1}'))))),
        row(None, a="1", _step="5", _timestamp="1e9", _runtime="3", _wandb='{"x": 1}'),
        row(None, a='{"b": {"c": true, "d": null}, "e": {"_type": "image-file", "width": 3}}'),
        row(7, a="1" + "0" * 400, w='"word"', _runtime="2.5"),
        row(1, a='"-Infinity"', _step="1e+06"),
        message((2, message(*nested))),
        row(None, a="2"),
        row(None, a="3", _step="NaN"),
        row(None, a="3", _step="1e40"),
        row(None, a="[1, 2]"),
    ]
    path = tmp_path / "run-abc.wandb"
    path.write_bytes(log(records))
    items = [*items_of(Reader(), path)]
    found, lines = rows_of(iter(items))
    expected = {
        "a": [(5, 1.0), (7, float("inf")), (1_000_000, float("-inf")), (10, 2.0)],
        "a.b.c": [(6, 1.0)], "n.é": [(9, -0.0)],
    }  # fmt: skip
    assert as_bits(found) == as_bits(expected)
    assert lines == ["rows without a step are left out"]
    assert items[0]["a"].wall_time.tolist() == [1e9, 1_790_000_002.5, *[1_790_000_002.5] * 2]


def test_a_resumed_run_goes_on_with_its_next_step(tmp_path: Path) -> None:
    """Rows without a step count from the one that the run itself says. Of a field that is there
    twice, the last value counts, as in all protobuf messages, unless the field repeats."""
    path = tmp_path / "run-abc.wandb"
    once = [(17, message((1, 1_790_000_000))), (8, "it"), (6, "g2"), (14, 10), (10, "b")]
    once += [(3, "p"), (7, "eval")]
    resumed = message((17, message((8, "x"), (6, "g1"), (14, 99), (10, "a"), *once)))
    path.write_bytes(log([resumed, row(None, a="1"), row(None, a="2"), row(20, a="3")]))
    *items, facts = items_of(Reader(), path)
    assert rows_of(iter(items))[0] == {"a": [(10, 1.0), (11, 2.0), (20, 3.0)]}
    texts = {"tags": "a, b", "project": "p", "job_type": "eval"}
    assert (facts.hparams, facts.texts) == ({"group": "g2"}, texts)
    assert facts.group == "", "no mean of runs with different hyperparameters"
    assert [*tbcore.open(tmp_path)] == ["it"]


@pytest.mark.parametrize("left", range(16))
def test_a_record_may_begin_at_any_place_of_a_block(left: int, tmp_path: Path) -> None:
    """With seven bytes left, its first chunk has no data. With fewer, it is in the next block."""
    path = tmp_path / "run-abc.wandb"
    before = [
        [run(), row(1, a="1"), row(2, a="2", text=f'"{n * "x"}"')] for n in range(32600, 32720)
    ]
    records = next(each for each in before if len(log(each)) == 32768 - left)
    path.write_bytes(log([*records, row(3, a="3"), row(4, a="4")]))
    found, lines = rows_of(items_of(Reader(), path))
    assert found["a"] == [(n, float(n)) for n in range(1, 5)]
    assert lines == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a changed byte", lambda data: data[:40_000] + b"\xff" + data[40_001:]),
        ("zeros", lambda data: data[:40_000] + bytes(30_000) + data[70_000:]),
        ("a missing block", lambda data: data[:32768] + data[65536:]),
        ("another kind", lambda data: data[:32774] + b"\x07" + data[32775:]),
        ("a long chunk", lambda data: data[:32772] + b"\xff\xff" + data[32774:]),
        ("a changed end", lambda data: data[:-1] + b"\xff"),
    ],
)
def test_damage_costs_records_and_one_line(
    name: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Blocks after the damage are read."""
    path, count = tmp_path / "run-abc.wandb", 3000
    path.write_bytes(change(log([run(), *(row(n, a=str(n), b="x" * 20) for n in range(count))])))
    os.utime(path, (1e9, 1e9))
    found, lines = rows_of(items_of(Reader(), path))
    steps = [step for step, _ in found["a"]]
    assert all(step == value for step, value in found["a"])
    assert (steps[0], steps == sorted(steps), lines) == (0, True, DAMAGED)
    assert count - 1300 < len(steps) < count
    assert (steps[-1] == count - 1) == (name != "a changed end")


@pytest.mark.parametrize(
    "records",
    [
        [message((2, b"\xff" * 30))],
        [message((2, message((1, message((1, b"\xff"), (16, b"\xff"))))))],
        [b"\x12\x7f"],
        [message((17, message((4, 3), (17, 5))))],
        [message((18, message((1, b"x"), (2, b"y"))))],
        [message((5, message((1, message((1, "a"), (16, "[" * 100_000))))))],
        [row(1, a="[" * 100_000, b="1" * 5000)],
        lambda: [bytes(70 << 20)],
        lambda: [row(1, **{f"k{n}": "1" for n in range(30_000)})],
    ],
)
def test_hostile_records_cost_at_most_one_line(
    records: list[bytes] | Callable[[], list[bytes]], tmp_path: Path
) -> None:
    records = records() if callable(records) else records
    path = tmp_path / "bad" / "run-abc.wandb"
    path.parent.mkdir()
    path.write_bytes(log([run("it"), *records, row(9, last="1")]))
    logs = tbcore.open(tmp_path)
    assert list(logs) == ["bad/it"]
    points = points_of(logs["bad/it"])
    assert len(logs.problems) <= 1
    assert ("last" in points) == (len(points) < 20_000)


def test_a_file_of_another_version_is_a_line(tmp_path: Path) -> None:
    for name, content in (("a", b":W&B\xe1\xbe\1"), ("b", bytes(99)), ("c", log([run("good")]))):
        (tmp_path / f"run-{name}.wandb").write_bytes(content)
    logs = tbcore.open(tmp_path)
    assert list(logs) == ["good"]
    assert [line.split("run-")[1][:25] for line in logs.problems] == [
        f"{name}.wandb cannot be read: i" for name in "ab"
    ]


def test_names(tmp_path: Path) -> None:
    """Those of users, as one step of a path. The link to the latest run is no other run."""
    folder = tmp_path / "project" / "wandb"
    names = {"a": "../x", "b": "", "c": "..", "d": "x\ny"}
    for run_id, name in names.items():
        path = folder / f"offline-run-20261126_20214{run_id}-{run_id}" / f"run-{run_id}.wandb"
        path = Path(str(path).replace(f"4{run_id}-", "41-"))
        path.parent.mkdir(parents=True)
        path.write_bytes(log([run(name)]))
    (folder / "latest-run").symlink_to(path.parent)
    assert list(tbcore.open(tmp_path)) == [
        f"project/{name}" for name in (".._x", "b", "c", "x\\ny")
    ]  # fmt: skip
    assert list(tbcore.open(folder)) == [".._x", "b", "c", "x\\ny"]
    assert list(tbcore.open(folder / "latest-run")) == ["x\\ny"]


def test_a_live_run(logs: Logs) -> None:
    """It has its id as a name until it begins. Late facts are read, and what was shown stays."""
    path = logs.path / "wandb" / "run-abc.wandb"
    path.parent.mkdir()
    config = message((5, message((1, message((1, "late"), (16, "1"))))))
    exit_ = message((18, message((1, 0), (2, 60))))
    records = [run("live", sweep="s"), row(1, loss="1"), row(2, loss="1"), config, exit_]
    path.write_bytes(b"")
    sizes = [0, 3, 7, *(len(log(records[:count])) for count in range(1, 6))]
    seen = []
    for size in sizes:
        with path.open("r+b") as file:
            file.write(log(records)[:size])
        logs.load()
        seen.append([(run, logs.steps(run)) for run in logs.multiplexer.runs()])
    names = ["wandb/abc"] * 3 + ["wandb/live"] * 5
    steps = [[], [], [], [], [1], [1, 2], [1, 2], [1, 2]]
    assert seen == [[each] for each in zip(names, steps, strict=True)]
    metadata = logs.multiplexer.metadata("wandb/live", "_hparams_/session_end_info")
    assert session_end(metadata) == (1, 1_790_000_060)
    assert logs.board.status.problems == ()


@pytest.mark.parametrize("mark", ["resume", "resumed"])
def test_a_run_that_was_resumed_is_one_run(mark: str, logs: Logs) -> None:
    """With a reader for each of its files, by the times when they began. A file whose run has not
    begun has nothing to show; one that has only the same id is another run, also if it is
    of another project. A file may come late."""

    def write(clock: int, records: Iterable[bytes]) -> Path:
        path = logs.path / "wandb" / f"offline-run-20261126_20214{clock}-abc" / "run-abc.wandb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(log(records))
        return path

    def shown() -> dict[str, list[int]]:
        logs.load()
        return {run: logs.steps(run, "a") for run in logs.multiplexer.runs()}

    item = message((1, message((1, "lr"), (16, "1"))))
    first = [run("it", 10, config=item, notes="n", tags="t"), row(1, a="1"), row(2, a="2")]
    write(9, [*first, message((18, message((1, 1))))])  # Its folder is the last by name.
    assert shown() == {"it": [1, 2]}
    path = write(1, [])
    assert shown() == {"it": [1, 2]}
    late = message((1, message((1, "lr"), (16, "2"))))
    resumed = [run("x", 20, config=late, notes="m", **{mark: 1}), row(2, a="2"), row(3, a="3")]
    write(1, resumed)
    assert shown() == {"it": [1, 2, 2, 3]}
    write(1, [*resumed, row(4, a="4")])
    assert shown() == {"it": [1, 2, 2, 3, 4]}
    ((source, found),) = [(each.source, each) for each in tbcore.open(logs.path).values()]
    assert source == "wandb/offline-run-20261126_202149-abc/run-abc.wandb"
    assert (found.hparams, found.state) == ({"lr": 2.0}, "quiet")
    assert [found.texts(tag)[0].value for tag in ("notes", "tags")] == ["m", "t"]
    write(5, [run("it", 30), row(9, a="9")])
    assert shown() == {"it": [1, 2, 2, 3, 4], "it_2": [9]}
    write(3, [run("y", 15, notes="o", **{mark: 1}), row(7, a="7")])
    assert shown() == {"it": [1, 2, 7, 2, 3, 4], "it_2": [9]}
    write(6, [run("other", 40, project="p", **{mark: 1}), row(6, a="6")])
    write(7, [run("", 50, **{mark: 1}), row(10, a="10")])
    write(8, [run("", 60, project="p", **{mark: 1}), row(8, a="8")])
    path.unlink()
    assert shown() == {"it": [1, 2, 7], "it_2": [9, 10], "other": [6, 8]}
    assert logs.board.status.problems == ()


def test_a_file_that_becomes_shorter_is_read_again(tmp_path: Path) -> None:
    path, reader = tmp_path / "run-abc.wandb", Reader()
    path.write_bytes(log([run(), row(1, a="1")]))
    assert rows_of(items_of(reader, path))[0] == {"a": [(1, 1.0)]}
    path.write_bytes(log([run()]))
    with pytest.raises(FileReplacedError):
        rows_of(items_of(reader, path))


class Key(str):
    """A key that counts with how many prefixes it is compared."""

    num_compared = 0

    def startswith(self, prefix: Any, *span: Any) -> bool:
        Key.num_compared += len(prefix) if isinstance(prefix, tuple) else 1
        return super().startswith(prefix, *span)


def test_a_row_with_many_types_takes_linear_work(tmp_path: Path) -> None:
    """Left out are the numbers beside a type, however deep; not of a key that begins alike."""
    types = [f"{letter}{n}" for n in range(200) for letter in "az"]
    numbers = [f"{each}.width" for each in types] + [f"{each}.a.b" for each in types]
    shown = [f"{letter}{n}loss" for n in range(200) for letter in "amz"]
    reader = FileReader()
    for key in numbers + shown:
        reader._keys[message((1, key))] = Key(key)
    data = {f"{each}._type": '"image-file"' for each in types}
    path = tmp_path / "run-a.wandb"
    path.write_bytes(log([row(0, **data, **dict.fromkeys(numbers + shown, "1"))]))
    (found,) = reader.read(EventFile.of(str(path), os.stat(path)))
    assert {*found} == {*shown}
    assert Key.num_compared < 10 * len(numbers + shown)


def test_a_large_value_is_not_parsed(tmp_path: Path) -> None:
    large = row(0, a="[" + "{}," * (1 << 20) + "{}]", b="1")
    tracemalloc.start()
    try:
        FileReader().add(large)
        assert tracemalloc.get_traced_memory()[1] < 5 * len(large)
    finally:
        tracemalloc.stop()
    (tmp_path / "run-a.wandb").write_bytes(log([large]))
    assert rows_of(items_of(Reader(), tmp_path / "run-a.wandb")) == ({"b": [(0, 1.0)]}, [])


def test_what_is_known_of_a_file_is_forgotten_with_it(tmp_path: Path) -> None:
    """Of this root alone, since the others have scans of their own."""
    files = []
    for root in ("a", "b"):
        for name in "xy":
            path = tmp_path / root / f"run-{name}.wandb"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(HEADER)
            files.append((path.name, EventFile.of(str(path), os.stat(path))))
    runs = wandb_runs.Runs()
    for root in (files[:2], files[2:]):
        assert len([*runs.runs(root)]) == 2
    assert len([*runs.runs(files[:1])]) == 1
    kept = {files[0][1], *(file for _, file in files[2:])}
    assert {*held_by(runs, EventFile)} == kept
