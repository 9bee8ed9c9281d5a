/** The notes that the page has: read from the server when they change, and changed there. */

import { computed, signal } from "@preact/signals-core";
import { formatName } from "tbcore/format.js";
import { archivedBy, asksForArchived, changed, labelsOf, merged } from "./records.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { Noted, NotesPage } from "tbcore/host.js" */
/** @import { Change, Records } from "./records.js" */

const TOKEN_KEY = "tbcore.write";
/** Where the page keeps a token of its address, until it is known whether it works: any page can open this one with any token. */
const NEW_TOKEN_KEY = "tbcore.write.new";

/** A line below the run list. @typedef {{ text: string, isError?: boolean, actions?: readonly (readonly [label: string, act: () => unknown])[] }} Notice */

/** The notes. */
export class Store {
  /** As the server has them. @type {Records} */
  #read = new Map();
  /** Changes that are on their way. @type {readonly Change[]} */
  #changes = [];
  #generation = "";
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();
  /** The token that was sent last. */
  #sent = "";
  /** The notice that this page cannot change notes. @type {Notice | null} */
  #refused = null;
  /** Whether a token of the address has just not worked. */
  #isOld = false;

  records = signal(/** @type {Records} */ (new Map()));
  /** Why this page cannot change notes; null if it can, "" until that is known. @type {import("@preact/signals-core").Signal<string | null>} */
  refusal = signal("");
  /** @type {import("@preact/signals-core").Signal<Notice | null>} */
  notice = signal(null);
  /** Whether what is archived here counts as archived by the user of the server, so that `tbcore notes files` names its files. */
  owns = false;
  /** Number of lines about what could not be read, or is wrong in tbcore.json. */
  numProblems = signal(0);
  /** The archived runs, with who archived them; see `archivedBy`. @type {ReadonlySignal<ReadonlyMap<string, string>>} */
  archived;
  /** Whether the list shows archived runs. @type {ReadonlySignal<boolean>} */
  showsArchived;
  /** @type {ReadonlySignal<ReadonlySet<string>>} */
  hidden;
  /** @type {ReadonlySignal<ReadonlyMap<string, Noted>>} */
  names = lasting(() => namesOf(this.records.value), ({ label, color, title }, b) => label === b.label && color === b.color && title === b.title);

  /** @param {NotesPage} page */
  constructor(page) {
    this.page = page;
    this.archived = lasting(() => {
      const runs = new Set(page.runs.value);
      return new Map([...this.records.value].flatMap(([run, fields]) => {
        const by = runs.has(run) ? archivedBy(fields) : null;
        return by === null ? [] : [[run, by]];
      }));
    });
    // A frame has no list that could say what is missing: it shows what its address says.
    this.showsArchived = computed(() => page.isEmbedded || asksForArchived(page.query.value));
    this.hidden = computed(() => new Set(this.showsArchived.value ? [] : this.archived.value.keys()));
    for (const event of ["storage", "popstate"]) addEventListener(event, () => (this.#sent !== storedToken() || stored(NEW_TOKEN_KEY)) && this.read());
  }

  /** Reads what has changed. What the page has stays if that fails, until the next change. */
  read = () =>
    this.#queued(async () => {
      try {
        await this.#use(await this.#request());
      } catch {
        // The connection's state shows lost connections.
      }
    });

  /**
   * Changes notes, which are drawn at once. Resolves to null, or to why the server did not take the
   * change, which is then undone.
   * @param {Change} change
   * @returns {Promise<string | null>}
   */
  async send(change) {
    change = this.#withIds(change);
    this.#changes = [...this.#changes, change];
    this.#draw();
    return this.#queued(async () => {
      let error = null;
      try {
        const body = JSON.stringify(change);
        error = await this.#use(await this.#request({ method: "POST", headers: { "content-type": "application/json" }, body }));
      } catch {
        error = "The server cannot be reached.";
      }
      this.#changes = this.#changes.filter((other) => other !== change);
      this.#draw();
      return error;
    });
  }

  /** Changes notes; a line below the list says so if that fails. @param {Change} change @param {Notice | null} [notice]  for when it has worked */
  async change(change, notice = null) {
    this.notice.value = null;
    change = this.#withIds(change);
    const error = await this.send(change);
    if (error) this.notice.value = { text: `Not saved: ${error}`, isError: true, actions: [["Try again", () => this.change(change, notice)]] };
    else if (notice) this.notice.value = notice;
  }

  /** Says why this page cannot change notes, until it can. @param {string | null} text  null: it can */
  refuse(text) {
    this.notice.value = this.#refused = text ? { text, isError: true } : null;
  }

  /** A change that the server refuses if a name is by then that of another run than the one shown now. @param {Change} change @returns {Change} */
  #withIds(change) {
    const ids = change.runs.map((run) => this.page.details.value.get(run)?.source?.id ?? "");
    return ids.some(Boolean) ? { ids, ...change } : change;
  }

  /** One after the other, so that an answer is never older than what the page has. @template T @param {() => Promise<T>} task @returns {Promise<T>} */
  #queued(task) {
    const next = this.#last.then(task);
    this.#last = next.catch(() => {});
    return next;
  }

  /** Sends a request with the token. A new one takes its place before, if it works. @param {RequestInit} [init] */
  async #request(init) {
    const token = stored(NEW_TOKEN_KEY);
    if (token) {
      const response = await this.#send(token);
      const answer = response.ok && (await response.clone().json());
      const works = answer.needs_token && answer.refusal === null;
      if (stored(NEW_TOKEN_KEY) === token && response.status < 500) localStorage.removeItem(NEW_TOKEN_KEY);
      if (works) localStorage.setItem(TOKEN_KEY, token);
      this.#isOld = !works;
      if (!init && (works || !storedToken())) return response;
    }
    return this.#send(storedToken(), init);
  }

  /** @param {string} token @param {RequestInit} [init] */
  #send(token, init) {
    this.#sent = token;
    const headers = { ...init?.headers, ...(token && { "X-Tbcore-Write-Token": token }) };
    return fetch(this.page.url("data/notes", { since: this.#generation }), { ...init, headers });
  }

  /** Takes over an answer; resolves to the server's message if it is an error. @param {Response} response */
  async #use(response) {
    if (!response.ok) {
      const text = (await response.text()).trim();
      if (response.status === 403) this.refusal.value = text;
      return text;
    }
    const answer = await response.json();
    this.#generation = answer.generation;
    this.numProblems.value = answer.problems.length;
    this.owns = answer.owns;
    if (!answer.is_delta || Object.keys(answer.runs).length > 0) this.#read = merged(this.#read, answer);
    const text = (this.refusal.value = answer.refusal);
    if (text ? this.#isOld : this.notice.value === this.#refused) this.refuse(text);
    this.#isOld = false;
    this.#draw();
    return null;
  }

  #draw() {
    this.records.value = changed(this.#read, this.#changes, Date.now() / 1000);
  }
}

/** The secret of the address that the server printed, which has worked; "" if there is none. */
export function storedToken() {
  return stored(TOKEN_KEY);
}

/** A token that the browser keeps; "" for none, and for a text that no header can have. @param {string} key */
function stored(key) {
  try {
    return localStorage.getItem(key)?.match(/^[!-~]{1,200}$/)?.[0] ?? "";
  } catch {
    return "";
  }
}

/** The names and colours that runs were given. @param {Records} records @returns {Map<string, Noted>} */
function namesOf(records) {
  /** @type {Map<string, Noted>} */
  const names = new Map();
  for (const [run, fields] of records) {
    const { display_name: name, color } = fields;
    if (!name?.value && !color?.value) continue;
    // A narrow row has neither the whole name nor its labels.
    const title = [name?.value, run, name?.by && `named by ${name.by}`, labelsOf(fields).length > 0 && `labels: ${labelsOf(fields).join(", ")}`];
    names.set(run, {
      label: name?.value || undefined,
      color: color?.value || undefined,
      title: name?.value ? title.filter(Boolean).map(formatName).join("\n") : undefined,
    });
  }
  return names;
}

/**
 * A computed map that stays the same object while its content is the same, so that nothing that
 * depends on it is computed again.
 * @template T
 * @param {() => ReadonlyMap<string, T>} compute
 * @param {(a: T, b: T) => boolean} [isSame]
 */
function lasting(compute, isSame = Object.is) {
  /** @type {ReadonlyMap<string, T>} */
  let last = new Map();
  return computed(() => {
    const next = compute();
    const isEqual = next.size === last.size && [...next].every(([key, value]) => last.has(key) && isSame(value, /** @type {T} */ (last.get(key))));
    return isEqual ? last : (last = next);
  });
}
