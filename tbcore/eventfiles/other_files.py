"""Other files: files next to event files, which known tools write or which plugins claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import NamedTuple

from tbcore.extensions import FORMATS, INSTALL, available
from tbcore.kinds import ANYWHERE
from tbcore.text import one_line, plural

_KINDS = re.compile(
    r"(?s)(?P<profile>.*\.pt\.trace\.json(?:\.gz)?)|(?P<projector>projector_config\.pbtxt)"
    r"|(?P<debugger>tfdbg_events\..*)|(?P<mlflow>meta\.yaml)"
    r"|(?P<log>trainer_state\.json|mlflow\.db|(?:metrics|results)\.csv|.*\.wandb)"
)
"""Matches the base names of files of known kinds: traces of a profiler, the configuration of
embeddings, dumps of TensorFlow's debugger, experiments of MLflow, and logs of other programs."""

_SHOWN_BY = {
    "profile": "XProf (`pip install xprof`), and ui.perfetto.dev for traces in JSON",
    "projector": "TensorBoard's Projector (`pip install tensorboard`)",
    "debugger": "TensorBoard's Debugger V2",
    "gzip": "tbcore, after gunzip",
    "unknown": "the program that wrote them",
    "mlflow": "tbcore in the database that `mlflow migrate-filestore` makes of such folders",
    "twin": "the event files beside them; where these lack columns, a line names some",
}


class OtherFiles(NamedTuple):
    """Files of one kind in the log directory that tbcore does not read."""

    kind: str
    """`profile`, `projector` or `debugger`; `gzip` or `unknown` if the name is that of an event
    file; `log` for logs of other programs that no format reads, `mlflow` for experiments of MLflow,
    and `twin` for logs that were also written as event files."""
    num_files: int
    example: str
    """The first of their paths."""
    shown_by: str
    """The tools that show such files, for people."""

    @property
    def are_logs(self) -> bool:
        """Whether other programs logged runs in them, which commands about runs name."""
        return self.kind in ("log", "mlflow")

    def __str__(self) -> str:
        found = f"{plural(self.num_files, 'file')} of the kind {self.kind}"
        return one_line(f"not shown: {found}, for example {self.example}; shown by {self.shown_by}")


def kind_of(path: str) -> str | None:
    """The kind of the file at this path below the log directory; None for any other file."""
    # A scan asks this about each file. Searching all of the path would take five times as long.
    found = _KINDS.fullmatch(path.rpartition("/")[2])
    if found and found["mlflow"] and not path.split("/")[-2:][0].isdigit():
        return None  # Experiments of MLflow have numbers for names.
    return "profile" if "/plugins/profile/" in f"/{path}"[:-1] else found and found.lastgroup


def kind_of_content(head: bytes) -> str | None:
    """The kind of a file whose first record has a damaged length; None for an event file.

    The upper half of a length is zero. If no byte of it is, these bytes were never a length: damage
    of an event file rarely changes four bytes to others that are not zero.
    """
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    return None if 0 in head[4:8] else "unknown"


def matches(path: str, pattern: str) -> bool:
    """Whether the last steps of a path match those of a pattern of files, such as `Claim.files`.

    No step that matches is empty, `.` or `..`, as those of keys in object stores may be, and
    `**/` at the beginning is no step. Takes time proportional to the length of a name, however many
    `*` there are.
    """
    wanted = pattern.removeprefix(ANYWHERE).split("/")
    steps = path.split("/")[-len(wanted) :]
    return len(steps) == len(wanted) and all(
        fnmatchcase(step, one) and step not in ("", ".", "..")
        for step, one in zip(steps, wanted, strict=True)
    )


@lru_cache(maxsize=1 << 6)
def last_steps(patterns: frozenset[str]) -> Callable[[str], object]:
    """Returns a function that is true for the base names that match the last step of a pattern."""
    steps = sorted({pattern.rpartition("/")[2] for pattern in patterns})
    return re.compile("|".join(map(translate, steps)) or "(?!)").match


def depth_of(path: str, patterns: frozenset[str]) -> int:
    """How many directories below that of its run a file is, by the patterns that match its path.

    The largest number if several patterns match, and -1 if none does.
    """
    name = path.rpartition("/")[2]
    if not last_steps(patterns)(name) or name in ("", ".", ".."):
        return -1  # Most files: one expression for all patterns.
    flat = _flat(patterns)
    depth = 0 if last_steps(flat)(name) else -1
    return max((p.count("/") for p in patterns - flat if matches(path, p)), default=depth)


@lru_cache(maxsize=1 << 6)
def _flat(patterns: frozenset[str]) -> frozenset[str]:
    """The patterns with a single step."""
    return frozenset(pattern for pattern in patterns if "/" not in pattern)


def summed(files: Iterable[tuple[str, str]]) -> tuple[OtherFiles, ...]:
    """One element for each kind, sorted by kind. A file is a pair of kind and path.

    A path that is given twice counts once, since log directories may contain each other.
    """
    paths: dict[str, set[str]] = {}
    for kind, path in files:
        paths.setdefault(kind, set()).add(path)
    return tuple(
        OtherFiles(k, len(p), min(p), _logs_shown_by() if k == "log" else _SHOWN_BY[k])
        for k, p in sorted(paths.items())
    )


def _logs_shown_by() -> str:
    installed = "tbcore, unless `--formats` leaves them out"
    missing = f"tbcore after `pip install {INSTALL[FORMATS, 'csv']}`"
    return f"{installed if available(FORMATS) else missing}, in a directory of this machine"
