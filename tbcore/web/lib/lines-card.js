/**
 * A card with a line chart of some runs, and what they logged fetched once it is in sight. The chart follows the theme and
 * the run that is pointed at, the card can have the whole width, and the chart can be saved as a picture.
 *
 *     const body = useRef(null);
 *     const isNear = useNear(body);
 *     const { answer, error } = useColumns(host, "lines", { tag }, runs, isNear);
 *     const lines = useMemo(() => linesOf(answer, runs), [answer, runs]);
 *     return html`<${LinesCard} host=${host} body=${body} isNear=${isNear} title=${tag} lines=${lines} error=${error} />`;
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsking } from "./answers.js";
import { Card, Menu, ShowAll } from "./card.js";
import { readColumns } from "./columns.js";
import { Legend, legendRows } from "./legend.js";
import { LineChart } from "./line-chart.js";
import { PictureButtons } from "./picture-buttons.js";
import { post } from "./post.js";
import { Queue } from "./queue.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("./chart-types.js").Line} Line
 * @typedef {import("./chart-types.js").Band} Band
 * @typedef {ReturnType<typeof readColumns>} Columns
 */

/** Requests of a tab at a time: a browser opens six connections, and the page needs one. */
const LIMIT = 5;
/** @type {WeakMap<Host, Queue>} */
const queues = new WeakMap();

/**
 * What the server has of some runs, now and whenever one of them changes: a POST of `{"runs": [...], ...question}`, which a
 * route reads with `json_body` and answers with `columns_response`. What was fetched stays until what is newer is there.
 * @param {Host} host
 * @param {string} path  of the route
 * @param {object} question  what JSON has
 * @param {readonly Run[]} runs
 * @param {boolean} isWanted  whether the card is near: `useNear` says it
 * @returns {{ answer: Columns | null, error: string }}
 */
export function useColumns(host, path, question, runs, isWanted) {
  const [answer, setAnswer] = useState(/** @type {Columns | null} */ (null));
  const [error, setError] = useState("");
  const names = runs.map(({ name }) => name);
  const body = JSON.stringify({ runs: names, ...question });
  const generations = host.generations.value;
  const generation = names.map((name) => generations.of(name)).join(" ");
  const ask = async (/** @type {AbortSignal} */ signal) => {
    let queue = queues.get(host);
    if (!queue) queues.set(host, (queue = new Queue(LIMIT)));
    try {
      const found = await queue.add(async (ending) => readColumns(await (await post(host, path, JSON.parse(body), ending)).arrayBuffer()), signal);
      if (signal.aborted) return;
      setAnswer(found);
      setError("");
    } catch (failure) {
      if (!signal.aborted) setError(/** @type {Error} */ (failure).message);
    }
  };
  useAsking(isWanted ? ask : null, [path, body], generation);
  return { answer, error };
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {import("preact").RefObject<HTMLElement>} props.body  of the chart, for `useNear`
 * @param {boolean} props.isNear  the chart exists while it is
 * @param {string} props.title
 * @param {string} [props.group]  whose heading says the beginning of the title
 * @param {readonly Line[] | null} [props.lines]  null: they are not there yet. Equal ones are to be the same array
 * @param {readonly Band[] | null} [props.bands]
 * @param {string} [props.error]  why there is nothing, or nothing newer
 * @param {Partial<import("./chart-types.js").Axes>} [props.axes]
 * @param {import("./chart-types.js").Cursor} [props.cursor]  of all cards; make it anew when the x axis is another one
 * @param {import("./chart-types.js").Callbacks["readOut"]} [props.readOut]
 * @param {boolean} [props.legend]  with a table of the lines below
 * @param {readonly string[]} [props.notes]  what to know about the chart, also in its pictures
 * @param {() => unknown} [props.downloads]  what else stands in the menu of downloads
 * @param {unknown} [props.children]  above the chart
 */
export function LinesCard({ host, body, isNear, title, group, lines, bands, error = "", axes = {}, cursor, readOut, legend = false, ...props }) {
  const { notes = [], downloads, children } = props;
  const drawn = useRef(/** @type {LineChart | null} */ (null));
  const latest = useRef(readOut);
  latest.current = readOut;
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const [hits, setHits] = useState(/** @type {readonly import("./chart-types.js").Hit[] | null} */ (null));
  const { xAxis = "step", xScale = "linear", yScale = "linear", clip = false } = axes;
  const theme = host.theme.value;
  const hovered = host.hoveredRun.value;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const made = new LineChart(body.current.appendChild(document.createElement("div")), {
      label: title,
      cursor,
      readOut: readOut && ((found) => /** @type {NonNullable<typeof readOut>} */ (latest.current)(found)),
      onHover: (found) => {
        const line = found[0]?.line;
        host.hoveredRun.set(line ? (line.run ?? line.name) : null);
        setHits(found.length > 0 ? found : null);
      },
      onZoom: setZoomed,
    });
    drawn.current = made;
    return () => {
      made.destroy();
      body.current?.replaceChildren();
      drawn.current = null;
      setZoomed(false);
      setHits(null);
    };
  }, [isNear, cursor]);
  useEffect(() => {
    drawn.current?.setAxes({ xAxis, xScale, yScale, clip });
  }, [isNear, cursor, xAxis, xScale, yScale, clip]);
  useEffect(() => {
    if (bands) drawn.current?.setBands(bands);
    else drawn.current?.setLines(lines ?? []);
  }, [isNear, cursor, lines, bands]);
  useEffect(() => {
    drawn.current?.restyle();
  }, [theme]);
  useEffect(() => {
    drawn.current?.highlight(hovered);
  }, [isNear, cursor, hovered]);

  const actions = html`
    ${isZoomed && html`<${ShowAll} label=${title} onClick=${() => drawn.current?.resetZoom()} />`}
    <${Menu}
      icon="download"
      label="Download ${title}"
      content=${() => html`<div class="tb-downloads"><${PictureButtons} chart=${drawn.current} name=${title} note=${notes.join("; ")} />${downloads?.()}</div>`}
    />
  `;
  const numDrawn = (lines?.length ?? 0) + (bands?.length ?? 0);
  const hint = lines || bands ? (numDrawn > 0 ? "" : "nothing to draw") : error ? "" : "loading";
  return html`<${Card} title=${title} group=${group} expanded=${expanded} onExpand=${setExpanded} actions=${actions}>
    ${children} ${notes.map((note) => html`<p class="tb-card-note" role="note">${note}</p>`)}
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${legend &&
    lines &&
    lines.length > 0 &&
    html`<${Legend}
      label=${`Values of ${title}`}
      rows=${legendRows(lines, hits, xAxis)}
      isLast=${!hits}
      onHover=${(/** @type {{ run: string } | null} */ row) => host.hoveredRun.set(row?.run ?? null)}
      highlighted=${hovered}
    />`}
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}
