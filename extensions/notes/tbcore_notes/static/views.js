/** Named views: their button in the top bar, and the one that an address names. */

import { computed, signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { plural } from "tbcore/format.js";
import { Lazy, Menu } from "tbcore/ui.js";

/** @import { NotesPage, Readable } from "tbcore/host.js" */

/** The line that resets the view of tbcore.json; null if the page shows none of it. @param {NotesPage} page @returns {Readable<unknown>} */
export function defaultsLine(page) {
  const line = signal(/** @type {Readable<unknown> | null} */ (null));
  if (page.generation.value > 0) import("./defaults.js").then(async ({ showDefaults }) => void (line.value = await showDefaults(page))).catch(console.warn);
  return computed(() => line.value?.value);
}

/**
 * The button that opens the list of views, with the number of problems that it lists.
 * @param {NotesPage} page
 * @param {Readable<number>} numProblems
 * @returns {Readable<unknown>}
 */
export function viewsBar(page, numProblems) {
  const load = async () => (await Promise.all([import("./views-menu.js"), page.css(new URL("views.css", import.meta.url))]))[0];
  const icon = html`<svg class="tb-icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2.5h8v11l-4-3-4 3z" /></svg>`;
  const content = () => html`<${Lazy} load=${load} of="ViewsMenu" page=${page} />`;
  return computed(() => {
    const count = numProblems.value;
    const text = count > 0 ? [icon, html`<span>${count}</span>`] : icon;
    return html`<${Menu} label=${count > 0 ? `Views: ${plural(count, "problem")}` : "Views"} text=${text} className=${count > 0 ? "chip warn" : "tb-icon-button"} content=${content} />`;
  });
}

/** The fragment of a view. Rejects with the server's line about a name that it does not know. @param {string} name @param {NotesPage["url"]} url */
export async function viewOf(name, url) {
  const response = await fetch(url("data/views", { name }));
  if (!response.ok) throw new Error((await response.text()).trim());
  return /** @type {{ address: string }} */ (await response.json()).address;
}
