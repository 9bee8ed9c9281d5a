// Cached responses are requested again only when their run has changed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers } from "../../tbcore/web/lib/answers.js";

/** A host whose server counts requests, and returns the count. */
function makeHost() {
  const host = {
    asked: /** @type {string[]} */ ([]),
    generation: "1",
    status: 200,
    etag: "",
    /** @param {string} path */
    async fetch(path) {
      host.asked.push(path);
      const headers = host.etag ? { etag: host.etag } : undefined;
      return new Response(host.status === 200 ? JSON.stringify(host.asked.length) : "no such tag", { status: host.status, headers });
    },
    generations: {
      get value() {
        return { all: "", lists: "", of: (/** @type {string} */ run) => `${run}-${run === "still" ? 0 : host.generation}` };
      },
      subscribe: () => () => {},
    },
  };
  return host;
}

const never = new AbortController().signal;
const still = { run: "still", tag: "a/b" };
const moves = { run: "moves", tag: "a/b" };

test("a run that did not change is requested once", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers", (number) => number * 10);
  assert.equal(answers.get(still), undefined);
  assert.equal(await answers.load(still, never), 10);
  assert.deepEqual(host.asked, ["numbers?run=still&tag=a%2Fb"]);
  await answers.load(moves, never);
  host.generation = "2";
  assert.equal(await answers.load(still, never), 10);
  assert.equal(await answers.load(moves, never), 30);
  assert.equal(host.asked.length, 3);
});

test("an error has the server's message, and the cached value stays", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers", (number) => number);
  await answers.load(moves, never);
  [host.generation, host.status] = ["2", 404];
  await assert.rejects(answers.load(moves, never), /^Error: no such tag$/);
  assert.equal(answers.get(moves), 1);
});

test("responses are cached by all parameters, and undefined ones are left out", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers");
  await answers.load({ ...still, step: undefined, nth: 2 }, never);
  assert.deepEqual(host.asked, ["numbers?run=still&tag=a%2Fb&nth=2"]);
  assert.equal(answers.get(still), undefined);
  assert.equal(answers.get({ ...still, nth: 2 }), 1);
});

test("a response with the same ETag is not parsed again", async () => {
  const host = makeHost();
  let numRead = 0;
  const answers = new Answers(host, "numbers", () => ({ number: ++numRead }));
  host.etag = '"x"';
  const first = await answers.load(moves, never);
  host.generation = "2";
  assert.equal(await answers.load(moves, never), first);
  [host.generation, host.etag] = ["3", '"y"'];
  assert.deepEqual(await answers.load(moves, never), { number: 2 });
  assert.equal(host.asked.length, 3);
});
