/**
 * The page of the plugins: what is installed, what it does, how long it takes and what went wrong. Loaded when it is
 * opened.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { deprecationsOf } from "./lib/deprecated.js";
import { formatDuration, formatTime, formatValue, plural } from "./lib/format.js";
import { Icon } from "./lib/icons.js";
import { adoptStyles } from "./lib/styles.js";
import { address, getJSON } from "./server.js";

/** What needs somebody comes first. */
const STATES = /** @type {const} */ (["failed", "active", "inactive", "off"]);
/** How often the server is asked while the page is seen. */
const REFRESH_MS = 3000;

/**
 * @typedef {{ what: string, count: number, median: number, slowest: number }} Timing  durations in seconds
 * @typedef {{ what: string, message: string, count: number, last: number, traceback?: string }} Fault  last: seconds since
 *   the epoch
 * @typedef {{ name: string, type: string, value: unknown, default: unknown, help: string, wanted: string }} Option
 *
 * @typedef {object} PluginState  one entry of data/plugins
 * @property {string} name
 * @property {string} title
 * @property {string} description
 * @property {string} distribution
 * @property {string} version
 * @property {number | null} api
 * @property {"active" | "inactive" | "failed" | "off"} state
 * @property {string | null} reason
 * @property {Option[]} options
 * @property {Timing[]} timings
 * @property {{ what: string, seconds: number }[]} running
 * @property {Fault[]} faults
 * @property {import("./lib/deprecated.js").Deprecation[]} deprecated
 * @property {number} log_lines_left_out
 *
 * @typedef {{ version: string, api: number, dev: boolean, plugins: PluginState[] }} Plugins
 */

export function PluginsPage() {
  const [plugins, setPlugins] = useState(/** @type {Plugins | null} */ (null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const [isStyled, setStyled] = useState(false);
  useEffect(() => void adoptStyles(document, new URL("plugins-page.css", import.meta.url)).finally(() => setStyled(true)), []);
  useEffect(() => {
    const closed = new AbortController();
    const ask = async () => {
      try {
        setPlugins(await getJSON(address("data/plugins"), { signal: closed.signal }));
        setError(null);
      } catch (problem) {
        if (!closed.signal.aborted) setError(problem instanceof Error ? problem.message : String(problem));
      }
      if (!closed.signal.aborted) timer = setTimeout(askWhenSeen, REFRESH_MS);
    };
    const askWhenSeen = () => {
      if (document.visibilityState === "visible") ask();
      else timer = setTimeout(askWhenSeen, REFRESH_MS);
    };
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    ask();
    return () => {
      closed.abort();
      clearTimeout(timer);
    };
  }, []);

  if (!isStyled || (!plugins && !error)) return html`<p class="plugins-page tb-dim" role="status">Asking for the plugins</p>`;
  return html`<div class="plugins-page">
    <header>
      <h1>Plugins</h1>
      ${plugins && html`<p class="tb-dim">tbcore ${plugins.version}, plugin API ${plugins.api}. ${summary(plugins.plugins)}</p>`}
      ${error && html`<p class="bad-text" role="alert">The server does not answer, so this may be old: ${error}</p>`}
    </header>
    ${plugins?.plugins.length === 0 && html`<p>No plugin is installed. <code>pip install "tbcore-server[all]"</code> brings all that belong to tbcore.</p>`}
    ${plugins && sorted(plugins.plugins).map((plugin) => html`<${PluginCard} key=${`${plugin.name} ${plugin.state} ${plugin.distribution}`} plugin=${plugin} />`)}
  </div>`;
}

/** @param {{ plugin: PluginState }} props */
function PluginCard({ plugin }) {
  const { name, title, description, distribution, version, state, reason, timings, options, running } = plugin;
  const faults = plugin.faults.filter(({ message }) => message !== reason);
  const deprecated = [...plugin.deprecated, ...deprecationsOf(name)];
  const late = running.filter(({ seconds }) => seconds > 1);
  const id = `plugin-${name}`;
  return html`<section class="plugin-state" aria-labelledby=${id} data-plugin=${name} data-state=${state}>
    <header>
      <h2 id=${id}>${title}</h2>
      <span class="state">${state === "failed" && html`<${Icon} name="warning" />`}${state}</span>
      <span class="origin tb-dim"><code>${name}</code> ${distribution || "unknown distribution"} ${version}</span>
    </header>
    ${description && html`<p>${description}</p>`}
    ${reason && html`<p class=${state === "failed" ? "bad-text" : ""}>${sentence(state, reason)}</p>`}
    ${(state === "active" || state === "inactive") && html`<${Facts} timings=${timings} />`}
    ${late.length > 0 &&
    html`<h3>Running now</h3>
      <ul>
        ${late.map(({ what, seconds }) => html`<li><code>${what}</code> for ${formatDuration(seconds)}</li>`)}
      </ul>`}
    ${plugin.log_lines_left_out > 0 &&
    html`<p class="warn-text">${plural(plugin.log_lines_left_out, "line")} of its log left out: it logs too much.</p>`}
    ${faults.length > 0 && html`<${Faults} faults=${faults} />`}
    ${deprecated.length > 0 &&
    html`<h3>Old names that will go</h3>
      <ul>
        ${deprecated.map((used) => html`<li><code>${used.name}</code>, ${times(used.count)}: ${used.instead}</li>`)}
      </ul>`}
    ${options.length > 0 && html`<${Options} plugin=${name} options=${options} />`}
    ${timings.length > 0 &&
    html`<details>
      <summary>All timings</summary>
      <div class="scroll">
        <table>
          <thead>
            <tr><th scope="col">What</th><th scope="col">Calls</th><th scope="col">Median</th><th scope="col">Slowest</th></tr>
          </thead>
          <tbody>
            ${timings.map(
              (timing) => html`<tr key=${timing.what}>
                <th scope="row">${timing.what}</th>
                <td>${formatValue(timing.count)}</td>
                <td>${duration(timing.median)}</td>
                <td>${duration(timing.slowest)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>`}
  </section>`;
}

/**
 * The times that say most: of the import, the question whether there is anything, and all routes together.
 * @param {{ timings: Timing[] }} props
 */
function Facts({ timings }) {
  const routes = timings.filter(({ what }) => what.startsWith("route "));
  const slowest = routes.reduce((a, b) => (b.slowest > a.slowest ? b : a), routes[0]);
  const numCalls = routes.reduce((sum, { count }) => sum + count, 0);
  const of = (/** @type {string} */ name) => timings.find(({ what }) => what === name);
  return html`<dl>
    <${Fact} label="Import" text=${duration(of("import")?.slowest)} />
    <${Fact} label="is_active, median" text=${duration(of("is_active")?.median)} />
    <${Fact} label="Requests" text=${formatValue(numCalls)} />
    <${Fact} label="Slowest request" text=${slowest ? `${duration(slowest.slowest)}, ${slowest.what.replace("route ", "")}` : "–"} />
  </dl>`;
}

/** @param {{ label: string, text: string }} props */
function Fact({ label, text }) {
  return html`<div><dt>${label}</dt><dd>${text}</dd></div>`;
}

/** @param {{ faults: Fault[] }} props */
function Faults({ faults }) {
  const [last, ...earlier] = faults;
  return html`<h3>Last fault</h3>
    <${OneFault} fault=${last} />
    ${earlier.length > 0 &&
    html`<details>
      <summary>${plural(earlier.length, "other fault")}</summary>
      ${earlier.map((fault) => html`<${OneFault} fault=${fault} />`)}
    </details>`}`;
}

/** @param {{ fault: Fault }} props */
function OneFault({ fault }) {
  return html`<div class="fault">
    <p><code>${fault.what}</code> ${times(fault.count)}, last at ${formatTime(fault.last)}</p>
    <p class="bad-text">${fault.message}</p>
    ${fault.traceback && html`<details><summary>Traceback</summary><pre>${fault.traceback}</pre></details>`}
  </div>`;
}

/** @param {{ plugin: string, options: Option[] }} props */
function Options({ plugin, options }) {
  return html`<h3>Options</h3>
    <ul class="options">
      ${options.map(({ name, value, default: usual, help, wanted }) => {
        const isSet = value !== usual;
        return html`<li key=${name}>
          <code class=${isSet ? "is-set" : ""}>--set ${plugin}.${name}=${String(value)}</code>${" "}
          <span class="tb-dim">${isSet ? `default ${String(usual)}` : "default"}</span>
          <p>${help}${help && " "}<span class="tb-dim">(${wanted})</span></p>
        </li>`;
      })}
    </ul>`;
}

/** @param {PluginState[]} plugins */
function sorted(plugins) {
  return [...plugins].sort((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state));
}

/** @param {PluginState[]} plugins */
function summary(plugins) {
  const counts = STATES.map((state) => [plugins.filter((plugin) => plugin.state === state).length, state]);
  return `${counts.filter(([count]) => count).map(([count, state]) => `${count} ${state}`).join(", ")}.`;
}

/** @param {string} state @param {string} reason */
function sentence(state, reason) {
  return state === "off" ? `Not imported: ${reason}` : reason;
}

/** @param {number} count */
function times(count) {
  return count === 1 ? "once" : `${formatValue(count)} times`;
}

/** @param {number | undefined} seconds */
function duration(seconds) {
  if (seconds === undefined) return "–";
  return seconds < 1 ? `${formatValue(seconds * 1000, 2)} ms` : formatDuration(seconds);
}
