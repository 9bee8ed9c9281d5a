/** The notices that replace a tab if there is nothing to draw. Loaded when one is first needed. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatName, formatStep, formatTime, plural } from "../lib/format.js";
import { Icon } from "../lib/ui/controls.js";
import { goneText } from "./runs/notes.js";
import { AUTO_LIMIT } from "./state/selection.js";
import { address } from "./state/server.js";
import { loadingText } from "./top-bar.js";

/** @import { Plugin, Unshown } from "../host.js" */
/** @import { EmptyKind } from "./boot.js" */
/** @import { State } from "./state/reader-state.js" */
/** @import { Status } from "./state/server.js" */

/** Time until the page says that no run is shown: while a query is typed, this may be so for a moment. */
const NONE_DELAY_MS = 300;

/** The notice for one kind of empty state; `plugin` is that of the open tab. @param {{ kind: EmptyKind, state: State, plugin?: Plugin }} props */
export function EmptyState({ kind, state, plugin }) {
  const frontends = state.frontends.value;
  const status = state.status.value;
  if (kind === "connecting" || !frontends || !status) {
    const serverError = state.serverError.value;
    if (!serverError) return null;
    return html`<div class="notice" role="alert">
      <h1>The server returned an error</h1>
      <p class="message">${serverError}</p>
    </div>`;
  }
  if (kind === "loading") return html`<${Loading} status=${status} module=${(plugin ?? state.tabs.value[0])?.module} />`;
  if (kind === "noPlugin") {
    return html`<div class="notice">
      <h1>No plugins are installed</h1>
      <p>tbcore reads event files, and plugins show the data in them. This environment has no plugins.</p>
      <${ScanSummary} status=${status} />
      ${frontends.unshown.length > 0
        ? html`<p>To show this data, install plugins for it and restart the server:</p>
            <${UnshownList} state=${state} />`
        : html`<p>To install all plugins that come with tbcore, run this command and restart the server:</p>
            <pre>pip install "tbcore-server[all]"</pre>`}
    </div>`;
  }
  if (kind === "noRuns") return html`<${NoRuns} state=${state} status=${status} />`;
  if (kind === "inactive" && plugin && plugin.activity_error !== null) {
    return html`<div class="notice failure" role="alert"><${ActivityError} plugin=${plugin} /></div>`;
  }
  if (kind === "inactive" && plugin) {
    return html`<div class="notice">
      <h1>${plugin.title}: nothing to show</h1>
      <p>No data of this kind in ${plural(state.runs.value.length, "run")} yet. ${plugin.description}</p>
      ${Object.entries(plugin.how_to_log).map(([framework, program]) => html`<h2>${framework}</h2><pre>${program}</pre>`)}
      <p class="tb-dim">This tab updates by itself when such data is logged.</p>
    </div>`;
  }
  return html`<div class="notice">
    <h1>No installed plugin shows the data in these runs</h1>
    <${ScanSummary} status=${status} />
    <${UnshownList} state=${state} />
    ${frontends.plugins.map((each) => each.activity_error !== null && html`<${ActivityError} plugin=${each} />`)}
  </div>`;
}

/** The notice until a run can be shown. In that time the browser loads the tab's module. @param {{ status: Status, module?: string | null }} props */
function Loading({ status, module }) {
  useEffect(() => {
    // The tab itself reports an error, when it is opened.
    if (module) import(address(module)).catch(() => {});
  }, [module]);
  return html`<div class="notice" role="status">
    <h1>Reading event files</h1>
    <p>${loadingText(status)}. Data appears here as soon as it has been read.</p>
  </div>`;
}

/** The notice for a log directory without runs. @param {{ state: State, status: Status }} props */
function NoRuns({ state, status }) {
  const isMissing = status.missing.length > 0;
  return html`<div class="notice">
    <h1>${isMissing ? "The log directory does not exist yet" : "No event files yet"}</h1>
    <p>tbcore looks for files whose names match ${status.looked_for.map((name, index) => html`${index > 0 && ", "}<code>${name}</code>`)}, here and in all subdirectories:</p>
    <pre>${status.logdirs.join("\n")}</pre>
    ${isMissing
      ? html`<p>Not found: ${status.missing.map((path) => html`<code>${path}</code>${" "}`)}</p>`
      : html`<${ScanSummary} status=${status} />`}
    ${status.other_files.length > 0 &&
    html`<h2>Found, but not shown here</h2>
      <p>These files are not event files:</p>
      <${UnshownList} state=${state} />`}
    <h2>What to do</h2>
    <ul>
      <li>Check the path above: <code>--logdir</code> must be the directory that contains the runs, or a parent of it.</li>
      <li>
        Write event files to it, for example with PyTorch, after <code>pip install torch tensorboard</code>:${" "}
        <code>torch.utils.tensorboard.SummaryWriter(${JSON.stringify(`${status.logdirs[0]}/run1`)})</code>
      </li>
    </ul>
    <p class="tb-dim">This page updates by itself when event files appear.</p>
  </div>`;
}

/**
 * The line above a tab while no run is shown: why, and a button that shows some. There is none while
 * a query waits for its first answer.
 * @param {{ state: State }} props
 */
export function NoneShown({ state }) {
  const { text, note, error, numAnswers = 1 } = state.runFilter.value;
  const { matching, newest } = state.candidates.value;
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), NONE_DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isVisible || numAnswers < 1) return null;
  const isAll = newest.size === matching.length;
  const runs = isAll && newest.size === 1 ? "run" : "runs";
  const what = state.groupOf.value && !isAll ? "groups" : runs;
  const these = runs === "run" ? (text ? "this" : "the") : text ? "these" : "all";
  return html`<p class="none-note" role="status">
    ${matching.length === 0
      ? state.runs.value.length === 0
        ? html`<span>All ${plural(state.allRuns.value.length, "run")} are archived.</span>
            <button type="button" class="tb-button" onClick=${() => state.setRunFilter("is:archived")}>Show them</button>`
        : html`<span>${error ? "The query has a mistake." : `No runs match “${text}”. ${note}`}</span>
            ${!error && html`<${ArchivedMatches} state=${state} />`}
            <button type="button" class="tb-button" onClick=${() => state.setRunFilter("")}>Clear the filter</button>`
      : html`<span>${text ? `${plural(matching.length, "run matches", "runs match")}, but none is selected.` : goneText(state) || "No runs are selected."}</span>
          <button type="button" class="tb-button" onClick=${() => checkNewest(state)}>
            Show ${isAll ? `${these}${runs === "run" ? "" : ` ${newest.size}`} ${runs}` : `the newest ${AUTO_LIMIT} ${text && "of these "}${what}`}
          </button>`}
  </p>`;
}

/** What is said of all that a tab shows. @param {{ state: State }} props */
export function PageNotes({ state }) {
  return html`${state.areGone.value && html`<${GoneNote} state=${state} />`}${state.step.value !== null && html`<${StepChip} state=${state} />`}`;
}

/** The step that all tabs show, which is not the latest. A click shows the latest again. @param {{ state: State }} props */
function StepChip({ state }) {
  const step = formatStep(Number(state.step.value));
  return html`<button type="button" class="step-chip" aria-label="Step ${step} in all tabs: back to the latest" title="All tabs show what was logged last up to this step. Click for the latest" onClick=${() => state.setStep(null)}>
    Step ${step} in all tabs <span aria-hidden="true">×</span>
  </button>`;
}

/** How many archived runs the query finds, with a button that shows them. @param {{ state: State }} props */
function ArchivedMatches({ state }) {
  const { text, matches } = state.runFilter.value;
  const count = [...state.archived.value].filter(matches).length;
  const show = () => {
    state.setRunFilter(`is:archived ${text.includes("|") ? `(${text})` : text}`);
  };
  return count > 0 && html`<span>${count.toLocaleString("en")} archived ${count === 1 ? "one does" : "ones do"}. </span><button type="button" class="tb-button" onClick=${show}>Show ${count === 1 ? "it" : "them"}</button> `;
}

/**
 * Checks the newest of the runs that match the run filter, which are all if they are few. If they
 * are not, and the reader had checked runs one by one, these become exceptions from the default.
 * @param {State} state
 */
function checkNewest(state) {
  const { base, except } = state.selection.value;
  const { matching, newest } = state.candidates.value;
  if (base === "none" && newest.size < matching.length) state.selection.value = { base: "auto", except };
  else state.checkRuns([...newest], true);
}

/** The line above a tab that shows what the page has of runs that are gone. @param {{ state: State }} props */
function GoneNote({ state }) {
  // The server looks every few seconds, and a change is sent at once: until now they were there.
  const [time] = useState(Date.now() / 1000);
  const { missing = [], logdirs = [] } = state.status.value ?? {};
  const what = missing.length > 0 ? "The log directory is" : "All event files are";
  return html`<p class="gone-note" role="status" title=${logdirs.join("\n")}>
    <${Icon} name="warning" />
    <span>
      <b>${what} gone</b>, last seen ${recentTime(time)} with ${plural(state.runs.value.length, "run")}. This is what was
      ${" "}loaded before; it is updated when event files appear.
    </span>
  </p>`;
}

/** A time, without the date if it is today. @param {number} wallTime  seconds since the epoch */
function recentTime(wallTime) {
  const [text, now] = [wallTime, Date.now() / 1000].map(formatTime);
  return text.slice(0, 10) === now.slice(0, 10) ? text.slice(11) : text;
}

/** The error that a plugin's `is_active` raised. @param {{ plugin: Plugin }} props */
function ActivityError({ plugin }) {
  return html`<h1><${Icon} name="warning" /> The plugin “${plugin.name}” failed to check for data</h1>
    <p class="message">is_active raised ${plugin.activity_error}</p>
    ${plugin.traceback && html`<pre class="traceback">${plugin.traceback}</pre>`}
    <p class="tb-dim">The traceback is in the server's log. The plugin checks again when there is new data.</p>`;
}

/** The numbers of directories, files and runs found. @param {{ status: Status }} props */
function ScanSummary({ status }) {
  const { logdirs, num_directories, num_files, num_runs } = status;
  return html`<p>
    Found ${plural(num_directories, "directory", "directories")}, ${plural(num_files, "event file")} and
    ${" "}${plural(num_runs, "run")} in <code>${logdirs.join(", ")}</code>.
  </p>`;
}

/** What the page calls kinds of files that are not event files. */
const WORDS = new Map([
  ["log", "logs of other programs"],
  ["mlflow", "experiments of MLflow"],
  ["twin", "logged twice"],
]);

/** Whether the log directory has data that no installed plugin shows. @param {State} state */
export const hasUnshown = ({ frontends, status }) =>
  Boolean(frontends.value?.unshown.length || status.value?.other_files.length);

/**
 * Data that no installed plugin shows, one row per kind, and the command that installs the plugins
 * for it. Files that are not event files come last.
 * @param {{ state: State }} props
 */
export function UnshownList({ state }) {
  if (!hasUnshown(state)) return null;
  const kinds = mergeKinds(state.frontends.value?.unshown ?? []);
  const packages = new Set(kinds.flatMap(({ install }) => install ?? []));
  return html`<div class="unshown-list">
    ${packages.size > 0 && html`<pre>pip install ${[...packages].join(" ")}</pre>`}
    <ul>
      ${kinds.map(({ kind, num_tags, num_runs, example_run, example_tag, install }) => {
        const example = `${example_tag} in ${example_run}`;
        return html`<li>
          <b>${kind}</b>
          <span>${plural(num_tags, "tag")} in ${plural(num_runs, "run")}</span>
          ${install ? html`<code>${install}</code>` : html`<span class="tb-dim">no known plugin</span>`}
          <span class="tb-name" title=${formatName(example)}><span class="tb-name-tail">${formatName(example_tag === "" ? example_run : example)}</span></span>
        </li>`;
      })}
      ${state.status.value?.other_files.map(
        ({ kind, num_files, example, shown_by }) =>
          html`<li>
            <b>${WORDS.get(kind) ?? kind}</b>
            <span>${plural(num_files, "file")}</span>
            <span class="tb-dim">shown by ${shown_by}</span>
            <span class="tb-name" title=${example}><span class="tb-name-tail">${example}</span></span>
          </li>`,
      )}
    </ul>
  </div>`;
}

/**
 * Returns one entry per kind of data, the kinds with a known plugin first. The server sends several
 * entries for a kind that was logged in several forms.
 * @param {readonly Unshown[]} unshown
 */
function mergeKinds(unshown) {
  /** @type {Map<string, Unshown>} */
  const kinds = new Map();
  for (const entry of unshown) {
    const known = kinds.get(entry.kind);
    if (!known) kinds.set(entry.kind, { ...entry });
    else {
      known.num_tags += entry.num_tags;
      // One run may have both forms.
      known.num_runs = Math.max(known.num_runs, entry.num_runs);
    }
  }
  return [...kinds.values()].sort((a, b) => Number(b.install !== null) - Number(a.install !== null));
}
