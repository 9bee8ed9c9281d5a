// Cached responses are requested again only when their run has changed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers } from "../../../tbcore/web/requests.js";

/** A host whose server responds with the number of requests so far. */
function makeHost() {
  const host = {
    /** The paths of all requests. */
    requests: /** @type {string[]} */ ([]),
    generation: "1",
    status: 200,
    etag: "",
    /** @param {string} path */
    async fetch(path) {
      host.requests.push(path);
      const headers = host.etag ? { etag: host.etag } : undefined;
      return new Response(host.status === 200 ? JSON.stringify(host.requests.length) : "no such tag", { status: host.status, headers });
    },
    generations: {
      get value() {
        return { all: "", lists: "", of: (/** @type {string} */ run) => `${run}-${run === "unchanged" ? 0 : host.generation}` };
      },
      subscribe: () => () => {},
    },
  };
  return host;
}

/** A signal that is never aborted. */
const { signal } = new AbortController();
/**
 * The parameters of a run whose generation stays the same, and of one that has the host's
 * generation.
 */
const unchanged = { run: "unchanged", tag: "a/b" };
const changing = { run: "changing", tag: "a/b" };

test("a run that did not change is requested once", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers", (number) => number * 10);
  assert.equal(answers.get(unchanged), undefined);
  assert.equal(await answers.load(unchanged, signal), 10);
  assert.deepEqual(host.requests, ["numbers?run=unchanged&tag=a%2Fb"]);
  await answers.load(changing, signal);
  host.generation = "2";
  assert.equal(await answers.load(unchanged, signal), 10);
  assert.equal(await answers.load(changing, signal), 30);
  assert.equal(host.requests.length, 3);
});

test("an error has the server's message, and the cached value stays", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers", (number) => number);
  await answers.load(changing, signal);
  [host.generation, host.status] = ["2", 404];
  await assert.rejects(answers.load(changing, signal), /^Error: no such tag$/);
  assert.equal(answers.get(changing), 1);
});

test("responses are cached by all parameters, and undefined ones are left out", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers");
  await answers.load({ ...unchanged, step: undefined, nth: 2 }, signal);
  assert.deepEqual(host.requests, ["numbers?run=unchanged&tag=a%2Fb&nth=2"]);
  assert.equal(answers.get(unchanged), undefined);
  assert.equal(answers.get({ ...unchanged, nth: 2 }), 1);
});

test("a response with the same ETag is not parsed again", async () => {
  const host = makeHost();
  let numRead = 0;
  const answers = new Answers(host, "numbers", () => ({ number: ++numRead }));
  host.etag = '"x"';
  const first = await answers.load(changing, signal);
  host.generation = "2";
  assert.equal(await answers.load(changing, signal), first);
  [host.generation, host.etag] = ["3", '"y"'];
  assert.deepEqual(await answers.load(changing, signal), { number: 2 });
  assert.equal(host.requests.length, 3);
});
