/** Sends errors of plugins to a server that runs with `--dev`, which prints them. Loaded for the first one. */

import { ServerError, address } from "./state/server.js";

/** Sends an error, unless the server has printed it already as its own. @param {string} plugin @param {unknown} error */
export function report(plugin, error) {
  if (error instanceof ServerError) return;
  const stack = (error instanceof Error && error.stack) || String(error);
  // Shown in the page too.
  fetch(address("data/page_errors"), { method: "POST", body: JSON.stringify({ plugin, stack }) }).catch(() => {});
}
