"""Searches for input for which tbcore fails, guided by coverage of its code.

    .venv/bin/python -m pip install atheris
    .venv/bin/python tests/fuzz/run.py event_files -max_total_time=300

The first argument is the name of a target, the others are options of libFuzzer. atheris leaks some
kilobytes for each event file, so for a long run restart it until it finds something:

    while .venv/bin/python tests/fuzz/run.py event_files -runs=100000; do :; done

Inputs that reach new code are stored in build/fuzz. Inputs for which a target fails are stored in
tests/fuzz/found/TARGET, and tested in each later test run. Rename such a file to describe the
error, once it is fixed.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import atheris

FOLDER = Path(__file__).resolve().parent

with atheris.instrument_imports(
    include=["tbcore", "tbcore_graphs", "tbcore_images", "tbcore_text"]
):
    sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "shared")]
    from targets import TARGETS


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"{(__doc__ or '').strip()}\n\ntargets: {', '.join(TARGETS)}")
    name = sys.argv.pop(1)
    target, seeds = TARGETS[name]
    corpus = FOLDER.parents[1] / "build" / "fuzz" / name
    found = FOLDER / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    # Thousands of damaged records would be logged.
    logging.disable(logging.CRITICAL)
    options = [
        "-max_len=4000",
        "-timeout=60",
        "-rss_limit_mb=8000",
        "-report_slow_units=30",
        f"-artifact_prefix={found}/",
        *sys.argv[1:],
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
