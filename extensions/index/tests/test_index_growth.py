"""An index of logs that grow, restart, are replaced and deleted says what the logs say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import same_answers
from hypothesis import given
from hypothesis import strategies as st
from same_answers import check_same, loaded

from tbcore_testing import EventFileWriter

_STEPS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 20)
_VALUES = st.floats(width=32) | st.floats()
_RUN = st.sampled_from(["a", "b/c", "d"])
_CHANGES = st.one_of(
    st.tuples(
        st.just("scalars"), _RUN, st.sampled_from("xyz"), st.lists(st.tuples(_STEPS, _VALUES))
    ),
    st.tuples(st.just("text"), _RUN, st.sampled_from("xyz"), st.integers(0, 9)),
    st.tuples(st.just("start"), _RUN, st.integers(0, 9)),
    st.tuples(st.just("file"), _RUN, st.integers(0, 9)),
    st.tuples(st.just("cut"), _RUN, st.integers(1, 200)),
    st.tuples(st.just("replace"), _RUN),
    st.tuples(st.just("delete"), _RUN),
    st.tuples(st.just("rename"), _RUN, _RUN),
    st.tuples(st.just("index")),
)


def change(logdir: Path, what: str, run: str = "", *arguments: Any) -> None:
    """Makes one of the changes to the logs."""
    folder = logdir / run
    files = sorted(folder.glob("*tfevents*"))
    if what == "delete":
        for path in files:
            path.unlink()
        return
    if what == "rename":
        if files and not (logdir / arguments[0]).exists():
            (logdir / arguments[0]).parent.mkdir(exist_ok=True)
            folder.rename(logdir / arguments[0])
        return
    if what == "replace":
        for path in files:
            shutil.copy2(path, logdir / "copy")
            os.replace(logdir / "copy", path)
        return
    if what == "cut":
        if files:
            with files[-1].open("ab") as file:
                file.truncate(max(files[-1].stat().st_size - arguments[0], 0))
        return
    folder.mkdir(parents=True, exist_ok=True)
    # New files come after the others, as those of all writers do.
    is_new = what == "file" or not files
    name = f"{len(files):03}.tfevents" if is_new else files[-1].name
    # Of a file without a version, steps that go back mean a restart.
    version = None if run == "a" else "brain.Event:2"
    with EventFileWriter(folder / name, file_version=version) as writer:
        if what == "scalars":
            tag, points = arguments
            for step, value in points:
                time = 1000.0 + len(points)
                if tag == "z":
                    writer.add_tensor(
                        tag, value, step, dtype="float64", plugin_name="scalars", wall_time=time
                    )
                else:
                    writer.add_scalar(tag, value, step=step, wall_time=time)
        elif what == "text":
            writer.add_text(arguments[0], "hello", step=arguments[1], wall_time=1001.0)
        elif what == "start":
            writer.add_session_log("START", step=arguments[0])


@given(changes=st.lists(_CHANGES, max_size=12))
def test_an_index_of_changing_logs_says_what_the_logs_say(
    tmp_path_factory: Any, changes: list[tuple[Any, ...]]
) -> None:
    folder = tmp_path_factory.mktemp("growth")
    logdir, index = folder / "logs", folder / "index"
    logdir.mkdir()
    same_answers.update(logdir, index)
    for each in changes:
        if each == ("index",):
            same_answers.update(logdir, index)
        else:
            change(logdir, *each)
    # The index is behind: what is new comes from the files.
    check_same(loaded(logdir), loaded(logdir, index), order=False)
    same_answers.update(logdir, index)
    check_same(loaded(logdir), loaded(None, index))
