"""P13: a regular expression from a user costs a second at most, and never the others.

What the page does with one is in tests/browser/test_hostile_pages.py.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tbcore.testing import EventFileWriter, summaries

COST_SECONDS = 1.0
OTHERS_SECONDS = 2.0
NUM_SESSIONS = 50

HOSTILE = [
    "(a*)*b",
    "(a|aa)+$",
    "(x+x+)+y",
    r"(\w+\s?)+$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(a?){500}a{500}",
    "(a?){200}[ab]{500}c",
    "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^>]",
    "((a{1,100}){1,100}){1,100}",
    "|".join(f"(a{{{n}}}b?){{3}}" for n in range(1, 200)),
    "(" * 5000 + "a" + ")" * 5000,
]
INVALID = ["(", "[", "a**", "(?=a)", r"(a)\1", r"\p{nonsense}", "a" * 10_001, "(?P<n>a"]

PATH = "/data/plugin/hparams/session_groups"


@pytest.fixture(scope="module")
def studied(start_server: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of sessions with a long text among their hyperparameters."""
    logdir = tmp_path_factory.mktemp("study")
    for number in range(NUM_SESSIONS):
        with EventFileWriter(logdir / f"s{number}" / "a.tfevents") as writer:
            text = "a" * 20_000 if number % 2 else "ab" * 10_000 + "!"
            writer.add_summary(0, summaries.session_start({"x": text}))
    server = start_server(logdir)
    server.wait_until_loaded()
    return server


def ask(server: Any, *patterns: str) -> Any:
    columns = [{"hparam": "x", "filterRegexp": pattern} for pattern in patterns]
    question = {
        "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_RUNNING"], "sliceSize": 1000,
        "colParams": columns,
    }  # fmt: skip
    return server.ask(PATH, method="POST", body=json.dumps(question).encode())


def test_p13_an_invalid_expression_is_said_to_be(studied: Any) -> None:
    """4xx in one line."""
    for pattern in INVALID:
        answer = ask(studied, pattern)
        assert answer.status == 400, pattern[:50]
        assert len(answer.text.splitlines()) == 1


def test_p13_an_expression_costs_a_second(studied: Any) -> None:
    """Of a processor; it is answered or refused, alone and with many others in one request."""
    assert ask(studied, "ab!?$").status == 200
    costs = []
    for patterns in (*([pattern] for pattern in HOSTILE), HOSTILE * 5):
        before = studied.cpu_seconds()
        answer = ask(studied, *patterns)
        cost = studied.cpu_seconds() - before
        assert answer.status in (200, 400), (patterns[0][:50], answer.text)
        assert cost <= COST_SECONDS, (patterns[0][:50], cost, answer.text[:200])
        costs.append(cost)
    print(f"the dearest expression cost {max(costs):.2f} s of a processor")


def test_p13_expressions_do_not_cost_the_others(studied: Any) -> None:
    """Whether they ask another plugin, or the same one; while four clients send nothing else."""
    stop = threading.Event()
    statuses: list[int] = []

    def keep_asking(first: int) -> None:
        number = first
        while not stop.is_set():
            statuses.append(ask(studied, HOSTILE[number % len(HOSTILE)]).status)
            number += 1

    threads = [threading.Thread(target=keep_asking, args=[first]) for first in range(4)]
    for thread in threads:
        thread.start()
    try:
        for path in ("/data/runs", "/data/plugin/scalars/tags", "/data/plugin/hparams/table"):
            assert studied.seconds_to_answer(path) < OTHERS_SECONDS, path
            time.sleep(0.1)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert set(statuses) <= {200, 400}
