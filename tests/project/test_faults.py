"""The planted faults still fit the code: see tests/faults."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_planted_fault_can_be_planted() -> None:
    """Its text is in its file once, and the tests that must find it exist."""
    text = (ROOT / "tests" / "faults" / "faults.toml").read_text("utf-8")
    faults = tomllib.loads(text)["fault"]
    assert len({fault["name"] for fault in faults}) == len(faults) >= 40
    for fault in faults:
        assert (ROOT / fault["file"]).read_text("utf-8").count(fault["before"]) == 1, fault["name"]
        for test in fault["found_by"]:
            assert (ROOT / test.partition("::")[0]).exists(), (fault["name"], test)
