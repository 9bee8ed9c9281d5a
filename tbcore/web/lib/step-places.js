/**
 * The places of a step control: all steps that some series have, whether they are in sight or not, in one request.
 */

import { useRef, useState } from "preact/hooks";
import { useAsking } from "./answers.js";
import { expandPlaces } from "./steps.js";

/**
 * Asked again when one of the runs has changed.
 * @param {import("tbcore/host.js").Host} host  its route `steps` is that of `tbcore.media`
 * @param {readonly { name: string }[]} runs  the same array as long as these are the same
 * @param {readonly string[]} tags  likewise
 * @param {boolean} isWanted  false: nothing is asked, as for cards far away
 * @returns {import("./steps.js").Place[]} none until they are known
 */
export function usePlaces(host, runs, tags, isWanted) {
  const [places, setPlaces] = useState(/** @type {import("./steps.js").Place[]} */ ([]));
  const known = useRef("");
  const generations = host.generations.value;
  const changed = runs.map(({ name }) => generations.of(name)).join();
  useAsking(isWanted ? (signal) => ask(signal).catch(() => {}) : null, [runs, tags], changed); // the cards say what is wrong
  return places;

  /** @param {AbortSignal} signal */
  async function ask(signal) {
    const body = JSON.stringify({ runs: runs.map(({ name }) => name), tags });
    const response = await host.fetch("steps", { method: "POST", body, signal });
    const text = await response.text();
    if (!response.ok || text === known.current) return;
    known.current = text;
    setPlaces(expandPlaces(JSON.parse(text)));
  }
}
