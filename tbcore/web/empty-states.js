/**
 * What the page says when there is nothing to draw: what was looked for, where, what was found, and what to do. Loaded
 * when it is needed.
 */

import { html } from "htm/preact";
import { plural } from "./lib/format.js";
import { Icon } from "./lib/icons.js";
import { loadingText } from "./top-bar.js";

/**
 * @param {object} props
 * @param {import("./shell.js").Empty} props.what
 * @param {import("./state.js").State} props.state
 * @param {import("./state.js").Plugin} [props.plugin]
 */
export function EmptyState({ what, state, plugin }) {
  const frontends = state.frontends.value;
  const status = state.status.value;
  if (what === "connecting" || !frontends || !status) {
    const refusal = state.refusal.value;
    if (refusal) return html`<div class="notice" role="alert"><h1>The server refused</h1><p class="message">${refusal}</p></div>`;
    return null;
  }
  if (what === "loading") {
    return html`<div class="notice" role="status">
      <h1>Reading event files</h1>
      <p>${loadingText(status)}. Data is shown as soon as there is any.</p>
    </div>`;
  }
  if (what === "noPlugin") {
    return html`<div class="notice">
      <h1>No plugin is installed</h1>
      <p>tbcore reads event files; plugins draw what is in them. None is installed in this environment.</p>
      <${Found} status=${status} />
      <p>Install plugins, and start the server again${frontends.unshown.length > 0 ? ":" : "; this brings all that belong to tbcore:"}</p>
      ${frontends.unshown.length > 0
        ? html`<${UnshownList} unshown=${frontends.unshown} />`
        : html`<pre>pip install "tbcore-server[all]"</pre>`}
    </div>`;
  }
  if (what === "noRuns") {
    const isMissing = status.missing.length > 0;
    return html`<div class="notice">
      <h1>${isMissing ? "The log directory does not exist yet" : "No event files yet"}</h1>
      <p>Looked for files named <code>*tfevents*</code>, also in directories below:</p>
      <pre>${status.logdirs.join("\n")}</pre>
      ${isMissing
        ? html`<p>There is no ${status.missing.map((path) => html`<code>${path}</code>${" "}`)} so far.</p>`
        : html`<${Found} status=${status} />`}
      <h2>What to do</h2>
      <ul>
        <li>Check the path above: <code>--logdir</code> names the directory that holds the runs, or one above it.</li>
        <li>
          Let a program write there, for example with PyTorch:${" "}
          <code>torch.utils.tensorboard.SummaryWriter(${JSON.stringify(`${status.logdirs[0]}/run1`)})</code>
        </li>
      </ul>
      <p class="tb-dim">This page looks again by itself: the first values show up without a reload.</p>
    </div>`;
  }
  if (what === "inactive" && plugin && plugin.activity_error !== null) {
    return html`<div class="notice failure" role="alert"><${ActivityError} plugin=${plugin} /></div>`;
  }
  if (what === "inactive" && plugin) {
    return html`<div class="notice">
      <h1>${plugin.title}: nothing to show</h1>
      <p>
        No data of this kind in ${plural(state.runs.value.length, "run")} so far. ${plugin.description}
      </p>
      ${Object.entries(plugin.how_to_log).map(([framework, program]) => html`<h2>${framework}</h2><pre>${program}</pre>`)}
      <p class="tb-dim">The tab fills by itself when such data is written.</p>
    </div>`;
  }
  return html`<div class="notice">
    <h1>No installed plugin shows what is in these runs</h1>
    <${Found} status=${status} />
    <${UnshownList} unshown=${frontends.unshown} />
    ${frontends.plugins.map((each) => each.activity_error !== null && html`<${ActivityError} plugin=${each} />`)}
  </div>`;
}

/** @param {{ plugin: import("./state.js").Plugin }} props */
function ActivityError({ plugin }) {
  return html`<h1><${Icon} name="warning" /> The plugin “${plugin.name}” failed to say whether it has data</h1>
    <p class="message">is_active raised ${plugin.activity_error}</p>
    ${plugin.traceback && html`<pre class="traceback">${plugin.traceback}</pre>`}
    <p class="tb-dim">The server's log has the traceback. The plugin is asked again when there is new data.</p>`;
}

/** @param {{ status: import("./state.js").Status }} props */
function Found({ status }) {
  const { logdirs, num_directories, num_files, num_runs } = status;
  return html`<p>
    Found ${plural(num_directories, "directory", "directories")}, ${plural(num_files, "event file")} and
    ${" "}${plural(num_runs, "run")} in <code>${logdirs.join(", ")}</code>.
  </p>`;
}

/**
 * Data that no installed plugin shows, and what to install. A kind that is written in several forms is told once.
 * @param {{ unshown: readonly import("./state.js").Unshown[] }} props
 */
export function UnshownList({ unshown }) {
  const kinds = mergeKinds(unshown);
  if (kinds.length === 0) return null;
  const install = kinds.flatMap(({ install }) => (install ? [install] : []));
  return html`<div class="unshown-list">
    ${install.length > 0 && html`<pre>pip install ${[...new Set(install)].join(" ")}</pre>`}
    <ul>
      ${kinds.map(
        ({ kind, num_tags, num_runs, example_run, example_tag, install }) => html`<li>
          <b>${kind}</b>
          <span>${plural(num_tags, "tag")} in ${plural(num_runs, "run")}</span>
          ${install ? html`<code>${install}</code>` : html`<span class="tb-dim">no plugin known</span>`}
          <span class="tb-name" title="${example_tag} in ${example_run}">
            <span class="tb-name-tail">${example_tag === "" ? example_run : `${example_tag} in ${example_run}`}</span>
          </span>
        </li>`,
      )}
    </ul>
  </div>`;
}

/**
 * One entry per kind, those that can be installed first.
 * @param {readonly import("./state.js").Unshown[]} unshown
 */
function mergeKinds(unshown) {
  /** @type {Map<string, import("./state.js").Unshown>} */
  const kinds = new Map();
  for (const entry of unshown) {
    const known = kinds.get(entry.kind);
    if (!known) kinds.set(entry.kind, { ...entry });
    else {
      known.num_tags += entry.num_tags;
      known.num_runs = Math.max(known.num_runs, entry.num_runs); // the same runs may hold both forms
    }
  }
  return [...kinds.values()].sort((a, b) => Number(b.install !== null) - Number(a.install !== null));
}
