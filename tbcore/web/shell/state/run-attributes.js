/** Requests for data/run_attributes. Loaded when a query or an attribute of runs needs them. */

import { ServerError, address, getJSON } from "./server.js";

/** Asks about runs: the values of attributes, or what a query finds. @param {object} question @throws {ServerError} */
export function askAboutRuns(question) {
  return getJSON(address("data/run_attributes"), { method: "POST", body: JSON.stringify(question) });
}

/** Why a request failed, in words. @param {unknown} error */
export function reasonOf(error) {
  return error instanceof ServerError ? error.message : "the server cannot be reached";
}
