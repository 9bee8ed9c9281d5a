"""Indexes of all formats that can be read.

`formats/N.tar.xz` has an index that a version with format N wrote, and the logs that it was made
from. When the format changes, add one with the new number, and drop the oldest of more than three.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from same_answers import loaded, state_of, update

from tbcore.errors import OptionError
from tbcore.kinds import Claim
from tbcore.store.multiplexer import Multiplexer
from tbcore_index.reader import IndexReader
from tbcore_index.tables import FORMATS, Place

FORMATS_FOLDER = Path(__file__).parent / "formats"


@pytest.fixture(params=FORMATS)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A format, and the folder with its index and logs."""
    with tarfile.open(FORMATS_FOLDER / f"{request.param}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    return request.param, tmp_path


def answers(multiplexer: Multiplexer) -> dict[str, Any]:
    """All that a multiplexer has, but for the paths of files, as text in which NaN equals NaN."""
    found: dict[str, Any] = {"hyperparameters": repr(multiplexer.hyperparameters())}
    for name in multiplexer.runs():
        view = state_of(multiplexer).run(name)
        found[name] = [repr((view.first_event_time, view.last_event_time, view.nonfinite_tags))]
        for claim in (Claim(), Claim(tags="*a*")):
            found[name] += [repr(multiplexer.last_points(name, [claim]))]
        found[name] += [view.highest_step()]
        found[name] += [view.own_metadata]
        for tag, info in view.schema.tags.items():
            found[name] += [repr([view.point(tag, stat) for stat in ("min", "max", "nan")])]
            for series in view.series(tag):
                values = ("value",) if series.kind.is_scalar else ("offset", "length", "crc")
                names = "ordinal", "step", "wall_time", *values
                columns = [repr(series.column(each).tolist()) for each in names]
                found[f"{name} {tag}"] = info, series.kind, columns
    return found


def test_an_index_of_each_format_has_the_answers_of_its_logs(sample: tuple[str, Path]) -> None:
    written_as, folder = sample
    properties = Place(str(folder / "index")).delta("runs").metadata().configuration
    assert properties["tbcore.format"] == written_as

    expected = answers(loaded(folder / "logs"))

    assert {"a loss", "a i", "b/c note"} <= expected.keys()
    assert answers(loaded(None, folder / "index")) == expected
    assert answers(loaded(folder / "logs", folder / "index")) == expected


def test_an_index_made_now_has_the_newest_format(sample: tuple[str, Path]) -> None:
    _, folder = sample
    update(folder / "logs", folder / "new")

    properties = Place(str(folder / "new")).delta("runs").metadata().configuration
    assert properties["tbcore.format"] == FORMATS[-1]
    assert answers(loaded(None, folder / "new")) == answers(loaded(folder / "logs"))


def test_three_formats_are_kept_and_no_sample_without_its_format() -> None:
    assert 1 <= len(FORMATS) <= 3
    assert {path.name for path in FORMATS_FOLDER.iterdir()} == {f"{n}.tar.xz" for n in FORMATS}
    assert sum(path.stat().st_size for path in FORMATS_FOLDER.iterdir()) < 30_000


def test_any_other_format_is_refused_in_one_line(sample: tuple[str, Path]) -> None:
    written_as, folder = sample
    for path in (folder / "index" / "runs" / "_delta_log").glob("*.json"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'"tbcore.format":"{written_as}"', '"tbcore.format":"99"'))
    expected = f"{folder / 'index'} has format 99, expected {' or '.join(FORMATS)}; make it again "

    with pytest.raises(OptionError, match=f"^{re.escape(expected)}"):
        IndexReader(str(folder / "index"))
