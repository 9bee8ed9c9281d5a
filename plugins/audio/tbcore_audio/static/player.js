/**
 * A player for one clip, with the clip's length. The clip is not fetched before it is played.
 */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { formatDuration } from "tbcore/format.js";

/** @typedef {import("tbcore/steps.js").SampleProps} SampleProps */

/**
 * The player that is playing. Only one plays at a time, since two clips at once cannot be compared.
 * @type {{ audio: HTMLAudioElement, onBusy: SampleProps["onBusy"] } | null}
 */
let playing = null;

/** Stops a player; has no effect on others. @param {HTMLAudioElement | null} audio */
function stop(audio) {
  audio?.pause();
  if (playing?.audio !== audio) return;
  playing?.onBusy(false);
  playing = null;
}

/** The player of one sample. @param {SampleProps} props */
export function Player({ entry, url, label, onBroken, onBusy }) {
  const audio = useRef(/** @type {HTMLAudioElement | null} */ (null));
  // An audio element that is removed from the page would go on playing.
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
  // The key gives each clip a new element, so that playback stops when the step changes and no
  // state is left over.
  return html`<div class="audio-player">
    <audio
      key=${url}
      ref=${audio}
      controls
      preload="none"
      src=${url}
      aria-label=${label}
      onPlay=${onPlay}
      onPause=${() => stop(audio.current)}
      onError=${onError}
    ></audio>
    ${typeof entry.seconds === "number" && html`<span title="Length of the clip">${formatDuration(entry.seconds)}</span>`}
  </div>`;
}
