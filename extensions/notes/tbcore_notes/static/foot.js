/** What stands below the run list: how many runs are archived, and what was just done. */

import { html } from "htm/preact";
import { formatName, plural } from "tbcore/format.js";
import { IconButton, copy } from "tbcore/ui.js";
import { returnFocus } from "./actions.js";
import { withArchived } from "./archived-query.js";
import { filesText } from "./files.js";
import { Code, commandIn } from "./texts.js";

/** @import { Store } from "./store.js" */

/** @param {{ store: Store }} props */
export function Foot({ store }) {
  return html`<${NoticeLine} store=${store} /><${ArchivedLine} store=${store} />`;
}

/** What was just done, with a button that undoes it; or why it failed. @param {{ store: Store }} props */
function NoticeLine({ store }) {
  const notice = store.notice.value;
  if (!notice) return null;
  const close = () => (store.notice.value = null);
  const command = notice.isError && commandIn(notice.text);
  return html`<div class="tb-legend tb-notes-notice ${notice.isError ? "tb-notes-error" : ""}" role=${notice.isError ? "alert" : "status"}>
    <span class="tb-notes-words"><${Code} text=${notice.text} /></span>
    ${notice.actions?.map(
      ([label, act]) => html`<button type="button" class="tb-button" onClick=${() => {
        close();
        act();
        returnFocus(store);
      }}>${label}</button>`,
    )}
    ${command && html`<button type="button" class="tb-button" onClick=${() => copy(command)}>Copy the command</button>`}
    <${IconButton} icon="close" label="Dismiss" onClick=${() => {
      close();
      returnFocus(store);
    }} />
  </div>`;
}

/** How many runs are archived, and by whom. @param {{ store: Store }} props */
function ArchivedLine({ store }) {
  const { query, isChosen } = store.page;
  const archived = store.archived.value;
  const shows = store.showsArchived.value;
  const toggle = () => query.set(withArchived(query.value, !shows));
  if (shows) {
    return html`<div class="tb-legend tb-notes-archived">
      <span>${archived.size === 0 ? "No run is archived." : "These runs are archived. Their menus have “Bring back”."}</span>
      <button type="button" class="tb-button" onClick=${toggle}>Show the other runs</button>
      ${archived.size > 0 && store.refusal.value === null && html`<span class="tb-notes-words"><${Code} text=${filesText(archived, store.owns, store.page.logdir())} /></span>`}
    </div>`;
  }
  if (archived.size === 0) return null;
  const byAuthor = new Map([["", 0]]);
  for (const [run, by] of archived) byAuthor.set(by, (byAuthor.get(by) ?? 0) + 1);
  const numChosen = [...archived.keys()].filter(isChosen).length;
  return html`<div class="tb-legend tb-notes-archived">
    ${Array.from(byAuthor, ([by, count]) => count > 0 && html`<button type="button" class="tb-notes-count" title="Show them: is:archived" onClick=${toggle}>
      <bdi>${count.toLocaleString("en")} archived${by && ` by ${formatName(by)}`}</bdi>
    </button>`)}
    ${numChosen > 0 && html`<span>${plural(numChosen, "of these is", "of these are")} chosen in the address, and not shown.</span>`}
  </div>`;
}
