/**
 * A player of one clip. Nothing of the clip is fetched before it is played.
 */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";

/** The players of a page take turns: two clips at once cannot be compared. @type {HTMLAudioElement | null} */
let playing = null;

/** @param {import("tbcore/lib/step-tab.js").SampleProps} props */
export function Player({ url, label, onBroken }) {
  const audio = useRef(/** @type {HTMLAudioElement | null} */ (null));
  // An element that is taken out of the page would play on.
  useEffect(() => {
    const { current } = audio;
    return () => {
      current?.pause();
      if (playing === current) playing = null;
    };
  }, [url]);

  const onPlay = () => {
    if (playing !== audio.current) playing?.pause();
    playing = audio.current;
  };
  // A player for each clip: one that plays stops when the step changes, and says nothing of the clip before.
  return html`<audio key=${url} ref=${audio} controls preload="none" src=${url} aria-label=${label} onPlay=${onPlay} onError=${onBroken}></audio>`;
}
