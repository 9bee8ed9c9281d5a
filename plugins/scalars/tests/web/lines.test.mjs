// Lines are fetched once, again when their run changed, and for a view only if that shows more
// points.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLists, parseLists } from "../../../../tbcore/web/text-names.js";
import { endedBand, groupNotes, groupOfBand, loadBands, splitByGroup } from "../../tbcore_scalars/static/bands.js";
import { drawnCSV } from "../../tbcore_scalars/static/downloads.js";
import { OPTIONS as ALL } from "../../tbcore_scalars/static/index.js";
import { LinesStore, cachedLines, covers, hasAllPoints, loadLines, pixelsFor, queryFor, roundView, yAxisOf } from "../../tbcore_scalars/static/lines.js";
import { endsOfAll, refusalOf } from "../../tbcore_scalars/static/own-axis.js";

const { signal } = new AbortController();
const OPTIONS = ALL.parse({});

/**
 * A host that sends the bodies of requests to a server.
 * @param {(body: any) => Promise<ArrayBuffer>} server
 * @param {(run: string) => string} [generationOf]
 */
function hostOf(server, generationOf = () => "1") {
  const fetch = async (/** @type {string} */ path, /** @type {any} */ init) => {
    assert.equal(path, "window");
    return new Response(await server(JSON.parse(init.body)));
  };
  return /** @type {any} */ ({ fetch, generations: { value: { of: generationOf } } });
}

/**
 * Encodes a response as the server does.
 * @param {object} header
 * @param {Record<string, number[]>[]} tables
 */
function encodeResponse(header, tables) {
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
 * A server with `counts[run]` points of every tag, of which it sends at most 4.
 * @param {Record<string, number>} counts
 * @param {any[]} requests
 * @param {Record<string, string>} generations
 */
function fakeServer(counts, requests, generations = {}) {
  return async (/** @type {any} */ body) => {
    requests.push(body);
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
          : { run, generation, known: generation, unchanged, num_points: counts[run], num_inside: step.length, num_shown: sent.length, start_time: 100, segments: [0] },
      );
    }
    return encodeResponse({ runs: entries }, tables);
  };
}

test("only changed runs are requested again, and old rows stay until they arrive", async () => {
  /** @type {any[]} */
  const requests = [];
  /** @type {Record<string, string>} */
  const seen = { a: "x", b: "x" };
  const store = new LinesStore(hostOf(fakeServer({ a: 3, b: 3 }, requests), (run) => seen[run]));
  const query = queryFor("loss", OPTIONS, null, 300);
  const load = () => store.load(query, ["a", "b"], signal, () => {});
  await load();
  await load();
  assert.deepEqual(requests.map(({ runs }) => runs), [["a", "b"]]);
  seen.b = "y";
  const before = store.get(query, "b");
  const loading = load();
  assert.equal(store.get(query, "b"), before);
  await loading;
  assert.deepEqual(requests[1].runs, ["b"]);
  assert.deepEqual(requests[1].known, { b: "1" }); // and the server responds that nothing changed:
  assert.equal(store.get(query, "b"), before);
  await load();
  assert.equal(requests.length, 2);
});

/**
 * A server that sends only what a run has more than a client that knows it, two points in each
 * generation, and smoothed values that say in which generation they were sent.
 * @param {{ generation: number }} state
 * @param {Promise<void>[]} waits  for each request, what its response waits for
 */
function growingServer(state, waits = []) {
  return async (/** @type {any} */ body) => {
    const { generation } = state;
    await waits.shift();
    const first = body.known.a ? 2 * Number(body.known.a) : 0;
    const step = Array.from({ length: 2 * generation - first }, (_, i) => first + i);
    const table = { step, wall_time: step.map((i) => 100 + i), value: step.map((i) => i / 2), smoothed: step.map(() => generation) };
    if (!body.smoothing) Reflect.deleteProperty(table, "smoothed");
    const counts = { num_points: 2 * generation, num_inside: 2 * generation, num_shown: step.length };
    const entry = { run: "a", generation: String(generation), known: String(generation), unchanged: false, is_tail: first > 0, ...counts, segments: first === 4 ? [1] : first ? [] : [0] };
    return encodeResponse({ runs: [{ ...entry, start_time: 100 }] }, [table]);
  };
}

test("the points that a run got are appended to its rows", async () => {
  const state = { generation: 1 };
  const store = new LinesStore(hostOf(growingServer(state), () => String(state.generation)));
  const query = queryFor("loss", { ...OPTIONS, smooth: 0.5 }, null, 300);
  for (; state.generation < 4; state.generation++) await store.load(query, ["a"], signal, () => {});
  const rows = store.get(query, "a");
  assert.deepEqual(rows && [...rows.step], [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(rows && [...rows.wallTime], [100, 101, 102, 103, 104, 105]);
  assert.deepEqual(rows && [...rows.value], [0, 0.5, 1, 1.5, 2, 2.5]);
  assert.deepEqual(rows && [...(rows.smoothed ?? [])], [1, 1, 2, 2, 3, 3]);
  assert.deepEqual(rows?.segments, [0, 5]);
  assert.deepEqual([rows?.numPoints, rows?.numInside, rows?.numShown, rows?.startTime], [6, 6, 6, 100]);
});

test("points are appended once if two charts ask at the same time, and smoothed again if that has changed", async () => {
  const state = { generation: 1 };
  /** @type {Promise<void>[]} */
  const waits = [];
  const store = new LinesStore(hostOf(growingServer(state, waits), () => String(state.generation)));
  const query = queryFor("loss", { ...OPTIONS, smooth: 0.5 }, null, 300);
  const load = () => store.load(query, ["a"], signal, () => {});
  await load();
  state.generation = 2;
  await Promise.all([load(), load()]);
  assert.deepEqual([...(store.get(query, "a")?.step ?? [])], [0, 1, 2, 3]);

  state.generation = 3;
  let respond = () => {};
  waits.push(new Promise((done) => (respond = done)));
  const loading = load();
  const smoother = queryFor("loss", { ...OPTIONS, smooth: 0.9 }, null, 300);
  assert.equal(store.get(smoother, "a")?.smoothing, "exponential 0.9"); // smoothed in the page
  respond();
  await loading;
  const { smoothed, smoothing, value } = store.get(smoother, "a") ?? {};
  assert.deepEqual([smoothed?.length, value?.length, smoothing], [6, 6, "exponential 0.9"]);
});

test("rows of a deleted run are dropped", async () => {
  /** @type {Record<string, number>} */
  const counts = { a: 3 };
  let generation = "1";
  const store = new LinesStore(hostOf(fakeServer(counts, []), () => generation));
  const query = queryFor("loss", OPTIONS, null, 300);
  await store.load(query, ["a"], signal, () => {});
  delete counts.a;
  generation = "2";
  await store.load(query, ["a"], signal, () => {});
  assert.equal(store.get(query, "a"), undefined);
});

test("a chart that grows keeps its rows until finer ones arrive, and smaller charts use those too", async () => {
  /** @type {any[]} */
  const requests = [];
  const store = new LinesStore(hostOf(fakeServer({ short: 3, long: 100 }, requests)));
  const load = (/** @type {number} */ pixels) => store.load(queryFor("loss", OPTIONS, null, pixels), ["short", "long"], signal, () => {});
  await load(500);
  const few = store.get(queryFor("loss", OPTIONS, null, 1500), "long");
  const growing = load(1500);
  assert.ok(few && store.get(queryFor("loss", OPTIONS, null, 1500), "long") === few);
  await growing;
  assert.deepEqual(requests.map(({ runs, pixels, known }) => [runs, pixels, known]), [[["short", "long"], 500, {}], [["long"], 1500, {}]]);
  const many = store.get(queryFor("loss", OPTIONS, null, 1500), "long");
  assert.notEqual(many, few);
  await load(500);
  assert.equal(requests.length, 2);
  assert.equal(store.get(queryFor("loss", OPTIONS, null), "long"), many);
});

test("a late response for fewer pixels does not replace one for more", async () => {
  /** @type {Map<number, () => void>} */
  const respond = new Map();
  const server = fakeServer({ long: 100 }, []);
  const answer = async (/** @type {any} */ body) => {
    await new Promise((done) => respond.set(body.pixels, () => done(null)));
    return server(body);
  };
  const store = new LinesStore(hostOf(answer));
  const queryOf = (/** @type {number} */ pixels) => queryFor("loss", OPTIONS, null, pixels);
  const loads = [500, 1500].map((pixels) => store.load(queryOf(pixels), ["long"], signal, () => {}));
  respond.get(1500)?.();
  await loads[1];
  const many = store.get(queryOf(1500), "long");
  respond.get(500)?.();
  await loads[0];
  assert.equal(many?.pixels, 1500);
  assert.equal(store.get(queryOf(500), "long"), many);
});

test("a view is rounded to the digits that distinguish positions in it", () => {
  assert.deepEqual(roundView([123.4567891234, 987.6543219876]), [123.457, 987.654]);
  assert.deepEqual(roundView([0.00123456789, 1e6 / 3]), [0.00123457, 333333]); // on a logarithmic axis
  assert.deepEqual(roundView([1.7e9 + 1 / 3, 1.7e9 + 0.5]), [1700000000.33333, 1700000000.5]);
  assert.deepEqual(roundView([-1.0000001, 1]), [-1, 1]);
  assert.equal(roundView(null), null);
});

test("the requested width is rounded up in steps", () => {
  assert.deepEqual([0, 300, 501, 750, 751].map(pixelsFor), [500, 500, 750, 750, 1000]);
});

test("after a failure old rows stay, the error is reported, and the request is retried", async () => {
  let fails = false;
  let numRequests = 0;
  const good = fakeServer({ a: 2 }, []);
  let generation = "1";
  const answer = async (/** @type {any} */ body) => {
    numRequests++;
    if (fails) throw new Error("503 busy");
    return good(body);
  };
  const store = new LinesStore(hostOf(answer, () => generation));
  const query = queryFor("loss", OPTIONS, null, 300);
  await store.load(query, ["a"], signal, () => {});
  fails = true;
  generation = "2";
  await assert.rejects(store.load(query, ["a"], signal, () => {}), /503 busy/);
  assert.equal(store.get(query, "a")?.value.length, 2);
  await assert.rejects(store.load(query, ["a"], signal, () => {}), /503 busy/);
  assert.equal(numRequests, 3);
});

test("many runs are fetched in several requests", async () => {
  const runs = Array.from({ length: 250 }, (_, i) => `r${i}`);
  /** @type {any[]} */
  const requests = [];
  const store = new LinesStore(hostOf(fakeServer(Object.fromEntries(runs.map((run) => [run, 1])), requests)));
  let numChanges = 0;
  await store.load(queryFor("t", OPTIONS, null, 1), runs, signal, () => numChanges++);
  assert.deepEqual(requests.map((body) => body.runs.length), [100, 100, 50]);
  assert.equal(numChanges, 3);
});

test("the rows of shown charts are kept, and those of others dropped, the least recently used first", async () => {
  const numRows = 1_100_000; // the cache has room for twice as many
  const column = new Array(numRows).fill(1);
  const entry = { run: "a", generation: "1", segments: [0], num_points: numRows, num_inside: numRows, num_shown: numRows };
  const response = encodeResponse({ runs: [entry] }, [{ step: column, wall_time: column, value: column }]);
  const store = new LinesStore(hostOf(async () => response));
  const queries = ["shown", "first", "second", "third"].map((tag) => queryFor(tag, OPTIONS, null, 300));
  const [shown, ...others] = queries;
  const release = store.retain([shown]);
  const namesOfKept = () => queries.filter((query) => store.get(query, "a")).map(({ tag }) => tag);
  for (const query of [shown, ...others]) await store.load(query, ["a"], signal, () => {});
  assert.deepEqual(namesOfKept(), ["shown", "second", "third"]);
  release();
  await store.load(others[0], ["a"], signal, () => {});
  assert.deepEqual(namesOfKept(), ["first", "third"]);
});

test("zooming fetches rows of long runs only, and shows cached rows until they arrive", async () => {
  /** @type {any[]} */
  const requests = [];
  const store = new LinesStore(hostOf(fakeServer({ short: 4, long: 100 }, requests)));
  const run = (/** @type {string} */ name) => ({ name, color: "#000000", group: null });
  const parts = [{ tag: "loss", runs: [run("short"), run("long")] }];
  const load = (/** @type {any} */ view) => loadLines(store, parts, OPTIONS, view, 300, signal, () => {});
  await load(null);
  const all = cachedLines(store, parts, OPTIONS, [null]);
  assert.equal(all.isReduced, true);
  await load([10, 12]);
  assert.deepEqual(requests.map(({ runs, from, to }) => [runs, from, to]), [[["short", "long"], null, null], [["long"], 10, 12]]);
  const part = cachedLines(store, parts, OPTIONS, [[10, 12], null]);
  assert.deepEqual([...part.lines[1].step], [10, 11, 12]);
  assert.equal(part.isReduced, false); // all points of the view
  assert.equal(part.lines[0].step.length, 4);
  const next = cachedLines(store, parts, OPTIONS, [[11, 13], [10, 12], null]);
  assert.deepEqual([...next.lines[1].step], [10, 11, 12]); // until the rows of the new view arrive
  const out = cachedLines(store, parts, OPTIONS, [[0, 50], [10, 12], null]);
  assert.deepEqual([...out.lines[1].step], [0, 1, 2, 99]); // the rows of the whole series, rather than of a part of the view
  assert.deepEqual([...(next.lines[1].overview?.step ?? [])], [0, 1, 2, 99]); // the full extent, for zooming out
  assert.equal(next.lines[0].overview, undefined);
  assert.equal(hasAllPoints(/** @type {any} */ (store.get(queryFor("loss", OPTIONS, null, 300), "short"))), true);
});

test("rows fetched for a view reach half its width beyond each edge", () => {
  assert.ok(covers([10, 20], [5, 25], ""));
  assert.ok(!covers([10, 20], [4, 25], ""));
  assert.ok(!covers([10, 20], [5, 25], "", 0));
  assert.ok(covers([10, 1000], [1.001, 9999], "true"));
  assert.ok(!covers([10, 1000], [0.9, 100], "true"));
  assert.ok(covers([-1000, 1000], [-9e5, 9e5], "symlog"));
  assert.ok(!covers([-1000, 1000], [-2e6, 0], "symlog"));
  assert.ok(covers(null, [1, 2], "") && covers(null, null, ""));
  assert.ok(!covers([1, 2], null, ""));
});

test("short series are smoothed in the page, long ones by the server", async () => {
  /** @type {any[]} */
  const requests = [];
  const store = new LinesStore(hostOf(fakeServer({ short: 3, long: 100 }, requests)));
  const queryOf = (/** @type {number} */ smooth) => queryFor("t", { ...OPTIONS, smooth }, null, 300);
  const load = (/** @type {number} */ smooth) => store.load(queryOf(smooth), ["short", "long"], signal, () => {});
  await load(0);
  await load(0.5);
  assert.deepEqual(requests.map(({ runs, smoothing }) => [runs, smoothing]), [[["short", "long"], 0], [["long"], 0.5]]);
  const short = store.get(queryOf(0.5), "short");
  assert.deepEqual([...(short?.smoothed ?? [])].map((value) => value.toFixed(4)), ["0.0000", "0.3333", "0.7143"]);
  assert.deepEqual([...(store.get(queryOf(0.5), "long")?.smoothed ?? [])], [7, 7, 7, 7]);
});

test("tags that share a chart have different line names and dashes", async () => {
  const store = new LinesStore(hostOf(fakeServer({ a: 2 }, [])));
  const runs = [{ name: "a", color: "#123456", group: null }];
  const parts = [{ tag: "loss", runs }, { tag: "val", runs }];
  await loadLines(store, parts, OPTIONS, null, 300, signal, () => {});
  const { lines } = cachedLines(store, parts, OPTIONS, [null]);
  assert.deepEqual(lines.map((line) => [line.name, line.run, line.dash]), [["a · loss", "a", undefined], ["a · val", "a", [6, 3]]]);
});

test("a run that is alone in its group is a line, and all others form groups", () => {
  const run = (/** @type {string} */ name, /** @type {string | null} */ group) => ({ name, color: "#123456", group });
  const runs = [run("a1", "a"), run("b1", "b"), run("a2", "a"), run("c", null)];
  const { groups, alone } = splitByGroup({ tag: "loss", runs });
  assert.deepEqual(groups, [{ name: "a", color: "#123456", runs: [runs[0], runs[2]] }]);
  assert.deepEqual(alone, [runs[1], runs[3]]);
});

test("a band ends before the first of its runs ends, also in a view", () => {
  const columns = (/** @type {number[]} */ x, /** @type {number[]} */ count) => {
    const numbers = Float64Array.from(x);
    return { name: "10", key: "10", color: "#000000", x: numbers, mean: numbers, low: numbers, high: numbers, count: Float64Array.from(count) };
  };
  const whole = endedBand(columns([0, 1, 2, 3, 4], [2, 3, 3, 2, 3]));
  assert.deepEqual([whole.x, whole.mean, whole.count, whole.nonfinite].map((column) => column && [...column]), [[0, 1, 2], [0, 1, 2], [2, 3, 3], undefined]);
  assert.deepEqual([...endedBand(columns([1.5, 2, 2.5], [3, 3, 2]), [whole]).x], [1.5, 2]);
  assert.equal(endedBand(columns([3, 4], [2, 3]), [whole]).x.length, 0);
  const all = columns([0, 1], [3, 3]);
  assert.equal(endedBand(all), all);
});

test("bands of several tags have different keys, names and dashes", async () => {
  /** @type {any[]} */
  const requests = [];
  const host = {
    async fetch(/** @type {string} */ path, /** @type {any} */ init) {
      const body = JSON.parse(init.body);
      requests.push([path, body.tag, body.groups]);
      const groups = Object.keys(body.groups).map((group) => ({ group, num_runs: 2, drawn: "mean", final: { average: 3, low: 2, high: 4, count: 1, nonfinite: 1, live: 0, ...(body.tag === "val" && { average: "NaN" }) } }));
      const columns = { x: [1, 2], average: [1, 2], low: [0, 1], high: [2, 3], count: [2, 1], nonfinite: [0, 1] };
      return new Response(encodeResponse({ groups }, groups.map(() => columns)));
    },
  };
  const runs = ["s1", "s2"].map((name) => ({ name, color: "#123456", group: "10" }));
  const parts = ["loss", "val", "rare"].map((tag) => ({ tag, groups: tag === "rare" ? [] : [{ name: "10", color: "#123456", runs }] }));
  const bands = await loadBands(/** @type {any} */ (host), parts, OPTIONS, null, 300, signal);
  assert.deepEqual(requests, ["loss", "val"].map((tag) => ["bands", tag, { 10: ["s1", "s2"] }]));
  assert.deepEqual(bands.map(({ name, dash }) => [name, dash]), [["10 · loss", undefined], ["10 · val", [6, 3]]]);
  assert.deepEqual(bands.map(groupOfBand), ["10", "10"]);
  assert.notEqual(bands[0].key, bands[1].key);
  assert.deepEqual(bands.map(({ numRuns, nonfinite }) => [numRuns, [...(nonfinite ?? [])]]), [[2, [0, 1]], [2, [0, 1]]]);
  assert.deepEqual(bands.map(({ final, bar }) => [final?.average, final?.high, bar]), [[3, 4, false], [NaN, 4, false]]);
});

test("a note counts the groups whose runs are drawn without a mean", () => {
  const band = (/** @type {string} */ drawn) => /** @type {any} */ ({ drawn });
  const bands = [band("mean"), band("points"), band("runs"), band("runs")];
  assert.deepEqual(groupNotes(bands, { x: "wall_time", averageName: "median" }), ["2 groups drawn as runs, in the group's colour: no median over wall time"]);
  assert.deepEqual(groupNotes(bands, { x: "step", averageName: "mean" }), ["2 groups drawn as runs, in the group's colour: they share no x"]);
  assert.deepEqual(groupNotes(bands.slice(0, 2), { x: "step", averageName: "mean" }), []);
});

test("runs of the hovered group are faint, and it does not matter whether they are reduced", async () => {
  const store = new LinesStore(hostOf(fakeServer({ a1: 100, b: 4 }, [])));
  const runs = [{ name: "a1", color: "#123456", group: "a" }, { name: "b", color: "#654321", group: "b" }];
  const parts = [{ tag: "loss", runs }];
  await loadLines(store, parts, OPTIONS, null, 300, signal, () => {});
  const shown = cachedLines(store, parts, OPTIONS, [null], "a");
  assert.deepEqual(shown.lines.map(({ name, faint }) => [name, faint]), [["a1", true], ["b", false]]);
  assert.deepEqual([shown.isReduced, cachedLines(store, parts, OPTIONS, [null]).isReduced], [false, true]);
});

test("valid options in the address are used, and invalid ones ignored", () => {
  assert.equal(ALL.parse({ x: "wall_time", smooth: "0.6", logY: "true", size: "huge" }).x, "wall_time");
  assert.deepEqual(ALL.parse({ x: "sideways", smooth: "-3", logY: "yes", size: "huge" }), OPTIONS);
  assert.equal(ALL.parse({ smooth: "7" }).smooth, 0.99999);
  assert.deepEqual([ALL.parse({ logX: "true" }).logX, ALL.parse({ logX: "symlog" }).logX, ALL.parse({}).logX], ["true", "symlog", ""]);
  assert.deepEqual(["", "true", "symlog"].map((logX) => queryFor("loss", { ...OPTIONS, logX }, null).scale), ["linear", "log", "symlog"]);
});

test("tags of any name survive a round trip through the address", () => {
  const lists = [["a,b;c", "d/e"], ["ü &%", "~1", "%2F!"]];
  assert.deepEqual(parseLists(formatLists(lists) ?? ""), lists);
  assert.equal(formatLists([[]]), null);
  assert.equal(formatLists([["train/loss a"]]), "train/loss a"); // left to the address to encode
  assert.deepEqual(parseLists("train%2Floss%2C,b"), [["train/loss,", "b"]]); // as in older links
  assert.deepEqual(parseLists(undefined), []);
});

test("a chart is saved as it is drawn", () => {
  const line = { key: '["a, b","loss"]', name: "a, b", color: "", startTime: 100, step: [1, 2, 3], wallTime: [100, 101, 102], value: [1, NaN, 3], smoothed: [1, NaN, 2] };
  const band = { key: '["seeds","loss"]', name: "seeds", color: "", x: [1, 2], mean: [4, 5], low: [3, NaN], high: [Infinity, NaN], count: [3, 2] };
  const csv = (/** @type {any} */ chart, /** @type {any} */ options) =>
    drawnCSV({ lines: [line], bands: [], view: null, ...chart }, { ...OPTIONS, ...options }).trim().split("\r\n");
  assert.deepEqual(csv({}, {}), ["run,tag,step,wall_time,value", '"a, b",loss,1,100,1', '"a, b",loss,2,101,nan', '"a, b",loss,3,102,3']);
  assert.deepEqual(csv({ view: [2, 3] }, { smooth: 0.5 }).slice(0, 3), ["run,tag,step,wall_time,value,smoothed", '"a, b",loss,2,101,nan,nan', '"a, b",loss,3,102,3,2']);
  assert.deepEqual(csv({ view: [2, 9] }, { x: "relative" }), ["run,tag,step,wall_time,value", '"a, b",loss,3,102,3']);
  const paired = [{ ...line, x: [7, 8, 9] }];
  assert.deepEqual(csv({ lines: paired, view: [9, 9] }, { x: "tag:epoch" }), ["run,tag,step,wall_time,x,value", '"a, b",loss,3,102,9,3']);
  assert.deepEqual(csv({ bands: [band], lines: [{ ...line, faint: true }] }, { average: "median" }), ["group,tag,step,median,low,high,count", "seeds,loss,1,4,3,inf,3", "seeds,loss,2,5,,,2"]);
  assert.equal(csv({ bands: [{ ...band, low: [3, 5], high: [4, 5], count: [3, 1] }] }, {})[2], "seeds,loss,2,5,,,1", "one value does not spread");
  assert.deepEqual(csv({ bands: [band], view: [1, 1] }, { x: "step" }).slice(1), ["seeds,loss,1,4,3,inf,3", '"a, b",loss,1,1,,,1']);
});

test("a card has its own y axis by its flags, otherwise that of the tab", () => {
  /** @type {[flags: string[], logY: "" | "true" | "symlog", yScale: string, limits: unknown][]} */
  const cases = [
    [[], "true", "log", null],
    [["full", "y:linear"], "true", "linear", null],
    [["y:symlog", "range:0:1"], "", "symlog", [0, 1]],
    [["range:-1e-3:"], "", "linear", [-0.001, null]],
    [["range::0.5", "y:log"], "", "log", [null, 0.5]],
    [["y:cubic", "range:low:Infinity"], "symlog", "symlog", [null, null]],
    [["range:5", "year:1", "max-"], "", "linear", null],
  ];
  for (const [flags, logY, yScale, limits] of cases) assert.deepEqual(yAxisOf(flags, logY), { yScale, limits });
});

test("ends that an axis cannot have are refused in words", () => {
  /** @type {[scale: string, from: string, to: string, refusal: string][]} */
  const cases = [
    ["linear", "0", "1", ""],
    ["linear", "-1", "", ""],
    ["log", "", "1e-3", ""],
    ["log", "0", "1", "0 is not on a log axis: its ends are above 0."],
    ["log", "", "-2", "-2 is not on a log axis: its ends are above 0."],
    ["symlog", "-10", "10", ""],
    ["linear", "low", "1", "low is not a number."],
    ["linear", "1", "1", "1 is not less than 1."],
    ["linear", "10", "9", "10 is not less than 9."],
  ];
  for (const [scale, from, to, refusal] of cases) assert.equal(refusalOf({ scale, from, to }), refusal);
});

test("a file of what is drawn has the y axis, unless that is linear and has all values", () => {
  const lines = /** @type {any} */ ([{ name: "a", step: Float64Array.of(0, 1), wallTime: Float64Array.of(5, 6), value: Float64Array.of(2, 0.5) }]);
  const csv = (/** @type {any} */ y) => drawnCSV({ lines, bands: [], view: null, y }, { x: "step", smooth: 0, average: "mean" }).trim().split("\r\n");
  assert.deepEqual(csv(yAxisOf([], "")), ["run,tag,step,wall_time,value", "a,,0,5,2", "a,,1,6,0.5"]);
  assert.deepEqual(csv(yAxisOf(["y:log", "range:0.1:"], "")), ["run,tag,step,wall_time,value,y_scale,y_from,y_to", "a,,0,5,2,log,0.1,", "a,,1,6,0.5,log,0.1,"]);
});

test("the ends of an axis for all values are round, and outside of them", () => {
  assert.deepEqual(endsOfAll([[0, 1], [NaN, 3, Infinity]], false), ["-0.2", "3.2"]);
  assert.deepEqual(endsOfAll([[1000.1, 1000.2]], false), ["1000.094", "1000.206"]);
  assert.deepEqual(endsOfAll([[0, -1, 0.001, 10]], true), ["0.000833", "12"]);
  assert.deepEqual(endsOfAll([[5]], false), ["4.7", "5.3"]);
  assert.deepEqual(endsOfAll([[NaN]], false), ["", ""]);
});
