/**
 * The PR curves tab: a card for each tag with the curves of all runs, at the step of all tabs.
 *
 * Settings in the page address: that of `useSharedPlace`, `closed` (the folded sections), and those of `options.js`.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Answers } from "tbcore/requests.js";
import { StepSlider, findPlace, stepTo, useSharedPlace, usePlaces } from "tbcore/steps.js";
import { TagTab, indexTags, runsInGroupOrder, watchTags } from "tbcore/tags.js";
import { Menu, Pick } from "tbcore/ui.js";
import { CurveCard } from "./curve-card.js";
import { readFound } from "./curve.js";
import { OPTIONS, PRECISION_RANGES } from "./options.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("./curve.js").CurveAtStep} CurveAtStep
 */

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host, namesOf), host.css("./pr_curves.css")]);
    const answers = new Answers(host, "step", readFound);
    OPTIONS.recall(host);
    render(html`<${Tab} host=${host} tags=${tags} answers=${answers} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * The tags of each run, from a response of the route `tags`.
 * @param {Record<string, Record<string, unknown>>} response
 */
function namesOf(response) {
  return Object.fromEntries(Object.entries(response).map(([run, tags]) => [run, Object.keys(tags)]));
}

/**
 * The toolbar and the cards.
 * @param {{ host: Host, tags: Awaited<ReturnType<typeof watchTags>>, answers: Answers<CurveAtStep> }} props
 */
function Tab({ host, tags, answers }) {
  const runs = runsInGroupOrder(host);
  const filter = host.tagFilter.value;
  const shown = useMemo(
    () => indexTags(tags.value, runs, filter.matches).groups.flatMap((group) => group.tags),
    [tags.value, runs, filter],
  );
  const places = usePlaces(host, runs, shown, shown.length > 0);
  const [place, onMove] = useSharedPlace(host);

  const move = useRef(/** @type {(by: number) => void} */ (() => {}));
  move.current = (by) => places.length > 0 && onMove(stepTo(places, findPlace(places, place) + by, place));
  useEffect(() => {
    host.keys([
      { key: "[", label: "Previous step", act: () => move.current(-1) },
      { key: "]", label: "Next step", act: () => move.current(1) },
      { key: "← →", label: "Previous or next threshold, in the focused chart" },
      { key: "↑ ↓", label: "Previous or next run, in the focused chart" },
      { key: "+ − 0", label: "Zoom in, zoom out, show everything; Shift with ← → pans" },
      { key: "drag", label: "Zoom to a range; Shift and drag pans, Ctrl or ⌘ and the wheel zooms, a double click shows everything" },
      { key: "f", label: "Show the focused card in full size" },
      { key: "Esc", label: "Deselect the threshold, in the focused chart" },
    ]);
  }, []);

  const { fit } = OPTIONS.parse(host.settings.value);
  const hasGroups = host.groups.value?.groups.some(({ runs: { length } }) => length > 1);
  const controls = html`
    ${shown.length > 0 && places.length > 1 && html`<${StepSlider} places=${places} value=${place} onChange=${onMove} label="Step of all curves" />`}
    ${hasGroups && html`<span class="pr-note">One curve for each run: curves are not averaged</span>`}
    <${Menu}
      icon="settings"
      label="Settings"
      content=${() => html`<div class="tb-settings">
        <${Pick} label="Precision axis" choices=${PRECISION_RANGES} value=${fit} onChange=${(/** @type {boolean} */ value) => OPTIONS.set(host, "fit", value)} />
      </div>`}
    />
  `;
  return html`<${TagTab}
    host=${host}
    tags=${tags}
    what="PR curves"
    controls=${controls}
    size="pr-tab"
    renderTag=${(/** @type {{ tag: string, runs: readonly import("tbcore/host.js").Run[], group: string }} */ { tag, runs: members, group }) =>
      html`<${CurveCard} key=${tag} host=${host} answers=${answers} tag=${tag} group=${group} runs=${members} place=${place} />`}
  />`;
}
