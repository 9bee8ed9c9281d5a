/**
 * Cards in collapsible sections, one for each group of tags. Large groups are shown a page at a
 * time.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Icon } from "./icons.js";

/** Number of tags that a group shows at first, and that each click adds. */
const PAGE_SIZE = 48;

/**
 * All sections.
 * @param {object} props
 * @param {readonly import("./names.js").TagGroup[]} props.groups
 * @param {ReadonlySet<string>} props.closed  names of the collapsed groups
 * @param {(name: string, open: boolean) => void} props.onToggle
 * @param {(tag: string, group: string) => unknown} props.renderCard
 */
export function TagGroups({ groups, closed, onToggle, renderCard }) {
  return groups.map(
    (group) => html`<${Group}
      key=${group.name}
      group=${group}
      open=${!closed.has(group.name)}
      onToggle=${onToggle}
      renderCard=${renderCard}
    />`,
  );
}

/**
 * The section of one group.
 * @param {object} props
 * @param {import("./names.js").TagGroup} props.group
 * @param {boolean} props.open
 * @param {(name: string, open: boolean) => void} props.onToggle
 * @param {(tag: string, group: string) => unknown} props.renderCard
 */
function Group({ group, open, onToggle, renderCard }) {
  const [numShown, setNumShown] = useState(PAGE_SIZE);
  const { name, tags } = group;
  const rest = tags.length - numShown;
  return html`<section class="tb-group" data-group=${name}>
    <h2>
      <button type="button" aria-expanded=${open} onClick=${() => onToggle(name, !open)}>
        <${Icon} name="chevron" />
        <span>${name === "" ? "Ungrouped" : name}</span>
        <small>${tags.length}</small>
      </button>
    </h2>
    ${open &&
    html`<div class="tb-grid">${tags.slice(0, numShown).map((tag) => renderCard(tag, name))}</div>
      ${rest > 0 &&
      html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(numShown + PAGE_SIZE)}>
        Show ${Math.min(PAGE_SIZE, rest)} more of ${rest}
      </button>`}`}
  </section>`;
}
