"""`tbcore report`: the runs as Markdown, for READMEs and pull requests.

# runs                        number of runs, and the times of the first and the last event
| run | lr | loss |  |        hyperparameters that differ, and the value and sparkline of each tag
## loss                       with -o, a drawing of each tag, as a light and a dark SVG
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from tbcore.engine import one_line
from tbcore_logs import Run
from tbcore_logs.commands.offers import default_logdir
from tbcore_logs.drawings import chart_svg
from tbcore_logs.logs import matching
from tbcore_logs.printing.access import LogSelection, if_readable, read
from tbcore_logs.printing.drawing import sparkline
from tbcore_logs.printing.files import opened_for_writing, safe_name, written
from tbcore_logs.printing.output import short, short_count, short_time

_NUM_DEFAULT_TAGS = 3
_SPARKLINE_WIDTH = 12
_MAX_ROWS = 50
"""Maximum number of runs in the table. Drawings show all runs."""
_SCHEMES = {
    "light": ("#57606a", ("#3b70ef", "#d96d23", "#00a174", "#b22936",
                          "#7f21a4", "#00ace9", "#f06eb4", "#cd9d0e")),
    "dark": ("#9198a1", ("#5386f9", "#f47615", "#2cae83", "#bc4d50",
                         "#9a58b9", "#33c7ff", "#ff87c7", "#eec25a")),
}  # fmt: skip
"""Maps each colour scheme to the colours of the text and the lines in a drawing, as in the page."""


def report(selection: LogSelection, *, output: str | None, at: str) -> int:
    """Writes the report to stdout, or to a file, with drawings. Returns the exit status."""
    found = read(*selection.opened())
    num_runs = Counter(tag for run in found for tag in run.scalar_tags)
    tags = [tag for tag, _ in num_runs.most_common(_NUM_DEFAULT_TAGS)]
    if selection.tags is not None:
        tags = matching(selection.tags, num_runs, "tag")
    title = os.path.basename(os.path.abspath(selection.logdir or default_logdir())) or "runs"
    lines = [f"# {_escaped(title)}", "", _about(found), "", *_table(found, tags, at)]
    if output is None:
        click.echo("\n".join(lines))
        return 0
    path = Path(output)
    folder = path.with_name(f"{path.stem}_files")
    with written(path):
        folder.mkdir(exist_ok=True)
    for tag in tags:
        lines += ["", f"## {_escaped(tag)}", "", *_drawing(found, tag, folder)]
    _write(path, "\n".join(lines) + "\n")
    return 0


def _about(runs: Sequence[Run]) -> str:
    """The number of runs, and the times of the first and the last event."""
    times = [time for run in runs for time in (run.started, run.last_event) if time is not None]
    when = f", {short_time(min(times))} to {short_time(max(times))}" if times else ""
    return f"{len(runs):,} run{'s' if len(runs) > 1 else ''}{when}"


def _table(runs: Sequence[Run], tags: Sequence[str], at: str) -> list[str]:
    """The lines of a table with a row for each run."""
    hparams = [run.hparams for run in runs]
    names = dict.fromkeys(name for own in hparams for name in own)
    differing = [n for n in names if len({str(own.get(n)) for own in hparams}) > 1]
    header, rule = ["run", "step", *differing], ["---", "---:", *["---"] * len(differing)]
    for tag in tags:
        header += [tag if at == "last" else f"{tag} ({at})", ""]
        rule += ["---:", "---"]
    rows = []
    for run, own in zip(runs[:_MAX_ROWS], hparams, strict=False):
        cells, steps = [short(own.get(name)) for name in differing], []
        for tag in tags:
            series = None
            with if_readable():
                series = run[tag] if tag in run.scalar_tags else None
            if series is None or series.last is None:
                cells += ["", ""]
                continue
            steps.append(series.last.step)
            point = getattr(series, at)
            cells.append("" if point is None else short(point.value))
            cells.append(sparkline(series.value, _SPARKLINE_WIDTH))
        rows.append([run.name, short_count(max(steps, default=None)), *cells])
    lines = [f"| {' | '.join(map(_escaped, row))} |" for row in (header, *rows)]
    lines.insert(1, f"| {' | '.join(rule)} |")
    if len(runs) > _MAX_ROWS:
        lines += ["", f"and {len(runs) - _MAX_ROWS:,} more runs"]
    return lines


def _drawing(runs: Sequence[Run], tag: str, folder: Path) -> list[str]:
    """Draws a tag of all runs that have it; returns the Markdown that shows the drawing."""
    with_tag = [run for run in runs if tag in run.scalar_tags]
    name = safe_name(tag)
    for scheme, (ink, colors) in _SCHEMES.items():
        lines = []
        for index, run in enumerate(with_tag):
            with if_readable():
                color = colors[index % len(colors)]
                lines.append((run[tag].step, run[tag].value, color, run.name))
        svg = chart_svg(lines, ink=ink, width=720, height=280, label="step")
        if not svg:
            return ["No value is a finite number."]
        _write(folder / f"{name}-{scheme}.svg", svg)
    address = quote(f"{folder.name}/{name}")
    alternative = escape(one_line(f"{tag} over steps, {len(with_tag)} runs"))
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{address}-dark.svg">',
        f'  <img alt="{alternative}" src="{address}-light.svg" width="720">',
        "</picture>",
    ]


def _write(path: Path, text: str) -> None:
    with opened_for_writing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _escaped(text: Any) -> str:
    """The text with all Markdown escaped, for a cell of a table."""
    return re.sub(r"[\\`*\[\]<|&~$]|(?<!\w)[_#]|_(?!\w)", r"\\\g<0>", one_line(str(text)))
