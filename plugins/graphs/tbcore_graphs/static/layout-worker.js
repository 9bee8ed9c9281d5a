/**
 * The worker that lays out, one scope at a time. A worker sees no import map: what it imports has a relative path.
 */

import { layOut } from "./layout.js";

// By an address made here: dagre lies there once the package was built, and has no types.
const dagre = import(new URL("./vendor/dagre.mjs", import.meta.url).href);

addEventListener("message", async ({ data: { id, job } }) => {
  try {
    postMessage({ id, layout: layOut(await dagre, job) });
  } catch (error) {
    postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
});
