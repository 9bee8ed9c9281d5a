"""Groups of runs in Python and in the shell: rules, statistics and bands."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from commands import lines, on_terminal, piped
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tbcore
from tbcore import BadRequestError
from tbcore.cli import cli
from tbcore.engine import in_quotes
from tbcore_logs import Logs
from tbcore_logs.best import marks_of_best
from tbcore_logs.goals import guess_goal
from tbcore_logs.groups import Groups, group_runs, range_text
from tbcore_testing import write_run

CASES = json.loads((Path(__file__).parents[3] / "tests" / "groups.json").read_text("utf-8"))
"""tests/page/unit/run-groups.test.mjs tests the page with these cases."""

GOALS = json.loads((Path(__file__).parents[3] / "tests" / "goals.json").read_text("utf-8"))
"""tests/page/unit/comparisons.test.mjs tests the page with these."""

PAIRS = json.loads((Path(__file__).parents[3] / "tests" / "comparisons.json").read_text("utf-8"))
"""tests/page/unit/comparisons.test.mjs tests the page with its `pairs`."""


def no_attributes() -> Any:
    raise AssertionError("the rule needs only names")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    path = tmp_path_factory.mktemp("groups")
    for name, hparams in CASES["hparams"].items():
        write_run(path, name, scalars={"loss": [1.0, len(hparams)]}, hparams=hparams)
    return tbcore.open(path)


@pytest.mark.parametrize("case", CASES["names"], ids=lambda case: case["rule"])
def test_rules_that_look_at_names_make_the_same_groups_as_on_the_page(case: Any) -> None:
    names, of_run = group_runs(case["rule"], list(case["groups"]), no_attributes)
    assert [names[code] for code in of_run] == list(case["groups"].values())
    assert names == list(dict.fromkeys(case["groups"].values()))


@pytest.mark.parametrize("case", CASES["attributes"], ids=lambda case: case["rule"])
def test_runs_with_equal_attributes_are_a_group(case: Any, logs: Logs) -> None:
    for rule in (case["rule"], case["rule"].removeprefix("by:")):
        names, of_run = group_runs(rule, list(case["groups"]), logs.attributes)
        assert [names[code] for code in of_run] == list(case["groups"].values())


@pytest.mark.parametrize(("value", "text"), CASES["ranges"])
def test_ranges_of_numbers_have_their_lower_ends(value: Any, text: str) -> None:
    assert range_text(value) == text


@pytest.mark.parametrize("case", CASES["mistakes"], ids=lambda case: case["rule"])
def test_rules_that_are_not_valid(case: Any, logs: Logs) -> None:
    with pytest.raises(BadRequestError) as caught:
        group_runs(case["rule"], ["a"], logs.attributes)
    assert str(caught.value) == case["message"]


# -- statistics ------------------------------------------------------------------------------------

ODD = st.text(st.sampled_from(list(" ,\"'\n\t-=:a/.#{*_é损")), min_size=1, max_size=3)
KEYS = st.sampled_from(["a", "b", "re:", "x\ny", "seeds"]) | ODD
VALUES = st.sampled_from([0.5, -1.0, 3.0, 2.0**60, math.nan, math.inf, -math.inf])
TAGS = st.sampled_from(["group", "runs", "loss", "loss mean", 'a,"\n'])
RUNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["k", "n,n"]), KEYS, max_size=2),
        st.dictionaries(TAGS, st.lists(VALUES, min_size=1, max_size=3), max_size=3),
    ),
    min_size=1, max_size=6,
)  # fmt: skip
RULES = st.sampled_from(['k,"n,n"', '"n,n"', "numbers", "*", "re:([0-2])"])


def number(cell: Any) -> float:
    """The number in a cell of any form; NaN if it is empty."""
    return math.nan if cell in (None, "") else float(cell)


@settings(max_examples=60, deadline=None)
@given(runs=RUNS, at=st.sampled_from(["last", "min", "max"]), by=RULES)
def test_properties_figures_of_groups_are_those_of_pandas(
    runs: list[tuple[dict[str, str], dict[str, list[float]]]], at: Any, by: str
) -> None:
    """In Python, CSV and JSON alike, with odd names, and with values that are not finite."""
    pd = pytest.importorskip("pandas")
    assume(any(scalars for _, scalars in runs))
    with tempfile.TemporaryDirectory() as path:
        for index, (hparams, scalars) in enumerate(runs):
            write_run(
                path, f"run{index}", scalars=scalars, hparams={"k": "a", "n,n": "x"} | hparams
            )
        logs = tbcore.open(path)
        names = [name for name in logs if logs[name].scalar_tags]
        frame = logs.summary(at=at, by=by).to_pandas()
        groups = group_runs(by, names, logs.attributes)
        assert frame["group"].tolist() == groups.names
        assert frame["runs"].tolist() == np.bincount(groups.of_run).tolist()
        tags = list(dict.fromkeys(tag for name in names for tag in logs[name].scalar_tags))
        expected: list[tuple[str, list[float]]] = []
        for tag in tags:
            runs_of = [logs[name] for name in names]
            series = [run[tag] if tag in run.scalar_tags else None for run in runs_of]
            points = [getattr(s, at) if s else None for s in series]
            values = pd.Series([math.nan if p is None else p.value for p in points], dtype=float)
            finite = values.where(np.isfinite(values)).groupby(groups.of_run)
            is_missing = np.array([p is None for p in points])
            ends = np.array([s is not None and not math.isfinite(s.value[-1]) for s in series])
            counted = {
                "nonfinite": ~np.isfinite(values) & ~is_missing,
                "missing": pd.Series(is_missing),
                **({} if at == "last" else {"diverged": np.isfinite(values) & ends}),
            }
            found = {"mean": finite.mean(), "deviation": finite.std(), "n": finite.count()}
            found |= {k: column.groupby(groups.of_run).sum() for k, column in counted.items()}
            expected += [(f"{tag} {what}", column.tolist()) for what, column in found.items()]

        def check(columns: list[list[Any]], rtol: float = 1e-8) -> None:
            assert len(columns) == len(expected)
            for column, (_, values) in zip(columns, expected, strict=True):
                np.testing.assert_allclose(list(map(number, column)), values, rtol=rtol)

        check([frame[name].tolist() for name in frame.columns[2:]], 1e-12)
        assert [name.rstrip("_") for name in frame.columns[2:]] == [name for name, _ in expected]
        # In the shell, all runs are counted. So only those are selected that Python has.
        chosen = ",".join(f"{in_quotes(tag)}:{at}" for tag in tags)
        given = [path, "--runs", ",".join(names), "--by", by, "--columns", chosen]
        result = CliRunner().invoke(cli, ["ls", *given, "--format=csv"], standalone_mode=False)
        _, *rows = csv.reader(io.StringIO(result.stdout, newline=""))
        assert [row[0] for row in rows] == groups.names
        check([list(column) for column in list(zip(*rows, strict=True))[2:]])
        result = CliRunner().invoke(cli, ["ls", *given, "--json"], standalone_mode=False)
        objects = json.loads(result.stdout)
        assert [row["group"] for row in objects] == groups.names
        values = [[v for part in list(row.values())[2:] for v in part.values()] for row in objects]
        check([list(column) for column in zip(*values, strict=True)])


def test_figures_are_short_on_a_terminal(tmp_path: Path) -> None:
    """As many decimals as the deviation needs; what is not in the mean stands beside it."""
    for index, (model, values) in enumerate(
        {"a": [0.5, 0.25], "b": [0.75, math.nan], "c": [math.inf], "d": [1e30, 3e30]}.items()
    ):
        for seed, value in enumerate(values):
            points = [(0, 1e31), (1, value)]
            hparams = {"model": model, "seed": seed}
            write_run(tmp_path, f"{index}/{seed}", scalars={"loss": points}, hparams=hparams)
    write_run(tmp_path, "4/0", scalars={"other": [1.0]}, hparams={"model": "a"})
    _, output = on_terminal(
        "ls",
        tmp_path,
        "--by",
        "model",
        "--columns",
        "loss,loss:min,seed",
        columns=120,
        NO_COLOR="1",
    )
    rows = [re.split(r"\s{2,}", line) for line in output.splitlines()]
    assert rows[0] == ["group", "runs", "loss", "loss:min", "seed"]
    assert rows[1][2:4] == ["0.38 ± 0.18 (1 missing)", "0.38 ± 0.18 (1 missing)"]
    assert rows[2][2] == "0.75 (1 not finite)"
    assert rows[3][2] == "nan (1 not finite)"
    assert rows[4][2] == "2e+30 ± 1.4e+30"


# -- commands and documentation --------------------------------------------------------------------


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with three seeds each, and a run without any value."""
    path = tmp_path_factory.mktemp("sweep") / "runs"
    for model in ("mlp", "vit"):
        for seed in range(3):
            values = [2.0 - (model == "mlp"), 1.0, 0.5 + 0.25 * seed, 0.75 + 0.25 * seed]
            write_run(
                path, f"{model}_lr=0.1/seed{seed}",
                scalars={
                    "val/loss": [(500 * i, v) for i, v in enumerate(values)], "val/acc": [0.5],
                },
                hparams={"model": model, "lr": 0.1, "seed": seed}, wall_time=1.7e9 + seed,
            )  # fmt: skip
    write_run(path, "vit_lr=0.1/seed2/hp", hparams={"note": "x"}, wall_time=1.7e9 + 50)
    return path


def documented() -> list[str]:
    """The lines of docs/command_line.md about groups, new terms of queries, and reports."""
    page = Path(__file__).parents[3] / "docs" / "command_line.md"
    found = re.findall(r"^(?:\$ )?(tbcore (?:ls|report) runs .*)$", page.read_text("utf-8"), re.M)
    return [line for line in found if re.search(r"--by|newest|change|--columns", line)]


@pytest.mark.parametrize("line", documented())
def test_the_lines_of_the_documentation_work(
    line: str, sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, command, _, *options = shlex.split(line)
    result = CliRunner().invoke(cli, [command, str(sweep), *options], standalone_mode=False)
    assert (result.exit_code, result.exception) == (0, None)
    assert result.stdout or (tmp_path / "results.md").exists()


def test_the_documentation_has_lines() -> None:
    assert len(documented()) >= 9


def test_groups_are_sorted_by_any_column(sweep: Path) -> None:
    """By the mean if it is named as a column of runs is; a group without a value is the last."""

    def order(*arguments: str) -> list[str]:
        _, *rows = lines("ls", sweep, "--by", "re:^([a-z]+).*/seed\\d$", *arguments)
        return [row[0] for row in rows]

    assert order() == ["mlp", "vit", "vit_lr=0.1/seed2/hp"]
    assert order("--sort", "val/loss:max", "-r") == ["vit", "mlp", "vit_lr=0.1/seed2/hp"]
    assert order("--sort", "val/loss:last deviation", "-n", "1") == ["mlp"]
    assert order("--sort", "runs")[0] == "vit_lr=0.1/seed2/hp"
    assert order("--sort", "group", "-r")[0] == "vit_lr=0.1/seed2/hp"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "--by", "modle"], "--by: no run has the hyperparameter 'modle'; close: 'model'"),
        (["ls", "--by", "seed_"], "--by: no run has the hyperparameter 'seed_'; close: 'seed', "),
        (["ls", "--by", "val/los:min"], "--by: no run has the tag 'val/los'; close: 'val/loss'"),
        (["ls", "--by", "{a}{b}"], "--by: {} and * need text between them"),
        (["ls", "--by", ""], "--by: name hyperparameters after by:"),
        (["ls", "--by", "model", "--sort", "step"], "no tag or hyperparameter 'step'"),
        (["report", "--by", "re:["], "--by: unclosed ["),
        (["report", "--columns", "nope"], "no tag or hyperparameter 'nope'"),
        (["ls", "--where", "newest:x"], "--where: expected a number of runs after newest:"),
        (["ls", "--where", "a:change(0)>1"], "--where: expected a number of steps in change( )"),
    ],
)
def test_mistakes_are_reported_in_one_line(arguments: list[str], message: str, sweep: Path) -> None:
    command, *options = arguments
    result = piped(command, sweep, *options)
    assert result.returncode == 2
    assert result.stderr.startswith(f"tbcore: {message}")
    assert result.stderr.count("\n") == 1


def test_mistakes_in_python(sweep: Path) -> None:
    logs = tbcore.open(sweep)
    with pytest.raises(KeyError, match=r"no run has the hyperparameter 'modle'; close: 'model'"):
        logs.summary(by="modle")
    with pytest.raises(BadRequestError, match=r"unclosed \{"):
        logs.summary(by="{a")
    with pytest.raises(ValueError, match="steps=True"):
        logs.summary(by="model", steps=True)


# -- reports ---------------------------------------------------------------------------------------


def report(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["report", *map(str, arguments)], standalone_mode=False)
    assert result.exit_code == 0, result.exception
    return result.stdout


def cells(markdown: str) -> list[list[str]]:
    """The cells of the table, without its rule."""
    found = [line for line in markdown.splitlines() if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in [found[0], *found[2:]]]


def test_a_report_has_the_rows_that_ls_has(sweep: Path) -> None:
    """In the same order and as many, without runs that have no value."""
    columns = ["--columns", "val/loss:min,val/loss:argmin,seed,val/loss", "--sort", "val/loss:min"]
    header, *rows = cells(report(sweep, *columns, "-n", 2))
    assert header == [
        "run", "step", "val/loss (min)", "", "val/loss (argmin)", "seed", "val/loss",
    ]  # fmt: skip
    listed = lines("ls", sweep, *columns, "-n", 2)[1:]
    assert [row[0] for row in rows] == [row[0] for row in listed]
    assert [float(row[2]) for row in rows] == [float(row[1]) for row in listed] == [0.5, 0.5]
    assert rows[0][4:] == ["1000", "0", "0.75"]
    text = report(sweep)
    assert "seed2/hp" not in text
    assert text.startswith("# runs\n\n7 runs, ")
    assert text.endswith("\n\n1 run without any of these values\n")
    assert "\n\nand 4 more runs\n" in report(sweep, "-n", 2)
    best = cells(report(sweep, "--sort", "val/loss:max", "-r", "-n", 1))[1]
    assert best[0] == "vit_lr=0.1/seed0"


def test_a_report_of_groups_has_means_and_bands(sweep: Path, tmp_path: Path) -> None:
    """The band is the deviation; a drawing of runs has none."""
    text = report(sweep, "--by", "model", "--tags", "val/*", "-n", 1)
    assert cells(text)[0] == ["group", "runs", "val/loss", "", "val/acc"]
    assert cells(text)[1][:3] == ["model=mlp", "3", "1.00 ± 0.25"]
    report(sweep, "--by", "model", "--tags", "val/*", "-o", tmp_path / "groups.md")
    drawing = ElementTree.parse(tmp_path / "groups_files" / "val%2Floss-light.svg").getroot()
    assert [each.text for each in drawing.findall(".//{*}title")] == ["model=mlp", "model=vit"]
    bands = drawing.findall(".//{*}polygon")
    assert [len(band.attrib["points"].split()) for band in bands] == [8, 8]
    report(sweep, "--tags", "val/*", "-o", tmp_path / "runs.md")
    drawing = ElementTree.parse(tmp_path / "runs_files" / "val%2Floss-light.svg").getroot()
    assert len(drawing.findall(".//{*}polyline")) == 6
    assert not drawing.findall(".//{*}polygon")
    assert "band" not in (tmp_path / "runs.md").read_text("utf-8")


def test_a_drawing_dots_the_mean_of_those_that_are_left(tmp_path: Path) -> None:
    """The dotted part does not stretch the y axis to more than twice its length; a run alone is
    solid, whatever it logs."""
    write_run(tmp_path, "g/a", scalars={"loss": [1.0, 2.0, 3.0]})
    write_run(tmp_path, "g/b", scalars={"loss": [3.0, 2.0, 1.0, 500.0, 900.0]})
    write_run(tmp_path, "alone", scalars={"loss": [(0, 1.0), (1, math.nan), (4, 2.0)]})
    report(tmp_path, "--by", "*/{seed}", "-o", tmp_path / "r.md")
    drawing = ElementTree.parse(tmp_path / "r_files" / "loss-light.svg").getroot()
    lines = drawing.findall(".//{*}polyline")
    dotted = [line for line in lines if "stroke-dasharray" in line.attrib]
    assert [len(line.attrib["points"].split()) for line in dotted] == [3]
    assert sorted(len(line.attrib["points"].split()) for line in lines) == [3, 3]
    assert len(drawing.findall(".//{*}circle")) == 2
    ticks = [text.text for text in drawing.findall(".//{*}text") if text.text]
    assert "900" not in ticks
    assert len(drawing.findall(".//{*}polygon")) == 1

    def note() -> str:
        return (tmp_path / "r.md").read_text("utf-8").splitlines()[-1]

    about = "mean of each group, band: ± standard deviation (n − 1); "
    assert note() == f"{about}dotted, no band, in part off the drawing: fewer runs than before"
    shutil.rmtree(tmp_path / "g" / "b")
    write_run(tmp_path, "g/b", scalars={"loss": [3.0, 2.0, 1.0, 4.0, 4.5]})
    report(tmp_path, "--by", "*/{seed}", "-o", tmp_path / "r.md")
    assert note() == f"{about}dotted, no band: fewer runs than before"
    drawing = ElementTree.parse(tmp_path / "r_files" / "loss-light.svg").getroot()
    assert "4" in [text.text for text in drawing.findall(".//{*}text")]


# -- means -----------------------------------------------------------------------------------------


def test_the_mean_of_a_tag_along_its_steps(tmp_path: Path) -> None:
    write_run(tmp_path, "s1", scalars={"a/b": [(0, 1.0), (10, 3.0), (20, math.nan)], "c": [1.0]})
    write_run(tmp_path, "s2", scalars={"a/b": [(5, 6.0), (15, 8.0)]})
    write_run(tmp_path, "t", scalars={"a/b": [(0, 2.0)]})
    logs = tbcore.open(tmp_path)

    table = logs.mean("a/b", by="seeds").columns
    assert table["group"].tolist() == ["*"] * 5 + ["t"]
    assert table["step"].tolist() == [0, 5, 10, 15, 20, 0]
    np.testing.assert_allclose(table["mean"], [1, 4, 5, 8, math.nan, 2])
    np.testing.assert_allclose(table["deviation"], [math.nan, *[8**0.5] * 2, *[math.nan] * 3])
    assert table["n"].tolist() == [1, 2, 2, 1, 0, 1]
    assert table["nonfinite"].tolist() == [0, 0, 0, 0, 1, 0]
    assert table["runs"].tolist() == [2] * 5 + [1]
    assert logs.mean("a/b", grid=2).columns["step"].tolist() == [0, 20]
    chosen = logs.mean("a/b", runs="s*", grid=[0.5, 30]).columns
    assert (chosen["step"].tolist(), chosen["mean"].tolist()) == ([0.5], [pytest.approx(1.1)])
    with pytest.raises(ValueError, match="a mean is of one tag"):
        logs.mean("*")
    with pytest.warns(UserWarning, match="no run"):
        assert len(logs.mean("a/b", where="lr>1")) == 0


AT = json.loads((Path(__file__).parents[3] / "tests" / "statistics.json").read_text("utf-8"))["at"]
"""tests/page/unit/group-columns.test.mjs tests the page with these cases."""


@pytest.mark.parametrize("case", AT, ids=lambda case: case["beside"])
def test_a_value_at_a_step_is_of_the_runs_that_logged_that_far(case: Any, tmp_path: Path) -> None:
    for run, points in case["runs"].items():
        points = [(step, float(value)) for step, value in points]
        write_run(tmp_path, run, scalars={"loss": points})
    column = f"loss:at({case['step']})"
    names = ["mean", "deviation", "n", "nonfinite", "missing", "ended"]
    (row,) = json.loads(
        piped("ls", tmp_path, "--by", "*/{seed}", "--columns", column, "--json").stdout
    )
    assert [row[column][name] for name in names] == [case[name] for name in names]
    table = tbcore.open(tmp_path).summary("loss", at=case["step"], by="*/{seed}")
    found = [table.columns[f"loss {name}"][0] for name in names]
    expected = [math.nan if case[name] is None else case[name] for name in names]
    np.testing.assert_allclose(found, expected)
    _, text = on_terminal("ls", tmp_path, "--by", "*/{seed}", "--columns", column)
    assert f"({case['beside'].replace(' without the tag', ' missing')})" in text


@pytest.mark.parametrize("case", PAIRS["pairs"], ids=lambda case: case["about"])
def test_runs_with_equal_values_of_a_hyperparameter_such_as_seed_are_pairs(case: Any) -> None:
    """The page says so, too. Only in pairs, these groups differ from the best."""
    values = {run: value for group in case["groups"] for run, value in group.items()}
    of_run = np.repeat(np.arange(3), [len(group) for group in case["groups"]])

    def hparams(run: str) -> dict[str, Any]:
        return {name: own[run] for name, own in case["hparams"].items() if run in own}

    groups = Groups(["a", "b", "c"], of_run)
    marks = marks_of_best(
        groups, list(values), list(values.values()), hparams, goal="min", is_lowest=True
    )
    assert marks == ["best", *("" if is_pair else "≈ best" for is_pair in case["paired"])]


def test_no_group_that_was_not_compared_looks_as_if_it_differed() -> None:
    groups, values = Groups(["a", "b", "c", "d"], np.array([0, 0, 1, 2, 2, 3])), [1, 2, 3, 4, 5]
    marks = marks_of_best(
        groups, list("uvwxyz"), [*values, None], lambda _: {}, goal="min", is_lowest=True
    )
    assert marks == ["best, n too small", "n too small", "n too small", ""]


@pytest.mark.parametrize("goal", ["min", "max", ""])
def test_a_name_says_whether_low_or_high_values_are_better(goal: str) -> None:
    assert {name: guess_goal(name) or "" for name in GOALS[goal]} == dict.fromkeys(
        GOALS[goal], goal
    )


def test_the_order_of_a_table_does_not_say_which_group_is_best(tmp_path: Path) -> None:
    """The name of the tag does; without a goal, the first is the lowest or the highest."""
    for name, value in {"a": 1.0, "b": 2.0}.items():
        for seed in range(3):
            scalars = {tag: [value + seed / 10] for tag in ("loss", "acc", "memory")}
            write_run(tmp_path, f"{name}/s{seed}", scalars=scalars)

    def marks(tag: str, *options: str) -> list[str]:
        _, text = on_terminal("ls", tmp_path, "--by", "seeds", "--columns", tag, *options)
        return re.findall(r"(?<=, )\w+", text)

    assert marks("loss", "--sort", "loss") == marks("loss", "--sort", "loss", "-r") == ["best"]
    assert marks("acc", "--sort", "acc") == ["best"]
    assert marks("memory", "--sort", "memory") == ["lowest"]
    assert marks("memory", "--sort", "memory", "-r") == ["highest"]
