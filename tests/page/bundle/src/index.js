/** A page that uses one library after the other; `results` has what each of them drew or computed. */

import { BarController, BarElement, CategoryScale, Chart, LinearScale } from "chart.js";
import Plotly from "plotly.js-dist-min";
import { BoxGeometry, Mesh, MeshBasicMaterial, PerspectiveCamera, Scene, WebGLRenderer } from "three";
import { View, parse } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { connect } from "tbcore/frame.js";

/** A module with the function `add` of two integers. */
const ADD = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0,
  32, 0, 32, 1, 106, 11,
]);
const BARS = {
  data: [{ name: "table", values: [{ run: "a", value: 1 }, { run: "b", value: 3 }] }],
  scales: [
    { name: "x", type: "band", domain: { data: "table", field: "run" }, range: "width" },
    { name: "y", domain: { data: "table", field: "value" }, range: "height", zero: true },
  ],
  marks: [
    {
      type: "rect",
      from: { data: "table" },
      encode: {
        enter: {
          x: { scale: "x", field: "run" },
          width: { scale: "x", band: 1 },
          y: { signal: "scale('y', datum.value)" },
          y2: { scale: "y", value: 0 },
        },
      },
    },
  ],
  width: 100,
  height: 100,
};

const place = (tag) => document.body.appendChild(document.createElement(tag));

const ATTEMPTS = {
  three() {
    const renderer = new WebGLRenderer({ canvas: place("canvas"), preserveDrawingBuffer: true });
    renderer.setSize(64, 64);
    const camera = new PerspectiveCamera();
    camera.position.z = 2;
    const scene = new Scene().add(new Mesh(new BoxGeometry(), new MeshBasicMaterial({ color: 0xff0000 })));
    renderer.render(scene, camera);
    const pixel = new Uint8Array(4);
    const gl = renderer.getContext();
    gl.readPixels(32, 32, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    return [...pixel].join();
  },
  chart() {
    Chart.register(BarController, BarElement, CategoryScale, LinearScale);
    const canvas = Object.assign(place("div").appendChild(document.createElement("canvas")), { width: 100, height: 100 });
    const data = { labels: ["a"], datasets: [{ data: [1], backgroundColor: "rgb(0, 128, 0)" }] };
    new Chart(canvas, { type: "bar", data, options: { animation: false, responsive: false } });
    const { data: pixels } = canvas.getContext("2d").getImageData(0, 0, 100, 100);
    return pixels.some((value, i) => i % 4 === 1 && value === 128);
  },
  async plotly() {
    const element = place("div");
    await Plotly.newPlot(element, [{ y: [1, 3, 2] }], { width: 300, height: 200 }, { displayModeBar: true });
    // Without its <style> elements, the buttons are blocks one below the other.
    const { float, position } = getComputedStyle(element.querySelector(".modebar-group"));
    return [element.querySelectorAll(".point").length, float, position].join();
  },
  async vega() {
    const view = new View(parse(BARS, null, { ast: true }), { expr: expressionInterpreter, renderer: "svg" });
    await view.initialize(place("div")).runAsync();
    return view.container().querySelectorAll("path[d^='M0,66'], path[d^='M50,0']").length;
  },
  async wasm() {
    const { instance } = await WebAssembly.instantiate(ADD);
    return instance.exports.add(2, 3);
  },
  worker() {
    const code = new Blob(["onmessage = ({ data }) => postMessage(data.map((value) => 2 * value))"]);
    const worker = new Worker(URL.createObjectURL(code));
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data.join());
      worker.onerror = reject;
      worker.postMessage([1, 2]);
    });
  },
  files() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = reject;
      worker.postMessage([2, 3]);
    });
  },
  async host() {
    const host = await connect();
    return host.runs.value.map(({ name }) => name).join();
  },
};

const results = {};
for (const [name, attempt] of Object.entries(ATTEMPTS)) {
  try {
    results[name] = String(await attempt());
  } catch (error) {
    results[name] = `${error.name}: ${error.message}`;
  }
}
globalThis.results = results;
