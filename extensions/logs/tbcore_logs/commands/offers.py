"""What a shell offers for arguments and options: the names of runs and tags."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from tbcore.engine import in_quotes
from tbcore_logs.commands.arguments import default_logdir, folders_of

Offers = list[CompletionItem[str]]
Complete = Callable[[click.Context, click.Parameter, str], Offers]
"""The type of `shell_complete` of parameters."""


def runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """The names of runs, the last of several with commas."""
    return _listed(_runs(context.params.get("logdir")), incomplete)


def tags(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """The tags, the last of several with commas."""
    return _listed(_tags(_runs(context.params.get("logdir"))), incomplete)


def names_of_show(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """`[LOGDIR] RUN [TAG]`."""
    given = context.params.get("names") or ()
    if not given:
        return _runs_or_directories(incomplete)
    offers: Offers = []
    if len(given) == 1 and os.path.isdir(given[0]):
        offers = _beginning(incomplete, [name for name in _runs(given[0]) if name != "."])
    if len(given) < 3:
        path = os.path.join(given[0] if len(given) == 2 else default_logdir(), given[-1])
        own = _runs(path if os.path.isdir(path) else given[-1])
        offers += _beginning(incomplete, _tags({"": own.get(".", [])}))
    return offers


def names_of_diff(context: click.Context, parameter: click.Parameter, incomplete: str) -> Offers:
    """`[LOGDIR] A B`."""
    given = context.params.get("names") or ()
    if not given:
        return _runs_or_directories(incomplete)
    own = _runs(None)
    known = own if os.path.normpath(given[0]) in own else _runs(given[0])
    return _beginning(incomplete, known) if len(given) < 3 else []


def _runs_or_directories(incomplete: str) -> Offers:
    """Runs in the default directory, else in the working directory, else directories."""
    found = _beginning(incomplete, _runs(None)) or _beginning(incomplete, _runs("."))
    return found or [CompletionItem(incomplete, type="dir")]


def _beginning(text: str, names: Iterable[str]) -> Offers:
    """The names that begin with a text. One with a leading dash would be taken for an option."""
    return [CompletionItem(n) for n in names if n.startswith(text) and not n.startswith("-")]


def _listed(names: Iterable[str], text: str) -> Offers:
    """Texts that end with another name in place of the last one, which is incomplete.

    Names are quoted as `--runs` and the like need it.
    """
    complete = re.match(r'(?:(?:"(?:[^"]|"")*"(?!")|[^",]*),)*', text)
    end = complete.end() if complete else 0
    last = text[end:]
    partial = last[1:].replace('""', '"') if last.startswith('"') else last
    found = (in_quotes(n) if re.search('[,"]', n) else n for n in names if n.startswith(partial))
    return _beginning("", (text[:end] + name for name in found))


def _runs(logdir: str | Sequence[str] | None) -> Mapping[str, Any]:
    from tbcore_logs.names import files_of_runs

    return files_of_runs(*folders_of(logdir or default_logdir()))


def _tags(runs: Mapping[str, Any]) -> Iterable[str]:
    from tbcore_logs.names import tags_in

    return tags_in(list(runs.values()))
