/** A summary of the syntax of queries. Loaded when it is first opened. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { adoptSheet, loadSheet } from "../ui/lazy.js";
import { TERMS } from "./terms.js";

const SHEET = await loadSheet(new URL("./filter.css", import.meta.url)).catch(console.warn);

/** The syntax of all queries. @type {import("./terms.js").Term[]} */
const COMMON = [
  { examples: "vit seed1", meaning: "names that contain both words, in any order" },
  { examples: "vit | resnet", meaning: "names that contain either" },
  { examples: "-seed1   -(a | b)", meaning: "all others" },
  { examples: "*/seed?", meaning: "whole names; * matches any characters, ? one" },
  { examples: '"two words"', meaning: "a name or value with blanks or signs" },
  { examples: "re:lr=1e-[34]", meaning: "a regular expression" },
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
  const rows = subject === "runs" ? [...COMMON, ...TERMS] : COMMON;
  const table = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => adoptSheet(table.current?.getRootNode(), SHEET), []);
  return html`<table class="tb-query-help" ref=${table}>
    <caption>Filter ${subject}</caption>
    <tbody>
      ${rows.map(
        ({ examples, meaning }) => html`<tr>
          <td>${examples.split("   ").map((example) => html`<code>${example}</code>`)}</td>
          <td>${meaning}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}
