/**
 * The menu of less usual x axes: steps since the start, and the values of a tag.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName } from "tbcore/format.js";
import { Name } from "tbcore/text-names.js";
import { VirtualList } from "tbcore/ui.js";

/** What the option of a tag begins with. */
const BY_TAG = "tag:";
const ROW_HEIGHT_PX = 26;
const VISIBLE_ROWS = 10;

/**
 * @param {object} props
 * @param {string} props.x  the option
 * @param {readonly import("./types.js").Run[]} props.runs
 * @param {import("./types.js").RunToTags} props.tags
 * @param {(x: string) => void} props.onChange
 */
export function AxisMenu({ x, runs, tags, onChange }) {
  const [text, setText] = useState("");
  const search = useRef(/** @type {HTMLInputElement | null} */ (null));
  // The menu is open by now, so that `autofocus` would have no effect.
  useEffect(() => search.current?.focus(), []);
  /** Maps each tag to the number of runs that have it. */
  const counts = useMemo(() => {
    /** @type {Map<string, number>} */
    const found = new Map();
    const all = runs.flatMap(({ name }) => (Object.hasOwn(tags, name) ? tags[name] : []));
    for (const tag of all) found.set(tag, (found.get(tag) ?? 0) + 1);
    return found;
  }, [runs, tags]);
  const words = text.toLowerCase().split(/\s+/);
  const found = useMemo(() => [...counts.keys()].filter((tag) => words.every((word) => tag.toLowerCase().includes(word))), [counts, text]);
  /** @param {Event} event @param {string} choice */
  const choose = (event, choice) => {
    onChange(choice);
    /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.currentTarget).closest("[popover]"))?.hidePopover();
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.key === "Enter" && found.length > 0) choose(event, BY_TAG + found[0]);
  };
  return html`<div class="card-menu">
    <div class="picks">
      <button
        type="button"
        title="The step minus the first step of the tag in the run"
        aria-pressed=${x === "relative_step"}
        onClick=${(/** @type {Event} */ event) => choose(event, "relative_step")}
      >
        Steps since start
      </button>
    </div>
    <section>
      <h4>Values of another tag, the last at or before each step</h4>
      <input
        ref=${search}
        class="tb-input"
        type="search"
        placeholder="Find one of ${counts.size.toLocaleString("en")} tags"
        aria-label="Find a tag"
        value=${text}
        onInput=${(/** @type {InputEvent} */ event) => setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
        onKeyDown=${onKeyDown}
      />
      <div class="picks tags" style=${{ height: `${Math.min(Math.max(found.length, 1), VISIBLE_ROWS) * ROW_HEIGHT_PX + 8}px` }}>
        ${found.length === 0 && html`<p>No tag contains this text.</p>`}
        <${VirtualList}
          items=${found}
          rowHeight=${ROW_HEIGHT_PX}
          keyOf=${(/** @type {string} */ tag) => tag}
          label="Tags"
          renderRow=${(/** @type {string} */ tag) => {
            const count = /** @type {number} */ (counts.get(tag));
            return html`<button type="button" title=${formatName(tag)} aria-pressed=${x === BY_TAG + tag} onClick=${(/** @type {Event} */ event) => choose(event, BY_TAG + tag)}>
              <${Name} name=${tag} />${count < runs.length && html`<small>${count} of ${runs.length} runs</small>`}
            </button>`;
          }}
        />
      </div>
    </section>
  </div>`;
}
