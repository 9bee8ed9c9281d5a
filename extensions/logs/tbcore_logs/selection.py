"""Selection of runs and tags by names and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tbcore.engine import quoted
from tbcore_logs.errors import UnknownNameError, instead

Names = str | Iterable[str] | None
"""One or several names or patterns, in which `*` matches any text and `?` any character; None for
all names."""


def matching(names: Names, known: Iterable[str], what: str | None) -> list[str]:
    """The known names that match `names`. Raises UnknownNameError for an unknown name.

    `what` is `run` or `tag`, for the message. If it is None, unknown names are ignored.
    """
    known = dict.fromkeys(known)
    if names is None:
        return list(known)
    found: set[str] = set()
    for name in [names] if isinstance(names, str) else names:
        if name in known:
            found.add(name)
        elif "*" in name or "?" in name:
            pattern = re.escape(name).replace(r"\*", ".*").replace(r"\?", ".")
            matches = re.compile(pattern, re.DOTALL).fullmatch
            found.update(filter(matches, known))
        elif what is not None:
            raise UnknownNameError(f"no {what} {quoted(name)}{instead(name, known)}")
    return [name for name in known if name in found]
