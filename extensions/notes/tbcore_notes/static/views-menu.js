/** The list of named views: opens one, saves what the page shows, copies short links. Loaded when it is first opened. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatDuration, formatName, formatTime } from "tbcore/format.js";
import { Icon, IconButton, copy } from "tbcore/ui.js";
import { wantDefaults } from "./defaults.js";
import { storedToken } from "./store.js";
import { Code, commandIn } from "./texts.js";
import { viewOf } from "./views.js";

/** @import { NotesPage } from "tbcore/host.js" */

/**
 * @typedef {{ name: string, time: number, by: string, is_own: boolean }} View
 * @typedef {{ views: View[], refusal: string | null, has_defaults: boolean, problems: string[] }} Views  the response of data/views
 * @typedef {{ text: string, action?: string, act?: () => unknown }} Message  a line with at most one button
 */

/** The list, and a form that saves a view. @param {{ page: NotesPage }} props */
export function ViewsMenu({ page }) {
  const [known, setKnown] = useState(/** @type {Views | null} */ (null));
  const [message, setMessage] = useState(/** @type {Message | null} */ (null));
  const [name, setName] = useState("");
  const form = useRef(/** @type {HTMLElement | null} */ (null));
  const generation = page.generation.value;
  /** @param {Promise<Response>} request  its answer is the list */
  const update = async (request) => {
    try {
      const response = await request;
      if (!response.ok) throw new Error((await response.text()).trim());
      setKnown(await response.json());
      return true;
    } catch (error) {
      setMessage({ text: error instanceof Error ? error.message : String(error) });
      return false;
    }
  };
  const token = storedToken();
  const headers = { ...(token && { "X-Tbcore-Write-Token": token }) };
  useEffect(() => void update(fetch(page.url("data/views"), { headers })), [generation]);
  const canWrite = known !== null && known.refusal === null;
  const command = commandIn(known?.refusal);
  useEffect(() => {
    const first = form.current?.querySelector(canWrite ? "input" : ".tb-view");
    if (first instanceof HTMLElement) first.focus();
  }, [known === null]);

  /** @param {string} view @param {string} address */
  const post = (view, address) =>
    update(
      fetch(page.url("data/views"), {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify({ name: view, address }),
      }),
    );
  /** @param {string} view */
  const copyLink = async (view) => {
    await copy(page.url("", { view }));
    setMessage({ text: `The link to “${view}” is copied.` });
  };
  /** @param {string} view */
  const save = async (view) => {
    setMessage(null);
    if (!(await post(view, await page.picture()))) return;
    setName("");
    setMessage({ text: `“${view}” is saved.`, action: "Copy short link", act: () => copyLink(view) });
  };
  /** @param {Event} event */
  const onSubmit = (event) => {
    event.preventDefault();
    const wanted = name.trim().normalize("NFC");
    const old = known?.views.find((view) => view.name === wanted);
    if (!wanted) return;
    if (!old) save(wanted);
    else setMessage({ text: `There is “${wanted}” already, by ${old.by}, ${ageOf(old)}.`, action: "Replace", act: () => save(wanted) });
  };
  /** @param {string} view */
  const takeAway = async (view) => {
    const address = await viewOf(view, page.url).catch(() => "");
    if (await post(view, "")) setMessage({ text: `“${view}” is taken away.`, ...(address && { action: "Undo", act: () => restore(view, address) }) });
  };
  /** @param {string} view @param {string} address */
  const restore = async (view, address) => {
    if (await post(view, address)) setMessage({ text: `“${view}” is back.` });
  };
  /** @param {string | Promise<string>} fragment */
  const open = async (fragment) => {
    try {
      page.open(await fragment);
      const popover = form.current?.closest("[popover]");
      if (popover instanceof HTMLElement) popover.hidePopover();
    } catch (error) {
      setMessage({ text: error instanceof Error ? error.message : String(error) });
    }
  };

  if (!known) return html`<p class="tb-views-note" role="status">${message?.text ?? "Loading"}</p>`;
  return html`<form class="tb-views" ref=${form} onSubmit=${onSubmit}>
    ${canWrite &&
    html`<div class="tb-views-save">
      <input
        class="tb-input"
        aria-label="Name of a new view"
        placeholder="Save this view as…"
        maxlength="100"
        autocomplete="off"
        value=${name}
        onInput=${(/** @type {Event} */ event) => setName(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      />
      <button class="tb-button primary" disabled=${name.trim() === ""}>Save</button>
    </div>`}
    ${message &&
    html`<p class="tb-views-note" role="status">
      ${message.text} ${message.action && html`<button type="button" class="tb-button" onClick=${message.act}>${message.action}</button>`}
    </p>`}
    ${known.problems.map((line) => html`<p class="tb-views-note tb-views-problem"><${Icon} name="warning" /><span>${line}</span></p>`)}
    <${LastVisit} leftOff=${page.leftOff} open=${open} />
    ${known.has_defaults && html`<ul aria-label="From the log directory"><li>
      <a class="tb-view" href=${page.url("")} onClick=${() => wantDefaults(page.logdir())}><span>View of tbcore.json</span><small>a file in the log directory</small></a>
    </li></ul>`}
    ${known.views.length === 0
      ? html`<p class="tb-views-note">No views yet. A view keeps all that the page shows, for everybody with a link to it.</p>`
      : html`<ul aria-label="Views">
          ${known.views.map(
            (view) => html`<li key=${view.name}>
              <button type="button" class="tb-view" title=${`Open this view. Saved by ${view.by}, ${formatTime(view.time)}`} onClick=${() => open(viewOf(view.name, page.url))}>
                <span>${view.name}</span><small>${view.by}, ${ageOf(view)}</small>
              </button>
              <${IconButton} icon="link" label=${`Copy short link: ${view.name}`} title="Copy short link" onClick=${() => copyLink(view.name)} />
              ${canWrite && html`<${IconButton} icon="close" label=${`Take away: ${view.name}`} title="Take away" onClick=${() => takeAway(view.name)} />`}
            </li>`,
          )}
        </ul>`}
    ${!canWrite && html`<p class="tb-views-note">
      <${Code} text=${known.refusal?.replace(/.*to change notes/, "To save views")} /> ${command && html`<button type="button" class="tb-button" onClick=${() => copy(command)}>Copy the command</button>`}
    </p>`}
  </form>`;
}

/** What this browser showed at the last visit, if the reader may continue there. @param {{ leftOff: NotesPage["leftOff"], open: (fragment: string) => void }} props */
function LastVisit({ leftOff, open }) {
  const { value: left, forget } = leftOff;
  if (left === null) return null;
  return html`<ul aria-label="Of your last visit"><li>
    <button type="button" class="tb-view" title="What this browser showed when you were here last" onClick=${() => open(left)}>
      <span>Continue where you left off</span><small>${formatName(left.slice(1).replaceAll("&", ", "))}</small>
    </button>
    <${IconButton} icon="close" label="Do not continue" title="Do not continue" onClick=${forget} />
  </li></ul>`;
}

/** @param {View} view */
function ageOf({ time }) {
  const seconds = Date.now() / 1000 - time;
  return seconds < 60 ? "just now" : `${formatDuration(seconds)} ago`;
}
