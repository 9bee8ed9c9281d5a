"""Watching: wakes the loader when a file changes, where the system reports changes.

It only makes the next scan come earlier. Some file systems report no changes, and links are not
followed, so the loader also scans at fixed intervals.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence

from tbcore.eventfiles.logdir import one_line

logger = logging.getLogger(__name__)

_QUIET_MS = 50
"""A change is reported when no other one follows for this long."""
_MAX_DELAY_MS = 100
"""A change is reported after this long at the latest."""


def watch(
    paths: Sequence[str], wake: threading.Event, stopping: threading.Event
) -> threading.Thread | None:
    """Sets `wake` whenever a file below the directories changes, until `stopping` is set.

    Returns the daemon thread that does this; None if no directory exists. If the system
    refuses to watch, the thread logs the reason and ends.
    """
    existing = [path for path in paths if os.path.isdir(path)]
    if not existing:
        return None

    def run() -> None:
        try:
            # Not at the top: the server starts before files need to be watched.
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
            # Most often the limit of watched directories is reached, which all programs share.
            logger.info("%s", one_line(f"files are not watched for changes: {error}"))

    thread = threading.Thread(target=run, name="tbcore-watch", daemon=True)
    thread.start()
    return thread
