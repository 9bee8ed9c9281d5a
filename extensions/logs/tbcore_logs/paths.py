"""Paths: what a program or a user names to be read, directories and event files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence

from tbcore.engine import LogdirSpec, checked_address, folder_spec, is_event_file, is_uri, one_line

ROOT = "."
"""The name of the run in the directory itself, which is above all others."""

PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike] | Mapping[str, PathLike]
"""A directory or an event file, or `NAME=PATH`; a sequence of these; a mapping from names."""


def specs_and_files(paths: Paths) -> tuple[list[LogdirSpec], Mapping[str, list[str]]]:
    """The directories among the paths, and the event files by the names of their runs."""
    # 1. Check that every path exists.
    # 2. Event files in one directory belong to one run. It has the name that is given with the
    #    path; else ROOT if there are no other paths; else the name of the directory.
    named: Iterable[tuple[str | None, PathLike]]
    if isinstance(paths, Mapping):
        named = paths.items()
    elif isinstance(paths, str | bytes | os.PathLike):
        named = [(None, paths)]
    else:
        named = [(None, path) for path in paths]
    specs: list[LogdirSpec] = []
    files: dict[tuple[str | None, str], list[str]] = {}
    for key, given in named:  # 1
        text = os.fsdecode(given)
        name, path = folder_spec(text) if key is None else (key, text)
        path = checked_address(os.path.expanduser(path))
        if is_uri(path) or os.path.isdir(path):
            specs.append(LogdirSpec(name, path))
        elif not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, "no such directory or event file", path)
        elif not is_event_file(path):
            line = f"{path!r} is not an event file: its name lacks 'tfevents'"
            raise ValueError(one_line(line))
        else:
            directory = os.path.dirname(os.path.abspath(path))
            files.setdefault((name, directory), []).append(os.path.abspath(path))
    if not specs and not files:
        raise ValueError("expected a directory or an event file, got none")
    by_run: dict[str, list[str]] = {}  # 2
    for (name, directory), each in files.items():
        is_alone = not specs and len(files) == 1
        base = run = name or (ROOT if is_alone else os.path.basename(directory))
        suffix = 2
        while run in by_run:
            run, suffix = f"{base}_{suffix}", suffix + 1
        by_run[run] = sorted(set(each))
    return specs, by_run
