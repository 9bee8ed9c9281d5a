/** Named views: their button in the top bar, and the one that an address names. */

import { computed, signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { Lazy, Menu } from "tbcore/ui.js";

/** @import { NotesPage, Readable } from "tbcore/host.js" */

/** The button that opens the list of views, and one that resets the view of tbcore.json. @param {NotesPage} page @returns {Readable<unknown>} */
export function viewsBar(page) {
  const chip = signal(/** @type {Readable<unknown> | null} */ (null));
  if (page.generation.value > 0) import("./defaults.js").then(async ({ showDefaults }) => void (chip.value = await showDefaults(page))).catch(console.warn);
  const load = async () => (await Promise.all([import("./views-menu.js"), page.css(new URL("views.css", import.meta.url))]))[0];
  const icon = html`<svg class="tb-icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2.5h8v11l-4-3-4 3z" /></svg>`;
  const content = () => html`<${Lazy} load=${load} of="ViewsMenu" page=${page} />`;
  const menu = html`<${Menu} label="Views" text=${icon} className="tb-icon-button" content=${content} />`;
  return computed(() => [chip.value?.value, menu]);
}

/** The fragment of a view. Rejects with the server's line about a name that it does not know. @param {string} name @param {NotesPage["url"]} url */
export async function viewOf(name, url) {
  const response = await fetch(url("data/views", { name }));
  if (!response.ok) throw new Error((await response.text()).trim());
  return /** @type {{ address: string }} */ (await response.json()).address;
}
