/** The display options of a tab, in the URL and in the browser. */
export * from "./lib/options.js";
