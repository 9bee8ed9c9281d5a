/** A summary of the syntax of queries. Loaded when it is first opened. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { adoptSheet, loadSheet } from "../ui/lazy.js";

const SHEET = await loadSheet(new URL("./filter.css", import.meta.url)).catch(console.warn);

/** The syntax of all queries: examples, separated by three blanks, and what they find. @type {[examples: string, meaning: string][]} */
const COMMON = [
  ["vit seed1", "names that contain both words, in any order"],
  ["vit | resnet", "names that contain either"],
  ["-seed1   -(a | b)", "all others"],
  ["*/seed?", "whole names; * matches any characters, ? one"],
  ['"two words"', "a name or value with blanks or signs"],
  ["re:lr=1e-[34]", "a regular expression"],
];
/** The syntax that only queries for runs have. @type {typeof COMMON} */
const RUNS = [
  ["learning_rate>1e-3   optimizer=adam*", "a hyperparameter: = != < <= > >="],
  ["val/loss:last<0.5", "a value of a tag: last, min, max, at(1000), its change(1000) over the last 1000 steps, or nan: the first step that is not finite"],
  ["has:val/loss   has:nan", "the run has the tag; it has NaN or infinite values"],
  ["live   quiet", "the run is being written, or not"],
  ["newest:10", "one of the ten runs with the latest events"],
  ["is:starred   is:archived   #paper   note:bug", "what users noted: a star, put away, a label, a part of a note"],
  ["step>1000   age<2h   took>30m", "its highest step, time since its last event, duration: s m h d w"],
];

/** The summary, in a popover of a filter box. It moves the popover below the box. @param {{ subject: "runs" | "tags" }} props */
export function QueryPopover({ subject }) {
  const content = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const popover = /** @type {HTMLElement} */ (content.current?.parentElement);
    const { left, bottom } = /** @type {Element} */ (popover.parentElement).getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    popover.style.left = `${Math.max(4, Math.min(left, clientWidth - popover.offsetWidth - 4))}px`;
    popover.style.top = `${Math.max(4, Math.min(bottom + 4, clientHeight - popover.offsetHeight - 4))}px`;
  }, []);
  return html`<div ref=${content}><${QueryHelp} subject=${subject} /></div>`;
}

/** The summary. @param {{ subject: "runs" | "tags" }} props */
export function QueryHelp({ subject }) {
  const rows = subject === "runs" ? [...COMMON, ...RUNS] : COMMON;
  const table = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => adoptSheet(table.current?.getRootNode(), SHEET), []);
  return html`<table class="tb-query-help" ref=${table}>
    <caption>Filter ${subject}</caption>
    <tbody>
      ${rows.map(
        ([examples, meaning]) => html`<tr>
          <td>${examples.split("   ").map((example) => html`<code>${example}</code>`)}</td>
          <td>${meaning}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}
