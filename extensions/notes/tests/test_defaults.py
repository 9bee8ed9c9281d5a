"""The file tbcore.json in a log directory: what it may choose, and what a stranger's can do."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import piped
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tbcore
from tbcore.engine import LogdirSpec
from tbcore_notes import defaults
from tbcore_notes.defaults import Defaults, checked_defaults
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run
from tbcore_testing.client import TbcoreClient
from tbcore_testing.in_thread import Server

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
    server.board.notes = RunNotes([LogdirSpec(None, str(logdir))])
    server.load_once()
    return TbcoreClient(server)


def write(logdir: Path, content: Any) -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    logdir.joinpath(defaults.NAME).write_bytes(text)


def deep(start: bytes, levels: int, end: bytes = b"}") -> bytes:
    """A document with many arrays in each other."""
    return start + b"[" * levels + b"]" * levels + end


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
    # Editors on Windows write a mark at the start, and other ends of lines.
    write(logdir, b'\xef\xbb\xbf{\r\n"tab": "text"\r\n}')
    assert client.get("data/defaults").json() == {"tab": "text"}
    [unknown] = client.get("data/views").json()["problems"]
    assert unknown.endswith("there is no tab 'text'")
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
        ({"pins": ["x"] * 51}, "'pins' must be an array of at most 50 tags, got an array of 51"),
        ({"pins": ["x" * 200, 5]}, "'pins' must be an array of at most 50 tags, got 5 in an array"),
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
        ([], "is left out: it must be an object, got []"),
        (b"{", "is left out: it is not JSON: unexpected end"),
        (b"", "is left out: it is empty"),
        (b"\xef\xbb\xbf", "is left out: it is empty"),
        ("{}".encode("utf-16"), "is left out: it is not UTF-8"),
        (["a"], 'is left out: it must be an object, got ["a"]'),
        (deep(b'{"tab": ', 400), "'tab' must be the name of a tab, got more than 254 levels"),
        (deep(b'{"pins": ', 1000), "'pins' must be an array of at most 50 tags, got more than"),
        (deep(b'{"colors": ', 400), "'colors' must be an object with at most 1000 entries"),
        (deep(b'{"colors": {"a": ', 400, b"}}"), "'colors' must be names of runs or groups"),
        (deep(b'{"a": ', 400), "'a' is not known"),
        (deep(b"", 400, b""), "is left out: it must be an object, got more than 254 levels"),
        (deep(b'{"tab": ', 2000), "is left out: it has too many levels"),
        (b" " * 70_000, "is left out: it has more than 64 KiB"),
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
    sign = " " if line.startswith("is left out") else ": "
    assert problem.startswith(f"{found.path}{sign}{line}"), problem
    assert len(problem) < len(found.path) + 1000
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
        f"{path}: 'color': no run has the tag 'acc'; there are: 'val/loss'",
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
    before = time.thread_time()
    found = read(logdir)
    assert len(found.problems) == 21
    assert found.problems[-1].endswith(": 1,980 more mistakes")
    assert time.thread_time() - before < 5


@pytest.mark.parametrize("key", ["k" * 60_000, "\u202e" * 10_000, "not\nknown"])
def test_a_long_key_is_cut(logdir: Path, key: str) -> None:
    write_run(logdir, "a", scalars={"loss": [1.0]})
    write(logdir, {key: 1})
    [problem] = served(logdir).get("data/views").json()["problems"]
    assert problem.endswith(" is not known")
    assert len(problem) < 3000
    assert problem.isprintable()


HOSTILE = [
    deep(b'{"tab": ', 400),
    json.dumps({"k" * 60_000: 1}).encode(),
    json.dumps({f"key{n}": n for n in range(2000)}).encode(),
]
COMMANDS = [
    ("ls", []), ("ls", ["--where", "is:starred"]), ("ls", ["--json"]), ("show", []),
    ("export", ["-o", "-"]), ("notes", ["set", "a", "--star"]),
]  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE)
def test_a_strangers_file_is_one_line_for_each_command(logdir: Path, content: bytes) -> None:
    """The one that is about notes has all lines; the answers do not depend on it."""
    for run in ("a", "b"):
        write_run(logdir, run, scalars={"loss": [1.0]})
    RunNotes([LogdirSpec(None, str(logdir))]).change(["a"], {"starred": True})

    def result(command: str, options: list[str]) -> tuple[int, str, list[str]]:
        arguments = [logdir, *options]
        if command == "notes":
            arguments = [options[0], logdir, *options[1:]]
        done = piped(command, *arguments)
        found = [line for line in done.stderr.splitlines() if line]
        assert all(len(line) < 1000 for line in found)
        return done.returncode, done.stdout, found

    before = [result(*command) for command in COMMANDS]
    write(logdir, content)
    for command, (status, output, lines) in zip(COMMANDS, before, strict=True):
        found = result(*command)
        assert found[:2] == (status, output), command
        more = [line for line in found[2] if line not in lines]
        assert len(more) <= 1, command
        assert all(defaults.NAME in line for line in more)
    listed = result("notes", ["list"])
    assert (listed[0], len(listed[1].splitlines())) == (0, 2)
    assert len(listed[2]) == (21 if b"key7" in content else 1)
    if b"key7" in content:
        where = f"{logdir / defaults.NAME}: 2000 mistakes; `tbcore notes list {logdir}` shows them"
        assert any(line.endswith(where) for line in result("ls", [])[2])


def test_the_log_of_a_server_has_all_mistakes_and_python_a_line(
    logdir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_run(logdir, "a", scalars={"loss": [1.0]})
    write(logdir, {"one": 1, "two": deep(b"", 300).decode(), "tab": []})
    [run] = tbcore.open(logdir).values()
    assert run.starred is False
    run.starred = True
    assert run.starred is True
    [line] = [r.message for r in caplog.records if "tbcore.json" in r.message]
    assert line.endswith(f"3 mistakes; `tbcore notes list {logdir}` shows them")
    caplog.clear()
    assert len(served(logdir).get("data/views").json()["problems"]) == 3
    assert len([r for r in caplog.records if "tbcore.json" in r.message]) == 3


def test_several_directories_have_no_defaults(logdir: Path) -> None:
    write(logdir, VALID)
    both = RunNotes([LogdirSpec("a", str(logdir)), LogdirSpec("b", str(logdir))])
    both.refresh()
    assert (both.defaults, both.description("val/loss")) == ({}, "")


NAMES = st.text(max_size=9) | st.sampled_from([*VALID, "k" * 5000, "\u202e" * 300])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    | st.sampled_from([10**400, "x" * 3000, "by:" + "(" * 490, "re:" + "(" * 480, "{" * 400])
    | st.sampled_from([100, 253, 254, 255, 400, 1020]).map(lambda n: Nested(n)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
)  # fmt: skip


class Nested(NamedTuple):
    """So many arrays in each other, which Python's encoder could not write."""

    levels: int


def encoded(value: Any) -> bytes:
    """The JSON of a value with Nested ones."""
    found: list[int] = []

    def plain(value: Any) -> Any:
        if isinstance(value, Nested):
            found.append(value.levels)
            return f"<{value.levels}>"
        if isinstance(value, list):
            return list(map(plain, value))
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        return value

    text = json.dumps(plain(value)).encode()
    for levels in found:
        text = text.replace(b'"<%d>"' % levels, b"[" * levels + b"]" * levels)
    return text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.binary(max_size=200)
    | JSON.map(encoded)
    | st.dictionaries(st.sampled_from(sorted(VALID)), JSON).map(encoded)
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
    assert sum(map(len, found.problems)) < 100_000
    again, problems = checked_defaults(json.dumps(found.values).encode())
    assert (again, problems) == (found.values, [])
    for tag in ("", "val/loss", *found.values.get("goals", ())):
        assert isinstance(found.description(tag), str)
