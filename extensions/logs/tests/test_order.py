"""The natural order of names, which is that of the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import lines

from tbcore_logs.order import name_key
from tbcore_testing import write_run

ORDERS = json.loads((Path(__file__).parents[3] / "tests" / "names.json").read_text("utf-8"))
"""tests/page/unit/names.test.mjs tests the page with these lists."""


@pytest.mark.parametrize("names", ORDERS["ascending"])
def test_numbers_in_names_are_numbers(names: list[str]) -> None:
    assert sorted(set(names), key=name_key) == names


def test_runs_groups_and_texts_are_sorted_as_on_the_page(tmp_path: Path) -> None:
    for number in (1, 10, 2, 100, 9):
        tags = {f"layer{number}/w": [1.0], "loss": [1.0]}
        write_run(tmp_path, f"v{number}", scalars=tags, hparams={"size": f"{number}b"})
    natural = ["v1", "v2", "v9", "v10", "v100"]
    assert [row[1] for row in lines("ls", tmp_path, "--sort", "run")[1:]] == natural
    assert [row[1] for row in lines("ls", tmp_path, "--sort", "size")[1:]] == natural
    groups = lines("ls", tmp_path, "--by", "re:.*", "--sort", "group", "-r")[1:]
    assert [row[0] for row in groups] == natural[::-1]
