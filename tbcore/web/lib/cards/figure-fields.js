/**
 * What a figure for a paper has in place of its own: the place of its legend, the titles of its axes, and
 * names of lines and groups. The browser keeps them for each log directory. Loaded with the buttons for pictures.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { percentEncode } from "../address.js";
import { Name } from "../text-names.js";

/** @typedef {import("tbcore/host.js").Settings} Settings @typedef {import("../chart/types.js").FigureWishes} FigureWishes */
/** @typedef {Parameters<NonNullable<FigureWishes["rename"]>>} Text  a text of the figure that may be another: what it is, the text, its colour */

/** Places of the legend. */
const PLACES = ["outside", "top left", "top right", "bottom left", "bottom right", "none"];
/** The setting with the place of the legend. */
const LEGEND = "figure.legend";
/** The setting with a text in place of one of the figure. @param {string} kind @param {string} text */
const keyOf = (kind, text) => `figure.${kind}:${text}`;

/** What the reader wishes of figures. @param {Settings} memory @returns {Required<FigureWishes>} */
export function wishesOf({ value }) {
  const wishes = new Map(Object.entries(value));
  return {
    legend: PLACES.find((place) => place === wishes.get(LEGEND)) ?? PLACES[0],
    rename: (kind, text) => wishes.get(keyOf(kind, text)) ?? "",
  };
}

/**
 * The fields, below the figure as it will be.
 * @param {object} props
 * @param {(wishes: FigureWishes) => Promise<string>} props.draw  makes the figure, as SVG
 * @param {unknown} props.drawnBy  what it depends on, besides the fields
 * @param {Settings} props.memory
 */
export function FigureFields({ draw, drawnBy, memory }) {
  const [preview, setPreview] = useState("");
  const [texts, setTexts] = useState(/** @type {Text[]} */ ([]));
  const wishes = wishesOf(memory);
  useEffect(() => {
    let isCurrent = true;
    const show = async () => {
      /** Each text once, in the order of the figure. @type {Map<string, Text>} */
      const found = new Map();
      const rename = (/** @type {Text} */ ...text) => {
        found.set(keyOf(text[0], text[1]), text);
        return wishes.rename(...text);
      };
      const svg = await draw({ ...wishes, rename });
      if (!isCurrent) return;
      setPreview(`data:image/svg+xml,${percentEncode(svg)}`);
      setTexts([...found.values()]);
    };
    show().catch(console.warn);
    return () => void (isCurrent = false);
  }, [drawnBy, JSON.stringify(memory.value)]);
  /** @param {string} key @param {string} text  "" for that of the figure itself */
  const set = (key, text) => memory.set(key, text || null);
  /** @param {Text} text @param {string} label @param {unknown} [sample] */
  const field = ([kind, text], label, sample) => html`<label key=${keyOf(kind, text)} style=${{ display: "flex", alignItems: "center", gap: "6px", marginBottom: "4px" }}>
    ${sample ?? html`<span style=${{ width: "44px" }}>${label}</span>`}
    <input
      class="tb-input"
      style=${{ flex: 1 }}
      aria-label=${sample ? `${label} ${text}` : `Title of the ${label}`}
      autocomplete="off"
      placeholder=${text}
      defaultValue=${wishes.rename(kind, text)}
      onChange=${(/** @type {any} */ { currentTarget }) => set(keyOf(kind, text), currentTarget.value.trim())}
    />
  </label>`;
  const [names, titles] = [texts.filter(([kind]) => kind === "name"), texts.filter(([kind]) => kind !== "name")];
  return html`
    ${preview && html`<img src=${preview} alt="The figure" style=${{ display: "block", width: "100%", marginBottom: "6px" }} />`}
    <label style=${{ display: "flex", alignItems: "center", gap: "6px", marginBottom: "4px" }}>
      <span style=${{ width: "44px" }}>Legend</span>
      <select class="tb-input" aria-label="Place of the legend" value=${wishes.legend} onChange=${(/** @type {any} */ { currentTarget }) => set(LEGEND, currentTarget.value)}>
        ${PLACES.map((place) => html`<option>${place}</option>`)}
      </select>
    </label>
    ${titles.map((text) => field(text, `${text[0]} axis`))}
    ${names.length > 0 &&
    html`<details style=${{ marginBottom: "6px" }}>
      <summary>Names in figures</summary>
      <div style=${{ maxHeight: "150px", overflow: "auto" }}>
        ${names.map((text) => field(text, "Name of", html`<i style=${{ width: "12px", height: "3px", background: text[2] }}></i><span style=${{ display: "flex", width: "40%", minWidth: 0 }}><${Name} name=${text[1]} /></span>`))}
      </div>
    </details>`}
  `;
}
