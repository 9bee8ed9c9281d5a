/** The image of another run, with which one is compared. Loaded when images are first compared. */

import { html } from "htm/preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { formatName, formatStep } from "tbcore/format.js";
import { useAnswer } from "tbcore/requests.js";
import { describePlace } from "tbcore/steps.js";
import { labelOf } from "tbcore/text-names.js";
import { comparisonOf } from "./display-options.js";

/**
 * What is compared.
 * @typedef {object} OtherImage
 * @property {string} comparison
 * @property {string} url  "" if there is no such image
 * @property {string} note  says what is shown, or why nothing is
 * @property {() => void} onBroken  to be called if the browser cannot show the image
 *
 * @typedef {import("tbcore/steps.js").SampleProps & { answers: import("tbcore/requests.js").Answers<any> }} Props
 */

/** The note on the other image; `onFound` gets the image when it changes. @param {Props & { onFound: (other: OtherImage) => void }} props */
export function OtherNote({ onFound, ...props }) {
  const other = useOtherImage(props);
  const { comparison, url, note } = other;
  useLayoutEffect(() => onFound(other), [comparison, url, note]);
  return note && html`<p class="compared-with">${note}</p>`;
}

/** Preact hook: the image that the other run logged at the same step, or the last one before it. @param {Props} props @returns {OtherImage} */
function useOtherImage({ host, entry, run, tag, tags, found, answers }) {
  const { comparison, base } = comparisonOf(host);
  const [brokenUrl, setBrokenUrl] = useState("");
  const isOther = comparison !== "" && base !== run.name;
  const hasTag = Object.hasOwn(tags, base) && tags[base].includes(tag);
  const { value, error } = useAnswer(answers, { run: base, tag, step: found.step, nth: found.nth || undefined }, isOther && hasTag);
  const name = formatName(labelOf(host.wantedRuns.value, base));
  const none = (/** @type {string} */ note) => ({ comparison, url: "", note, onBroken() {} });
  if (!isOther) return none(comparison && "Other runs are compared with this one.");
  if (!hasTag) return none(`${name} has no such images.`);
  if (error) return none(error);
  if (!value) return none("");
  if (value.index === null) return none(`${name} logged nothing up to step ${formatStep(found.step)}.`);
  const sample = found.samples.indexOf(entry);
  const other = value.samples[sample];
  if (!other) return none(`${name} has no image ${sample + 1} at ${describePlace(value)}.`);
  const url = host.url("individualImage", { run: base, tag, index: String(value.index), sample, time: value.wall_time });
  if (url === brokenUrl) return none(`The browser cannot show the image of ${name}.`);
  const isStretched = other.width !== entry.width || other.height !== entry.height;
  const stretched = isStretched ? `, stretched from ${other.width} × ${other.height} pixels` : "";
  const what = comparison === "overlay" ? "Half of it is" : "Minus";
  return { comparison, url, note: `${what} ${name}, ${describePlace(value)}${stretched}.`, onBroken: () => setBrokenUrl(url) };
}
