/**
 * A player of one clip. Nothing of the clip is fetched before it is played.
 */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";

/** @typedef {import("tbcore/lib/step-tab.js").SampleProps} SampleProps */

/**
 * The players of a page take turns: two clips at once cannot be compared.
 * @type {{ audio: HTMLAudioElement, onBusy: SampleProps["onBusy"] } | null}
 */
let playing = null;

/** @param {HTMLAudioElement | null} audio  is no longer played; another one that is goes on */
function stop(audio) {
  audio?.pause();
  if (playing?.audio !== audio) return;
  playing?.onBusy(false);
  playing = null;
}

/** @param {SampleProps} props */
export function Player({ url, label, onBroken, onBusy }) {
  const audio = useRef(/** @type {HTMLAudioElement | null} */ (null));
  // An element that is taken out of the page would play on.
  useEffect(() => {
    const { current } = audio;
    return () => stop(current);
  }, [url]);

  const onPlay = () => {
    if (playing && playing.audio !== audio.current) stop(playing.audio);
    playing = { audio: /** @type {HTMLAudioElement} */ (audio.current), onBusy };
    onBusy(true);
  };
  const onError = () => {
    stop(audio.current);
    onBroken();
  };
  // A player for each clip: one that plays stops when the step changes, and says nothing of the clip before.
  return html`<audio
    key=${url}
    ref=${audio}
    controls
    preload="none"
    src=${url}
    aria-label=${label}
    onPlay=${onPlay}
    onPause=${() => stop(audio.current)}
    onError=${onError}
  ></audio>`;
}
