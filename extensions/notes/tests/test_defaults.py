"""The file tbcore.json in a log directory: what it may choose, and what a stranger's can do."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tbcore.engine import LogdirSpec, Server
from tbcore_notes import defaults
from tbcore_notes.defaults import Defaults, checked_defaults
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run
from tbcore_testing.client import TbcoreClient

VALID = {
    "tab": "scalars",
    "pins": ["val/loss", "a,b;c"],
    "group": "seeds",
    "average": "median",
    "color": "by:lr",
    "colors": {"a": "#2a78d6", "é <b>": "#000000"},
    "descriptions": {"val/loss": "Of the whole set.\nNot of a batch."},
    "goals": {"val/loss": "min", "acc": "max"},
}


def served(logdir: Path) -> TbcoreClient:
    server = Server(logdir, plugins=[], port=6006)
    server.multiplexer._notes = RunNotes([LogdirSpec(None, str(logdir))])
    server.load_once()
    return TbcoreClient(server)


def write(logdir: Path, content: Any) -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    logdir.joinpath(defaults.NAME).write_bytes(text)


def read(logdir: Path) -> Defaults:
    found = Defaults(str(logdir))
    found.refresh()
    return found


def test_what_is_valid_is_served(logdir: Path) -> None:
    """Also after a change. Without a file the page has no reason to ask."""
    write_run(logdir, "a", scalars={"val/loss": [1.0]})
    client = served(logdir)
    assert client.get("data/status").json()["notes_generation"] == 0
    write(logdir, VALID)
    assert client.get("data/defaults").json() == VALID
    assert client.get("data/status").json()["notes_generation"] > 0
    assert client.get("data/views").json()["has_defaults"] is True
    assert client.post("data/defaults", json={}).status_code == 405
    assert client.multiplexer.description("a", "val/loss") == {
        "display_name": "",
        "description": "Lower is better. Of the whole set.\nNot of a batch. (tbcore.json)",
    }
    write(logdir, {"tab": "text"})
    assert client.get("data/defaults").json() == {"tab": "text"}
    logdir.joinpath(defaults.NAME).unlink()
    assert client.get("data/defaults").json() == {}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"hide": ["a"]}, "'hide' is not known"),
        ({"runs": "a"}, "'runs' is not known"),
        ({"query": "a"}, "'query' is not known"),
        ({"ymax": 1}, "'ymax' is not known"),
        ({"pin": ["a"]}, "'pin' is not known; close: 'pins'"),
        ({"tab": "a&write=x"}, "'tab' must be the name of a tab"),
        ({"tab": 5}, "'tab' must be the name of a tab, got 5"),
        ({"pins": "a"}, "'pins' must be an array of at most 50 tags, got \"a\""),
        ({"pins": ["x"] * 51}, "'pins' must be an array of at most 50 tags"),
        ({"pins": ["a\n"]}, "'pins' must be an array of at most 50 tags"),
        ({"group": "re:(?=a)"}, "'group' must be a rule for groups"),
        ({"group": "x" * 501}, "'group' must be a rule for groups"),
        ({"group": ""}, "'group' must be a rule for groups"),
        ({"group": "by:"}, "'group' must be a rule for groups"),
        ({"group": "by:lr>3"}, "'group' must be a rule for groups"),
        ({"group": "re:"}, "'group' must be a rule for groups"),
        ({"group": "exp/{seed"}, "'group' must be a rule for groups"),
        ({"group": "seed"}, "'group' must be a rule for groups"),
        ({"color": "by:"}, '\'color\' must be "family" or "by:ATTRIBUTE", got "by:"'),
        ({"color": "by: ,"}, "'color' must be"),
        ({"color": "by:lr,model"}, "'color' must be"),
        ({"average": "max"}, "'average' must be"),
        ({"color": "red"}, "'color' must be"),
        ({"colors": {"a": "red"}}, "'colors' must be names of runs or groups"),
        ({"colors": ["a"]}, "'colors' must be an object with at most 1000 entries"),
        ({"goals": {"a": "up"}}, "'goals' must be tags with \"min\" or \"max\"; 'a' is left out"),
        (
            {"goals": {**dict.fromkeys("abcde", "up"), "x": "min"}},
            "'goals' must be tags with \"min\" or \"max\"; 'a', 'b', 'c' and 2 more are left out",
        ),
        ({"descriptions": {"a": "\u202e"}}, "'descriptions' must be tags with texts"),
        ({"descriptions": {"a": "x" * 2001}}, "'descriptions' must be tags with texts"),
        ({"descriptions": {str(n): "" for n in range(1001)}}, "'descriptions' must be an object"),
        ([], "is left out: it must be an object"),
        (b"{", "is left out: it is not JSON"),
        (b"", "is left out: it is not JSON"),
        (b" " * 70_000, "is left out: it has more than 66 kB"),
    ],
)
def test_what_is_not_valid_is_a_line(logdir: Path, content: Any, line: str) -> None:
    """And all else is used."""
    write(
        logdir,
        {**content, "average": content.get("average", "iqm")}
        if isinstance(content, dict)
        else content,
    )
    found = read(logdir)
    [problem] = found.problems
    assert problem.startswith(f"{found.path}: {line}"), problem
    if isinstance(content, dict) and "average" not in content:
        assert found.values.pop("average") == "iqm"
    assert all(value in ({}, {"x": "min"}) for value in found.values.values())


@pytest.mark.parametrize("rule", ["seeds", "numbers", "exp/{seed}", "*/{}", "by:lr,val/loss:min",
                                  'by:"a,b"', "re:lr=([^_]+)"])  # fmt: skip
def test_rules_of_the_page_are_valid(logdir: Path, rule: str) -> None:
    write(logdir, {"group": rule})
    found = read(logdir)
    assert (found.values, found.problems) == ({"group": rule}, [])


def test_what_there_is_not_is_a_line_once_all_is_read(
    logdir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log and in the list of views, and only until it is there."""
    wrong = {
        "tab": "nothing", "pins": ["val/los", "val/loss"], "goals": {"a": "min", "b": "max"},
        "descriptions": {"c": "text"}, "group": "by:lrr", "color": "by:acc:last",
    }  # fmt: skip
    write(logdir, wrong)
    client = served(logdir)
    assert client.get("data/views").json()["problems"] == []
    write_run(logdir, "a", scalars={"val/loss": [1.0]}, hparams={"lr": 0.1})
    client.reload()
    path = logdir / defaults.NAME
    before = client.get("data/status").json()["notes_generation"]
    problems = client.get("data/views").json()["problems"]
    assert problems == [
        f"{path}: 'tab': there is no tab 'nothing'",
        f"{path}: 'pins': no run has the tag 'val/los'; close: 'val/loss'",
        f"{path}: 'goals': no run has the tags 'a', 'b'",
        f"{path}: 'descriptions': no run has the tag 'c'",
        f"{path}: 'group': no run has the hyperparameter 'lrr'; close: 'lr'",
        f"{path}: 'color': no run has the tag 'acc'",
    ]
    assert [r.message for r in caplog.records if "tbcore.json" in r.message] == [
        f"notes: {line}" for line in problems
    ]
    assert client.get("data/status").json()["notes_generation"] > before, "open pages see them"
    assert client.get("data/defaults").json() == wrong, "they may come later"
    write_run(logdir, "b", scalars={tag: [1.0] for tag in ("val/los", "a", "b", "c", "acc")})
    client.reload()
    assert len(client.get("data/views").json()["problems"]) == 2
    write(logdir, {"pins": ["a"]})
    assert client.get("data/views").json()["problems"] == []


def test_only_a_regular_file_is_read(logdir: Path, tmp_path: Path) -> None:
    """No link, no FIFO, no directory; a problem does not come twice."""
    secret = tmp_path / "secret"
    secret.write_text('{"tab": "text"}')
    path = logdir / defaults.NAME
    for make in (lambda: path.symlink_to(secret), lambda: os.mkfifo(path), path.mkdir):
        make()
        found = read(logdir)
        assert found.values == {}
        assert len(found.problems) == 1
        generation = found.generation
        found.refresh()
        assert found.generation == generation
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_many_mistakes_are_few_lines(logdir: Path) -> None:
    write(logdir, {f"key{n}": n for n in range(2000)})
    before = time.perf_counter()
    found = read(logdir)
    assert len(found.problems) == 21
    assert found.problems[-1].endswith("has more mistakes")
    assert time.perf_counter() - before < 5


def test_several_directories_have_no_defaults(logdir: Path) -> None:
    write(logdir, VALID)
    both = RunNotes([LogdirSpec("a", str(logdir)), LogdirSpec("b", str(logdir))])
    both.refresh()
    assert (both.defaults, both.description("val/loss")) == ({}, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.binary(max_size=200)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from(sorted(VALID)), JSON).map(lambda v: json.dumps(v).encode())
)
@example(content=json.dumps(VALID).encode())
@example(content=b'{"tab":"a","tab":"\\ud800"}')
@example(content=b"[" * 5000)
def test_properties_of_any_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Nothing raises, and nothing outside of the schema comes out."""
    logdir = tmp_path_factory.mktemp("runs")
    write(logdir, content)
    found = read(logdir)
    assert found.values.keys() <= VALID.keys()
    assert all(line.isprintable() for line in found.problems)
    again, problems = checked_defaults(json.dumps(found.values).encode())
    assert (again, problems) == (found.values, [])
    for tag in ("", "val/loss", *found.values.get("goals", ())):
        assert isinstance(found.description(tag), str)
