/**
 * The dialog about the log directory: what was read, problems, data that no plugin shows, and the
 * installed plugins. Loaded when it is first opened.
 */

import { html } from "htm/preact";
import { formatBytes, formatTime, plural } from "../lib/format.js";
import { Dialog } from "./dialog.js";
import { UnshownList, hasUnshown } from "./empty-states.js";
import { PLUGINS_PAGE } from "./state/reader-state.js";
import { address } from "./state/server.js";

/** The dialog. @param {{ state: import("./state/reader-state.js").State, onClose: () => void }} props */
export function InfoDialog({ state, onClose }) {
  const frontends = state.frontends.value;
  const status = state.status.value;
  const numOthers = [...state.runDetails.value.values()].filter(({ source }) => source).length;
  /** Closes the dialog, which returns the focus, and opens the page. @param {MouseEvent} event */
  const showPlugins = (event) => {
    /** @type {Element} */ (event.currentTarget).closest("dialog")?.close();
    state.openTab(PLUGINS_PAGE);
  };
  return html`<${Dialog} title="About this log directory" onClose=${onClose}>
    ${status &&
    html`<pre>${status.logdirs.join("\n")}</pre>
      <p>
        ${plural(status.num_runs, "run")}${numOthers > 0 ? `, ${plural(numOthers, "of them logged by another program", "of them logged by other programs")},` : ` from ${plural(status.num_files, "event file")}`} in
        ${" "}${plural(status.num_directories, "directory", "directories")}, ${formatBytes(status.bytes_read)} read.
      </p>
      ${status.num_requests > 0 &&
      html`<p>
        ${plural(status.num_requests, "request")} to remote storage so far; a scan makes
        ${" "}${status.num_requests_per_scan}.
      </p>`}
      <${Problems} status=${status} />`}
    ${frontends &&
    html`${hasUnshown(state) &&
      html`<h2>Data that no installed plugin shows</h2>
        <${UnshownList} state=${state} />`}
      <h2>Plugins</h2>
      <table>
        <tbody>
          ${frontends.plugins.map(({ title, distribution, active, page, ...plugin }) => {
            const error = plugin.error ?? plugin.activity_error;
            const shown = page ? html`<a href=${address(page)} target="_blank">Open its page</a>` : "has data";
            return html`<tr>
              <td>${title}</td>
              <td class="tb-dim">${distribution}</td>
              <td>${error ? html`<span class="bad-text">${error}</span>` : active ? shown : "no data"}</td>
            </tr>`;
          })}
        </tbody>
      </table>
      <p>
        <button type="button" class="tb-button" onClick=${showPlugins}>Plugin timings, errors and options</button>
      </p>
      <p class="tb-dim">tbcore ${frontends.version}</p>`}
  <//>`;
}

/** Problems with the log directory: those that hold, and those that are over. @param {{ status: import("./state/server.js").Status }} props */
function Problems({ status: { missing, problems, problems_since, past_problems } }) {
  const now = [
    ...missing.map((path) => [`log directory does not exist: ${path}`, ""]),
    ...problems.map((line, i) => [line, `since ${formatTime(problems_since[i])}`]),
  ];
  const past = past_problems.map(({ problem, since, until }) => [problem, `${formatTime(since)} to ${formatTime(until)}`]);
  return html`<${Lines} title="Problems" lines=${now} /><${Lines} title="Past problems" lines=${past.reverse()} />`;
}

/** A titled list of problems, each with its times; nothing if there are none. @param {{ title: string, lines: string[][] }} props */
function Lines({ title, lines }) {
  if (lines.length === 0) return null;
  return html`<h2>${title}</h2>
    <ul class="problems" aria-label=${title}>
      ${lines.map(([line, times]) => html`<li>${line} <span class="tb-dim">${times}</span></li>`)}
    </ul>`;
}
