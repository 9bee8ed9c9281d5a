/** A card with a chart of any kind. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { lineSample } from "../ui/colors.js";
import { IconButton, Menu } from "../ui/controls.js";
import { Lazy } from "../ui/lazy.js";
import { Card } from "./card.js";

/**
 * @typedef {import("../chart/types.js").Hit} Hit
 *
 * @typedef {object} Chart  the methods of a chart that a card uses; a `LineChart` has them
 * @property {() => void} [restyle]  redraws after a change of the theme
 * @property {() => void} resetZoom
 * @property {() => void} destroy
 * @property {(note?: string) => Promise<string>} toSVG  the chart as a picture, with a note
 * @property {(inches: number, note?: string, wishes?: import("../chart/types.js").FigureWishes) => Promise<string>} [toFigure]
 *   the chart as an SVG document of this width, for a paper; with it, the download menu offers widths
 *
 * @typedef {object} ChartEvents  what a chart calls to report to its card
 * @property {(run: string | null, hits?: readonly Hit[]) => void} hover  the run under the pointer,
 *   which is highlighted everywhere; and the points there, for the legend
 * @property {(isZoomed: boolean) => void} zoom  for the button that shows everything again
 * @property {AbortSignal} signal  aborted before the chart is destroyed
 */

/**
 * A card with a chart of any kind. The chart exists only while the card is near the visible part of
 * the page. It follows the theme, and can be downloaded as a picture. Besides these props it takes
 * those of `Card`; by default it keeps `expanded` itself.
 * @template {Chart} C
 * @param {object} props
 * @param {import("tbcore/host.js").Host} props.host
 * @param {import("preact").RefObject<HTMLElement>} props.body  set to the element around the chart,
 *   for `useNear`
 * @param {boolean} props.isNear  the chart exists only while this is true
 * @param {string} props.title
 * @param {string} [props.label]  accessible name, such as a tag and a run; by default the title
 * @param {(element: HTMLElement, on: ChartEvents) => C} props.make  creates the chart in an element
 * @param {(chart: C) => void} props.draw  draws the data; called again when one of `drawnBy` changes
 * @param {readonly unknown[]} props.drawnBy  what the drawing depends on
 * @param {string} [props.hint]  shown in place of the chart: `loading`
 * @param {string} [props.error]  why the data could not be loaded or updated
 * @param {readonly string[]} [props.notes]  notes above the chart, which are also in its pictures
 * @param {readonly (readonly [name: string, dash: readonly number[] | null | undefined])[]} [props.dashes]
 *   what the dashes of the lines stand for, shown above the chart; null for a text without sample
 * @param {unknown} [props.actions]  more buttons in the header
 * @param {Partial<{ icon: "download" | "more", label: string, content: (pictures: unknown) => unknown }>} [props.menu]
 *   the menu of downloads. `content` renders it; `pictures` are the buttons for SVG, PNG and PDF
 * @param {{ name?: string, note?: string }} [props.picture]  name of the files, without extension;
 *   text in the pictures
 * @param {((hits: readonly Hit[] | null) => unknown) | null | false} [props.legend]  renders what is
 *   shown below the chart; `hits`: the points under the pointer
 * @param {unknown} [props.children]  shown above the notes
 * @param {unknown} [props.over]  a button over the top left of the chart
 * @param {unknown} [props.below]  shown below the chart
 */
export function ChartCard({ host, body, isNear, title, label = title, make, draw, drawnBy, hint = "", error = "", notes = [], dashes = [], ...props }) {
  const { actions, menu = {}, picture = {}, legend, children, over, below, ...card } = props;
  const chart = useRef(/** @type {C | null} */ (null));
  const hasLegend = useRef(false);
  hasLegend.current = Boolean(legend);
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const [hits, setHits] = useState(/** @type {readonly Hit[] | null} */ (null));
  const theme = host.theme.value;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const controller = new AbortController();
    const created = make(body.current.appendChild(document.createElement("div")), {
      hover(run, points = []) {
        host.hoveredRun.set(run);
        if (hasLegend.current) setHits(points.length > 0 ? points : null);
      },
      zoom: setZoomed,
      signal: controller.signal,
    });
    chart.current = created;
    return () => {
      controller.abort();
      created.destroy();
      body.current?.replaceChildren();
      chart.current = null;
      setZoomed(false);
      setHits(null);
    };
  }, [isNear, label]);
  useEffect(() => {
    if (chart.current) draw(chart.current);
  }, [isNear, label, ...drawnBy]);
  useEffect(() => {
    chart.current?.restyle?.();
  }, [theme]);

  const { name = title, note = notes.join("; ") } = picture;
  const content = menu.content ?? ((/** @type {unknown} */ pictures) => html`<div class="tb-downloads">${pictures}</div>`);
  const pictured = () => html`<${Lazy} load=${() => import("./picture-buttons.js").catch(() => ({ WithPictures: () => content(html`<p />`) }))} of="WithPictures" content=${content} chart=${chart.current} memory=${host.memory} name=${name} note=${note} />`;
  const buttons = html`
    ${isZoomed &&
    html`<${IconButton} icon="unzoom" class="tb-stay" label="Show all of ${label}" title="Show all (double-click)" onClick=${() => chart.current?.resetZoom()} />`}
    ${actions}
    <${Menu} icon=${menu.icon ?? "download"} label=${menu.label ?? `Download ${label}`} content=${pictured} />
  `;
  return html`<${Card} title=${title} label=${label} expanded=${expanded} onExpand=${setExpanded} ...${card} actions=${buttons}>
    ${dashes.length > 1 &&
    html`<p class="tb-card-note key">
      ${dashes.map(([what, dash]) => html`<span>${dash !== null && html`<i class="tb-dashed" style=${{ background: lineSample("currentcolor", dash) }}></i>`}${what}</span>`)}
    </p>`}
    ${children}
    ${notes.map((text) => html`<p class="tb-card-note" role="note">${text}</p>`)}
    ${over && html`<div class="tb-card-over">${over}</div>`}
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${below}
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
    ${legend && legend(hits)}
  <//>`;
}
