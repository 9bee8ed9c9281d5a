"""check_index: reads a whole index, and compares it with the logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tbcore import TbcoreError
from tbcore.engine import Logdir, LogdirSpec, RunView, one_line
from tbcore_index.reader import IndexReader
from tbcore_index.tables import COLUMNS
from tbcore_logs.batch_reader import BatchReader
from tbcore_logs.checks import CheckReport, Finding


def check_index(path: str, specs: Sequence[LogdirSpec]) -> CheckReport:
    """Reads every row group of an index, and compares runs with their files below `specs`.

    Raises TbcoreError if there is no index.
    """
    index = IndexReader(path)
    findings = [Finding("corrupt", index.place.path, line) for line in index.problems]
    num_files = num_bytes = 0
    for segment, runs in sorted(index.segments.items()):
        counted = "series", "points", "items"
        counts = {t: sum(run.number(f"num_{t}") for run in runs) for t in counted}
        counts["runs"] = len(runs)
        for table in COLUMNS if segment not in index.damaged else ():
            name = f"{index.place.path}/{table}/{segment}.parquet"
            try:
                file = index.place.open(table, segment)
                num_files, num_bytes = num_files + 1, num_bytes + file.num_bytes
                num_rows = sum(group.num_rows for group in file.groups())
                if num_rows != counts[table]:
                    line = f"has {num_rows} rows, expected {counts[table]}"
                    findings.append(Finding("corrupt", name, line))
            except (TbcoreError, OSError) as error:
                what = "unreadable" if isinstance(error, OSError) else "corrupt"
                findings.append(Finding(what, name, one_line(str(error))))
    findings += _compared(index, specs)
    return CheckReport(len(index.runs), num_files, num_bytes, findings, [], [])


def _compared(index: IndexReader, specs: Sequence[LogdirSpec]) -> Iterator[Finding]:
    """Yields a finding for each run whose index differs from its files."""
    reader = BatchReader(purge_orphaned_data=index.purge_orphaned_data)
    found = Logdir(specs).scan().runs
    runs = [
        reader.run(name, files)
        for name, files in found.items()
        if name in index.runs and index.runs[name].is_as_of(files)
    ]
    if num_others := len(found) - len(runs):
        line = f"may not have all of {num_others:,} of {len(found):,} runs yet"
        yield Finding("changed", index.path, line, is_damage=False)
    for run in reader.read(runs):
        try:
            difference = _difference(run.commit(), index.runs[run.name])
        except TbcoreError:
            continue  # The damage was found above.
        if difference:
            line = f"the index differs from the file in {difference}"
            yield Finding("corrupt", run.files[0].path, one_line(line), run.name)


def _difference(expected: RunView, found: RunView) -> str:
    """The first difference between two views of a run; "" if there is none."""
    if dict(expected.schema.tags) != dict(found.schema.tags):
        return "its tags"
    for tag in expected.schema.tags:
        for series, other in zip(expected.series(tag), found.series(tag), strict=True):
            names = "value" if series.kind.is_scalar else "offset length index crc"
            for name in ["ordinal", "step", "wall_time", *names.split()]:
                if series.column(name).tobytes() != other.column(name).tobytes():
                    return f"{name} of {tag!r}"
    return ""
