/**
 * PLY: reads the files that the server writes, which are little-endian, with three or seven
 * properties of each vertex, and three vertices of each face.
 */

/**
 * @typedef {object} Mesh
 * @property {Uint8Array} vertices  for each, x, y and z as float32 and, if `hasColors`, red, green,
 *   blue and 255 as bytes
 * @property {boolean} hasColors
 * @property {number} numVertices
 * @property {Uint32Array} faces  three vertices of each
 */

/** Bytes in each face: the number 3, and three vertices. */
const FACE_BYTES = 13;

/** Reads a file; throws if it is not such a file. @param {ArrayBuffer} buffer @returns {Mesh} */
export function readPly(buffer) {
  const [header] = new TextDecoder("latin1").decode(buffer.slice(0, 1000)).split("end_header\n");
  const count = (/** @type {string} */ element) => Number(new RegExp(`^element ${element} (\\d+)$`, "m").exec(header)?.[1]);
  const [numVertices, numFaces] = [count("vertex"), count("face")];
  const hasColors = header.includes("property uchar red");
  const start = header.length + "end_header\n".length;
  const end = start + numVertices * (hasColors ? 16 : 12);
  if (buffer.byteLength !== end + numFaces * FACE_BYTES) throw new Error("the file is incomplete");
  const view = new DataView(buffer, end);
  const faces = new Uint32Array(3 * numFaces);
  for (let i = 0, at = 1; i < faces.length; at += FACE_BYTES) {
    faces[i++] = view.getUint32(at, true);
    faces[i++] = view.getUint32(at + 4, true);
    faces[i++] = view.getUint32(at + 8, true);
  }
  return { vertices: new Uint8Array(buffer, start, end - start), hasColors, numVertices, faces };
}

/** The edges of faces, two vertices of each; those of two faces are there twice. @param {Uint32Array} faces */
export function edgesOf(faces) {
  const edges = new Uint32Array(2 * faces.length);
  for (let i = 0, at = 0; i < faces.length; i += 3) {
    for (let k = 0; k < 3; k++) {
      edges[at++] = faces[i + k];
      edges[at++] = faces[i + ((k + 1) % 3)];
    }
  }
  return edges;
}
