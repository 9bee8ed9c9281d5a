/**
 * One image. A click opens it at the size of the window.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Lazy } from "tbcore/ui.js";
import { comparisonOf, filterOf, parseDisplayOptions, widthOf } from "./display-options.js";

/** The image of one sample. @param {import("./other-image.js").Props} props */
export function ImageSample(props) {
  const { host, entry, url, label, run, tag, found, expanded, alone, onBroken } = props;
  const image = useRef(/** @type {HTMLImageElement | null} */ (null));
  /** What the lightbox started with; null while it is closed. */
  const [opened, setOpened] = useState(/** @type {{ found: typeof found, sample: number } | null} */ (null));
  const [brokenUrl, setBrokenUrl] = useState("");
  const display = parseDisplayOptions(host.settings.value);
  const { comparison } = comparisonOf(host);
  const [other, setOther] = useState(/** @type {Partial<import("./other-image.js").OtherImage>} */ ({}));
  const otherUrl = comparison && other.url;
  const filter = filterOf(display);

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
      aria-label="${label}, ${entry.width} by ${entry.height} pixels${otherUrl && `. ${other.note}`}"
      title="${entry.width} × ${entry.height} pixels. Click to enlarge"
      aria-haspopup="dialog"
      style=${{ width: widthOf(display.size, entry) }}
      onClick=${() => setOpened({ found, sample: found.samples.indexOf(entry) })}
    >
      <span class="pixels ${otherUrl && other.comparison}" style=${{ filter: otherUrl ? filter : "" }}>
        <img
          ref=${image}
          src=${url}
          width=${entry.width || undefined}
          height=${entry.height || undefined}
          alt=""
          draggable="false"
          style=${{ filter: otherUrl ? "" : filter }}
          onLoad=${updateSharpness}
          onError=${onError}
        />
        ${otherUrl && html`<img class="other" src=${otherUrl} alt="" draggable="false" onError=${other.onBroken} />`}
      </span>
    </button>
    ${comparison && html`<${Lazy} load=${() => import("./other-image.js")} of="OtherNote" ...${props} onFound=${setOther} />`}
    ${opened && html`<${Lazy} load=${() => import("./lightbox.js")} of="Lightbox" ...${{ host, tag, run, ...opened }} onClose=${() => setOpened(null)} />`}
  </div>`;
}
