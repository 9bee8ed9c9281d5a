/**
 * The scalars tab: the curves of the selected runs, one chart per tag, grouped by the tag's first path segment.
 */

import "@preact/signals";
import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { render } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { FilterBox } from "tbcore/lib/filter-box.js";
import { plural } from "tbcore/lib/format.js";
import { TagGroups } from "tbcore/lib/tag-groups.js";
import { ScalarCard } from "./scalar-card.js";
import { SeriesStore, columnsOf } from "./series-store.js";
import { indexTags } from "./tag-index.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/lib/series.js").XAxis} XAxis
 */

/** @type {[value: XAxis, title: string][]} */
const X_AXES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];

export default {
  /** @param {Host} host */
  async render(host) {
    const [runToTags] = await Promise.all([host.fetchJSON("tags"), host.css("./scalars.css")]);
    const tags = signal(/** @type {import("./tag-index.js").RunToTags} */ (runToTags));
    const store = new SeriesStore(async (run, tag, ending) => {
      const response = await host.fetch(`scalars?${new URLSearchParams({ run, tag })}`, { signal: ending });
      if (response.status === 404) return null; // the run or the tag is gone
      if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
      return columnsOf(await response.json());
    });

    let lists = host.generations.value.lists;
    host.onReload(async (generations) => {
      if (generations.lists === lists) return;
      lists = generations.lists;
      try {
        tags.value = await host.fetchJSON("tags");
      } catch {
        lists = ""; // the shell says that the server is away; asked again with the next reload
      }
    });

    render(html`<${Dashboard} host=${host} store=${store} tags=${tags} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {SeriesStore} props.store
 * @param {import("@preact/signals-core").Signal<import("./tag-index.js").RunToTags>} props.tags
 */
function Dashboard({ host, store, tags }) {
  const runs = host.runs.value;
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const xAxis = X_AXES.find(([value]) => value === settings.x)?.[0] ?? "step";
  const yScale = settings.y === "log" ? "log" : "linear";
  const { groups, runsOf } = useMemo(() => indexTags(tags.value, runs, filter.matches), [tags.value, runs, filter]);
  const stable = useStable(runsOf);
  const closed = new Set((settings.closed ?? "").split(",").filter(Boolean).map(decodeURIComponent));

  /** @param {string} name @param {boolean} open */
  const onToggle = (name, open) => {
    if (open) closed.delete(name);
    else closed.add(name);
    host.settings.set("closed", closed.size > 0 ? [...closed].map(encodeURIComponent).join(",") : null);
  };

  return html`
    <div class="toolbar" role="toolbar" aria-label="Scalars">
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} label="Filter tags (regular expression)" />
      <fieldset class="tb-segments">
        <legend class="tb-hidden">Horizontal axis</legend>
        ${X_AXES.map(
          ([value, title]) => html`<label>
            <input
              type="radio"
              name="x"
              checked=${xAxis === value}
              onChange=${() => host.settings.set("x", value === "step" ? null : value)}
            />${title}
          </label>`,
        )}
      </fieldset>
      <fieldset class="tb-segments">
        <legend class="tb-hidden">Vertical axis</legend>
        <label>
          <input
            type="checkbox"
            checked=${yScale === "log"}
            onChange=${() => host.settings.set("y", yScale === "log" ? null : "log")}
          />Log scale
        </label>
      </fieldset>
      <span class="summary" role="status">${plural(runsOf.size, "tag")}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="groups">
      ${runsOf.size === 0 && html`<p class="nothing">${whyNothing(tags.value, runs.length, filter)}</p>`}
      <${TagGroups}
        groups=${groups}
        closed=${closed}
        onToggle=${onToggle}
        renderCard=${(/** @type {string} */ tag, /** @type {string} */ group) =>
          html`<${ScalarCard}
            key=${tag}
            host=${host}
            store=${store}
            tag=${tag}
            group=${group}
            runs=${stable.get(tag)}
            xAxis=${xAxis}
            yScale=${yScale}
          />`}
      />
    </div>
  `;
}

/**
 * The same lists of runs as before, where they are equal: a card whose runs did not change is not drawn again.
 * @param {Map<string, import("tbcore/host.js").Run[]>} runsOf
 */
function useStable(runsOf) {
  const last = useRef(/** @type {typeof runsOf} */ (new Map()));
  return useMemo(() => {
    /** @type {typeof runsOf} */
    const next = new Map();
    for (const [tag, runs] of runsOf) {
      const old = last.current.get(tag);
      next.set(tag, old && areEqual(old, runs) ? old : runs);
    }
    last.current = next;
    return next;
  }, [runsOf]);
}

/**
 * @param {readonly import("tbcore/host.js").Run[]} a
 * @param {readonly import("tbcore/host.js").Run[]} b
 */
function areEqual(a, b) {
  return a.length === b.length && a.every(({ name, color }, index) => name === b[index].name && color === b[index].color);
}

/**
 * @param {import("./tag-index.js").RunToTags} tags
 * @param {number} numRuns  shown
 * @param {import("tbcore/lib/filter.js").Filter} filter
 */
function whyNothing(tags, numRuns, filter) {
  if (numRuns === 0) return "No run is selected. Check one in the list of runs, or change its filter.";
  if (filter.text !== "" && Object.values(tags).some((list) => list.length > 0)) return `No tag of the selected runs matches “${filter.text}”.`;
  return "The selected runs have no scalars.";
}
