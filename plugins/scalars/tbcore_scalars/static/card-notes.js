/** Notes that few cards have; loaded with the first of them. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { plural } from "tbcore/format.js";
import { post } from "tbcore/requests.js";

/** @import { Part, Tab } from "./types.js" */

/** Maximum number of different descriptions in a card. */
const MAX_DESCRIPTIONS = 3;

/**
 * The button that leaves out what is far out of range.
 * @param {object} props
 * @param {Tab} props.tab
 * @param {string} props.id  of the card
 * @param {readonly Part[]} props.parts
 * @param {readonly string[]} props.far  the names of what is far out of range
 * @param {boolean} props.leavesOut  whether it is left out
 * @param {readonly unknown[]} props.bands
 */
export function FarNote({ tab, id, parts, far, leavesOut, bands }) {
  return html`<p class="tb-card-note">
    <button type="button" class="far" title=${far.join("\n")} onClick=${() => tab.onFlag(id, /^clip$/, leavesOut ? null : "clip")}>
      ${plural(far.length, parts.length > 1 ? "line" : bands.length > 0 ? "group" : "run")} far out of range: ${leavesOut ? "show" : "leave out"}
    </button>
  </p>`;
}

/** @typedef {{ tag: string, display_name: string, description: string, runs: string[] }} Description */

/**
 * What the writers of the shown runs say of the card's tags, as text: Markdown in it is shown as it
 * was written.
 * @param {{ tab: Tab, parts: readonly Part[] }} props
 */
export function Descriptions({ tab: { host }, parts }) {
  const [found, setFound] = useState(/** @type {Description[]} */ ([]));
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
  const rest = found.length - MAX_DESCRIPTIONS;
  return html`${found.slice(0, MAX_DESCRIPTIONS).map(
    ({ tag, display_name: name, description, runs }) => html`<p class="tb-card-note description" title=${`${description}\n\n${runs.join(", ")}`.trim()}>
      ${parts.length > 1 && html`<span>${tag}: </span>`}${name && html`<b>${name}</b>`} ${description}
    </p>`,
  )}
  ${rest > 0 && html`<p class="tb-card-note description">and ${plural(rest, "other description")}</p>`}`;
}
