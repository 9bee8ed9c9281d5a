// A response of the route `table` becomes a sweep and a view.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLists, parseLists } from "../../../../tbcore/web/text-names.js";
import { shortText, stepText } from "../../tbcore_hparams/static/cell-text.js";
import { bestRows, defaultMetric, finiteFirst } from "../../tbcore_hparams/static/goals.js";
import { colorsOfRuns, readSweep, runOf, runsOfRows, sessionFinder, withBestValues, withStepColumn } from "../../tbcore_hparams/static/sweep.js";
import { parseView, toggled, withScale } from "../../tbcore_hparams/static/view.js";

const HASH = "f54fb9b9f8130d2c5c3aab7f10cf8c8bd9bb5ea1a4cb4e8f6b2bb8d1a4d7a2d1";
const NONE = { display_name: "", description: "", declared: true };

/** Four sessions, of which two have the same hyperparameters; the last one has no metrics. */
const ANSWER = {
  header: {
    experiment: { description: "a sweep" },
    hparams: [
      { name: "lr", ...NONE, type: "number", differs: true, nan: [2] },
      { name: "seed", ...NONE, type: "number", differs: false },
      { name: "act", ...NONE, display_name: "Activation", type: "mixed", differs: true },
    ],
    metrics: [
      { group: "eval.1", tag: "acc", ...NONE },
      { group: "", tag: "loss", ...NONE },
    ],
    sessions: {
      names: ["a/0", "a/1", "b", "c"],
      group: [0, 0, 1, 2],
      status: ["success", "failure", "unknown", "running"],
      start: [100, 50, 0, 10],
      end: [160, 70, 0, 5],
      model_uri: ["", "", "", "gs://x"],
      monitor_url: ["", "", "", ""],
    },
    groups: { names: [HASH, "b", "c"], monitor_url: ["", "", ""] },
    strings: { 2: ["relu", true, null] },
  },
  tables: [
    {
      h0: Float64Array.of(0.1, 0.001, NaN),
      h1: Float64Array.of(0, 0, NaN),
      m0: Float64Array.of(0.5, NaN, NaN),
      "m0.step": Float64Array.of(1, 3, 0),
      "m0.sessions": Float64Array.of(2, 1, 0),
      m1: Float64Array.of(1, 2, NaN),
      "m1.step": Float64Array.of(1, 1, 0),
      "m1.sessions": Float64Array.of(1, 1, 0),
    },
    {
      m0: Float64Array.of(0.4, 0.6, NaN, NaN),
      "m0.step": Float64Array.of(1, 2, 3, NaN),
      "m0.wall_time": Float64Array.of(1, 2, 3, NaN),
      m1: Float64Array.of(1, NaN, 2, NaN),
      "m1.step": Float64Array.of(1, NaN, 1, NaN),
      "m1.wall_time": Float64Array.of(1, NaN, 1, NaN),
    },
  ],
};
const sweep = readSweep(ANSWER);
/** @param {string} key */
const cells = (key) => [.../** @type {any} */ (sweep.byKey.get(key)).cells];

test("cells have the logged numbers, texts, booleans and NaN, and are null if nothing was logged", () => {
  assert.deepEqual(cells("h.lr"), [0.1, 0.001, NaN]); // logged as NaN
  assert.deepEqual(cells("h.seed"), [0, 0, null]);
  assert.deepEqual(cells("h.act"), ["relu", true, null]);
  assert.deepEqual(cells("m.eval\\.1.acc"), [0.5, NaN, null]); // measured as NaN; not measured
  assert.deepEqual(cells("m..loss"), [1, 2, null]);
});

test("hyperparameters that differ come first, in the experiment's order", () => {
  const hparams = sweep.columns.filter(({ kind }) => kind === "hparam");
  assert.deepEqual(hparams.map(({ label }) => label), ["lr", "Activation", "seed"]);
});

test("a row with one session has its name, and a group the beginning of its hash", () => {
  assert.deepEqual(sweep.groups.map(({ label }) => label), ["f54fb9b9", "b", "c"]);
  assert.deepEqual(sweep.groups[0].sessions.map(({ name }) => name), ["a/0", "a/1"]);
});

test("status, start and duration of a row combine all its sessions", () => {
  assert.deepEqual(cells("status"), ["1 success, 1 failure", "no end logged", "running"]);
  assert.deepEqual(cells("start"), [50, null, 10]);
  assert.deepEqual(cells("duration"), [40, null, null]); // the mean of 60 and 20; the last has not ended
});

test("the run of a metric is that of the session, one below it or one above it", () => {
  assert.equal(runOf("exp/a", ""), "exp/a");
  assert.equal(runOf("exp/a", "eval"), "exp/a/eval");
  assert.equal(runOf(".", "eval/x"), "eval/x");
  assert.equal(runOf("exp", "/val/"), "exp/val");
  assert.equal(runOf("exp/a/1", ".."), "exp/a");
  assert.equal(runOf("exp/a", "../.."), ".");
});

test("a run belongs to the nearest session, itself or above it", () => {
  const sessionOf = sessionFinder(["a", "a/b"]);
  assert.equal(sessionOf("a/b/train"), "a/b");
  assert.equal(sessionOf("a/c"), "a");
  assert.equal(sessionOf("ab"), null);
  assert.equal(sessionFinder(["."])("ab"), ".");
});

test("a run with no session above it belongs to the only one below it", () => {
  const sessionOf = sessionFinder(["out0/1.5", "out1/x/2", "two/1", "two/2"]);
  assert.deepEqual(["out0", "out1", "out1/x", "two", ".", "out0/eval", "out"].map(sessionOf), ["out0/1.5", "out1/x/2", "out1/x/2", null, null, null, null]);
  assert.equal(sessionFinder(["out/1"])("."), "out/1");
});

test("a session is shown if its run or a run below it is selected, preferably in its own colour", () => {
  const colors = colorsOfRuns([
    { name: "a/b/train", color: "red" },
    { name: "a/b", color: "blue" },
    { name: "c/d/e", color: "green" },
  ]);
  assert.deepEqual(Object.fromEntries(colors), {
    ...{ "a/b/train": "red", "a/b": "blue", a: "red", ".": "red" },
    ...{ "c/d/e": "green", "c/d": "green", c: "green" },
  });
});

test("the runs of a row are those of its sessions and those inside of them", () => {
  const runs = ["a/0", "a/0/eval", "a/1", "a", "b/eval", "bb", "c", "c/x/y", "."].map((name) => ({ name }));
  assert.deepEqual(runsOfRows(runs, sweep.groups, [0]), ["a/0", "a/0/eval", "a/1"]);
  assert.deepEqual(runsOfRows(runs, sweep.groups, [1, 2]), ["b/eval", "c", "c/x/y"]);
  assert.deepEqual(runsOfRows(runs, sweep.groups, []), []);
});

test("the default metric has a known goal and is measured on held-out data", () => {
  assert.equal(defaultMetric(sweep.metrics)?.label, "loss"); // the other metric is NaN in one of two rows
  assert.equal(defaultMetric([]), null);
});

test("NaN and missing cells are never best, and a single value does not count as best", () => {
  const metric = /** @type {any} */ ({ cells: [0.5, NaN, null, 0.25, 0.75] });
  assert.deepEqual(bestRows([0, 1, 2, 3, 4], metric, "min"), [3]);
  assert.deepEqual(bestRows([0, 1, 2, 3, 4], metric, "max"), [4]);
  assert.deepEqual(bestRows([0, 1, 2], metric, "max"), []);
  assert.deepEqual(bestRows([0, 1], sweep.metrics[1], "max"), [1]);
});

test("an infinite value is never best", () => {
  const metric = /** @type {any} */ ({ cells: [-Infinity, 0.5, Infinity, 0.25, NaN, 0.25] });
  assert.deepEqual(bestRows([0, 1, 2, 3, 4, 5], metric, "min"), [3, 5], "equal values are both best");
  assert.deepEqual(bestRows([0, 1, 2, 3, 4, 5], metric, "max"), [1]);
  assert.deepEqual(bestRows([0, 1, 2, 4], metric, "min"), []); // a single finite value
  assert.deepEqual(finiteFirst([0, 3, 5, 1, 2, 4], metric), [3, 5, 1, 0, 2, 4]);
});

test("by default the best row comes first, and the metric comes before the hyperparameters", () => {
  const view = parseView({}, sweep);
  assert.deepEqual(view.sorts, [{ key: "m..loss", descending: false }]);
  assert.equal(view.isSorted, false);
  assert.deepEqual(view.columns.map(({ key }) => key).slice(0, 3), ["m..loss", "h.lr", "h.act"]);
  assert.deepEqual(view.axes.map(({ key }) => key), ["h.lr", "h.act", "m..loss"]);
  assert.deepEqual([...view.panels], ["parallel", "table"]);
});

test("the step of a cell is known, and stands beside best values", () => {
  assert.deepEqual(cells("at.m..loss"), [1, 1, null]);
  assert.deepEqual(cells("at.m.eval\\.1.acc"), [1, null, null]); // NaN has no step
  assert.ok(!parseView({}, sweep).columns.some(({ isStep }) => isStep));
  const [metric, steps] = withStepColumn({ .../** @type {any} */ (sweep.byKey.get("m..loss")), extreme: "lowest" });
  const best = { ...sweep, metrics: [metric], columns: [metric, steps], byKey: new Map([metric, steps].map((one) => [one.key, one])) };
  assert.deepEqual(parseView({}, best).columns, [metric, steps]);
  assert.equal(shortText(steps, 1150), "1,150");
  assert.equal(stepText(metric, 0, false), "at step 1");
  assert.equal(stepText(metric, 0, true), "at step 1 on average");
  assert.equal(stepText(metric, 2, false), "");
});

test("settings that name unknown columns are ignored", () => {
  const view = parseView({ metric: "m..gone", sort: "h.gone,desc;h.lr", columns: "h.gone,h.lr", filter: "h.gone,in,1,2;h.lr,in,x,2", show: "pie" }, sweep);
  assert.equal(view.metric?.key, "m..loss");
  assert.deepEqual(view.sorts, [{ key: "h.lr", descending: false }]);
  assert.deepEqual(view.columns.map(({ key }) => key), ["h.lr"]);
  assert.deepEqual(view.filters, []);
});

test("a scale is in the address only if it is not the default", () => {
  const lr = /** @type {any} */ (sweep.byKey.get("h.lr")); // 0.001 to 0.1: logarithmic
  assert.equal(withScale(undefined, lr, false), "h.lr,linear");
  assert.equal(withScale("h.lr,linear", lr, true), null);
});

test("a name is added or removed", () => {
  assert.deepEqual(parseLists(toggled(new Set(["a,b"]), "c") ?? ""), [["a,b", "c"]]);
  assert.equal(toggled(new Set(["c"]), "c"), null);
});

test("undeclared hyperparameters follow the declared ones, and undeclared metrics are hidden by default", () => {
  const extra = structuredClone(ANSWER);
  Object.assign(extra.header.hparams[0], { declared: false });
  Object.assign(extra.header.metrics[0], { declared: false });
  const beside = readSweep(extra);
  const keys = ["h.lr", "m.eval\\.1.acc"];
  assert.deepEqual(beside.columns.filter(({ isUndeclared }) => isUndeclared).map(({ key }) => key), [...keys, `at.${keys[1]}`]);

  const { columns, axes, metric } = parseView({}, beside);
  assert.equal(metric?.key, "m..loss");
  assert.deepEqual(columns.map(({ key }) => key), ["m..loss", "h.act", "h.seed", "h.lr", "status", "sessions"]);
  assert.deepEqual(axes.map(({ key }) => key), ["h.act", "h.lr", "m..loss"]);
  assert.deepEqual(parseView({ columns: formatLists([keys]) ?? "" }, beside).columns.map(({ key }) => key), keys);
  assert.equal(parseView({ metric: keys[1] }, beside).columns[0].key, keys[1]);

  // An experiment that declares no metrics hides none.
  extra.header.metrics.forEach((info) => Object.assign(info, { declared: false }));
  assert.ok(readSweep(extra).metrics.every(({ isUndeclared }) => !isUndeclared));
});

test("a constant metric is not the default", () => {
  /** @param {string} tag @param {number[]} values @param {boolean} isUndeclared */
  const metric = (tag, values, isUndeclared) => /** @type {any} */ ({ label: tag, cells: values, isUndeclared, isDeclared: !isUndeclared, metric: { group: "", tag } });
  const unused = metric("hp_metric", [-1, -1, -1], false);
  const loss = metric("val_loss", [0.3, 0.1, 0.2], true);
  assert.equal(defaultMetric([unused, loss]), loss);
  assert.equal(defaultMetric([metric("hp_metric", [0.3, 0.2, 0.1], false), loss])?.label, "hp_metric");
  assert.equal(defaultMetric([unused]), unused);
  // The first one that is declared, though the other one has a better name.
  assert.equal(defaultMetric([metric("size", [3, 2, 1], false), metric("val/acc", [1, 2, 3], false), loss])?.label, "size");
});

test("metrics that are declared come first, and those that nobody optimises last", () => {
  const extra = structuredClone(ANSWER);
  Object.assign(extra.header.metrics[0], { tag: "epoch", declared: false });
  const labels = () => readSweep(extra).metrics.map(({ label, index }) => [label, index]);
  assert.deepEqual(labels(), [["loss", 1], ["eval.1.epoch", 0]]);
  Object.assign(extra.header.experiment, { is_logged: true });
  extra.header.metrics.forEach((info) => Object.assign(info, { declared: true }));
  assert.deepEqual(labels(), [["eval.1.epoch", 0], ["loss", 1]]);
  const { metrics, sessionValues, columns } = readSweep(extra);
  assert.equal(defaultMetric(metrics)?.label, "loss"); // most rows have no epoch
  assert.deepEqual([...sessionValues[1].value], [1, NaN, 2, NaN]);
  assert.deepEqual(columns.slice(-4).map(({ key }) => key), ["m.eval\\.1.epoch", "at.m.eval\\.1.epoch", "m..loss", "at.m..loss"]);
});

test("best values over the steps replace last values for metrics with a known goal", () => {
  const answer = structuredClone(ANSWER);
  assert.equal(withBestValues(sweep, () => "min"), sweep); // best values were not requested
  const none = Float64Array.of(NaN, NaN, NaN, NaN);
  for (const [i, lowest, highest] of /** @type {const} */ ([[0, [0.25, NaN, NaN], [0.75, NaN, NaN]], [1, [0.5, 1.5, NaN], [2, 3, NaN]]])) {
    Object.assign(answer.tables[0], { [`m${i}.lowest`]: Float64Array.from(lowest), [`m${i}.highest`]: Float64Array.from(highest) });
    Object.assign(answer.tables[0], { [`m${i}.lowest_step`]: Float64Array.of(5, 6, 0), [`m${i}.highest_step`]: Float64Array.of(7, 8, 0) });
    Object.assign(answer.tables[1], { [`m${i}.lowest`]: none, [`m${i}.lowest_step`]: none, [`m${i}.highest`]: Float64Array.of(2, NaN, 3, NaN), [`m${i}.highest_step`]: Float64Array.of(7, NaN, 8, NaN) });
  }
  const asked = readSweep(answer);
  assert.deepEqual(asked.metrics.map(({ cells }) => cells), sweep.metrics.map(({ cells }) => cells));

  const best = withBestValues(asked, ({ label }) => (label === "loss" ? "max" : null));
  assert.deepEqual(best.metrics.map(({ key, label, extreme, title }) => [key, label, extreme, title]), [
    [asked.metrics[0].key, asked.metrics[0].label, undefined, undefined],
    ["m..loss", "loss (max)", "highest", "loss"],
  ]);
  assert.deepEqual(best.metrics[0].cells, asked.metrics[0].cells);
  assert.deepEqual(best.metrics[1].cells, [2, 3, null]);
  assert.deepEqual([...best.sessionValues[1].step], [7, NaN, 8, NaN]);
  assert.equal(best.sessionValues[0], asked.sessionValues[0]);
  assert.deepEqual(best.columns.slice(-2).map(({ key, label, cells }) => [key, label, cells]), [
    ["m..loss", "loss (max)", [2, 3, null]],
    ["at.m..loss", "loss (max) at step", [7, 8, null]],
  ]);
  assert.equal(best.columns.at(-2), best.byKey.get("m..loss"));
  assert.equal(best.columns.length, asked.columns.length);
  assert.equal(withBestValues(asked, () => "min").metrics[1].label, "loss (min)");
});

test("a column of mixed types has numbers and texts", () => {
  const mixed = structuredClone(ANSWER);
  mixed.header.hparams[2].nan = [1];
  mixed.header.strings[2] = ["NaN", null, null];
  Object.assign(mixed.tables[0], { h2: Float64Array.of(NaN, NaN, Infinity) });
  assert.deepEqual(readSweep(mixed).byKey.get("h.act")?.cells, ["NaN", NaN, Infinity]);
});

test("labels of columns with the same display name are unique", () => {
  const alike = structuredClone(ANSWER);
  for (const metric of alike.header.metrics) metric.display_name = "score";
  alike.header.hparams[0].display_name = "score";
  const { metrics, byKey, description } = readSweep(alike);
  assert.deepEqual(metrics.map(({ label }) => label), ["score (eval.1.acc)", "score (loss)"]);
  assert.equal(byKey.get("h.lr")?.label, "score");
  assert.equal(description, "a sweep");
});
