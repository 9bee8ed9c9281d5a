/**
 * One mesh, drawn by the renderer of the tab.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "tbcore/requests.js";
import { OPTIONS } from "./controls.js";
import { addGestures } from "./gestures.js";
import { readPly } from "./ply.js";

/**
 * The mesh of one sample. It is drawn in the frame that the server computes from all steps, so that
 * steps can be compared.
 * @param {import("tbcore/steps.js").SampleProps & { cameras: import("./camera.js").Cameras,
 *   renderer: import("./renderer.js").Renderer, frames: import("tbcore/requests.js").Answers<(import("./camera.js").Sphere | null)[]> }} props
 */
export function MeshSample({ host, entry, url, label, run, tag, found, expanded, onBroken, cameras, renderer, frames }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const hasPicture = entry.sphere !== null;
  const mesh = useMesh(hasPicture ? url : "", onBroken);
  const { value: frame } = useAnswer(frames, { run: run.name, tag }, true);
  const { drawn, up, shared } = OPTIONS.parse(host.settings.value);
  const sample = found.samples.indexOf(entry);
  const camera = shared ? cameras.shared : cameras.own(JSON.stringify([run.name, tag, sample]));
  const { wireframe, color = run.color, fov, size } = entry.drawing;
  const view = () => ({
    camera: camera.value,
    frame: frame?.[sample] ?? entry.sphere,
    drawn: drawn === "faces" && wireframe ? "edges" : drawn,
    isZUp: up === "z",
    ...{ color, fov, size },
  });
  const latest = useRef({ view, camera });
  latest.current = { view, camera };
  const redraw = useRef((/** @type {boolean} */ _isMoving) => {});
  const isReady = mesh !== null && frame !== undefined;

  useEffect(() => {
    const target = canvas.current;
    if (!isReady || !target) return undefined;
    const drawing = { canvas: target, mesh, view: () => latest.current.view() };
    renderer.add(drawing);
    redraw.current = (isMoving) => renderer.request(drawing, isMoving);
    redraw.current(false);
    const sizes = new ResizeObserver(() => {
      if (renderer.sizeOf(target).some((side, i) => side !== [target.width, target.height][i])) redraw.current(false);
    });
    sizes.observe(target);
    return () => {
      sizes.disconnect();
      redraw.current = () => {};
      renderer.remove(drawing);
    };
  }, [isReady, mesh, hasPicture]);
  useEffect(() => redraw.current(false), [frame, drawn, up, run.color, entry]);
  useEffect(() => camera.subscribe(() => redraw.current(true)), [camera]);
  useEffect(() => {
    if (!canvas.current) return undefined;
    return addGestures(canvas.current, () => latest.current.camera, () => cameras.settle());
  }, [hasPicture]);

  if (!renderer.isSupported) return html`<p class="mesh-note">This browser cannot draw meshes: it has no WebGL 2, or it is switched off.</p>`;
  return html`<div class="mesh ${expanded ? "expanded" : ""}">
    ${hasPicture &&
    html`<canvas
      ref=${canvas}
      tabindex="0"
      role="img"
      aria-label=${label}
      aria-busy=${!isReady}
      title="Drag to turn it, with Shift to move it. Ctrl and the wheel zoom. A double click resets the view."
    ></canvas>`}
    ${entry.notes.map((/** @type {string} */ note) => html`<p class="mesh-note">${note}</p>`)}
  </div>`;
}

/**
 * Preact hook: the mesh in a file, or the last one while the next one loads; null before the first.
 * @param {string} url  "" for none @param {() => void} onBroken
 */
function useMesh(url, onBroken) {
  const [mesh, setMesh] = useState(/** @type {import("./ply.js").Mesh | null} */ (null));
  useEffect(() => {
    if (!url) return undefined;
    const controller = new AbortController();
    fetch(url, { signal: controller.signal })
      .then(async (response) => {
        if (!response.ok) throw new Error(response.statusText);
        setMesh(readPly(await response.arrayBuffer()));
      })
      .catch(() => controller.signal.aborted || onBroken());
    return () => controller.abort();
  }, [url]);
  return mesh;
}
