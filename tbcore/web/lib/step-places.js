/**
 * The places of a step slider: all steps of some runs and tags, fetched in one request.
 */

import { useRef, useState } from "preact/hooks";
import { useAsking } from "./answers.js";
import { expandPlaces } from "./steps.js";

/**
 * Preact hook: the places, which are fetched at once, and again whenever one of the runs changes.
 * Errors are ignored, because the cards show them.
 * @param {import("tbcore/host.js").Host} host  its plugin must have the route `steps` of
 *   `tbcore.media`
 * @param {readonly { name: string }[]} runs  the same array as long as the runs are the same
 * @param {readonly string[]} tags  the same array as long as the tags are the same
 * @param {boolean} isEnabled  whether to send requests; false for cards that are far out of view
 * @returns {import("./steps.js").Place[]} empty until they are loaded
 */
export function usePlaces(host, runs, tags, isEnabled) {
  const [places, setPlaces] = useState(/** @type {import("./steps.js").Place[]} */ ([]));
  const lastText = useRef("");
  const generations = host.generations.value;
  const generation = runs.map(({ name }) => generations.of(name)).join();
  useAsking(isEnabled ? (signal) => load(signal).catch(() => {}) : null, [runs, tags], generation);
  return places;

  /** @param {AbortSignal} signal */
  async function load(signal) {
    const body = JSON.stringify({ runs: runs.map(({ name }) => name), tags });
    const response = await host.fetch("steps", { method: "POST", body, signal });
    const text = await response.text();
    if (!response.ok || text === lastText.current) return;
    lastText.current = text;
    setPlaces(expandPlaces(JSON.parse(text)));
  }
}
