"""Looks for bytes that tbcore does not stand, guided by what of its code they reach.

    .venv/bin/python -m pip install atheris
    .venv/bin/python tests/fuzz/run.py event_files -max_total_time=300

The first argument names a target, the others are libFuzzer's. For a long run, start it again until
something is found, as atheris keeps some kilobytes for each event file:

    while .venv/bin/python tests/fuzz/run.py event_files -runs=100000; do :; done

Inputs that reached something new are
kept in build/fuzz. One that found a fault goes to tests/fuzz/found/TARGET, from where the tests try
it again ever after: give it a name that says what it found, once that is repaired.
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
    sys.path.insert(0, str(FOLDER))
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
    # Of damaged records there are thousands.
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
