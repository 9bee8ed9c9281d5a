// POST requests of any length reach the server, and its error messages reach the caller.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { post } from "../../../tbcore/web/requests.js";

/** A host that records requests, and responds with their bodies. @param {any[]} requests */
const echo = (requests) => ({
  fetch: async (/** @type {string} */ path, /** @type {any} */ init) => {
    requests.push({ path, ...init });
    const isCompressed = init.headers?.["Content-Encoding"] === "gzip";
    return new Response(isCompressed ? gunzipSync(Buffer.from(init.body)) : init.body);
  },
});

test("short bodies are not compressed", async () => {
  /** @type {any[]} */
  const requests = [];
  const { signal } = new AbortController();
  const answer = await (await post(echo(requests), "window", { runs: ["ü"] }, signal)).json();
  assert.deepEqual(answer, { runs: ["ü"] });
  assert.deepEqual(requests, [{ path: "window", method: "POST", body: '{"runs":["ü"]}', signal }]);
});

test("the names of ten thousand runs fit into the megabyte that a server accepts", async () => {
  const runs = Array.from({ length: 10_000 }, (_, i) => `sweep/модель=транcформер,lr=${1 / (i + 1)},seed=${i}/${"x".repeat(100)}/train`);
  assert.ok(new TextEncoder().encode(JSON.stringify(runs)).length > 1.8e6);
  /** @type {any[]} */
  const requests = [];
  const answer = await (await post(echo(requests), "bands", { groups: { all: runs } })).json();
  assert.deepEqual(answer, { groups: { all: runs } });
  assert.ok(requests[0].body.byteLength < 1 << 20);
});

test("an error has the server's message", async () => {
  const failing = (/** @type {string} */ text, /** @type {number} */ status) => ({ fetch: async () => new Response(text, { status }) });
  await assert.rejects(post(failing('"tag" must be a text, got null\n', 400), "window", {}), { message: '"tag" must be a text, got null' });
  await assert.rejects(post(failing("", 503), "window", {}), { message: "status 503" });
});
