/** The plugins page: each installed plugin with its state. Loaded when it is first opened. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatDuration, formatTime, formatValue, plural } from "../lib/format.js";
import { Icon } from "../lib/ui/controls.js";
import { UnshownList, hasUnshown } from "./empty-states.js";
import { address, getJSON } from "./state/server.js";

/** The states of a plugin, in the order in which the page lists them. */
const STATES = /** @type {const} */ (["failed", "starting", "active", "inactive", "off"]);
/** Time between two refreshes while the page is visible. */
const REFRESH_INTERVAL_MS = 3000;
/** A call is listed under "Running now" once it has run for this long. */
const SLOW_CALL_SECONDS = 1;

/**
 * The response of `data/plugins`, which docs/http_api.md describes. All times are in seconds.
 * @typedef {{ version: string, api: number, dev: boolean, plugins: PluginState[] }} Plugins
 *
 * @typedef {{ what: string, count: number, median: number, slowest: number }} Timing
 * @typedef {{ what: string, message: string, count: number, last: number, traceback?: string }} Fault
 * @typedef {{ name: string, value: unknown, default: unknown, help: string, wanted: string }} Option
 *
 * @typedef {object} PluginState
 * @property {string} name
 * @property {string} title
 * @property {string} description
 * @property {string} distribution
 * @property {string} version
 * @property {"active" | "inactive" | "failed" | "starting" | "off"} state
 * @property {string[]} page_allows  what its page may do besides
 * @property {string | null} reason  the reason for the state, if there is one to show
 * @property {string} page  the address of its web application, if it has no tab
 * @property {Option[]} options
 * @property {Timing[]} timings
 * @property {{ what: string, seconds: number }[]} running
 * @property {Fault[]} faults
 * @property {number} log_lines_left_out
 */

/** The plugins page. @param {{ state: import("./state/reader-state.js").State }} props */
export function PluginsPage({ state }) {
  const [plugins, setPlugins] = useState(/** @type {Plugins | null} */ (null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  useEffect(() => {
    const closed = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const refresh = async () => {
      try {
        if (document.visibilityState === "visible" || !timer) {
          setPlugins(await getJSON(address("data/plugins"), { signal: closed.signal }));
          setError(null);
        }
      } catch (problem) {
        if (!closed.signal.aborted) setError(problem instanceof Error ? problem.message : String(problem));
      }
      if (!closed.signal.aborted) timer = setTimeout(refresh, REFRESH_INTERVAL_MS);
    };
    refresh();
    return () => {
      closed.abort();
      clearTimeout(timer);
    };
  }, []);

  if (!plugins && !error) {
    return html`<p class="plugins-page tb-dim" role="status">Loading the list of plugins</p>`;
  }
  return html`<div class="plugins-page">
    <header>
      <h1>Plugins</h1>
      ${plugins &&
      html`<p class="tb-dim">tbcore ${plugins.version}, plugin API ${plugins.api}. ${summary(plugins.plugins)}</p>`}
      ${error &&
      html`<p class="bad-text" role="alert">Could not refresh this page, so it may be out of date: ${error}</p>`}
    </header>
    ${plugins?.plugins.length === 0 &&
    html`<p>No plugins are installed. <code>pip install "tbcore-server[all]"</code> installs all plugins that come with tbcore.</p>`}
    ${plugins &&
    [...plugins.plugins]
      .sort((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))
      .map((plugin) => html`<${PluginCard} key=${`${plugin.name} ${plugin.state} ${plugin.distribution}`} plugin=${plugin} />`)}
    ${hasUnshown(state) &&
    html`<section class="unshown-data" aria-label="Data that no installed plugin shows">
      <h2>Data that no installed plugin shows</h2>
      <${UnshownList} state=${state} />
    </section>`}
  </div>`;
}

/** One plugin. @param {{ plugin: PluginState }} props */
function PluginCard({ plugin }) {
  const { name, title, description, distribution, version, state, reason, timings, options, running } = plugin;
  const faults = plugin.faults.filter(({ message }) => message !== reason);
  const slow = running.filter(({ seconds }) => seconds > SLOW_CALL_SECONDS);
  const id = `plugin-${name}`;
  return html`<section class="plugin-state" aria-labelledby=${id} data-plugin=${name} data-state=${state}>
    <header>
      <h2 id=${id}>${title}</h2>
      <span class="state">${state === "failed" && html`<${Icon} name="warning" />`}${state}</span>
      <span class="origin tb-dim"><code>${name}</code> ${distribution || "unknown distribution"} ${version}</span>
    </header>
    ${description && html`<p>${description}</p>`}
    ${reason && html`<p class=${state === "failed" ? "bad-text" : ""}>${state === "off" && "Not imported: "}${reason}</p>`}
    ${state === "active" && plugin.page && html`<p><a href=${address(plugin.page)} target="_blank">Open its page</a></p>`}
    ${plugin.page_allows.length > 0 && html`<p>Its page may use ${plugin.page_allows.join(", ")}.</p>`}
    ${(state === "active" || state === "inactive") && html`<${KeyTimings} timings=${timings} />`}
    ${slow.length > 0 &&
    html`<h3>Running now</h3>
      <ul>
        ${slow.map(({ what, seconds }) => html`<li><code>${what}</code> for ${formatDuration(seconds)}</li>`)}
      </ul>`}
    ${plugin.log_lines_left_out > 0 &&
    html`<p class="warn-text">
      Dropped ${plural(plugin.log_lines_left_out, "line")} of this plugin's log, because it logs too much.
    </p>`}
    ${faults.length > 0 && html`<${Faults} faults=${faults} />`}
    ${options.length > 0 && html`<${Options} plugin=${name} options=${options} />`}
    ${timings.length > 0 &&
    html`<details>
      <summary>All timings</summary>
      <div class="scroll">
        <table>
          <thead>
            <tr>${["Operation", "Calls", "Median", "Slowest"].map((title) => html`<th scope="col">${title}</th>`)}</tr>
          </thead>
          <tbody>
            ${timings.map(
              ({ what, count, median, slowest }) => html`<tr key=${what}>
                <th scope="row">${what}</th>
                ${[formatValue(count), formatCallTime(median), formatCallTime(slowest)].map((text) => html`<td>${text}</td>`)}
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>`}
  </section>`;
}

/** A plugin's most important timings. @param {{ timings: Timing[] }} props */
function KeyTimings({ timings }) {
  const routes = timings.filter(({ what }) => what.startsWith("route "));
  const slowest = routes.reduce((a, b) => (b.slowest > a.slowest ? b : a), routes[0]);
  const numCalls = routes.reduce((sum, { count }) => sum + count, 0);
  const timingOf = (/** @type {string} */ name) => timings.find(({ what }) => what === name);
  const slowestText = slowest ? `${formatCallTime(slowest.slowest)}, ${slowest.what.replace("route ", "")}` : "–";
  const figures = {
    Import: formatCallTime(timingOf("import")?.slowest),
    "is_active, median": formatCallTime(timingOf("is_active")?.median),
    Requests: formatValue(numCalls),
    "Slowest request": slowestText,
  };
  return html`<dl>
    ${Object.entries(figures).map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}
  </dl>`;
}

/** A plugin's errors, the last one first. The others are collapsed below it. @param {{ faults: Fault[] }} props */
function Faults({ faults }) {
  const [last, ...earlier] = faults;
  return html`<h3>Last error</h3>
    <${FaultEntry} fault=${last} />
    ${earlier.length > 0 &&
    html`<details>
      <summary>${plural(earlier.length, "other error")}</summary>
      ${earlier.map((fault) => html`<${FaultEntry} fault=${fault} />`)}
    </details>`}`;
}

/** One error. @param {{ fault: Fault }} props */
function FaultEntry({ fault }) {
  return html`<div class="fault">
    <p><code>${fault.what}</code> ${times(fault.count)}, last at ${formatTime(fault.last)}</p>
    <p class="bad-text">${fault.message}</p>
    ${fault.traceback && html`<details><summary>Traceback</summary><pre>${fault.traceback}</pre></details>`}
  </div>`;
}

/** A plugin's options, as they are typed on the command line. @param {{ plugin: string, options: Option[] }} props */
function Options({ plugin, options }) {
  return html`<h3>Options</h3>
    <ul class="options">
      ${options.map(({ name, value, default: defaultValue, help, wanted }) => {
        const isSet = value !== defaultValue;
        return html`<li key=${name}>
          <code class=${isSet ? "is-set" : ""}>--set ${plugin}.${name}=${String(value)}</code>${" "}
          <span class="tb-dim">${isSet ? `default ${String(defaultValue)}` : "default"}</span>
          <p>${help}${help && " "}<span class="tb-dim">(${wanted})</span></p>
        </li>`;
      })}
    </ul>`;
}

/** The number of plugins in each state, as text. @param {PluginState[]} plugins */
function summary(plugins) {
  const counts = STATES.map((state) => [plugins.filter((plugin) => plugin.state === state).length, state]);
  return `${counts.filter(([count]) => count).map(([count, state]) => `${count} ${state}`).join(", ")}.`;
}

/** @param {number} count */
function times(count) {
  return count === 1 ? "once" : `${formatValue(count)} times`;
}

/** @param {number | undefined} seconds */
function formatCallTime(seconds) {
  if (seconds === undefined) return "–";
  return seconds < 1 ? `${formatValue(seconds * 1000, 2)} ms` : formatDuration(seconds);
}
