/** The offer to average over seeds, and what undoes it. Loaded with what stands below the list of runs. */

import { batch } from "@preact/signals-core";
import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { openPreferences } from "../state/reader-state.js";
import { repetitionsOf } from "../state/repetitions.js";

/** @import { State } from "../state/reader-state.js" */

/** The answers, by log directory: "average" while the colours are those that the offer set; "not now" ends the offer. */
const answers = openPreferences("#seeds");

/** For how long a line says that the offer was accepted, unless it has the pointer or the focus. */
const UNDO_MS = 20_000;

/** The log directory whose answer is stored; "" until it is known. @param {State} state */
const logdirOf = (state) => state.frontends.value?.logdir ?? "";

/** The answer that is stored for a log directory; undefined if there is none. @param {string} logdir */
const answerFor = (logdir) => new Map(Object.entries(answers.values.value)).get(logdir);

/**
 * The offer, which is for the runs that would then be shown, or of which the newest groups would. It
 * is made at each visit on which runs are neither grouped nor coloured by a rule, until the reader declines it. Under the pointer it does not appear, so that nobody accepts it
 * by a click on the row that was there. After it was accepted, a line in its place undoes it for a while.
 * @param {{ state: State }} props
 */
export function SeedsOffer({ state }) {
  const logdir = logdirOf(state);
  const wanted = state.wantedRuns.value;
  const hasRule = state.groupRule.value !== "" || state.colorRule.value !== "";
  const hadRule = useRef(false);
  hadRule.current ||= hasRule;
  const isPossible = !hadRule.current && logdir !== "" && answerFor(logdir) !== "not now";
  const found = useMemo(() => (isPossible ? repetitionsOf(wanted.map(({ name }) => name)) : null), [wanted, isPossible]);
  const isOffered = found !== null;
  const [isVisible, setVisible] = useState(false);
  /** What the accepted offer averages over; "" if it was not accepted in this visit. */
  const [accepted, setAccepted] = useState("");
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!accepted) return undefined;
    const timer = setInterval(() => line.current?.matches(":hover, :focus-within") || setAccepted(""), UNDO_MS);
    return () => clearInterval(timer);
  }, [accepted]);
  useEffect(() => {
    if (!isOffered || isVisible) return;
    const list = document.querySelector(".tb-runs");
    const show = () => setVisible(true);
    if (!list?.matches(":hover")) show();
    list?.addEventListener("pointerleave", show);
    return () => list?.removeEventListener("pointerleave", show);
  }, [isOffered, isVisible]);
  /** Sets both rules. @param {string} groupRule @param {string} colorRule */
  const setRules = (groupRule, colorRule) =>
    batch(() => {
      state.groupRule.value = groupRule;
      state.colorRule.value = colorRule;
    });

  const undo = () => {
    answers.set(logdir, "not now");
    setRules("", "");
  };

  if (accepted && state.groupRule.value === "seeds" && state.colorRule.value === "family") {
    return html`<div class="tb-offer" role="status" ref=${line}>
      <p>Averaged over ${accepted}, coloured by family</p>
      <button type="button" class="tb-button" onClick=${undo}>Undo</button>
    </div>`;
  }
  if (!isOffered || !isVisible) return null;
  /** @param {boolean} isAccepted */
  const answer = (isAccepted) => {
    answers.set(logdir, isAccepted ? "average" : "not now");
    if (!isAccepted) return;
    setAccepted(found.noun);
    setRules("seeds", "family");
  };
  return html`<div class="tb-offer" role="status">
    <p>These look like ${found.text}: average over ${found.noun}?</p>
    <button type="button" class="tb-button primary" onClick=${() => answer(true)}>Average</button>
    <button type="button" class="tb-button" onClick=${() => answer(false)}>Not now</button>
  </div>`;
}

/** Resets the colours that the accepted offer set, unless the reader has chosen others since. @param {State} state */
export function resetColors(state) {
  if (answerFor(logdirOf(state)) !== "average") return;
  keepColors(state);
  if (state.colorRule.value === "family") state.colorRule.value = "";
}

/** Notes that the colours are the reader's own choice from now on. @param {State} state */
export function keepColors(state) {
  const logdir = logdirOf(state);
  if (answerFor(logdir) === "average") answers.set(logdir, "own colours");
}
