/** Addresses that say in another way what to show: links of before, with the name of a view, or written by hand. Loaded for such addresses. */

import { formatAddress, parseAddress } from "../../lib/address.js";
import { withQueries } from "../../lib/queries/old-links.js";
import { formatLists, parseLists } from "../../lib/text-names.js";
import { adoptStyles } from "../../lib/ui/lazy.js";
import { address } from "./server.js";

/** @import { NotesModule } from "../../host.js" */

/**
 * Replaces the page's address by one that the page reads. A view gets its long address, so that
 * "Back", a reload and a copied link have what the reader changes in it, and no longer its name.
 * @param {string} href
 */
export async function rewrite(href) {
  const url = new URL(href);
  const name = url.searchParams.get("view");
  let { tab, values } = withQueries(parseAddress(url.hash));
  if (name !== null) {
    url.searchParams.delete("view");
    try {
      /** @type {{ default: NotesModule }} */
      const { default: module } = await import(address("static/notes/index.js")).catch(() => {
        throw new Error("this server keeps no views");
      });
      // The secret for changing notes is the reader's own, and in no view.
      const { write } = values;
      const view = withQueries(parseAddress(await module.view(name, address)));
      delete view.values.write;
      ({ tab, values } = { tab: view.tab, values: { ...view.values, ...(write && { write }) } });
    } catch (error) {
      notify(`This address cannot be opened: ${error instanceof Error ? error.message : error}`);
    }
  }
  url.hash = formatAddress({ tab, values: withSortedColumn(values) });
  history.replaceState(null, "", url);
}

/** The values with the column by which they sort the run list: ascending without a sign, and one of the columns. @param {Record<string, string>} values */
function withSortedColumn(values) {
  const { sort = "", columns } = values;
  if (/^(|name|start|last)$/.test(sort)) return values;
  const signed = /^[+-]./.test(sort) ? sort : `+${sort}`;
  const shown = parseLists(columns).flat();
  return { ...values, columns: formatLists([[...new Set([...shown, signed.slice(1)])]]) ?? "", sort: signed };
}

/** Shows a line above the page, until it is closed. @param {string} text */
async function notify(text) {
  await adoptStyles(document, new URL("../lazy.css", import.meta.url)).catch(console.warn);
  const note = Object.assign(document.createElement("div"), { className: "tb-menu address-note", popover: "manual" });
  const message = Object.assign(document.createElement("span"), { textContent: text, role: "alert" });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "tb-button", textContent: "Close" });
  close.addEventListener("click", () => note.remove());
  note.append(message, close);
  document.body.append(note);
  note.showPopover();
}
