// What a server said of tags in runs: asked again only when the run has changed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers } from "../../tbcore/web/lib/answers.js";

/** A host whose server says how often it was asked. */
function makeHost() {
  const host = {
    asked: /** @type {string[]} */ ([]),
    generation: "1",
    status: 200,
    /** @param {string} path */
    async fetch(path) {
      host.asked.push(path);
      return new Response(host.status === 200 ? JSON.stringify(host.asked.length) : "no such tag", { status: host.status });
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

test("a run that did not change is asked once", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers", (number) => number * 10);
  assert.equal(answers.get("still", "a/b"), undefined);
  assert.equal(await answers.load("still", "a/b", never), 10);
  assert.deepEqual(host.asked, ["numbers?run=still&tag=a%2Fb"]);
  await answers.load("moves", "a/b", never);
  host.generation = "2";
  assert.equal(await answers.load("still", "a/b", never), 10);
  assert.equal(await answers.load("moves", "a/b", never), 30);
  assert.equal(host.asked.length, 3);
});

test("an error is what the server said, and what was known stays", async () => {
  const host = makeHost();
  const answers = new Answers(host, "numbers", (number) => number);
  await answers.load("moves", "a", never);
  [host.generation, host.status] = ["2", 404];
  await assert.rejects(answers.load("moves", "a", never), /^Error: no such tag$/);
  assert.equal(answers.get("moves", "a"), 1);
});
