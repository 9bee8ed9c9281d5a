// Runs that are grouped in the list of runs: a row for each group.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cellText, cellTitle, differenceOf, writerOf } from "../../tbcore_hparams/static/cell-text.js";
import { csvOf, jsonOf, latexOf } from "../../tbcore_hparams/static/export.js";
import { bestMarks, bestRows } from "../../tbcore_hparams/static/goals.js";
import { groupedSweep } from "../../tbcore_hparams/static/grouped-rows.js";
import { sizeOf } from "../../tbcore_hparams/static/labels.js";
import { sortRows } from "../../tbcore_hparams/static/sorting.js";
import { readSweep, withBestValues } from "../../tbcore_hparams/static/sweep.js";
import { parseView } from "../../tbcore_hparams/static/view.js";

const NONE = { display_name: "", description: "", declared: true };

/**
 * A sweep of sessions that are each alone in the log, or in groups of the log.
 * @param {readonly { name: string, lr?: number, seed?: number, loss?: number, low?: number, step?: number, status?: string, group?: number }[]} sessions
 *   without a loss, none was logged
 */
function sweepOf(sessions) {
  const groupOf = sessions.map(({ group }, i) => group ?? i);
  const firsts = [...new Set(groupOf)].map((group) => groupOf.indexOf(group));
  /** @param {(session: typeof sessions[number]) => number | undefined} read */
  const column = (read, of = sessions) => Float64Array.from(of, (one) => read(one) ?? NaN);
  const byGroup = firsts.map((i) => sessions[i]);
  const isMeasured = (/** @type {typeof sessions[number]} */ { loss }) => loss !== undefined;
  return readSweep({
    header: {
      experiment: { description: "" },
      hparams: ["lr", "seed"].map((name) => ({ name, ...NONE, type: "number", differs: true, ...(byGroup.length < sessions.length && { of_sessions: { nan: [], strings: [] } }) })),
      metrics: [{ group: "", tag: "loss", ...NONE }],
      sessions: {
        names: sessions.map(({ name }) => name),
        group: groupOf.map((group) => firsts.indexOf(groupOf.indexOf(group))),
        status: sessions.map(({ status }) => status ?? "success"),
        ...{ start: sessions.map(() => 0), end: sessions.map(() => 0), model_uri: sessions.map(() => ""), monitor_url: sessions.map(() => "") },
      },
      groups: { names: byGroup.map(({ name }) => name) },
      strings: {},
    },
    tables: [
      {
        ...{ h0: column(({ lr }) => lr, byGroup), h1: column(({ seed }) => seed, byGroup) },
        ...{ m0: column(({ loss }) => loss, byGroup), "m0.step": column(({ step }) => step, byGroup), "m0.sessions": Float64Array.from(byGroup, (one) => Number(isMeasured(one))) },
        ...{ "m0.lowest": column(({ low }) => low, byGroup), "m0.lowest_step": column(() => 1, byGroup), "m0.highest": column(({ loss }) => loss, byGroup), "m0.highest_step": column(() => 1, byGroup) },
      },
      {
        ...(byGroup.length < sessions.length && { h0: column(({ lr }) => lr), h1: column(({ seed }) => seed) }),
        ...{ m0: column(({ loss }) => loss), "m0.step": column(({ step = 10 }) => step), "m0.wall_time": Float64Array.from(sessions, (one) => (isMeasured(one) ? 1 : NaN)) },
        ...{ "m0.lowest": column(({ low }) => low), "m0.lowest_step": column(() => 1), "m0.highest": column(({ loss }) => loss), "m0.highest_step": column(() => 1) },
      },
    ],
  });
}

/** The runs of sessions `a/0` in groups `a`. @param {readonly string[]} names */
const runsOf = (names) => names.map((name) => ({ name, group: name.split("/")[0] }));

const SESSIONS = [
  { name: "a/0", lr: 0.1, seed: 0, loss: 0.5, low: 0.25, step: 10 },
  { name: "a/1", lr: 0.1, seed: 1, loss: 0.25, low: 0.125, step: 21 },
  { name: "a/2", lr: 0.1, seed: 2, loss: NaN, low: 0.125, step: 30 },
  { name: "b/0", lr: 0.2, seed: 0, loss: NaN, low: NaN },
  { name: "b/1", lr: 0.2, seed: 1, loss: Infinity, low: 0.5 },
  { name: "c/0", lr: 0.3, seed: 0, loss: 1, low: 1 },
  { name: "d/0", lr: 0.4, seed: 0 },
  { name: "d/1", lr: 0.5, seed: 1 },
  { name: "e/0", lr: 0.6, seed: 0, loss: 0.125, low: 0.125, status: "running" },
  { name: "e/1", lr: 0.6, seed: 1, loss: 1.125, low: 0.125, status: "unknown" },
  { name: "e/2", lr: 0.6, seed: 2 },
  { name: "e/3", lr: 0.6, seed: 3, loss: 0.625, low: 0.125 },
];
const loaded = sweepOf(SESSIONS);
const grouped = groupedSweep(loaded, runsOf(SESSIONS.map(({ name }) => name)));
const loss = grouped.metrics[0];

test("there is a row for each group, and one that is alone has the session's name", () => {
  assert.deepEqual(grouped.groups.map(({ label, sessions }) => [label, sessions.length]), [["a", 3], ["b", 2], ["c/0", 1], ["d", 2], ["e", 4]]);
  assert.deepEqual(grouped.byKey.get("sessions")?.cells, [3, 2, 1, 2, 4]);
  assert.equal(grouped.grouped?.numLeftOut, 0);
});

test("a metric is the mean of the finite values, NaN if none is finite, null if none was logged", () => {
  assert.deepEqual(loss.cells, [0.375, NaN, 1, null, 0.625]);
  assert.deepEqual(loss.steps, [15.5, null, 10, null, 10]);
  assert.deepEqual(
    loss.cells.map((_, row) => cellText(loss, row)),
    ["0.38 ± 0.18 (2 of 3, 1 not finite)", "not finite (2 of 2)", "1", "—", "0.63 ± 0.50 (3 of 4, 1 without the tag, 1 live)"],
  );
  assert.deepEqual(loss.cells.map((_, row) => writerOf(loss)(row)), loss.cells.map((_, row) => cellText(loss, row)));
});

test("the tooltip counts what is not in the mean, what has not ended and what was not logged", () => {
  assert.equal(cellTitle(loss, 0), "mean of the last values of 2 runs: 0.375, ± standard deviation (n − 1) 0.176777, 1 run NaN or infinite, not in it");
  assert.equal(cellTitle(loss, 1), "no finite last values, 2 runs NaN or infinite, not in it");
  assert.equal(cellTitle(loss, 2), "1");
  assert.equal(cellTitle(loss, 3), "not logged");
  assert.equal(
    cellTitle(loss, 4),
    "mean of the last values of 3 runs: 0.625, ± standard deviation (n − 1) 0.5, 1 run without the tag, 1 run still being written, 1 run without a logged end",
  );
});

test("the best row has the best finite mean, and rows without one are last in both orders", () => {
  assert.deepEqual(bestRows([0, 1, 2, 3, 4], loss, "min"), [0]);
  assert.deepEqual(bestRows([0, 1, 2, 3, 4], loss, "max"), [2]);
  for (const [descending, order] of /** @type {const} */ ([[false, [0, 4, 2, 1, 3]], [true, [2, 4, 0, 1, 3]]])) {
    assert.deepEqual(sortRows([0, 1, 2, 3, 4], [{ key: loss.key, descending }], grouped.byKey), order);
  }
});

test("hyperparameters that differ inside all groups are neither columns nor axes", () => {
  assert.deepEqual(grouped.columns.filter(({ kind }) => kind === "hparam").map(({ label }) => label), ["lr"]);
  const view = parseView({}, grouped);
  assert.deepEqual(view.axes.map(({ label }) => label), ["lr", "loss"]);
  assert.deepEqual(view.columns.map(({ label }) => label), ["loss", "lr", "Status", "Sessions"]);
  // With one session in each group, nothing differs inside them.
  const firsts = groupedSweep(loaded, runsOf(["a/0", "b/1"]));
  assert.deepEqual(firsts.byKey.get("h.seed")?.cells, [0, 1]);
  assert.equal(firsts.grouped?.numLeftOut, 10);
});

test("a hyperparameter that differs inside one group has its values there, and no cell", () => {
  const lr = /** @type {import("../../tbcore_hparams/static/types.js").Column} */ (grouped.byKey.get("h.lr"));
  assert.deepEqual(lr.cells, [0.1, 0.2, 0.3, null, 0.6]);
  assert.deepEqual([cellText(lr, 3), cellTitle(lr, 3)], ["0.4, 0.5", "differs inside the group: 0.4, 0.5"]);
  assert.deepEqual([cellText(lr, 0), cellTitle(lr, 0)], ["0.1", "0.1"]);
});

test("the hyperparameters that differ inside a group are known for each session", () => {
  assert.deepEqual(grouped.grouped?.repeated.map(({ column, cells }) => [column.label, cells.slice(0, 3)]), [["lr", [0.1, 0.1, 0.1]], ["seed", [0, 1, 2]]]);
});

test("sessions that the log itself groups have their own hyperparameters", () => {
  const names = ["x/0", "x/1", "y"];
  const sweep = sweepOf(names.map((name, seed) => ({ name, lr: 0.1, seed, loss: seed, group: Math.floor(seed / 2) })));
  const seeds = sweep.byKey.get("h.seed");
  assert.ok(seeds);
  assert.deepEqual([seeds.cells, cellText(seeds, 0), cellText(seeds, 1)], [[null, 2], "0, 1", "2"]);
  const found = groupedSweep(sweep, runsOf(names));
  assert.equal(found.byKey.has("h.seed"), false);
  assert.deepEqual(found.grouped?.repeated.map(({ column, cells }) => [column.label, cells]), [["seed", [0, 1, 2]]]);
  assert.deepEqual(found.byKey.get("h.lr")?.cells, [0.1, 0.1]);
  assert.deepEqual(found.metrics[0].cells, [0.5, 2]);
  const apart = groupedSweep(sweep, names.map((name) => ({ name, group: name })));
  assert.deepEqual(apart.byKey.get("h.seed")?.cells, [0, 1, 2], "rows of single sessions");
});

test("many or long values vary", () => {
  assert.deepEqual(differenceOf([1e-3, 1e-4, 1e-3]), { text: "0.001, 0.0001", title: "differs inside the group: 0.001, 0.0001" });
  assert.deepEqual(differenceOf(["a\nb", null]), { text: "a\\nb, not logged", title: "differs inside the group: a\\nb, not logged" });
  const { text, title } = differenceOf(Array.from({ length: 12 }, (_, i) => i));
  assert.deepEqual([text, title], ["varies", "differs inside the group: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more"]);
});

test("a session is in the group of its run, or of a run below it; one above it does not count", () => {
  const sweep = sweepOf(["s/0", "s/1", "t/0"].map((name) => ({ name, loss: 1 })));
  const runs = ["s", "s/0", "s/0/eval", "s/1/eval", "t"].map((name) => ({ name, group: name.endsWith("eval") ? "evals" : "rest" }));
  assert.deepEqual(groupedSweep(sweep, runs).groups.map(({ name, label }) => [name, label]), [["rest", "s/0"], ["evals", "s/1"]]);
});

test("means of the best values over the steps", () => {
  const best = withBestValues(grouped, () => "min").metrics[0];
  assert.deepEqual([best.label, best.cells[0], best.cells[1]], ["loss (min)", 0.5 / 3, 0.5]);
  assert.match(cellTitle(best, 0), /^mean of the lowest values of 3 runs: 0.166667, /);
  assert.equal(cellText(best, 1), "0.5 (1 of 2, 1 not finite, 1 diverged)");
});

test("the group of runs that are all infinite is infinite, also in CSV and LaTeX", () => {
  const sweep = sweepOf([0, 1].map((seed) => ({ name: `a/${seed}`, loss: Infinity, low: 0.5 })));
  const { columns, groups, metrics: [metric], ...rest } = groupedSweep(sweep, runsOf(["a/0", "a/1"]));
  assert.deepEqual([metric.cells, cellText(metric, 0)], [[Infinity], "∞ (2 of 2)"]);
  assert.deepEqual(bestRows([0], metric, "min"), []);
  assert.match(csvOf({ columns: [metric], groups, rows: [0] }), /\na,inf,,0,2,/);
  assert.match(latexOf({ columns: [metric], groups, rows: [0] }), /a & \$\+\\infty\$ \(\$n = 0\$\)/);
  const [best] = withBestValues({ columns, groups, metrics: [metric], ...rest }, () => "min").metrics;
  assert.equal(cellText(best, 0), "0.5 ± 0 (2 diverged)");
  assert.match(csvOf({ columns: [best], groups, rows: [0] }), /n,loss \(min\) nonfinite,loss \(min\) diverged,.*\r\na,0.5,0,2,0,2,/);
});

test("sessions that were archived are counted, unless a run below them is shown", () => {
  const archived = new Map([["a", ["a/2", "a/2/eval", "b/1"]], ["b", ["b/0"]], ["c", ["c/1"]], ["d", ["d/0", "d/1"]]]);
  const { groups } = groupedSweep(loaded, runsOf(["a/0", "a/1", "b/1/train", "c/0"]), { average: "mean", averageName: "mean", spread: "deviation", spreadName: "± standard deviation (n − 1)", archived });
  assert.deepEqual(groups.map((group) => [group.name, sizeOf(group)]), [["a", "2 sessions (+1 archived)"], ["b", "1 session (+1 archived)"], ["c", ""]]);
  assert.deepEqual(grouped.groups.map(sizeOf), ["3 sessions", "2 sessions", "", "2 sessions", "4 sessions"]);
});

test("no run at all leaves no rows", () => {
  const none = groupedSweep(loaded, []);
  assert.deepEqual([none.groups, none.metrics[0].cells, parseView({}, none).metric?.label], [[], [], "loss"]);
});

const shown = { columns: parseView({}, grouped).columns.filter(({ key }) => key !== "status"), groups: grouped.groups, rows: [0, 1, 2, 3] };

test("CSV and JSON have the means, the deviations and the numbers of values", () => {
  const [head, ...lines] = csvOf(shown).trim().split("\r\n");
  assert.equal(head, "name,loss,loss sd,loss n,loss nonfinite,loss at step,lr,Sessions");
  const sd = Math.sqrt(2 * 0.125 ** 2);
  const [name, mean, found, ...rest] = lines[0].split(",");
  assert.deepEqual([name, mean, ...rest], ["a", "0.375", "2", "1", "15.5", "0.1", "3"]);
  assert.ok(Math.abs(Number(found) - sd) < 1e-15);
  assert.deepEqual(lines.slice(1), ["b,nan,,0,2,,0.2,2", "c/0,1,,1,0,10,0.3,1", "d,,,0,0,,,2"]);
  const [first] = JSON.parse(jsonOf(shown));
  assert.deepEqual([first.metrics, first.spreads.loss.n, first.spreads.loss.sd], [{ loss: 0.375 }, 2, Number(found)]);
});

test("the reader's average is in the cells, in their titles and in all downloads", () => {
  const sweep = sweepOf([0.1, 0.2, 0.4, 0.8, NaN].map((loss, seed) => ({ name: `a/${seed}`, loss, lr: 1 })));
  const { columns, groups, grouped: found } = groupedSweep(sweep, runsOf(sweep.sessions.map(({ name }) => name)), { average: "median", averageName: "median", spread: "quartiles", spreadName: "quartiles" });
  const [metric] = columns.filter(({ kind }) => kind === "metric");
  const near = (/** @type {number} */ number) => Number(number.toPrecision(12));
  assert.equal(found?.averageName, "median");
  assert.equal(cellText(metric, 0), "0.30 [0.18, 0.50] (4 of 5, 1 not finite)");
  assert.match(cellTitle(metric, 0), /^median of the last values of 4 runs: 0.3, quartiles 0.175 and 0.5, 1 run NaN or infinite, not in it/);
  assert.match(metric.description, /The median of the runs of a group, and quartiles$/);
  const all = { columns: [metric], groups, rows: [0] };
  const [head, line] = csvOf(all).trim().split("\r\n");
  assert.equal(head, "name,loss,loss q1,loss q3,loss n,loss nonfinite,loss at step");
  assert.deepEqual(line.split(",").slice(1, 5).map((text) => near(Number(text))), [0.3, 0.175, 0.5, 4]);
  const { q1, q3, n } = JSON.parse(jsonOf(all))[0].spreads.loss;
  assert.deepEqual([near(q1), near(q3), n], [0.175, 0.5, 4]);
  assert.match(latexOf(all), /a & \$0\.30\\ \[0\.18, 0\.50\]\$ \(\$n = 4\$\) & \$5\$ /);
});

test("the spread that the reader chose is in the cells and in all downloads", () => {
  const sweep = sweepOf([0.1, 0.2, 0.3, 0.4].map((loss, seed) => ({ name: `a/${seed}`, loss, lr: 1 })));
  const shownAs = (/** @type {"error" | "interval" | "range"} */ spread) => {
    const { columns, groups } = groupedSweep(sweep, runsOf(sweep.sessions.map(({ name }) => name)), { average: "mean", averageName: "mean", spread, spreadName: "" });
    const [metric] = columns.filter(({ kind }) => kind === "metric");
    return [cellText(metric, 0), csvOf({ columns: [metric], groups, rows: [0] }).split("\r\n")[0], latexOf({ columns: [metric], groups, rows: [0] }).split("\n")[3]];
  };
  assert.deepEqual(shownAs("error"), ["0.250 ± 0.065 SE", "name,loss,loss se,loss n,loss nonfinite,loss at step", "a & $0.250 \\pm 0.065$ SE & $4$ \\\\"]);
  assert.deepEqual(shownAs("interval").slice(0, 2), ["0.25 ± 0.21 CI", "name,loss,loss ci,loss n,loss nonfinite,loss at step"]);
  assert.deepEqual(shownAs("range").slice(0, 2), ["0.25 [0.10, 0.40] range", "name,loss,loss min,loss max,loss n,loss nonfinite,loss at step"]);
});

test("the best group is marked together with those that cannot be told from it", () => {
  const marksOf = (/** @type {Column | null} */ metric) => [...bestMarks([0, 1, 2, 3, 4], metric, "min").values()].map(({ mark }) => mark);
  assert.deepEqual(marksOf(loss), ["n too small", "", "n too small", "", "best, 3 of 4"], "a mean of fewer than three is not the best");
  assert.deepEqual(bestRows([0, 1, 2, 3, 4], loss, "min", bestMarks([0, 1, 2, 3, 4], loss, "min")), [4]);
  assert.deepEqual(marksOf(loaded.metrics[0]), [], "sessions have no tests");
});

test("a group of which a run has collapsed says of how many runs its mark is", () => {
  const losses = { a: [1, 2, 3], b: [1.1, 2.2, 3.1, NaN], c: [3, 2, 1] };
  const sweep = sweepOf(Object.entries(losses).flatMap(([name, values]) => values.map((loss, seed) => ({ name: `${name}/${seed}`, loss, lr: 1 }))));
  const { metrics } = groupedSweep(sweep, runsOf(sweep.sessions.map(({ name }) => name)));
  const marks = bestMarks([0, 1, 2], metrics[0], "min");
  assert.deepEqual([...marks.values()].map(({ mark }) => mark), ["best", "≈ best, 3 of 4", "best"]);
  assert.deepEqual(bestRows([0, 1, 2], metrics[0], "min", marks), [0, 2], "all with the best mean");
});

test("the metric stays when fewer runs are shown; if no row has it, the view says so", () => {
  const shown = (/** @type {readonly string[]} */ names, settings = {}) => {
    const { metrics, ...sweep } = groupedSweep(loaded, runsOf(names));
    const other = { ...metrics[0], key: "m..val/acc", label: "val/acc", metric: { group: "", tag: "val/acc" }, isDeclared: false, cells: metrics[0].cells.map((_, i) => i) };
    const { metric, lacking } = parseView(settings, { ...sweep, metrics: [...metrics, /** @type {Column} */ (other)] });
    return [metric?.key, lacking];
  };
  assert.deepEqual(shown(["b/0", "b/1"]), ["m..loss", null]);
  assert.deepEqual(shown(["d/0", "d/1"]), ["m..val/acc", "loss"]);
  assert.deepEqual(shown(["d/0", "d/1"], { metric: "m..loss" }), ["m..loss", null], "it was chosen");
  assert.deepEqual(shown(["a/0", "a/1"], { metric: "m..gone/loss" }), ["m..loss", "gone/loss"]);
});

test("LaTeX has the means with their deviations, and n", () => {
  assert.equal(
    latexOf(shown),
    [
      "\\begin{tabular}{lrrr}",
      "name & loss & lr & $n$ \\\\",
      "\\hline",
      "a & $0.38 \\pm 0.18$ ($n = 2$) & $0.1$ & $3$ \\\\",
      "b & not finite ($n = 0$) & $0.2$ & $2$ \\\\",
      "c/0 & $1$ & $0.3$ & $1$ \\\\",
      "d & - & - & $2$ \\\\",
      "\\end{tabular}\n",
    ].join("\n"),
  );
  const tiny = sweepOf([{ name: "a/0", loss: 1e-9 }, { name: "a/1", loss: 3e-9 }]);
  const { columns, groups } = groupedSweep(tiny, runsOf(["a/0", "a/1"]));
  assert.match(latexOf({ columns: columns.filter(({ kind }) => kind === "metric"), groups, rows: [0] }), /a & \$2 \\cdot 10\^\{-9\} \\pm 1\.4 \\cdot 10\^\{-9\}\$ & \$2\$ /);
});
