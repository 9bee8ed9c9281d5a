// Lines are fetched once, again when their run changed, and in parts only where a part shows more.

import assert from "node:assert/strict";
import { test } from "node:test";
import { groupOf, groupsOf, knownLines, loadBands, loadLines, pixelsFor, questionOf, shortView } from "../../tbcore_scalars/static/feed.js";
import { LinesStore, covers, isWhole } from "../../tbcore_scalars/static/lines-store.js";
import { formatLists, parseLists } from "../../../../tbcore/web/lib/name-lists.js";
import { OPTIONS as ALL } from "../../tbcore_scalars/static/options.js";

const { signal } = new AbortController();
const OPTIONS = ALL.parse({});

/**
 * An answer as the server writes it.
 * @param {object} header
 * @param {Record<string, number[]>[]} tables
 */
function answerOf(header, tables) {
  const shapes = tables.map((table) => ({ rows: Object.values(table)[0]?.length ?? 0, columns: Object.keys(table) }));
  let text = JSON.stringify({ header, tables: shapes });
  text += " ".repeat((8 - ((4 + text.length) % 8)) % 8);
  const numbers = Float64Array.from(tables.flatMap((table) => Object.values(table).flat()));
  const bytes = new Uint8Array(4 + text.length + numbers.byteLength);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(new TextEncoder().encode(text), 4);
  bytes.set(new Uint8Array(numbers.buffer), 4 + text.length);
  return bytes.buffer;
}

/**
 * A server that has `counts[run]` points of every tag, and sends at most 4 of them.
 * @param {Record<string, number>} counts
 * @param {any[]} asked
 * @param {Record<string, string>} generations
 */
function serverOf(counts, asked, generations = {}) {
  return async (/** @type {any} */ body) => {
    asked.push(body);
    const runs = body.runs.filter((/** @type {string} */ run) => run in counts);
    const tables = [];
    const entries = [];
    for (const run of runs) {
      const generation = generations[run] ?? "1";
      const unchanged = body.known[run] === generation;
      const step = Array.from({ length: counts[run] }, (_, i) => i).filter((i) => body.from === null || (i >= body.from && i <= body.to));
      const sent = step.length > 4 ? [step[0], step[1], step[2], step[step.length - 1]] : step;
      const columns = { step: sent, wall_time: sent.map((i) => 100 + i), value: sent.map((i) => i / 2) };
      tables.push(unchanged ? {} : body.smoothing > 0 ? { ...columns, smoothed: sent.map(() => 7) } : columns);
      entries.push(
        unchanged
          ? { run, generation, unchanged }
          : { run, generation, unchanged, num_points: counts[run], num_inside: step.length, num_shown: sent.length, start_time: 100, segments: [0] },
      );
    }
    return answerOf({ runs: entries }, tables);
  };
}

test("only runs that changed are asked for again, and old rows stay until then", async () => {
  /** @type {any[]} */
  const asked = [];
  const store = new LinesStore(serverOf({ a: 3, b: 3 }, asked));
  const question = questionOf("loss", OPTIONS, null, 300);
  /** @type {Record<string, string>} */
  const seen = { a: "x", b: "x" };
  const load = () => store.load(question, ["a", "b"], (run) => seen[run], signal, () => {});
  await load();
  await load();
  assert.deepEqual(asked.map(({ runs }) => runs), [["a", "b"]]);
  seen.b = "y";
  const before = store.get(question, "b");
  const loading = load();
  assert.equal(store.get(question, "b"), before);
  await loading;
  assert.deepEqual(asked[1].runs, ["b"]);
  assert.deepEqual(asked[1].known, { b: "1" }); // and the server says that nothing changed:
  assert.equal(store.get(question, "b"), before);
  await load();
  assert.equal(asked.length, 2);
});

test("a run that is gone is forgotten", async () => {
  /** @type {Record<string, number>} */
  const counts = { a: 3 };
  const store = new LinesStore(serverOf(counts, []));
  const question = questionOf("loss", OPTIONS, null, 300);
  await store.load(question, ["a"], () => "1", signal, () => {});
  delete counts.a;
  await store.load(question, ["a"], () => "2", signal, () => {});
  assert.equal(store.get(question, "a"), undefined);
});

test("a chart that grows keeps its rows until there are more of them, and smaller ones use these", async () => {
  /** @type {any[]} */
  const asked = [];
  const store = new LinesStore(serverOf({ short: 3, long: 100 }, asked));
  const load = (/** @type {number} */ pixels) => store.load(questionOf("loss", OPTIONS, null, pixels), ["short", "long"], () => "1", signal, () => {});
  await load(500);
  const few = store.get(questionOf("loss", OPTIONS, null, 1500), "long");
  const growing = load(1500);
  assert.ok(few && store.get(questionOf("loss", OPTIONS, null, 1500), "long") === few);
  await growing;
  assert.deepEqual(asked.map(({ runs, pixels, known }) => [runs, pixels, known]), [[["short", "long"], 500, {}], [["long"], 1500, {}]]);
  const many = store.get(questionOf("loss", OPTIONS, null, 1500), "long");
  assert.notEqual(many, few);
  await load(500);
  assert.equal(asked.length, 2);
  assert.equal(store.get(questionOf("loss", OPTIONS, null), "long"), many);
});

test("an answer for fewer pixels that comes late does not replace one for more", async () => {
  /** @type {Map<number, () => void>} */
  const answer = new Map();
  const server = serverOf({ long: 100 }, []);
  const store = new LinesStore(async (/** @type {any} */ body) => {
    await new Promise((done) => answer.set(body.pixels, () => done(null)));
    return server(body);
  });
  const ask = (/** @type {number} */ pixels) => questionOf("loss", OPTIONS, null, pixels);
  const loads = [500, 1500].map((pixels) => store.load(ask(pixels), ["long"], () => "1", signal, () => {}));
  answer.get(1500)?.();
  await loads[1];
  const many = store.get(ask(1500), "long");
  answer.get(500)?.();
  await loads[0];
  assert.equal(many?.pixels, 1500);
  assert.equal(store.get(ask(500), "long"), many);
});

test("a view is kept in as many digits as tell its places apart", () => {
  assert.deepEqual(shortView([123.4567891234, 987.6543219876]), [123.457, 987.654]);
  assert.deepEqual(shortView([0.00123456789, 1e6 / 3]), [0.00123457, 333333]); // on a logarithmic axis
  assert.deepEqual(shortView([1.7e9 + 1 / 3, 1.7e9 + 0.5]), [1700000000.33333, 1700000000.5]);
  assert.deepEqual(shortView([-1.0000001, 1]), [-1, 1]);
  assert.equal(shortView(null), null);
});

test("the pixels asked for come in steps", () => {
  assert.deepEqual([0, 300, 501, 750, 751].map(pixelsFor), [500, 500, 750, 750, 1000]);
});

test("a failure keeps what was there, says why, and is tried again", async () => {
  let fails = false;
  let numAsked = 0;
  const good = serverOf({ a: 2 }, []);
  const store = new LinesStore(async (body) => {
    numAsked++;
    if (fails) throw new Error("503 busy");
    return good(body);
  });
  const question = questionOf("loss", OPTIONS, null, 300);
  await store.load(question, ["a"], () => "1", signal, () => {});
  fails = true;
  await assert.rejects(store.load(question, ["a"], () => "2", signal, () => {}), /503 busy/);
  assert.equal(store.get(question, "a")?.value.length, 2);
  await assert.rejects(store.load(question, ["a"], () => "2", signal, () => {}), /503 busy/);
  assert.equal(numAsked, 3);
});

test("many runs come in several answers", async () => {
  const runs = Array.from({ length: 250 }, (_, i) => `r${i}`);
  /** @type {any[]} */
  const asked = [];
  const store = new LinesStore(serverOf(Object.fromEntries(runs.map((run) => [run, 1])), asked));
  let numChanges = 0;
  await store.load(questionOf("t", OPTIONS, null, 1), runs, () => "1", signal, () => numChanges++);
  assert.deepEqual(asked.map((body) => body.runs.length), [100, 100, 50]);
  assert.equal(numChanges, 3);
});

test("zooming asks for the rows of long runs alone, and shows what it has meanwhile", async () => {
  /** @type {any[]} */
  const asked = [];
  const store = new LinesStore(serverOf({ short: 4, long: 100 }, asked));
  const run = (/** @type {string} */ name) => ({ name, color: "#000000", group: null });
  const parts = [{ tag: "loss", runs: [run("short"), run("long")] }];
  const load = (/** @type {any} */ view) => loadLines(store, parts, OPTIONS, view, 300, () => "1", signal, () => {});
  await load(null);
  const all = knownLines(store, parts, OPTIONS, [null]);
  assert.deepEqual([all.numShown, all.numInside], [8, 104]);
  await load([10, 12]);
  assert.deepEqual(asked.map(({ runs, from, to }) => [runs, from, to]), [[["short", "long"], null, null], [["long"], 10, 12]]);
  const part = knownLines(store, parts, OPTIONS, [[10, 12], null]);
  assert.deepEqual([...part.lines[1].step], [10, 11, 12]);
  assert.equal(part.lines[0].step.length, 4);
  const next = knownLines(store, parts, OPTIONS, [[11, 13], [10, 12], null]);
  assert.deepEqual([...next.lines[1].step], [10, 11, 12]); // until the rows of the new view are there
  const out = knownLines(store, parts, OPTIONS, [[0, 50], [10, 12], null]);
  assert.deepEqual([...out.lines[1].step], [0, 1, 2, 99]); // those of everything, rather than a part of the view
  assert.deepEqual([...(next.lines[1].overview?.step ?? [])], [0, 1, 2, 99]); // what there is to see when zooming out
  assert.equal(next.lines[0].overview, undefined);
  assert.equal(isWhole(/** @type {any} */ (store.get(questionOf("loss", OPTIONS, null, 300), "short"))), true);
});

test("what was fetched for a view reaches half as far again", () => {
  assert.ok(covers([10, 20], [5, 25], "linear"));
  assert.ok(!covers([10, 20], [4, 25], "linear"));
  assert.ok(!covers([10, 20], [5, 25], "linear", 0));
  assert.ok(covers([10, 1000], [1.001, 9999], "log"));
  assert.ok(!covers([10, 1000], [0.9, 100], "log"));
  assert.ok(covers(null, [1, 2], "linear") && covers(null, null, "linear"));
  assert.ok(!covers([1, 2], null, "linear"));
});

test("short series are smoothed in the page, long ones by the server", async () => {
  /** @type {any[]} */
  const asked = [];
  const store = new LinesStore(serverOf({ short: 3, long: 100 }, asked));
  const ask = (/** @type {number} */ smooth) => questionOf("t", { ...OPTIONS, smooth }, null, 300);
  const load = (/** @type {number} */ smooth) => store.load(ask(smooth), ["short", "long"], () => "1", signal, () => {});
  await load(0);
  await load(0.5);
  assert.deepEqual(asked.map(({ runs, smoothing }) => [runs, smoothing]), [[["short", "long"], 0], [["long"], 0.5]]);
  const short = store.get(ask(0.5), "short");
  assert.deepEqual([...(short?.smoothed ?? [])].map((value) => value.toFixed(4)), ["0.0000", "0.3333", "0.7143"]);
  assert.deepEqual([...(store.get(ask(0.5), "long")?.smoothed ?? [])], [7, 7, 7, 7]);
});

test("several tags in one chart have names and dashes of their own", async () => {
  const store = new LinesStore(serverOf({ a: 2 }, []));
  const runs = [{ name: "a", color: "#123456", group: null }];
  const parts = [{ tag: "loss", runs }, { tag: "val", runs }];
  await loadLines(store, parts, OPTIONS, null, 300, () => "1", signal, () => {});
  const { lines } = knownLines(store, parts, OPTIONS, [null]);
  assert.deepEqual(lines.map((line) => [line.name, line.run, line.dash]), [["a · loss", "a", undefined], ["a · val", "a", [6, 3]]]);
});

test("a run that is alone in its group is a line, and the others are groups", () => {
  const run = (/** @type {string} */ name, /** @type {string | null} */ group) => ({ name, color: "#123456", group });
  const runs = [run("a1", "a"), run("b1", "b"), run("a2", "a"), run("c", null)];
  const { groups, single } = groupsOf({ tag: "loss", runs });
  assert.deepEqual(groups, [{ name: "a", color: "#123456", runs: [runs[0], runs[2]] }]);
  assert.deepEqual(single, { tag: "loss", runs: [runs[1], runs[3]] });
});

test("bands of several tags have keys, names and dashes of their own, and say what they leave out", async () => {
  /** @type {any[]} */
  const asked = [];
  const host = {
    async fetch(/** @type {string} */ path, /** @type {any} */ init) {
      const body = JSON.parse(init.body);
      asked.push([path, body.tag, body.groups]);
      const groups = Object.keys(body.groups).map((group) => ({ group, num_runs: 2, num_inside: 900, reduced: body.tag === "loss" }));
      const columns = { x: [1, 2], mean: [1, 2], low: [0, 1], high: [2, 3], count: [2, 1], nonfinite: [0, 1] };
      return new Response(answerOf({ groups }, groups.map(() => columns)));
    },
  };
  const runs = ["s1", "s2"].map((name) => ({ name, color: "#123456", group: "10" }));
  const parts = ["loss", "val", "rare"].map((tag) => ({ tag, groups: tag === "rare" ? [] : [{ name: "10", color: "#123456", runs }] }));
  const { bands, numShown, numInside } = await loadBands(/** @type {any} */ (host), parts, OPTIONS, null, 300, signal);
  assert.deepEqual(asked, ["loss", "val"].map((tag) => ["bands", tag, { 10: ["s1", "s2"] }]));
  assert.deepEqual(bands.map(({ name, dash }) => [name, dash]), [["10 · loss", undefined], ["10 · val", [6, 3]]]);
  assert.deepEqual(bands.map(groupOf), ["10", "10"]);
  assert.notEqual(bands[0].key, bands[1].key);
  assert.deepEqual(bands.map(({ numRuns, nonfinite }) => [numRuns, [...(nonfinite ?? [])]]), [[2, [0, 1]], [2, [0, 1]]]);
  assert.deepEqual([numShown, numInside], [2, 900]); // only the tag that is reduced
});

test("members of the group that is pointed at are faint and not counted", async () => {
  const store = new LinesStore(serverOf({ a1: 100, b: 100 }, []));
  const runs = [{ name: "a1", color: "#123456", group: "a" }, { name: "b", color: "#654321", group: "b" }];
  const parts = [{ tag: "loss", runs }];
  await loadLines(store, parts, OPTIONS, null, 300, () => "1", signal, () => {});
  const shown = knownLines(store, parts, OPTIONS, [null], "a");
  assert.deepEqual(shown.lines.map(({ name, faint }) => [name, faint]), [["a1", true], ["b", false]]);
  assert.deepEqual([shown.numShown, shown.numInside], [4, 100]);
});

test("options of the address, and what is wrong in it", () => {
  assert.equal(ALL.parse({ x: "wall_time", smooth: "0.6", logY: "true", size: "huge" }).x, "wall_time");
  assert.deepEqual(ALL.parse({ x: "sideways", smooth: "-3", logY: "yes", size: "huge" }), OPTIONS);
  assert.equal(ALL.parse({ smooth: "7" }).smooth, 0.999);
});

test("lists of tags in the address, whatever the tags are called", () => {
  const lists = [["a,b;c", "d/e"], ["ü &%", "~1", "%2F!"]];
  assert.deepEqual(parseLists(formatLists(lists) ?? ""), lists);
  assert.equal(formatLists([[]]), null);
  assert.equal(formatLists([["train/loss a"]]), "train/loss a"); // the address encodes what it must, once
  assert.deepEqual(parseLists("train%2Floss%2C,b"), [["train/loss,", "b"]]); // as older links have it
  assert.deepEqual(parseLists(undefined), []);
});
