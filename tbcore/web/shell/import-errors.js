/** What browsers do not say of a module that cannot be imported. Loaded when that happens. */

import { address } from "./state/server.js";

/**
 * Adds to an error of `import` which file is missing, or the location of a syntax error.
 * @param {unknown} error
 * @param {URL} url  the module's
 * @param {PerformanceEntryList} loaded  the files that were requested for it
 */
export async function explain(error, url, loaded) {
  const missing = loaded
    .filter((entry) => /** @type {PerformanceResourceTiming} */ (entry).responseStatus >= 400)
    .map(({ name }) => name.replace(address(""), ""));
  if (error instanceof TypeError && missing.length > 0) error.message += `: could not load ${missing.join(", ")}`;
  if (error instanceof SyntaxError && !error.stack?.includes("://")) {
    const location = await findSyntaxError(url);
    if (location) error.stack = `${error.name}: ${error.message}\n    at ${location}`;
  }
}

/**
 * Finds the location of a syntax error in a module. Browsers report it only in the window's error
 * event for a `<script>` element, so the module is loaded once more by such an element.
 * @param {URL} moduleUrl
 * @returns {Promise<string>} "" if the browser does not report it
 */
function findSyntaxError(moduleUrl) {
  return new Promise((resolve) => {
    const url = new URL(moduleUrl);
    url.searchParams.set("location", "");
    const script = Object.assign(document.createElement("script"), { type: "module", src: url.href });
    /** @param {ErrorEvent} event */
    const onError = ({ filename, lineno, colno }) => resolve(`${filename.split("?")[0]}:${lineno}:${colno}`);
    window.addEventListener("error", onError, { once: true });
    script.onload = script.onerror = () => {
      window.removeEventListener("error", onError);
      script.remove();
      resolve("");
    };
    document.head.append(script);
  });
}
