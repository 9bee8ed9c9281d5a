/** What the file tbcore.json of the log directory suggests to show. Loaded if something is noted, or there is such a file. */

import { computed, signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { formatLists } from "tbcore/text-names.js";

/** @import { NotesPage, Readable } from "tbcore/host.js" */
/** @typedef {{ tab?: string, pins?: string[], group?: string, average?: string, color?: string, colors?: Record<string, string> }} Defaults  the response of data/defaults */

/** The log directories whose defaults the reader does not want, in localStorage. */
const KEY = "tbcore.without-defaults";

/**
 * Shows what the file suggests, if the page shows nothing else and the reader has not reset it.
 * Returns a line that says so and resets it, while any of it shows.
 * @param {NotesPage} page
 * @returns {Promise<Readable<unknown>>}
 */
export async function showDefaults(page) {
  const response = await fetch(page.url("data/defaults"));
  /** @type {Defaults} */
  const defaults = response.ok ? await response.json() : {};
  // The page has its log directory and its first runs at the same time.
  if (!page.logdir()) await new Promise((done) => {
    const stop = page.runs.subscribe(() => page.logdir() && setTimeout(() => done(stop())));
  });
  const parts = partsOf(defaults);
  const before = page.address.value;
  if (!page.isPlain() || (parts.length === 0 && !defaults.tab) || readUnwanted().includes(page.logdir())) return signal(null);
  // What the reader has pinned stays.
  const added = parts.filter((part) => !before.includes(`&${part.split("=")[0]}=`));
  const [tab, ...others] = before.replace("#", "").split("&");
  page.openPlain(`#${[defaults.tab ?? tab, ...others, ...added].join("&")}`);
  // The page writes parts in its own way.
  const shown = page.address.value.split("&").slice(1).filter((part) => !before.includes(part));
  const isShown = computed(() => shown.length === 0 || shown.some((part) => page.address.value.includes(part)));
  const isReset = signal(false);
  const reset = () => {
    store([...readUnwanted(), page.logdir()]);
    isReset.value = true;
    page.openPlain(before || "#");
  };
  const title = "A file in the log directory suggests this view. Click to show what the page shows without it, also at later visits";
  const line = html`<div class="tb-legend">
    <span>View of tbcore.json</span>
    <button type="button" class="tb-button" aria-label="View of tbcore.json: reset" title=${title} onClick=${reset}>Reset</button>
  </div>`;
  return computed(() => (isShown.value && !isReset.value ? line : null));
}

/** Shows the file's view again at the next visit. @param {string} logdir */
export function wantDefaults(logdir) {
  store(readUnwanted().filter((other) => other !== logdir));
}

/** The parts of an address. @param {Defaults} defaults */
function partsOf({ pins = [], colors = {}, ...rules }) {
  const values = {
    group: rules.group,
    average: rules.average,
    color: rules.color,
    colors: formatLists(Object.entries(colors).map(([name, color]) => [name, color.slice(1)])),
    "scalars.pinned": formatLists([pins]),
  };
  return Object.entries(values).flatMap(([name, value]) => (value ? `${name}=${encodeURIComponent(value)}` : []));
}

/** @returns {string[]} */
function readUnwanted() {
  try {
    const logdirs = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(logdirs) ? logdirs.filter((logdir) => typeof logdir === "string") : [];
  } catch {
    return [];
  }
}

/** @param {string[]} logdirs */
function store(logdirs) {
  try {
    localStorage.setItem(KEY, JSON.stringify([...new Set(logdirs)]));
  } catch {
    // Blocked or full: it is wanted again at the next visit.
  }
}
