/** Notes in the page: names, colours and marks of runs, what is archived, and named views. What is opened later is loaded then. */

import { computed } from "@preact/signals-core";
import { html } from "htm/preact";
import { Lazy } from "tbcore/ui.js";
import { marksOf } from "./marks.js";
import { wordsOf } from "./records.js";
import { Store } from "./store.js";
import { defaultsLine, viewOf, viewsBar } from "./views.js";

/** @import { NotesModule } from "tbcore/host.js" */

/** @type {NotesModule} */
const notes = {
  async start(page) {
    const store = new Store(page);
    const act = (/** @type {"star" | "archive" | "color" | "open"} */ name, /** @type {any[]} */ ...values) =>
      void import("./actions.js").then((actions) => /** @type {any} */ (actions)[name](store, ...values), console.warn);
    await Promise.all([store.read(), page.css(new URL("marks.css", import.meta.url))]);
    page.generation.subscribe(store.read);
    /** @template T @param {Promise<T>} module */
    const withStyles = async (module) => (await Promise.all([module, page.css(new URL("list.css", import.meta.url))]))[0];
    /** @type {(run: string, color: string | null) => void} */
    const color = (run, color) => act("color", run, color);
    const hasFoot = computed(() => !page.isEmbedded && (store.archived.value.size > 0 || store.showsArchived.value || store.notice.value !== null));
    const foot = html`<${Lazy} load=${() => withStyles(import("./foot.js"))} of="Foot" ...${{ store }} />`;
    const line = defaultsLine(page);
    const keys = /** @type {const} */ ([
      { key: "s", label: "Star, or remove the star", act: "star" },
      { key: "e", label: "Archive, or bring back", act: "archive" },
      { key: "n", label: "Open the note", act: "open" },
    ]);
    return {
      runs: store.names,
      hidden: store.hidden,
      mark: (runs) => marksOf(store, act, runs),
      bar: viewsBar(page, store.numProblems),
      foot: computed(() => (line.value || hasFoot.value) && [hasFoot.value && foot, line.value]),
      menu: (runs, item) => html`<${Lazy} load=${() => withStyles(import("./menu.js"))} of="MenuItems" ...${{ store, runs, item }} />`,
      setColor: computed(() => (store.refusal.value === null ? color : null)),
      keys,
      onKey(key, runs) {
        const found = keys.find((one) => one.key === key);
        if (found) act(found.act, runs, "note");
        return found !== undefined;
      },
      words: computed(() => wordsOf(store.records.value)),
    };
  },
  view: viewOf,
};
export default notes;
