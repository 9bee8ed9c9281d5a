"""Runs of other formats: found, named, read, changed and replaced; with a format that was made up.

See `tbcore_testing.other_logs` for what its files have.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until
from installed_plugins import Distributions
from loaded_logs import SCALARS, Logs

from tbcore.engine import EventFile, Formats, Logdir, LogdirSpec, SourceRun, read_hparams
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.kinds import Claim
from tbcore.values import session_end, session_start, text
from tbcore_formats import RunFacts
from tbcore_testing import write_run
from tbcore_testing.other_logs import Lines


@pytest.fixture
def lines(distributions: Distributions, logs: Logs) -> Any:
    """`lines("file", "a 1 0.5", ...)` writes a file of the format."""
    distributions.add("lines", "[tbcore.formats]\nlines = tbcore_testing.other_logs:Lines\n")

    def write(name: str, *content: str) -> Path:
        path = logs.path / f"{name}.lines"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in content))
        logs.load()
        return path

    return write


def shown(logs: Logs) -> dict[str, list[int]]:
    return {run: logs.steps(run) for run in sorted(logs.multiplexer.runs())}


def test_two_runs_in_one_file(lines: Any, logs: Logs) -> None:
    """They are added, grow, are renamed, replaced and deleted one by one. Steps may fall."""
    path = lines("x", "a 1 0.5", "b 7 nan", "a 3 0.25", "a 2 1e300")
    assert shown(logs) == {"a": [1, 3, 2], "b": [7]}
    assert logs.multiplexer.scalars("a", "loss").value.tolist() == [0.5, 0.25, 1e300]
    lines("x", "a 1 0.5", "b 7 nan", "a 3 0.25", "a 2 1e300", "a 4 0", "c 1 1")
    assert shown(logs) == {"a": [1, 3, 2, 4], "b": [7], "c": [1]}
    lines("x", "new 1 0.5", "b 70 0.5")
    assert shown(logs) == {"b": [70], "new": [1]}
    path.unlink()
    logs.load()
    assert shown(logs) == {}
    assert logs.board.status.problems == ()


@pytest.mark.parametrize(
    ("content", "runs", "problem"),
    [
        (["nothing"], {"y": [1]}, "x.lines has nothing"),
        (["explode"], {"y": [1]}, "logs of the format lines: KeyError: 'exploded'"),
        (["a 1 0", "a line", "a 2 0"], {"a": [1, 2], "y": [1]}, "x.lines: damaged lines"),
        (["a 1 0", "a fail", "a 2 0"], {"a": [1], "y": [1]}, "x.lines cannot be read to its end"),
        (["a 1 0", "a hparam dict"], {"a": [1], "y": [1]}, "x.lines cannot be read to its end"),
        (["a 1 0", "a replaced", "a 2 0"], {"a": [1], "y": [1]}, None),
        (["a x"], {"a": [], "y": [1]}, None),
    ],
)
def test_a_problem_costs_one_line_and_no_other_run(
    lines: Any, logs: Logs, content: list[str], runs: dict[str, list[int]], problem: str | None
) -> None:
    """What is wrong is tried again only when the file has changed. Runs that were found stay when
    the format fails, and damage is reported until it is mended."""
    lines("y", "y 1 0")
    lines("x", *content)
    logs.load()
    assert shown(logs) == runs
    problems = logs.board.status.problems
    assert (len(problems), problem or "" in "".join(problems)) == (bool(problem), problem or True)
    assert problem is None or problem in problems[0]
    lines("x", "a 1 0", "a 5 0")
    assert shown(logs) == {"a": [1, 5], "y": [1]}
    assert logs.board.status.problems == ()


def test_a_problem_names_the_file_that_could_not_be_read(
    lines: Any, logs: Logs, tmp_path: Path
) -> None:
    """Where the error does: of several files of a run, or one that was not scanned."""
    lines("x", "a 1 0", f"a open {tmp_path}")
    assert logs.board.status.problems == (f"{tmp_path} cannot be read: Is a directory",)


def test_a_file_that_is_being_written_is_read_soon(lines: Any, logs: Logs) -> None:
    """Until then, the run shows what it had. The loader makes its next pass at once."""
    lines("x", "a 1 0")
    lines("x", "a 2 0", "a wait")
    assert shown(logs) == {"a": [1]}
    assert logs.board.status.problems == ()
    logs.loader = logs.new_loader(reload_interval=600)
    logs.loader.start()
    until(lambda: shown(logs) == {"a": [2]})
    logs.loader.stop()


def test_a_file_whose_runs_are_being_written_is_scanned_soon(lines: Any, logs: Logs) -> None:
    """The other runs are found, and nothing is a problem."""
    lines("x", "a 1 0")
    (logs.path / "y.lines").write_text("busy\nb 1 0\n")
    logs.loader = logs.new_loader(reload_interval=600)
    seen = logs.watch(lambda: (shown(logs), logs.board.status.problems))
    logs.loader.start()
    until(lambda: shown(logs) == {"a": [1], "b": [1]})
    logs.end()
    assert ({"a": [1]}, ()) in seen


def test_a_slow_run_is_read_in_time_slices(lines: Any, logs: Logs) -> None:
    """Others are read in between, and what was read is published on the way."""
    logs.tune(time_slice_seconds=0.0, publish_interval_seconds=0.0)
    seen = logs.watch(lambda: shown(logs))
    lines("x", *(f"{run} {step} 0" for step in range(5) for run in "ab"))
    assert shown(logs) == {"a": [*range(5)], "b": [*range(5)]}
    assert {"a": [0, 1], "b": [0, 1]} in seen


def test_facts_become_hyperparameters_texts_and_a_state(lines: Any, logs: Logs) -> None:
    """Later facts replace them, although the first metadata of a tag counts."""
    tags = "_hparams_/session_start_info", "_hparams_/session_end_info"
    for lr, note in ((0.5, "first"), (0.25, "second")):
        lines("x", "a 1 0", f"a hparam {lr}", f"a text {note}")
        start, end = (session_start, session_end)
        metadata = [logs.multiplexer.metadata("a", tag) for tag in tags]
        assert start(metadata[0]).hparams == {"lr": lr}
        assert (start(metadata[0]).group, end(metadata[1]).status) == ("g", 1)
        (item,) = logs.multiplexer.items("a", "notes", (Claim(plugin_name="text"),))
        assert text(item.read()) == note
        assert logs.steps("a") == [1]


def test_hyperparameters_have_the_types_of_event_files() -> None:
    """Null is null, which is left out as theirs is; a bool is no number."""
    values = {"none": None, "no": False, "yes": True, "zero": 0.0, "one": 1, "text": "None"}
    ((_, metadata, *_),) = RunFacts(values).events()
    found = session_start(SummaryMetadata.FromString(metadata)).hparams
    assert {name: (type(value), value) for name, value in found.items()} == {
        name: (type(value), value) for name, value in {**values, "one": 1.0}.items()
    }
    assert read_hparams("a", metadata).values == {
        name: value for name, value in values.items() if value is not None
    }


def test_names(lines: Any, logs: Logs) -> None:
    """Event files keep their name. Of several sources, the first keeps it while it is there."""
    for name, step in (("z", 1), ("y", 2), ("x", 3)):
        lines(name, f"a {step} 0")
    assert shown(logs) == {"a": [1], "a_2": [2], "a_3": [3]}
    logs.write("a/1.tfevents", 9)
    logs.load()
    assert shown(logs) == {"a": [9], "a_2": [1], "a_3": [2], "a_4": [3]}
    (logs.path / "a" / "1.tfevents").unlink()
    logs.load()
    assert shown(logs) == {"a": [1], "a_2": [2], "a_3": [3]}


def test_event_files_beside_a_source_are_shown_alone(
    lines: Any, logs: Logs, caplog: pytest.LogCaptureFixture
) -> None:
    """The log and the status say once that the others are not shown."""
    caplog.set_level("INFO", "tbcore")
    path = lines("d/x", "a 1 0")
    assert (shown(logs), logs.board.status.other_files) == ({"d/a": [1]}, ())
    logs.write("d/1.tfevents", 5)
    for _ in range(2):
        logs.load()
    assert shown(logs) == {"d": [5]}
    [twins] = logs.board.status.other_files
    assert twins[:3] == ("twin", 1, str(path))
    assert [line for line in caplog.messages if str(path) in line] == [str(twins)]
    assert str(twins).startswith(
        f"not shown: 1 file of the kind twin, for example {path}; shown by "
    )


def test_links_to_files_of_a_format_are_not_followed(
    lines: Any, logs: Logs, tmp_path: Path
) -> None:
    other = tmp_path / "secret.lines"
    other.write_text("a 1 0\n")
    os.symlink(other, logs.path / "x.lines")
    logs.load()
    assert logs.multiplexer.runs() == []
    assert "links to logs" in logs.board.status.problems[0]


def test_tags_of_sources_are_scalars(lines: Any, logs: Logs) -> None:
    lines("x", "a 1 0")
    assert logs.multiplexer.tags(SCALARS) == {"a": ["loss"]}


def test_finding_logs_imports_no_numpy() -> None:
    """`tbcore serve` first limits the threads of its linear algebra."""
    code = "import sys, tbcore.eventfiles.logdir as logdir, tbcore.eventfiles.formats as formats\n"
    code += "formats.Formats(); print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


@pytest.mark.parametrize("name", ["", "..", "exp/../../../etc", "/etc", "a//b", "./a", "a/.", "a/"])
def test_a_name_that_is_no_path_below_the_root_is_refused(name: str, tmp_path: Path) -> None:
    """With one line, which costs no other run."""
    (tmp_path / "x.lines").write_text("a 1 0\n")
    formats = Formats("none")
    formats.patterns = frozenset(Lines.patterns)
    formats._formats["lines"] = each = Lines()
    run = next(
        iter(each.runs([("x.lines", EventFile.of(str(tmp_path / "x.lines"), tmp_path.stat()))]))
    )
    assert isinstance(run, SourceRun)
    each.runs = lambda files: [run._replace(name=name), run]  # type: ignore[method-assign, assignment]
    scan = Logdir([LogdirSpec(None, str(tmp_path))], formats=formats).scan()
    assert ([*scan.runs], scan.problems) == (["a"], [f"lines: bad run name {name!r}"])


@pytest.mark.parametrize(
    "fault",
    ["patterns = 1", "patterns = None", "def __init__(self): raise KeyError(1)",
     "def runs(self, files): yield None",
     "def runs(self, files): yield SourceRun('a', [])",
     "def runs(self, files): yield SourceRun(1, [files[0][1]])",
     "def runs(self, files): yield SourceRun('a', [files[0][1]], started='now')"],
)  # fmt: skip
def test_a_format_that_fails_never_costs_the_scan(
    fault: str, distributions: Distributions, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever it raises or gives; one line says so."""
    code = (
        "from tbcore.engine import SourceRun\n\nclass Lines:\n"
        "    patterns, has_twins, has_times = ['*.lines'], True, True\n"
        f"    def runs(self, files): return []\n    {fault}\n"
    )
    distributions.add("bad", "[tbcore.formats]\nbad = bad_format:Lines\n", {"bad_format.py": code})
    (tmp_path / "x.lines").write_text("a 1 0\n")
    write_run(tmp_path, "b", scalars={"loss": [1.0]})
    scan = Logdir([LogdirSpec(None, str(tmp_path))], formats=Formats("bad")).scan()
    assert [*scan.runs] == ["b"]
    assert len([*scan.problems, *caplog.messages]) == 1
