/** Notes in the page: names, colours and marks of runs, and what is put away. */

import { signal } from "@preact/signals-core";

/** @import { Noted, NotesModule } from "tbcore/host.js" */

/** @type {NotesModule} */
const notes = {
  async start() {
    return { runs: signal(/** @type {ReadonlyMap<string, Noted>} */ (new Map())), bar: signal(null), foot: signal(null), menu: () => null };
  },
};
export default notes;
