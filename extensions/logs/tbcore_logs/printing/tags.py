"""`tbcore tags`: hyperparameters with their values, and tags, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from tbcore_logs import Logs
from tbcore_logs.order import name_key
from tbcore_logs.printing.access import LogSelection, if_readable, read
from tbcore_logs.printing.output import Form, PrintedColumn, exact, print_table, short, short_count

_MAX_VALUES = 10


def list_tags(selection: LogSelection, *, form: Form | None) -> int:
    """Prints a line for each hyperparameter and each tag; returns the exit status.

    The form `names` has the names of tags only, which other commands take.
    """
    rows: dict[tuple[str, str], list[Any]] = {}
    logs, names = selection.opened()
    for run in read(logs, names):
        with if_readable():
            for tag in run.tags.values():
                row = rows.setdefault((tag.name, tag.kind), [tag.name, tag.kind, 0, 0, None, None])
                row[2] += 1
                row[3] += tag.count
                if tag.last_step is not None:
                    row[4] = tag.last_step if row[4] is None else max(row[4], tag.last_step)
    known = [*(() if form == "names" else _hyperparameters(logs, names)), *rows.values()]
    chosen = set(selection.tags_of((name for name, *_ in known), need_all=True))
    found = [row for row in known if row[0] in chosen]
    if known and not found:
        raise click.ClickException(f"none of {len(known):,} tags matches")
    columns = [
        PrintedColumn("name", is_name=True),
        PrintedColumn("kind"),
        PrintedColumn("num_runs", "runs"),
        PrintedColumn("count", short=short_count),
        PrintedColumn("last_step", "last step", short_count),
        PrintedColumn(
            "values", short=lambda values: ", ".join(map(short, values or ())), is_text=True
        ),
    ]
    print_table(columns, found, form)
    selection.mention_archived(logs, names)
    return 0 if known else 1


def _hyperparameters(logs: Logs, names: Sequence[str]) -> Iterator[list[Any]]:
    """Yields the rows of hyperparameters: the count is that of different values. Of more than
    _MAX_VALUES, the row has some, evenly from the lowest to the highest."""
    columns, chosen = logs.attributes(), set(names)
    for name in columns.index.hparam_names.most_common():
        found = zip(columns.runs, columns.hparams(name), strict=True)
        values = [value for run, value in found if run in chosen and value is not None]
        # True and 1 are different values.
        unique = {(type(value), value): value for value in values}.values()
        numbers = sorted(value for value in unique if not isinstance(value, str))
        texts = sorted((value for value in unique if isinstance(value, str)), key=name_key)
        different = [*numbers, *texts]
        places = np.linspace(0, len(different) - 1, min(len(different), _MAX_VALUES)).round()
        some = [exact(different[int(place)]) for place in places]
        if some:
            yield [name, "hyperparameter", len(values), len(different), None, some]
