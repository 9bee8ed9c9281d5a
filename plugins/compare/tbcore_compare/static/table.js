/** The table: a column for each run or group, and sections of rows. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { commonLengths, formatName, plural } from "tbcore/format.js";
import { withArchived } from "tbcore/groups.js";
import { Name, runTitle } from "tbcore/text-names.js";

/**
 * @typedef {import("./columns.js").Column} Column
 * @typedef {import("./rows.js").Cell} Cell
 * @typedef {import("./rows.js").Row} Row
 */

/** Number of rows that a section shows at first, and that each click adds. */
const ROWS_PER_PAGE = 100;

/**
 * The table. Each section has a title, its rows, what it says if it has none, and what rows are that
 * do not differ.
 * @param {object} props
 * @param {readonly Column[]} props.columns  the baseline first
 * @param {readonly { title: string, rows: readonly Row[], none: string, same?: string, more?: unknown }[]} props.sections
 * @param {boolean} props.isAll  whether rows are shown whose columns have the same
 * @param {(name: string) => void} props.onBase  chooses another baseline
 */
export function Table({ columns, sections, isAll, onBase }) {
  const [start, end] = commonLengths(columns.map(({ label }) => label));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [isWide, setWide] = useState(false);
  useLayoutEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    const observer = new ResizeObserver(() => setWide(current.scrollWidth > current.clientWidth + 1));
    for (const element of [current, ...current.children]) observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // A box that scrolls sideways would keep the headings from staying at the top of the page.
  return html`<div class="compare-table ${isWide ? "wide" : ""}" ref=${box} tabindex="0" role="region" aria-label="Side by side">
    <table>
      <thead>
        <tr>
          <td></td>
          ${columns.map(
            ({ name, label, color, runs, isGroup, archived }, at) => html`<th scope="col" key=${name} title=${runTitle({ name, label })}>
              <button type="button" aria-pressed=${at === 0} aria-label=${`Compare with ${formatName(label)}`} onClick=${() => onBase(name)}>
                <i style=${{ background: color }}></i><${Name} name=${label} part=${[start, label.length - end]} />
              </button>
              <small>${at === 0 ? "baseline" : ""}${at === 0 && isGroup ? ", " : ""}${isGroup ? withArchived(plural(runs.length, "run"), archived) : ""}</small>
            </th>`,
          )}
        </tr>
      </thead>
      ${sections.map((section) => html`<${Section} key=${section.title} ...${section} numColumns=${columns.length} isAll=${isAll} />`)}
    </table>
  </div>`;
}

/** @param {{ title: string, rows: readonly Row[], none: string, same?: string, more?: unknown, numColumns: number, isAll: boolean }} props */
function Section({ title, rows, none, same = "the same in all", more, numColumns, isAll }) {
  const [limit, setLimit] = useState(ROWS_PER_PAGE);
  const shown = isAll ? rows : rows.filter(({ isSame }) => !isSame);
  const numSame = rows.length - shown.length;
  const numMore = Math.max(0, shown.length - limit);
  const note = rows.length === 0 ? none : numSame > 0 ? `${numSame}${shown.length > 0 ? " more" : ""} ${numSame === 1 ? "is" : "are"} ${same}` : "";
  return html`<tbody>
    <tr class="compare-section">
      <th colspan=${numColumns + 1} scope="rowgroup"><span>${title}${note && html` <small>${note}</small>`}</span></th>
    </tr>
    ${shown.slice(0, limit).map((row) => html`<${Line} key=${row.key} row=${row} />`)}
    ${numMore > 0 &&
    html`<tr>
      <td class="compare-more" colspan=${numColumns + 1}><button type="button" class="tb-button" onClick=${() => setLimit(limit + ROWS_PER_PAGE)}>Show ${plural(Math.min(numMore, ROWS_PER_PAGE), "more row")} of ${numMore}</button></td>
    </tr>`}
    ${numMore === 0 &&
    more &&
    html`<tr>
      <td class="compare-more" colspan=${numColumns + 1}>${more}</td>
    </tr>`}
  </tbody>`;
}

/** @param {{ row: Row }} props */
function Line({ row: { label, note, cells, isTime } }) {
  return html`<tr class=${isTime ? "compare-time" : ""}>
    <th scope="row" title=${formatName(label)}><span><${Name} name=${label} />${note && html`<small>${note}</small>`}</span></th>
    ${cells.map((cell, at) => html`<td key=${at} class=${classOf(cell, isTime ? cell : cells[0])} title=${cell.title || formatName(cell.text)}><${Content} cell=${cell} /></td>`)}
  </tr>`;
}

/** @param {{ cell: Cell }} props */
function Content({ cell: { text, note, change, mark, why } }) {
  return html`<span>${mark && html`<b class="compare-best" title=${why || undefined}>${mark}</b> `}${formatName(text)}</span>
    ${note && html` <small>${formatName(note)}</small>`}${change && html` <small class="compare-change">${change}</small>`}`;
}

/** @param {Cell} cell @param {Cell} base */
function classOf(cell, base) {
  const names = [cell.value !== undefined && "compare-figure", cell.isMissing && "tb-dim", cell.mark?.startsWith("best") && "best", cell.value === undefined && !cell.isMissing && cell.text !== base.text && "differs"];
  return names.filter(Boolean).join(" ");
}
