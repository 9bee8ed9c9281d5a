/**
 * Renderer: draws the meshes of all cards with one context of WebGL, since browsers keep about 16,
 * and copies each picture into the canvas of its card.
 *
 * Without a graphics processor, a million faces take seconds. Such a mesh is sketched while it is
 * turned, by some of its vertices.
 */

import { transformOf } from "./camera.js";
import { edgesOf } from "./ply.js";

/**
 * @typedef {object} View  how a mesh is drawn
 * @property {import("./camera.js").Camera} camera
 * @property {import("./camera.js").Sphere} frame  what the picture shows with zoom 1
 * @property {string} drawn  "faces", "edges" or "points"
 * @property {boolean} isZUp
 * @property {string} color  `#rrggbb`, of a mesh without colours
 * @property {number} [fov]  degrees
 * @property {number} [size]  of points, in the unit of the vertices
 *
 * @typedef {object} Drawing  a mesh in a canvas
 * @property {HTMLCanvasElement} canvas
 * @property {import("./ply.js").Mesh} mesh
 * @property {() => View} view
 *
 * @typedef {object} Buffers  a mesh in the memory of the context
 * @property {WebGLBuffer} vertices
 * @property {WebGLBuffer | null} faces
 * @property {WebGLBuffer | null} edges
 */

const VERTEX_SHADER = `#version 300 es
layout(location = 0) in vec3 place;
layout(location = 1) in vec3 color;
uniform vec3 center;
uniform float scale;
uniform mat4 view;
uniform mat4 projection;
uniform vec2 size; // of points: in pixels at distance 1, and the smallest in pixels
out vec3 seen;
out vec3 shade;
void main() {
  vec4 at = view * vec4((place - center) * scale, 1.0);
  gl_Position = projection * at;
  gl_PointSize = max(size.y, size.x / gl_Position.w);
  seen = at.xyz;
  shade = color;
}`;

// Each face has one brightness, by its direction: that of the derivatives of the place.
const FRAGMENT_SHADER = `#version 300 es
precision highp float;
uniform int drawn; // 0: points, 1: edges, 2: faces
in vec3 seen;
in vec3 shade;
out vec4 pixel;
void main() {
  float light = 1.0;
  if (drawn == 0 && length(gl_PointCoord - 0.5) > 0.5) discard;
  if (drawn == 2) {
    vec3 normal = normalize(cross(dFdx(seen), dFdy(seen)));
    light = 0.35 + 0.65 * max(0.0, dot(normal, normalize(vec3(-0.4, 0.6, 0.7))));
  }
  pixel = vec4(shade * light, 1.0);
}`;

const UNIFORMS = /** @type {const} */ (["center", "scale", "view", "projection", "size", "drawn"]);
/** Smallest diameter of points, CSS pixels: of a few, and of very many. */
const [LARGE_POINT, SMALL_POINT] = [4, 1.5];
/** Number of points from which on they have the smallest diameter. */
const MANY_POINTS = 100_000;
/** How long meshes are drawn in one frame of the page; the others follow in the next one. */
const MAX_MS = 12;
/** A mesh that takes longer is sketched while it is turned. */
const SLOW_MS = 50;
/** How long it must rest before all of it is drawn. */
const REST_MS = 200;
/** Number of vertices and corners of faces from which on the time that a mesh takes says something. */
const MEASURED_PARTS = 50_000;
/** Largest stride of WebGL. A sketch takes the vertices in the largest steps that it allows. */
const MAX_STRIDE = 255;
/** Largest side of a picture, pixels. */
const MAX_PIXELS = 4096;

/** Draws meshes. @see Drawing */
export class Renderer {
  /** Whether the browser has WebGL. @type {boolean} */
  isSupported;
  #picture = document.createElement("canvas");
  #gl;
  #places = /** @type {Record<string, WebGLUniformLocation | null>} */ ({});
  #drawings = /** @type {Map<Drawing, Buffers | null>} */ (new Map());
  /** Those that are to be drawn in the next frame, and whether they are being turned. */
  #waiting = /** @type {Map<Drawing, boolean>} */ (new Map());
  #sketched = /** @type {Set<Drawing>} */ (new Set());
  /** Milliseconds that each vertex and each corner of a face took. */
  #cost = 0;
  #frame = 0;
  #timer = 0;

  constructor() {
    this.#gl = this.#picture.getContext("webgl2");
    this.isSupported = this.#gl !== null;
    this.#setUp();
    // Canvases keep their pictures while the context is lost, as after the computer has slept.
    this.#picture.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.#picture.addEventListener("webglcontextrestored", () => {
      this.#setUp();
      for (const drawing of this.#drawings.keys()) {
        this.#drawings.set(drawing, null);
        this.request(drawing);
      }
    });
  }

  /** Adds a mesh, which is drawn at each request. @param {Drawing} drawing */
  add(drawing) {
    this.#drawings.set(drawing, null);
  }

  /** Draws a mesh in the next frame of the page. @param {Drawing} drawing @param {boolean} [isMoving]  whether it is being turned */
  request(drawing, isMoving = false) {
    this.#waiting.set(drawing, isMoving);
    this.#frame ||= requestAnimationFrame(() => this.#drawWaiting());
  }

  /** Removes a mesh. @param {Drawing} drawing */
  remove(drawing) {
    const buffers = this.#drawings.get(drawing);
    for (const buffer of Object.values(buffers ?? {})) this.#gl?.deleteBuffer(buffer);
    this.#drawings.delete(drawing);
    this.#waiting.delete(drawing);
    this.#sketched.delete(drawing);
  }

  /** The width and height that the picture of a canvas has, pixels. @param {HTMLCanvasElement} canvas */
  sizeOf({ clientWidth, clientHeight }) {
    return [clientWidth, clientHeight].map((side) => Math.min(MAX_PIXELS, Math.round(side * devicePixelRatio)));
  }

  /** Frees the context. */
  destroy() {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#waiting.clear();
    this.#gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Makes the shaders, at first and when the context was restored. */
  #setUp() {
    const gl = this.#gl;
    if (!gl) return;
    const program = gl.createProgram();
    for (const [type, source] of /** @type {const} */ ([
      [gl.VERTEX_SHADER, VERTEX_SHADER],
      [gl.FRAGMENT_SHADER, FRAGMENT_SHADER],
    ])) {
      const shader = /** @type {WebGLShader} */ (gl.createShader(type));
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      if (gl.isContextLost()) return;
      throw new Error(`WebGL: ${gl.getProgramInfoLog(program)}`);
    }
    gl.useProgram(program);
    gl.enable(gl.DEPTH_TEST);
    for (const name of UNIFORMS) this.#places[name] = gl.getUniformLocation(program, name);
  }

  #drawWaiting() {
    this.#frame = 0;
    const start = performance.now();
    for (const [drawing, isMoving] of this.#waiting) {
      if (performance.now() - start > MAX_MS) break;
      this.#waiting.delete(drawing);
      const { numVertices, faces } = drawing.mesh;
      const numParts = numVertices + faces.length;
      if (isMoving && numParts * this.#cost > SLOW_MS) {
        this.#draw(drawing, true);
        this.#sketched.add(drawing);
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#drawSketched(), REST_MS);
      } else {
        const before = performance.now();
        this.#draw(drawing, false);
        if (numParts >= MEASURED_PARTS) this.#cost = (performance.now() - before) / numParts;
      }
    }
    if (this.#waiting.size > 0) this.#frame = requestAnimationFrame(() => this.#drawWaiting());
  }

  #drawSketched() {
    for (const drawing of this.#sketched) this.request(drawing);
    this.#sketched.clear();
  }

  /** @param {Drawing} drawing @param {boolean} isSketch */
  #draw(drawing, isSketch) {
    const gl = this.#gl;
    const { canvas, mesh } = drawing;
    const ratio = devicePixelRatio;
    const [width, height] = this.sizeOf(canvas);
    if (!gl || gl.isContextLost() || width === 0 || height === 0) return;
    const { camera, frame, drawn, isZUp, color, fov, size = 0 } = drawing.view();
    const buffers = this.#drawings.get(drawing) ?? this.#upload(mesh);
    this.#drawings.set(drawing, buffers);

    // 1. The picture has the size of the largest canvas, so that it seldom changes.
    if (this.#picture.width < width) this.#picture.width = width;
    if (this.#picture.height < height) this.#picture.height = height;
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);

    // 2. What the shaders need.
    const { center, scale, view, projection } = transformOf(camera, frame, { aspect: width / height, isZUp, fov });
    const places = this.#places;
    const style = mesh.faces.length === 0 || isSketch ? 0 : ["points", "edges", "faces"].indexOf(drawn);
    const smallest = mesh.numVertices > MANY_POINTS ? SMALL_POINT : LARGE_POINT - (LARGE_POINT - SMALL_POINT) * (mesh.numVertices / MANY_POINTS);
    gl.uniform3fv(places.center, center);
    gl.uniform1f(places.scale, scale);
    gl.uniformMatrix4fv(places.view, false, view);
    gl.uniformMatrix4fv(places.projection, false, projection);
    gl.uniform2f(places.size, (size * scale * projection[5] * height) / 2, (size > 0 ? 1 : smallest) * ratio);
    gl.uniform1i(places.drawn, style);

    // 3. The mesh.
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.vertices);
    const vertexBytes = mesh.hasColors ? 16 : 12;
    const every = isSketch ? Math.floor(MAX_STRIDE / vertexBytes) : 1;
    const stride = vertexBytes * every;
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, stride, 0);
    if (mesh.hasColors) {
      gl.enableVertexAttribArray(1);
      gl.vertexAttribPointer(1, 3, gl.UNSIGNED_BYTE, true, stride, 12);
    } else {
      gl.disableVertexAttribArray(1);
      gl.vertexAttrib3fv(1, channelsOf(color));
    }
    if (style === 0) gl.drawArrays(gl.POINTS, 0, Math.floor(mesh.numVertices / every));
    else if (style === 1) {
      buffers.edges ??= this.#uploadIndices(edgesOf(mesh.faces));
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.edges);
      gl.drawElements(gl.LINES, 2 * mesh.faces.length, gl.UNSIGNED_INT, 0);
    } else {
      buffers.faces ??= this.#uploadIndices(mesh.faces);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.faces);
      gl.drawElements(gl.TRIANGLES, mesh.faces.length, gl.UNSIGNED_INT, 0);
    }

    // 4. Copy it at once: the browser clears the picture after this task.
    Object.assign(canvas, { width, height });
    canvas.getContext("2d")?.drawImage(this.#picture, 0, this.#picture.height - height, width, height, 0, 0, width, height);
  }

  /** @param {import("./ply.js").Mesh} mesh @returns {Buffers} */
  #upload(mesh) {
    const gl = /** @type {WebGL2RenderingContext} */ (this.#gl);
    const vertices = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, vertices);
    gl.bufferData(gl.ARRAY_BUFFER, mesh.vertices, gl.STATIC_DRAW);
    return { vertices, faces: null, edges: null };
  }

  /** @param {Uint32Array} indices */
  #uploadIndices(indices) {
    const gl = /** @type {WebGL2RenderingContext} */ (this.#gl);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    return buffer;
  }
}

/** Red, green and blue of a colour, from 0 to 1. @param {string} color  `#rrggbb` */
function channelsOf(color) {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
}
