"""Notes: what users have noted about runs, for queries and for the server.

An extension keeps them: the entry point `notes` of the group `tbcore.notes` is a function from log
directories to `Notes`. Without it, there are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.extensions import NOTES, guarded, loaded


class Notes(Protocol):
    """The notes on the runs of some log directories. Its methods may be called on any thread."""

    generation: int
    """Rises with each change; 0 if there is nothing to show."""
    problems: Sequence[str]
    """Problems of the last reading, one line each."""
    has_event_files: Callable[[str], bool]
    """Whether a run is of event files, and not of another program. Set by what knows the runs."""
    static_folder: Path
    """The folder of the page's part, whose files are at `static/notes/`. Its `index.js` has the
    default export that `tbcore/web/host.js` describes as NotesModule."""

    def found(self, sign: str, text: str | re.Pattern[str]) -> Collection[str]:
        """The names of the runs that a term of a query finds, and maybe of runs that are gone.

        `sign` begins the term: `#` for a label, `note:` for a part of a note, and `is:` for
        `starred` and `archived`. `text` is the rest, lower-cased, or matches all of it.
        """

    def values(self, run: str) -> Mapping[str, Any]:
        """What was noted about a run, such as `{"starred": True, "labels": ["paper"]}`."""

    def description(self, tag: str) -> str:
        """What is said about a tag for all runs whose writers have not described it; or ""."""

    def change(self, runs: Sequence[str], values: Mapping[str, Any]) -> object:
        """Notes such values about runs. Raises TbcoreError if they cannot be kept."""

    def new_write_token(self, config: Any) -> str:
        """The secret with which a page may change notes on a server with this `Config`, new at each
        start; "" if there is none. The address that is printed contains it."""

    def serve(
        self,
        config: Any,
        multiplexer: Any,
        changed: Callable[[], object],
        idle_seconds: Callable[[], float],
        tabs: Callable[[], Collection[str] | None],
    ) -> Mapping[str, Callable[[Any], Any]]:
        """Maps addresses, such as `/data/notes`, to functions from a Request, whose body has been
        read, to the Response.

        They decide who may change notes, with the `Config` of the server. From now on, `changed` is
        called after each change, also after one by another process; `idle_seconds` is for how long
        nobody has asked for data; `tabs` are the names of the tabs once all logs are read, or None.
        """


def open_notes(specs: Sequence[LogdirSpec] = ()) -> Notes:
    """The notes of some log directories, from the extension that keeps notes.

    Raises OptionError if it is not installed or keeps none for these, or else ExtensionError.
    """
    extension: Callable[[Sequence[LogdirSpec]], Notes] = loaded(NOTES, "notes")
    with guarded(NOTES, "notes"):
        return extension(specs)
