/**
 * The worker that computes layouts, one scope at a time. Workers have no import map, so all imports
 * are relative.
 */

import { layOut } from "./layout.js";

// The path is computed, so that tsc ignores it: the build puts dagre there, without types.
const dagre = import(new URL("./vendor/dagre.mjs", import.meta.url).href);

addEventListener("message", async ({ data: { id, job } }) => {
  try {
    postMessage({ id, layout: layOut(await dagre, job) });
  } catch (error) {
    postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
});
