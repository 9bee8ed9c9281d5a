/** Notes that few cards have; loaded with the first of them. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { seriesCards } from "tbcore/cards.js";
import { plural } from "tbcore/format.js";
import { post } from "tbcore/requests.js";
import { Lazy } from "tbcore/ui.js";

/** @import { Part, Tab } from "./types.js" */

/**
 * The button that fits the y axis to all but what is far out of range, or to all again.
 * @param {object} props
 * @param {Tab} props.tab
 * @param {string} props.id  of the card
 * @param {readonly Part[]} props.parts
 * @param {readonly string[]} props.far  the names of what is far out of range
 * @param {boolean} props.leavesOut  whether they are left out of the axis
 * @param {readonly unknown[]} props.bands
 */
export function FarNote({ tab, id, parts, far, leavesOut, bands }) {
  return html`<button type="button" class="far" title=${far.join("\n")} onClick=${() => tab.onFlag(id, /^clip$/, leavesOut ? null : "clip")}>
    ${plural(far.length, parts.length > 1 ? "line" : bands.length > 0 ? "group" : "run")} far from the others: fit the axis to ${leavesOut ? "all" : "the others"}
  </button>`;
}

/**
 * What the writers of the shown runs say of the card's tags.
 * @param {{ tab: Tab, parts: readonly Part[] }} props
 */
export function Descriptions({ tab: { host }, parts }) {
  const [found, setFound] = useState(/** @type {{ tag: string, display_name: string, description: string, runs: string[] }[]} */ ([]));
  const tags = parts.map(({ tag }) => tag);
  const runs = new Set(parts.flatMap((part) => part.runs.map(({ name }) => name)));
  const body = JSON.stringify({ tags, runs: [...runs] });
  useEffect(() => {
    const controller = new AbortController();
    const load = async () => {
      setFound(await (await post(host, "descriptions", JSON.parse(body), controller.signal)).json());
    };
    load().catch((error) => {
      if (!controller.signal.aborted) console.warn(error); // The chart says enough without it.
    });
    return () => controller.abort();
  }, [body]);
  const texts = parts.length > 1 ? found : found.map((text) => ({ ...text, tag: undefined }));
  return html`<${Lazy} load=${seriesCards} of="Descriptions" host=${host} texts=${texts} />`;
}
