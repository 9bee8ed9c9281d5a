/**
 * One picture. A click shows it in its actual size, and another one as before.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { filterOf, parseLook, widthOf } from "./look.js";

/** @param {import("tbcore/lib/step-tab.js").SampleProps} props */
export function Picture({ host, entry, url, label, expanded, alone, onBroken }) {
  const image = useRef(/** @type {HTMLImageElement | null} */ (null));
  const [isActual, setActual] = useState(false);
  const [brokenUrl, setBrokenUrl] = useState("");
  const look = parseLook(host.settings.value);
  const isToggled = look.size === "1" ? "fit" : "1";
  const size = isActual ? isToggled : look.size;

  /** Pixels stay sharp where the picture is larger than it was logged; where it is smaller they are averaged. */
  const sharpen = () => {
    const { current } = image;
    current?.classList.toggle("enlarged", current.clientWidth > current.naturalWidth && !look.smooth);
  };
  const sharpenLatest = useRef(sharpen);
  sharpenLatest.current = sharpen;
  useEffect(() => {
    const observer = new ResizeObserver(() => sharpenLatest.current());
    if (image.current) observer.observe(image.current);
    return () => observer.disconnect();
  }, []);
  useEffect(sharpen, [look.smooth]);

  const onError = () => {
    setBrokenUrl(url);
    onBroken();
  };

  return html`<div class="frame">
    <button
      type="button"
      class="picture ${expanded ? "large" : ""} ${alone ? "" : "several"}"
      hidden=${brokenUrl === url}
      aria-label="${label}, ${entry.width} by ${entry.height} pixels"
      title="${entry.width} × ${entry.height} pixels. Click for ${size === "1" ? "the size that fits" : "the actual size"}"
      aria-pressed=${isActual}
      style=${{ width: widthOf(size, entry) }}
      onClick=${() => setActual(!isActual)}
    >
      <img
        ref=${image}
        src=${url}
        width=${entry.width || undefined}
        height=${entry.height || undefined}
        alt=""
        draggable="false"
        style=${{ filter: filterOf(look) }}
        onLoad=${sharpen}
        onError=${onError}
      />
    </button>
  </div>`;
}
