"""Watching: wakes the loader when a file changes, where the system reports changes.

A reported change only makes the next scan start earlier. The loader also scans after each pause,
since some file systems report no changes, and watching does not follow links.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Sequence

from tbcore.text import one_line

_MOUNTS = "/proc/mounts"
_LOCAL_TYPES = frozenset(
    ("bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs",
     "tmpfs", "vfat", "xfs", "zfs")
)  # fmt: skip
"""Types of file systems that only this machine writes to, so that it reports all changes."""

logger = logging.getLogger(__name__)

_QUIET_MS = 75
"""Time without a further change after which changes are reported."""
_MAX_DELAY_MS = 100
"""Maximum time until changes are reported, even if more changes follow."""


def watch(
    directories: Sequence[str], wake: threading.Event, stopping: threading.Event
) -> threading.Thread | None:
    """Sets `wake` whenever a file below the directories changes, until `stopping` is set.

    Returns the daemon thread that watches; None if none of the directories exists. If the system
    refuses to watch, the thread logs the reason and ends.
    """
    existing = [path for path in directories if os.path.isdir(path)]
    if not existing:
        return None

    def run() -> None:
        try:
            # Not imported at the top: this would delay the start of the server.
            import watchfiles

            for _ in watchfiles.watch(
                *existing,
                watch_filter=None,
                stop_event=stopping,
                step=_QUIET_MS,
                debounce=_MAX_DELAY_MS,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                wake.set()
        except Exception as error:
            # The most frequent cause is the system's limit on the number of directories that all
            # programs together can watch.
            logger.info("%s", one_line(f"files are not watched for changes: {error}"))

    thread = threading.Thread(target=run, name="tbcore-watch", daemon=True)
    thread.start()
    return thread


def reports_all_changes(directory: str) -> bool:
    """Whether a directory exists, and everything below it is on file systems of this machine.

    Read from `/proc/mounts`; False on systems without it.
    """
    path = os.path.join(os.path.realpath(directory), "")
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            mounts = [line.split(" ")[1:3] for line in file]
    except OSError:
        return False
    # Blanks are escaped. If there are several mounts at one place, the last one counts.
    unescaped = ((re.sub(r"\\(\d{3})", _character, place), kind) for place, kind in mounts)
    types = {os.path.join(place, ""): kind for place, kind in unescaped}
    above = max((place for place in types if path.startswith(place)), key=len, default=None)
    below = [kind for place, kind in types.items() if place.startswith(path)]
    return os.path.isdir(path) and {types.get(above or "", ""), *below} <= _LOCAL_TYPES


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 8))
