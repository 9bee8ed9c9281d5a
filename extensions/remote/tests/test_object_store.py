"""Logs in S3, by moto's server: requests are counted, and fail as those to real stores do."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from disk import Clock
from storages import (
    BUCKET,
    FILE,
    URI,
    Request,
    S3Server,
    Watched,
    events,
    forget_storages,
    range_size,
    s3_error,
)

import tbcore
from tbcore.errors import NotFoundError
from tbcore.kinds import Claim
from tbcore.store.items import decode_items
from tbcore_testing import EventFileWriter, summaries, write_run

pytestmark = pytest.mark.services

IMAGES = [Claim()]


@pytest.fixture
def growing(tmp_path: Path) -> list[bytes]:
    """A file of 1, 2, ... points, as it is uploaded after each flush."""
    return [events(tmp_path / FILE, *range(length)) for length in range(1, 40)]


# -- what is listed and fetched ------------------------------------------------------------------


def test_a_scan_of_unchanged_files_is_one_listing(s3: S3Server, growing: list[bytes]) -> None:
    for number in range(30):
        s3.put(f"runs/r{number:02}/{FILE}", growing[10])
    watched = Watched()
    assert watched.steps("r07") == list(range(11))
    assert sorted(request.is_listing for request in s3.reads()) == [False] * 30 + [True]

    assert watched.steps("r07") == list(range(11))
    assert [request.is_listing for request in s3.reads()] == [True]
    status = watched.board.status
    assert (status.num_requests, status.num_requests_per_scan) == (32, 1)


def test_only_the_new_bytes_of_a_file_are_fetched(s3: S3Server, growing: list[bytes]) -> None:
    """Each flush uploads the whole file again. Other files cost nothing."""
    s3.put(f"runs/other/{FILE}", growing[3])
    watched = Watched()
    before = 0
    for length, data in enumerate(growing, 1):
        s3.put(f"runs/a/{FILE}", data)
        assert watched.steps("a") == list(range(length))
        fetched = [request for request in s3.reads() if not request.is_listing]
        fetched = [request for request in fetched if "/other/" not in request.path]
        assert [range_size(request) for request in fetched] == [len(data) - max(before - 64, 0)], (
            "one range, which begins with bytes that are known"
        )
        before = len(data)


def test_new_changed_and_deleted_files_are_found_by_the_next_scan(
    s3: S3Server, growing: list[bytes]
) -> None:
    """Another program changes them: no listing is kept."""
    watched = Watched()
    s3.put(f"runs/a/{FILE}", growing[0])
    assert watched.steps("a") == [0]
    s3.put(f"runs/b/{FILE}", growing[1])
    s3.put(f"runs/a/{FILE}", growing[2])
    assert (watched.steps("a"), watched.steps("b")) == ([0, 1, 2], [0, 1])
    s3.client.delete_object(Bucket=BUCKET, Key=f"runs/a/{FILE}")
    assert watched.steps("a") == []
    assert watched.multiplexer.runs() == ["b"]


def test_a_run_of_many_files_is_fetched_many_at_a_time(s3: S3Server, tmp_path: Path) -> None:
    """Some writers upload a new file with each flush."""
    client = s3.client
    for number in range(100):
        data = events(tmp_path / FILE, number, start=1.7e9 + number)
        client.put_object(Bucket=BUCKET, Key=f"runs/a/{FILE}.{number:06}", Body=data)
    s3.reads()
    running, most = [0], [0]

    def count(request: Request) -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.002)
        running[0] -= 1

    s3.answer = count
    watched = Watched()
    assert watched.steps("a") == list(range(100))
    assert len(s3.reads()) == 101
    assert most[0] > 3


def test_each_file_of_a_large_run_is_read_in_order(
    s3: S3Server, tmp_path: Path, limits: Callable[..., None]
) -> None:
    """Files larger than one request are read by several."""
    from tbcore_remote import file as remote_file

    limits(remote_file, _FETCH_BYTES=5_000, _BULK_BYTES=1)
    data = events(tmp_path / FILE, *range(20_000))
    assert len(data) > 800_000, "it is not fetched ahead as a whole"
    s3.put(f"runs/a/{FILE}", data)
    assert Watched().steps("a") == list(range(20_000))


# -- files that change -----------------------------------------------------------------------------


def test_another_file_of_the_same_size_and_time_is_noticed(s3: S3Server, tmp_path: Path) -> None:
    """Times are in whole seconds; only the ETag differs."""
    watched = Watched()
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1, 2, 3))
    assert watched.steps("a") == [1, 2, 3]
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 4, 5, 6))
    assert watched.steps("a") == [4, 5, 6]


def test_the_same_bytes_with_another_etag_are_not_read_again(s3: S3Server, tmp_path: Path) -> None:
    """A copy in several parts has another ETag."""
    data = events(tmp_path / FILE, *range(1000))
    s3.put(f"runs/a/{FILE}", data)
    watched = Watched()
    assert watched.steps("a") == list(range(1000))
    s3.reads()
    upload = {"Bucket": BUCKET, "Key": f"runs/a/{FILE}"}
    started = s3.client.create_multipart_upload(**upload)["UploadId"]
    part = s3.client.upload_part(**upload, UploadId=started, PartNumber=1, Body=data)
    parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    s3.client.complete_multipart_upload(**upload, UploadId=started, MultipartUpload=parts)
    s3.reads()
    generation = watched.multiplexer.generation
    assert watched.steps("a") == list(range(1000))
    assert watched.multiplexer.generation == generation
    fetched = [request for request in s3.reads() if not request.is_listing]
    assert 0 < sum(range_size(request) for request in fetched) <= 4 * 64


def test_a_replaced_file_is_read_from_its_start(s3: S3Server, tmp_path: Path) -> None:
    watched = Watched()
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1, 2, 3))
    assert watched.steps("a") == [1, 2, 3]
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 7, 8, 9, 10, start=1.8e9))
    assert watched.steps("a") == [7, 8, 9, 10]


def test_an_older_copy_that_is_listed_once_drops_nothing(
    s3: S3Server, growing: list[bytes]
) -> None:
    """A shorter file is believed when it is listed a second time."""
    watched = Watched()
    s3.put(f"runs/a/{FILE}", growing[9])
    assert watched.steps("a") == list(range(10))
    s3.put(f"runs/a/{FILE}", growing[4])
    assert watched.steps("a") == list(range(10))
    s3.put(f"runs/a/{FILE}", growing[10])
    assert watched.steps("a") == list(range(11))
    s3.put(f"runs/a/{FILE}", growing[4])
    assert watched.steps("a") == list(range(11))
    assert watched.steps("a") == list(range(5))


def test_a_file_that_ends_within_a_record_is_read_on(s3: S3Server, growing: list[bytes]) -> None:
    watched = Watched()
    for end in range(len(growing[2]) - 30, len(growing[5]), 5):
        s3.put(f"runs/a/{FILE}", growing[5][:end])
        steps = watched.steps("a")
        assert steps == list(range(len(steps)))
        assert len(growing[len(steps) - 1]) <= end
    assert len(steps) >= 5


@pytest.mark.parametrize("keeps", [10, -1])
def test_a_file_that_became_shorter_after_it_was_listed_is_read_later(
    s3: S3Server, growing: list[bytes], keeps: int
) -> None:
    """Some bytes of the range are missing."""
    s3.put(f"runs/a/{FILE}", growing[9])
    watched = Watched()

    def shorten(request: Request) -> None:
        if request.range:
            s3.answer = lambda request: None
            s3.put(f"runs/a/{FILE}", growing[9][:keeps])

    s3.answer = shorten
    assert watched.steps("b") == []
    assert watched.problems == (f"{URI}/a/{FILE} cannot be read: it changed while it was read",)
    s3.put(f"runs/a/{FILE}", growing[12])
    assert watched.steps("a") == list(range(13))


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason", "where"),
    [
        (s3_error("403 Forbidden", "AccessDenied"), "AccessDenied", "listing"),
        (s3_error("403 Forbidden", "AccessDenied"), "AccessDenied", "file"),
        (s3_error("503 Slow Down", "SlowDown"), "SlowDown", "file"),
    ],
)
def test_what_is_shown_stays_while_requests_fail(
    s3: S3Server, growing: list[bytes], answer: tuple[str, bytes], reason: str, where: str
) -> None:
    """One line says so; once requests succeed again, reading goes on."""
    s3.put(f"runs/a/{FILE}", growing[3])
    watched = Watched()
    assert watched.steps("a") == list(range(4))
    s3.put(f"runs/a/{FILE}", growing[5])
    s3.answer = lambda request: answer if request.is_listing == (where == "listing") else None
    assert watched.steps("a") == list(range(4))
    assert watched.problems[0].startswith(
        f"cannot list {URI}: " if where == "listing" else f"{URI}/a/{FILE} cannot be read: "
    )
    assert reason in watched.problems[0]
    assert len(watched.problems) == 1
    s3.answer = lambda request: None
    assert watched.steps("a") == list(range(6))


@pytest.mark.parametrize(
    ("begin", "end", "num_cut_bytes"),
    [(0, None, 0), (0, -40, 40), (0, -40, 0), (0, 0, 0), (10, None, 0)],
    ids=["whole", "cut", "short", "empty", "from elsewhere"],
)
def test_a_range_that_is_not_what_was_asked_for_adds_nothing(
    s3: S3Server, growing: list[bytes], begin: int, end: int | None, num_cut_bytes: int
) -> None:
    """Too long, cut while it is sent, too short, or other bytes: the right ones are read later."""
    s3.put(f"runs/a/{FILE}", growing[3])
    watched = Watched()
    assert watched.steps("a") == list(range(4))
    data = growing[5]
    s3.put(f"runs/a/{FILE}", data)

    def answer(request: Request) -> tuple[str, bytes] | None:
        return ("206 Partial Content", data[begin:end]) if request.range else None

    s3.answer, s3.num_cut_bytes = answer, num_cut_bytes
    steps = watched.steps("a")
    assert steps == list(range(len(steps)))
    s3.answer = lambda request: None
    assert watched.steps("a") == list(range(6))
    assert [damage for damage in watched.problems if "checksum" in damage] == []


def test_a_slow_server_delays_only_what_it_sends(
    s3: S3Server, growing: list[bytes], folder: Path
) -> None:
    """Requests to the storage wait, and one line says that a server is gone."""
    s3.put(f"runs/a/{FILE}", growing[3])
    watched = Watched()
    s3.answer = lambda request: time.sleep(0.5)
    started = time.monotonic()
    assert watched.steps("a") == list(range(4))
    assert time.monotonic() - started >= 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSSPEC_S3_ENDPOINT_URL", "http://127.0.0.1:1")
        for _ in forget_storages():
            lost = Watched()
            assert lost.steps("a") == []
            assert len(lost.problems) == 1
            assert lost.problems[0].startswith(f"cannot list {URI}: EndpointConnectionError: ")


def test_a_file_that_vanishes_after_it_was_listed_is_left_out(
    s3: S3Server, growing: list[bytes]
) -> None:
    s3.put(f"runs/a/{FILE}", growing[3])
    s3.put(f"runs/b/{FILE}", growing[4])
    gone = s3_error("404 Not Found", "NoSuchKey")
    s3.answer = lambda request: gone if "/runs/a/" in request.path else None
    watched = Watched()
    assert watched.steps("b") == list(range(5))
    assert watched.steps("a") == []
    s3.answer = lambda request: None
    assert watched.steps("a") == list(range(4))


def test_a_bucket_that_does_not_exist_is_waited_for(s3: S3Server, growing: list[bytes]) -> None:
    watched = Watched("s3://later/runs", URI)
    s3.put(f"runs/a/{FILE}", growing[1])
    assert watched.steps("a") == [0, 1]
    assert watched.board.status.missing == ("s3://later",)
    s3.client.create_bucket(Bucket="later")
    s3.client.put_object(Bucket="later", Key=f"runs/b/{FILE}", Body=growing[2])
    assert watched.steps("b") == [0, 1, 2]
    assert watched.board.status.missing == ()
    s3.client.delete_object(Bucket="later", Key=f"runs/b/{FILE}")
    s3.client.delete_bucket(Bucket="later")


def test_every_flipped_byte_is_found(s3: S3Server, growing: list[bytes]) -> None:
    """Checksums are verified as on a disk: a damaged record is left out, and named."""
    good = growing[2]
    for index in range(0, len(good), 3):
        data = bytearray(good)
        data[index] ^= 0x10
        s3.put(f"runs/f{index:04}/{FILE}", bytes(data))
    watched = Watched()
    watched.loader.load_once()
    for index in range(0, len(good), 3):
        with contextlib.suppress(NotFoundError):
            found = watched.multiplexer.scalars(f"f{index:04}", "loss")
            assert set(found.step.tolist()) <= {0, 1, 2}
            assert found.value.tolist() == found.step.astype(float).tolist()
    assert len(watched.multiplexer.runs()) == len(range(0, len(good), 3))
    assert len(watched.problems) > len(good) / 6


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "run",
    ["a b", "100%", "%20", "größe", "日本", "a//b", "a+b=c&d", "#1", "[1]*", "x" * 900, "q?v=1"],
)
def test_any_name_of_a_run_is_read(s3: S3Server, growing: list[bytes], run: str) -> None:
    s3.put(f"runs/{run}/{FILE}", growing[2])
    assert Watched().steps(run) == [0, 1, 2]


def test_what_is_no_event_file_is_left_out(s3: S3Server, growing: list[bytes]) -> None:
    """Markers of folders, names with a slash at the end, and names of both a file and a folder."""
    s3.put("runs/", b"")
    s3.put("runs/tfevents/", b"")
    s3.put("runs/notes.txt", b"x")
    s3.put(f"runs/{FILE}", growing[0])
    s3.put(f"runs/{FILE}/{FILE}", growing[1])
    s3.put(f"runs2/a/{FILE}", growing[0])
    watched = Watched(f"{URI}/")
    assert watched.steps(".") == [0]
    assert watched.steps(FILE) == [0, 1]
    assert sorted(watched.multiplexer.runs()) == [".", FILE]


def test_a_whole_bucket_is_a_directory(s3: S3Server, growing: list[bytes]) -> None:
    s3.put(FILE, growing[0])
    s3.put(f"deep/er/{FILE}", growing[1])
    watched = Watched(f"s3://{BUCKET}")
    assert (watched.steps("."), watched.steps("deep/er")) == ([0], [0, 1])


def test_runs_are_in_the_order_of_their_first_events(s3: S3Server, tmp_path: Path) -> None:
    """As on a disk. What is fetched for that is not fetched again."""
    for number in range(20):
        start = 1.7e9 + number * 37 % 20
        s3.put(f"runs/r{number}/{FILE}", events(tmp_path / FILE, 1, start=start))
    watched = Watched()
    watched.loader.load_once()
    expected = sorted(range(20), key=lambda number: number * 37 % 20)
    assert watched.multiplexer.runs() == [f"r{number}" for number in expected]
    logs = tbcore.open(URI)
    s3.reads()
    assert list(logs) == watched.multiplexer.runs()
    newest = f"r{expected[-1]}"  # Not the one that was uploaded last.
    assert logs.newest().name == newest
    assert len(s3.reads()) == 20
    assert len(logs.scalars()) == 20
    assert len(s3.reads()) == 20


# -- pauses ----------------------------------------------------------------------------------------


def test_at_rest_there_are_at_most_ten_listings_an_hour(
    s3: S3Server, growing: list[bytes], clock: Clock
) -> None:
    """An open page keeps the pause short, and opening one lists at once."""
    from tbcore_remote import directory

    s3.put(f"runs/a/{FILE}", growing[1])
    clock.rules(directory)
    clock.advance(1000)
    watched = Watched(reload_interval=None)

    def listings(seconds: float) -> int:
        s3.reads()
        for _ in range(int(seconds / 5)):
            clock.advance(5)
            watched.loader.load_once()
        return len([request for request in s3.reads() if request.is_listing])

    watched.loader.load_once()
    assert listings(3600) <= 10
    assert listings(3600) <= 6
    watched.board.num_viewers = 1
    watched.board.scan_soon()
    s3.put(f"runs/a/{FILE}", growing[2])
    assert watched.steps("a") == [0, 1, 2]
    assert 115 <= listings(3600) <= 120


# -- payloads --------------------------------------------------------------------------------------


def test_payloads_are_read_by_ranges_and_verified(s3: S3Server, folder: Path) -> None:
    pictures = [summaries.png(), summaries.png(width=7), summaries.png(width=9)]
    write_run(folder, "a", images={"i": pictures})
    [path] = folder.rglob("*tfevents*")
    s3.upload(folder, "runs")
    watched = Watched()
    watched.loader.load_once()
    s3.reads()
    items = watched.multiplexer.items("a", "i", IMAGES)
    values, unreadable = decode_items(items, lambda value: value)
    assert (len(values), unreadable) == (3, [])
    requests = s3.reads()
    assert len(requests) == 3
    assert all(range_size(request) < 400 for request in requests)

    data = bytearray(path.read_bytes())
    at = data.index(b"IDAT")
    data[at] ^= 1
    s3.put(f"runs/a/{path.name}", bytes(data))
    values, unreadable = decode_items(items, lambda value: value)
    assert (len(values), len(unreadable)) == (2, 1)
    assert "checksum" in str(unreadable[0].error)


def test_the_address_of_a_picture_stays_when_its_file_grows(s3: S3Server, folder: Path) -> None:
    write_run(folder, "a", images={"i": [summaries.png()]})
    [path] = folder.rglob("*tfevents*")
    s3.upload(folder, "runs")
    watched = Watched()
    watched.loader.load_once()
    [before] = watched.multiplexer.items("a", "i", IMAGES)
    with EventFileWriter(path) as writer:
        writer.add_scalar("loss", 1.0, 1)
    s3.upload(folder, "runs")
    assert watched.steps("a") == [1]
    [after] = watched.multiplexer.items("a", "i", IMAGES)
    assert after.etag == before.etag


# -- together with directories on a disk -----------------------------------------------------------


def test_a_disk_and_a_bucket_are_read_side_by_side(
    s3: S3Server, growing: list[bytes], folder: Path
) -> None:
    """Without a second process: it could not use the connections of this one."""
    s3.put(f"runs/a/{FILE}", growing[1])
    events(folder / "b" / FILE, 5)
    watched = Watched(URI, str(folder))
    watched.loader.start_helper()
    assert watched.loader.queue.helper is None
    assert (watched.steps("a"), watched.steps("b")) == ([0, 1], [5])
    s3.answer = lambda request: s3_error("403 Forbidden", "AccessDenied")
    events(folder / "b" / FILE, 5, 6)
    assert (watched.steps("a"), watched.steps("b")) == ([0, 1], [5, 6])


def test_commands_read_a_bucket(s3: S3Server, folder: Path) -> None:
    """A URI is a directory wherever a command takes one."""
    write_run(folder, "a", scalars={"loss": [3.0, 2.0]})
    uri = s3.upload(folder, "runs")
    for command, expected in (
        (["ls", uri], "2.0"),
        (["show", uri, "a", "loss"], "3.0"),
        (["export", uri, "-o", "-"], "3.0"),
        (["check", uri], "all can be read"),
    ):
        arguments = [sys.executable, "-m", "tbcore", *command]
        result = subprocess.run(arguments, capture_output=True, text=True, check=True)
        assert expected in result.stdout


def test_a_bucket_is_followed_every_half_minute(s3: S3Server, folder: Path) -> None:
    """Each look costs a request; another interval can be given."""
    write_run(folder, "a", scalars={"loss": [3.0]})
    s3.upload(folder, "runs")
    logs = tbcore.open(URI)
    assert len(logs["a"]["loss"]) == 1
    write_run(folder, "a", scalars={"loss": [3.0, 2.0]})
    s3.upload(folder, "runs")
    changes = logs.follow(interval=0.05)
    assert next(changes) == {"a"}
    changes.close()
    assert len(logs["a"]["loss"]) == 3
