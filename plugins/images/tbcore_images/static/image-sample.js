/**
 * One image. A click toggles between its actual size and the selected one.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { filterOf, parseDisplayOptions, widthOf } from "./display-options.js";

/** The image of one sample. @param {import("tbcore/steps.js").SampleProps} props */
export function ImageSample({ host, entry, url, label, expanded, alone, onBroken }) {
  const image = useRef(/** @type {HTMLImageElement | null} */ (null));
  const [showsActualSize, setShowsActualSize] = useState(false);
  const [brokenUrl, setBrokenUrl] = useState("");
  const display = parseDisplayOptions(host.settings.value);
  const toggledSize = display.size === "1" ? "fit" : "1";
  const size = showsActualSize ? toggledSize : display.size;

  /**
   * Draws pixels as squares if the image is enlarged; the browser averages them if it is reduced.
   */
  const updateSharpness = () => {
    const { current } = image;
    current?.classList.toggle("enlarged", current.clientWidth > current.naturalWidth && !display.smooth);
  };
  const latestUpdate = useRef(updateSharpness);
  latestUpdate.current = updateSharpness;
  useEffect(() => {
    const observer = new ResizeObserver(() => latestUpdate.current());
    if (image.current) observer.observe(image.current);
    return () => observer.disconnect();
  }, []);
  useEffect(updateSharpness, [display.smooth]);

  const onError = () => {
    setBrokenUrl(url);
    onBroken();
  };

  return html`<div class="frame">
    <button
      type="button"
      class="logged-image ${expanded ? "large" : ""} ${alone ? "" : "several"}"
      hidden=${brokenUrl === url}
      aria-label="${label}, ${entry.width} by ${entry.height} pixels"
      title="${entry.width} × ${entry.height} pixels. Click to ${size === "1" ? "fit the available space" : "show the actual size"}"
      aria-pressed=${showsActualSize}
      style=${{ width: widthOf(size, entry) }}
      onClick=${() => setShowsActualSize(!showsActualSize)}
    >
      <img
        ref=${image}
        src=${url}
        width=${entry.width || undefined}
        height=${entry.height || undefined}
        alt=""
        draggable="false"
        style=${{ filter: filterOf(display) }}
        onLoad=${updateSharpness}
        onError=${onError}
      />
    </button>
  </div>`;
}
