/**
 * The search for nodes by name and op.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatName, plural } from "tbcore/format.js";
import { FilterBox, IconButton, VirtualList } from "tbcore/ui.js";
import { paramsOf } from "./graph-ref.js";
import { lastPart, scopeOf } from "./paths.js";

/**
 * @typedef {object} Search
 * @property {string} text
 * @property {(text: string) => void} setText
 * @property {import("./types.js").Found | null} found  null before the first results
 * @property {string} error
 */

/** How long after the last keystroke the search starts. */
const TYPING_DELAY_MS = 180;
/** Most matches in a response. */
const MAX_MATCHES = 500;

/**
 * The search text and its results.
 * @param {import("./model.js").Model} model
 * @returns {Search}
 */
export function useSearch(model) {
  const [text, setText] = useState("");
  const [state, setState] = useState({ found: /** @type {import("./types.js").Found | null} */ (null), error: "" });
  const graphRef = model.graphRef.value;
  useEffect(() => {
    if (text.trim() === "" || !graphRef) {
      setState({ found: null, error: "" });
      return undefined;
    }
    let isCurrent = true;
    const timer = setTimeout(async () => {
      try {
        const found = await model.host.fetchJSON("search", { ...paramsOf(graphRef), tag: undefined, ...readQuery(text), limit: MAX_MATCHES });
        if (isCurrent) setState({ found, error: "" });
      } catch (error) {
        if (isCurrent) setState({ found: null, error: error instanceof Error ? error.message : String(error) });
      }
    }, TYPING_DELAY_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text, graphRef]);
  return { text, setText, ...state };
}

/**
 * Parses the search text: `conv op:Conv2D` finds nodes with "conv" in their name and with op
 * Conv2D.
 * @param {string} text
 * @returns {{ text: string, op: string | undefined }}
 */
export function readQuery(text) {
  const op = /(?:^|\s)op:(\S+)/.exec(text)?.[1];
  return { text: text.replace(/(?:^|\s)op:\S*/, "").trim(), op };
}

/** The search box in the toolbar. @param {{ search: Search }} props */
export function SearchBox({ search }) {
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.key === "Escape") search.setText("");
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    const root = /** @type {ShadowRoot} */ (/** @type {Element} */ (event.currentTarget).getRootNode());
    const first = /** @type {HTMLElement | null} */ (root.querySelector(".results button"));
    first?.focus();
    if (event.key === "Enter") first?.click();
    event.preventDefault();
  };
  return html`<${FilterBox}
    maxlength=${undefined}
    filter=${{ text: search.text, error: null }}
    onInput=${search.setText}
    label="Search nodes, or op:MatMul"
    title="* matches anything, as in conv*bias; op:MatMul finds nodes by op"
    onKeyDown=${onKeyDown}
  />`;
}

/**
 * The list of results.
 * @param {object} props
 * @param {Search} props.search
 * @param {string | null} props.selected
 * @param {(name: string) => void} props.onChoose
 */
export function SearchResults({ search: { found, error, setText }, selected, onChoose }) {
  const rows = found?.names.map((name, row) => ({ name, op: found.ops[row], kind: found.kinds[row] })) ?? [];
  const more = found && found.total > rows.length ? `, the first ${rows.length.toLocaleString("en")} shown` : "";
  /** Clears the search, and moves the focus to its box: the list goes. @param {Event} event */
  const close = ({ currentTarget }) => {
    const root = /** @type {ShadowRoot} */ (/** @type {Element} */ (currentTarget).getRootNode());
    /** @type {HTMLElement | null} */ (root.querySelector("input[type=search]"))?.focus();
    setText("");
  };
  /** The up and down keys move through the results. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.key === "Escape") close(event);
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const item = /** @type {Element} */ (event.target).closest("li");
    const next = event.key === "ArrowDown" ? item?.nextElementSibling : item?.previousElementSibling;
    next?.querySelector("button")?.focus();
    event.preventDefault();
  };
  return html`<header>
      <p role="status">${error || (found ? `${plural(found.total, "match", "matches")}${more}` : "searching")}</p>
      <${IconButton} icon="close" label="Close the results" title="Close" onClick=${close} />
    </header>
    <div class="results">
      <${VirtualList}
        items=${rows}
        rowHeight=${40}
        label="Search results"
        keyOf=${(/** @type {{ name: string }} */ row) => row.name}
        onKeyDown=${onKeyDown}
        renderRow=${(/** @type {{ name: string, op: string, kind: string }} */ { name, op, kind }) =>
          html`<button type="button" class="node" title=${formatName(name)} aria-pressed=${name === selected} onClick=${() => onChoose(name)}>
            <span><b>${formatName(lastPart(name))}</b> <small>${kind === "op" ? op : "scope"}</small></span>
            <small class="path">${formatName(scopeOf(name)) || "at the top level"}</small>
          </button>`}
      />
    </div>`;
}
