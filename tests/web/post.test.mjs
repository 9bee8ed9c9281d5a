// POST requests of any length reach the server, and its error messages reach the caller.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { post } from "../../tbcore/web/lib/post.js";

/** A server that answers with what it was asked. @param {any[]} asked */
const echo = (asked) => ({
  fetch: async (/** @type {string} */ path, /** @type {any} */ init) => {
    asked.push({ path, ...init });
    const isPacked = init.headers?.["Content-Encoding"] === "gzip";
    return new Response(isPacked ? gunzipSync(Buffer.from(init.body)) : init.body);
  },
});

test("short bodies are not compressed", async () => {
  /** @type {any[]} */
  const asked = [];
  const { signal } = new AbortController();
  const answer = await (await post(echo(asked), "window", { runs: ["ü"] }, signal)).json();
  assert.deepEqual(answer, { runs: ["ü"] });
  assert.deepEqual(asked, [{ path: "window", method: "POST", body: '{"runs":["ü"]}', signal }]);
});

test("the names of ten thousand runs fit into the megabyte that a server accepts", async () => {
  const runs = Array.from({ length: 10_000 }, (_, i) => `sweep/модель=транcформер,lr=${1 / (i + 1)},seed=${i}/${"x".repeat(100)}/train`);
  assert.ok(new TextEncoder().encode(JSON.stringify(runs)).length > 1.8e6);
  /** @type {any[]} */
  const asked = [];
  const answer = await (await post(echo(asked), "bands", { groups: { all: runs } })).json();
  assert.deepEqual(answer, { groups: { all: runs } });
  assert.ok(asked[0].body.byteLength < 1 << 20);
});

test("an error has the server's message", async () => {
  const refusing = (/** @type {string} */ text, /** @type {number} */ status) => ({ fetch: async () => new Response(text, { status }) });
  await assert.rejects(post(refusing('"tag" must be a text, got null\n', 400), "window", {}), { message: '"tag" must be a text, got null' });
  await assert.rejects(post(refusing("", 503), "window", {}), { message: "status 503" });
});
