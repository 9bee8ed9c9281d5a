/**
 * One image. A click opens it at the size of the window.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Lazy } from "tbcore/ui.js";
import { filterOf, parseDisplayOptions, widthOf } from "./display-options.js";

/** The image of one sample. @param {import("tbcore/steps.js").SampleProps} props */
export function ImageSample({ host, entry, url, label, run, tag, found, expanded, alone, onBroken }) {
  const image = useRef(/** @type {HTMLImageElement | null} */ (null));
  /** What the lightbox started with; null while it is closed. */
  const [opened, setOpened] = useState(/** @type {{ found: typeof found, sample: number } | null} */ (null));
  const [brokenUrl, setBrokenUrl] = useState("");
  const display = parseDisplayOptions(host.settings.value);

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
      title="${entry.width} × ${entry.height} pixels. Click to enlarge"
      aria-haspopup="dialog"
      style=${{ width: widthOf(display.size, entry) }}
      onClick=${() => setOpened({ found, sample: found.samples.indexOf(entry) })}
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
    ${opened && html`<${Lazy} load=${() => import("./lightbox.js")} of="Lightbox" ...${{ host, tag, run, ...opened }} onClose=${() => setOpened(null)} />`}
  </div>`;
}
