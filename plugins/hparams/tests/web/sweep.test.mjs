// The answer of the route `table` as columns, and what belongs to whom in it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLists, parseLists } from "../../../../tbcore/web/lib/name-lists.js";
import { bestRow, guessGoal, likelyMetric } from "../../tbcore_hparams/static/goals.js";
import { colorsOfRuns, readSweep, runOf, sessionOf, withBestValues } from "../../tbcore_hparams/static/sweep.js";
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
      "m0.sessions": Float64Array.of(2, 1, 0),
      m1: Float64Array.of(1, 2, NaN),
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

test("cells are what was logged: numbers, texts, booleans, NaN, and nothing where nothing was", () => {
  assert.deepEqual(cells("h.lr"), [0.1, 0.001, NaN]); // logged as NaN
  assert.deepEqual(cells("h.seed"), [0, 0, null]);
  assert.deepEqual(cells("h.act"), ["relu", true, null]);
  assert.deepEqual(cells("m.eval\\.1.acc"), [0.5, NaN, null]); // measured as NaN; not measured
  assert.deepEqual(cells("m..loss"), [1, 2, null]);
});

test("hyperparameters that differ come first, in the order of the experiment", () => {
  const hparams = sweep.columns.filter(({ kind }) => kind === "hparam");
  assert.deepEqual(hparams.map(({ label }) => label), ["lr", "Activation", "seed"]);
});

test("a row is named after its session where it has one, and a group by a short form of its hash", () => {
  assert.deepEqual(sweep.groups.map(({ label }) => label), ["f54fb9b9", "b", "c"]);
  assert.deepEqual(sweep.groups[0].sessions.map(({ name }) => name), ["a/0", "a/1"]);
});

test("status, start and duration of a row are of all its sessions", () => {
  assert.deepEqual(cells("status"), ["1 success, 1 failure", "no end logged", "running"]);
  assert.deepEqual(cells("start"), [50, null, 10]);
  assert.deepEqual(cells("duration"), [40, null, null]); // of 60 and 20; the last has no end yet
});

test("the run of a metric is the session's, or one below it", () => {
  assert.equal(runOf("exp/a", ""), "exp/a");
  assert.equal(runOf("exp/a", "eval"), "exp/a/eval");
  assert.equal(runOf(".", "eval/x"), "eval/x");
  assert.equal(runOf("exp", "/val/"), "exp/val");
});

test("a run belongs to the nearest session at it or above it", () => {
  const sessions = new Map([["a", 0], ["a/b", 0]]);
  assert.equal(sessionOf("a/b/train", sessions), "a/b");
  assert.equal(sessionOf("a/c", sessions), "a");
  assert.equal(sessionOf("ab", sessions), null);
  assert.equal(sessionOf("ab", new Map([[".", 0]])), ".");
});

test("a session is shown, in the colour of its own run, when it or a run below it is", () => {
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

test("names say whether little or much is good; the last word decides", () => {
  for (const name of ["loss", "val_loss", "epoch_loss", "test/mse", "score_error", "valLoss", "perplexity"]) assert.equal(guessGoal(name), "min", name);
  for (const name of ["hparam/accuracy", "val_acc", "mean_reward", "loss/top1", "F1", "ROC-AUC"]) assert.equal(guessGoal(name), "max", name);
  for (const name of ["epoch", "lossless", "weights/norm"]) assert.equal(guessGoal(name), null, name);
});

test("the metric to begin with has a goal and is measured on data held out", () => {
  assert.equal(likelyMetric(sweep.metrics)?.label, "loss"); // the other one is NaN in one of two rows
  assert.equal(likelyMetric([]), null);
});

test("NaN and what is missing is never the best, and a single value is not the best of anything", () => {
  const metric = /** @type {any} */ ({ cells: [0.5, NaN, null, 0.25, 0.75] });
  assert.equal(bestRow([0, 1, 2, 3, 4], metric, "min"), 3);
  assert.equal(bestRow([0, 1, 2, 3, 4], metric, "max"), 4);
  assert.equal(bestRow([0, 1, 2], metric, "max"), null);
  assert.equal(bestRow([0, 1], sweep.metrics[1], "max"), 1);
});

test("without settings the best row comes first, and the metric stands before what was varied", () => {
  const view = parseView({}, sweep);
  assert.deepEqual(view.sorts, [{ key: "m..loss", descending: false }]);
  assert.equal(view.isSorted, false);
  assert.deepEqual(view.columns.map(({ key }) => key).slice(0, 3), ["m..loss", "h.lr", "h.act"]);
  assert.deepEqual(view.axes.map(({ key }) => key), ["h.lr", "h.act", "m..loss"]);
  assert.deepEqual([...view.parts], ["parallel", "table"]);
});

test("settings that name what there is not are as if they were not there", () => {
  const view = parseView({ metric: "m..gone", sort: "h.gone,desc;h.lr", columns: "h.gone,h.lr", filter: "h.gone,in,1,2;h.lr,in,x,2", show: "pie" }, sweep);
  assert.equal(view.metric?.key, "m..loss");
  assert.deepEqual(view.sorts, [{ key: "h.lr", descending: false }]);
  assert.deepEqual(view.columns.map(({ key }) => key), ["h.lr"]);
  assert.deepEqual(view.filters, []);
});

test("an axis is written into the address only when it is not as it would be anyway", () => {
  const lr = /** @type {any} */ (sweep.byKey.get("h.lr")); // 0.001 to 0.1: logarithmic
  assert.equal(withScale(undefined, lr, false), "h.lr,linear");
  assert.equal(withScale("h.lr,linear", lr, true), null);
});

test("a name is put in or taken out", () => {
  assert.deepEqual(parseLists(toggled(new Set(["a,b"]), "c") ?? ""), [["a,b", "c"]]);
  assert.equal(toggled(new Set(["c"]), "c"), null);
});

test("what the experiment does not declare is there, and stands back", () => {
  const extra = structuredClone(ANSWER);
  Object.assign(extra.header.hparams[0], { declared: false });
  Object.assign(extra.header.metrics[0], { declared: false });
  const beside = readSweep(extra);
  const keys = ["h.lr", "m.eval\\.1.acc"];
  assert.deepEqual(beside.columns.filter(({ isExtra }) => isExtra).map(({ key }) => key), keys);

  const { columns, axes, metric } = parseView({}, beside);
  assert.equal(metric?.key, "m..loss");
  for (const shown of [columns, axes]) assert.ok(shown.every(({ isExtra }) => !isExtra));
  assert.deepEqual(parseView({ columns: formatLists([keys]) ?? "" }, beside).columns.map(({ key }) => key), keys);
  assert.equal(parseView({ metric: keys[1] }, beside).columns[0].key, keys[1]);

  // One that declares no metrics says nothing of which to show.
  extra.header.metrics.forEach((info) => Object.assign(info, { declared: false }));
  assert.ok(readSweep(extra).metrics.every(({ isExtra }) => !isExtra));
});

test("a metric that is the same everywhere is not what a sweep is about", () => {
  /** @param {string} tag @param {number[]} values @param {boolean} isExtra */
  const metric = (tag, values, isExtra) => /** @type {any} */ ({ label: tag, cells: values, isExtra, metric: { group: "", tag } });
  const unused = metric("hp_metric", [-1, -1, -1], false);
  const loss = metric("val_loss", [0.3, 0.1, 0.2], true);
  assert.equal(likelyMetric([unused, loss]), loss);
  assert.equal(likelyMetric([metric("hp_metric", [0.3, 0.2, 0.1], false), loss])?.label, "hp_metric");
  assert.equal(likelyMetric([unused]), unused);
});

test("the best value over the steps stands for the last one where it is known what is better", () => {
  const answer = structuredClone(ANSWER);
  assert.equal(withBestValues(sweep, () => "min"), sweep); // nobody has asked for these values
  const none = Float64Array.of(NaN, NaN, NaN, NaN);
  for (const [i, lowest, highest] of /** @type {const} */ ([[0, [0.25, NaN, NaN], [0.75, NaN, NaN]], [1, [0.5, 1.5, NaN], [2, 3, NaN]]])) {
    Object.assign(answer.tables[0], { [`m${i}.lowest`]: Float64Array.from(lowest), [`m${i}.highest`]: Float64Array.from(highest) });
    Object.assign(answer.tables[1], { [`m${i}.lowest`]: none, [`m${i}.lowest_step`]: none, [`m${i}.highest`]: Float64Array.of(2, NaN, 3, NaN), [`m${i}.highest_step`]: Float64Array.of(7, NaN, 8, NaN) });
  }
  const asked = readSweep(answer);
  assert.deepEqual(asked.metrics.map(({ cells }) => cells), sweep.metrics.map(({ cells }) => cells));

  const best = withBestValues(asked, ({ label }) => (label === "loss" ? "max" : null));
  assert.deepEqual(best.metrics.map(({ key, label, of, title }) => [key, label, of, title]), [
    [asked.metrics[0].key, asked.metrics[0].label, undefined, undefined],
    ["m..loss", "loss (max)", "highest", "loss"],
  ]);
  assert.deepEqual(best.metrics[0].cells, asked.metrics[0].cells);
  assert.deepEqual(best.metrics[1].cells, [2, 3, null]);
  assert.deepEqual([...best.ofSessions[1].step], [7, NaN, 8, NaN]);
  assert.equal(best.ofSessions[0], asked.ofSessions[0]);
  assert.equal(best.columns.at(-1), best.byKey.get("m..loss"));
  assert.equal(best.columns.length, asked.columns.length);
  assert.equal(withBestValues(asked, () => "min").metrics[1].label, "loss (min)");
});

test("a column of mixed types has numbers beside texts", () => {
  const mixed = structuredClone(ANSWER);
  mixed.header.hparams[2].nan = [1];
  mixed.header.strings[2] = ["NaN", null, null];
  Object.assign(mixed.tables[0], { h2: Float64Array.of(NaN, NaN, Infinity) });
  assert.deepEqual(readSweep(mixed).byKey.get("h.act")?.cells, ["NaN", NaN, Infinity]);
});

test("what is called the same is told apart", () => {
  const alike = structuredClone(ANSWER);
  for (const metric of alike.header.metrics) metric.display_name = "score";
  alike.header.hparams[0].display_name = "score";
  const { metrics, byKey, description } = readSweep(alike);
  assert.deepEqual(metrics.map(({ label }) => label), ["score (eval.1.acc)", "score (loss)"]);
  assert.equal(byKey.get("h.lr")?.label, "score");
  assert.equal(description, "a sweep");
});
