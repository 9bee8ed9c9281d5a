/** All of what the page shows, as the fragment of an address that shows the same in every browser; and the link to copy. Loaded when one is wanted. */

import { formatAddress, parseAddress } from "../../lib/address.js";
import { formatLists } from "../../lib/text-names.js";
import { openPreferences } from "./reader-state.js";
import { selectionToText } from "./selection.js";

/** @import { State } from "./reader-state.js" */

/** What the address has for no chosen colours, so that those of another browser do not show. */
const NO_COLORS = "none";

/**
 * The fragment. Unlike that of a link, it has all checked runs, however many, the colours that the
 * reader has chosen for runs and groups that are there, the layout of the run list, and what only
 * this browser has of the tabs' sections.
 * @param {State} state
 */
export function pictureOf(state) {
  const { tab, values } = parseAddress(new URL(state.link()).hash);
  const { view, sort } = state.list.value;
  const runs = selectionToText(state.selection.value);
  const all = { view, sort, ...values, colors: state.linkedColors.value || textOf(ownColors(state)) };
  if (runs !== null) Object.assign(all, { runs });
  const logdir = state.frontends.value?.logdir ?? "";
  for (const { name } of state.tabs.value) {
    // Without a word about the sections of the open tab, they would be as another browser has them.
    const sections = name === tab ? { closed: "", "closed.order": "" } : {};
    for (const [setting, text] of Object.entries({ ...sections, ...openPreferences(`${name}#${logdir}`).values.value })) {
      if (!Object.hasOwn(all, `${name}.${setting}`)) Object.assign(all, { [`${name}.${setting}`]: text });
    }
  }
  return formatAddress({ tab, values: all });
}

/** The link to copy: the page's address, with the colours that the reader has chosen, and the order of the list. @param {State} state */
export function linkOf(state) {
  const url = new URL(state.link());
  const { tab, values } = parseAddress(url.hash);
  const own = ownColors(state);
  url.hash = formatAddress({ tab, values: { ...(own.size > 0 && { colors: textOf(own) }), sort: state.list.value.sort, ...values } });
  return url.href;
}

/** The colours that the reader has chosen for runs and groups that are there. @param {State} state */
function ownColors(state) {
  const names = new Set([...state.allRuns.value, ...(state.groupOf.value?.values() ?? [])]);
  return new Map(Object.entries(state.colorOverrides.values.value).filter(([name, color]) => names.has(name) && /^#[0-9a-f]{6}$/i.test(color)));
}

/** Colours for the address: `a,2a78d6;b/c,ff0000`. @param {ReadonlyMap<string, string>} colors */
function textOf(colors) {
  return formatLists(Array.from(colors, ([name, color]) => [name, color.slice(1)])) ?? NO_COLORS;
}

/** Chooses a colour for a run or a group, also in place of that of the address; null takes it back. @param {State} state @param {string} name @param {string | null} color */
export function chooseColor(state, name, color) {
  const colors = new Map(state.chosenColors.value);
  if (color === null) colors.delete(name);
  else colors.set(name, color);
  state.colorOverrides.set(name, color);
  if (state.linkedColors.value) state.linkedColors.value = textOf(colors);
}
