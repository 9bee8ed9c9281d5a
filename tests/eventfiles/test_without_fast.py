"""The folder `tbcore/eventfiles/fast` can be deleted: no answer changes, only the time it takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SAMPLE = ["tests/eventfiles/test_tail.py", "tests/store/test_multiplexer.py"]
ALL = ["tests/eventfiles", "tests/store", "tests/eventfiles/test_torn_files.py"]


@pytest.mark.parametrize(
    "places",
    [
        pytest.param(SAMPLE, id="sample"),
        pytest.param([*ALL, "tests/oracles/test_oracle.py"], id="all", marks=pytest.mark.release),
    ],
)
def test_other_tests_pass_without_the_fast_ways(
    tmp_path: Path, places: list[str], request: pytest.FixtureRequest
) -> None:
    """All tests of reading and of the store pass but those of the deleted folder itself."""
    shutil.copytree(
        REPOSITORY / "tbcore", tmp_path / "tbcore", ignore=shutil.ignore_patterns("fast", "web")
    )
    shutil.copytree(
        REPOSITORY / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("fast", "page")
    )
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    if "tests/oracles/test_oracle.py" in places:
        environment["TBCORE_REAL_LOGS"] = str(request.getfixturevalue("real_logs"))
    where = "import tbcore.eventfiles.decoder as d; print(d.__file__, d.FastWays)"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not services", *places]
    found = subprocess.run(
        [sys.executable, "-c", where], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    expected = tmp_path / "tbcore" / "eventfiles" / "decoder.py"
    assert found.stdout == f"{expected} None\n", found
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-5000:]
    assert " passed" in result.stdout
