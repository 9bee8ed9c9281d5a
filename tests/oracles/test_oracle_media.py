"""Every histogram, picture and clip of real logs equals that of TensorBoard's reader.

They are compared with the messages in the files, because TensorBoard's responses have histograms
rounded to float32.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import numpy as np
import pytest

import tbcore_audio
import tbcore_distributions
import tbcore_histograms
import tbcore_images
from tbcore_testing import TbcoreClient, make_client

FIELDS = {"histo": "histograms", "image": "images", "audio": "audio"}
BASIS_POINTS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)


class Logged(NamedTuple):
    wall_time: float
    step: int
    value: Any
    """TensorBoard's Summary.Value."""
    metadata: Any
    """The metadata in the first value of the tag."""


Series = dict[tuple[str, str, str], list[Logged]]
"""(kind, run, tag) to all logged values, in order."""


@pytest.fixture(scope="module")
def logged(real_logs: Path) -> Series:
    """The values in the files, in which no restart drops any."""
    loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader",
        reason="tensorboard is not installed, and it is what the values are compared with",
    )
    from tensorboard.compat.proto import event_pb2

    series: Series = defaultdict(list)
    first: dict[tuple[str, str], Any] = {}
    for path in sorted(p for p in real_logs.rglob("*tfevents*") if p.is_file()):
        run = str(path.parent.relative_to(real_logs))
        for record in loader.RawEventFileLoader(str(path)).Load():
            event = event_pb2.Event.FromString(record)
            for value in event.summary.value:
                metadata = first.setdefault((run, value.tag), value.metadata)
                field = value.WhichOneof("value")
                kind = FIELDS.get(field)
                if field == "tensor" and metadata.plugin_data.plugin_name in FIELDS.values():
                    kind = metadata.plugin_data.plugin_name
                if kind:
                    entry = Logged(event.wall_time, event.step, value, metadata)
                    series[kind, run, value.tag].append(entry)
    return series


@pytest.fixture(scope="module")
def client(real_logs: Path) -> TbcoreClient:
    """A client of a server without limits for samples."""
    plugins = [tbcore_audio, tbcore_distributions, tbcore_histograms, tbcore_images]
    names = ("audio", "distributions", "histograms", "images")
    return make_client(real_logs, plugins=plugins, samples_per_plugin=dict.fromkeys(names, 0))


def compared(
    client: TbcoreClient, logged: Series, kind: str, route: str, check: Callable[..., None]
) -> None:
    """Calls `check` with each entry of our responses and the value in the file."""
    plugin = route.partition("/")[0]
    expected = {key[1:]: entries for key, entries in logged.items() if key[0] == kind}
    tags = client.get(f"data/plugin/{plugin}/tags").json()
    assert {(run, tag) for run in tags for tag in tags[run]} == set(expected)
    num_entries = 0
    for (run, tag), entries in expected.items():
        response = client.get(f"data/plugin/{route}", params={"run": run, "tag": tag})
        assert response.status_code == 200, (run, tag, response.text)
        for ours, theirs in zip(response.json(), entries, strict=True):
            check(ours, theirs)
            num_entries += 1
    print(f"{num_entries} entries of {len(expected)} series compared")
    assert num_entries


def tensor_rows(value: Any) -> np.ndarray:
    from tensorboard.util.tensor_util import make_ndarray

    rows: np.ndarray = make_ndarray(value.tensor).astype(np.float64)
    return rows


def as_numbers(values: list[Any]) -> np.ndarray:
    """The values as doubles, with strings converted to non-finite numbers."""
    return np.array([float(value) for value in values], np.float64)


def same_bits(ours: list[Any], theirs: Any) -> bool:
    found, expected = as_numbers(ours), np.array(theirs, np.float64)
    # JSON does not have the bits of a NaN.
    return found.shape == expected.shape and bool(
        np.all((found.view("<u8") == expected.view("<u8")) | (np.isnan(found) & np.isnan(expected)))
    )


def test_every_histogram_is_the_one_in_the_file(client: TbcoreClient, logged: Series) -> None:
    """All numbers of a `histo` are equal bit by bit, and the rows and sums of a tensor."""

    def check(ours: list[Any], theirs: Logged) -> None:
        wall_time, step, (least, greatest, num, total, squares, limits, counts) = ours
        assert (wall_time, step) == (theirs.wall_time, theirs.step)
        if theirs.value.WhichOneof("value") == "histo":
            histo = theirs.value.histo
            numbers = [histo.min, histo.max, histo.num, histo.sum, histo.sum_squares]
            assert same_bits([least, greatest, num, total, squares], numbers)
            assert same_bits(limits, histo.bucket_limit)
            assert same_bits(counts, histo.bucket)
            return
        rows = tensor_rows(theirs.value)
        assert same_bits(limits, rows[:, 1])
        assert same_bits(counts, rows[:, 2])
        assert same_bits([least, greatest], [rows[0, 0], rows[-1, 1]])
        middles = (rows[:, 0] + rows[:, 1]) / 2
        assert num == rows[:, 2].sum()
        assert total == pytest.approx((rows[:, 2] * middles).sum(), rel=1e-12)
        assert squares == pytest.approx((rows[:, 2] * middles**2).sum(), rel=1e-12)

    compared(client, logged, "histograms", "histograms/histograms", check)


def compressed(
    least: float, greatest: float, num: float, limits: np.ndarray, counts: np.ndarray
) -> list[float]:
    """The algorithm of TensorBoard's module, for one number after the other."""
    if num == 0:
        return [0.0] * len(BASIS_POINTS)
    shares = (counts * 10000.0 / (float(counts.sum()) or 1.0)).cumsum()
    values = []
    for point in BASIS_POINTS:
        index = int(np.searchsorted(shares, point, side="right"))
        while index < len(shares):
            before = shares[index - 1] if index else 0.0
            if shares[index] != before:
                break
            index += 1
        if index >= len(shares):
            values.append(greatest)
            continue
        left = max(limits[index - 1], least) if index and before else least
        right = min(limits[index], greatest)
        values.append(left + (point - before) * (right - left) / (shares[index] - before))
    return values


def test_every_distribution_follows_from_the_file(client: TbcoreClient, logged: Series) -> None:
    """Values are within 1e-12 of those of TensorBoard's algorithm."""

    def check(ours: list[Any], theirs: Logged) -> None:
        wall_time, step, pairs = ours
        assert (wall_time, step) == (theirs.wall_time, theirs.step)
        assert tuple(point for point, _ in pairs) == BASIS_POINTS
        if theirs.value.WhichOneof("value") == "histo":
            histo = theirs.value.histo
            limits, counts = np.array(histo.bucket_limit), np.array(histo.bucket)
            expected = compressed(histo.min, histo.max, histo.num, limits, counts)
        else:
            rows = tensor_rows(theirs.value)
            expected = compressed(rows[0, 0], rows[-1, 1], rows[:, 2].sum(), rows[:, 1], rows[:, 2])
        assert as_numbers([value for _, value in pairs]) == pytest.approx(
            expected, rel=1e-12, abs=1e-300, nan_ok=True
        )

    compared(client, logged, "histograms", "distributions/distributions", check)


def test_every_picture_is_the_one_in_the_file(client: TbcoreClient, logged: Series) -> None:
    """All pictures of all steps have equal bytes, with the size and type that Pillow finds."""
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    import io

    def check(ours: dict[str, Any], theirs: Logged) -> None:
        assert (ours["wall_time"], ours["step"]) == (theirs.wall_time, theirs.step)
        pictures = (
            [theirs.value.image.encoded_image_string]
            if theirs.value.WhichOneof("value") == "image"
            else list(theirs.value.tensor.string_val[2:])
        )
        step = step_of(client, ours)
        assert len(step) == len(pictures)
        for entry, data in zip(step, pictures, strict=True):
            response = client.get(f"data/plugin/images/individualImage?{entry['query']}")
            assert response.content == data
            with pillow.open(io.BytesIO(data)) as opened:
                assert (entry["width"], entry["height"]) == opened.size
                assert response.headers["content-type"] == f"image/{opened.format.lower()}"
        assert (ours["width"], ours["height"]) == (step[0]["width"], step[0]["height"])

    compared(client, logged, "images", "images/images", check)


def step_of(client: TbcoreClient, ours: dict[str, Any]) -> Any:
    """The samples of a listed item, also if several items have its step."""
    query = parse_qs(ours["query"])
    params: dict[str, Any] = {"run": query["run"], "tag": query["tagname"], "step": ours["step"]}
    for nth in range(1000):
        found = client.get("data/plugin/images/step", params={**params, "nth": nth}).json()
        if found["index"] == int(query["index"][0]):
            return found["samples"]
    raise AssertionError(f"no step has index {query['index'][0]}")


def test_every_clip_is_the_one_in_the_file(client: TbcoreClient, logged: Series) -> None:
    """Clips are equal byte by byte, and have the logged content type."""

    def check(ours: dict[str, Any], theirs: Logged) -> None:
        assert (ours["wall_time"], ours["step"]) == (theirs.wall_time, theirs.step)
        response = client.get(f"data/plugin/audio/individualAudio?{ours['query']}")
        assert response.content == theirs.value.audio.encoded_audio_string
        assert ours["content_type"] == theirs.value.audio.content_type == "audio/wav"
        assert response.headers["content-type"] == "audio/wav"
        assert parse_qs(ours["query"])["tagname"] == [theirs.value.tag]

    compared(client, logged, "audio", "audio/audio", check)


def test_pictures_of_pillow_have_the_size_that_it_gave_them() -> None:
    """Sizes are read from the headers of each format, in several modes and many sizes."""
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    import io

    from tbcore_images.headers import header_of

    random = np.random.default_rng(3)
    formats = [
        ("PNG", {}), ("GIF", {}), ("BMP", {}), ("JPEG", {}), ("JPEG", {"progressive": True}),
        ("WEBP", {}), ("WEBP", {"lossless": True}),
    ]  # fmt: skip
    for name, options in formats:
        for mode in ("L", "RGB") if name == "JPEG" else ("L", "RGB", "RGBA"):
            for _ in range(5):
                size = tuple(int(n) for n in random.integers(1, 300, 2))
                file = io.BytesIO()
                pillow.new(mode, size, 200).save(file, name, **options)
                assert header_of(file.getvalue()) == (f"image/{name.lower()}", size), (mode, size)
