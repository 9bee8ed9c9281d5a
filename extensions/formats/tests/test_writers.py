"""The real programs as writers: what each has flushed is shown, and it never notices."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from format_writers import WRITERS, interpreter_with, writing
from loaded_logs import Logs

pytestmark = pytest.mark.services


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_program_has_flushed_is_shown(name: str, logs: Logs, tmp_path: Path) -> None:
    """While the server reads all the time. The folder has only what the program itself makes."""
    writer = WRITERS[name]
    python = interpreter_with(writer.module)
    if python is None:
        pytest.skip(f"no {writer.module}: TBCORE_WRITERS may name an interpreter that has it")
    alone = tmp_path / "alone"
    alone.mkdir()
    with writing(python, writer, alone) as steps:
        expected = [*islice(steps, 12)]
    logs.loader = logs.new_loader(reload_interval=0.01)
    logs.loader.start()
    logs.loader.watch()
    with writing(python, writer, logs.path) as steps:
        for step in islice(steps, 12):
            logs.wait_until(lambda step=step: step in logs.steps(writer.run, writer.tag))
    logs.end()
    assert logs.steps(writer.run, writer.tag) == expected
    assert logs.board.status.problems == ()
    names = [sorted({p.name for p in folder.rglob("*")}) for folder in (alone, logs.path)]
    assert names[0] == names[1]
