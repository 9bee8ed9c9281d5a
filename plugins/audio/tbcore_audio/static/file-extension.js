/**
 * File name extensions of audio formats.
 */

/** By subtype of the content type, without "x-" or "vnd.". */
const EXTENSIONS = new Map([
  ["aac", "aac"],
  ["aiff", "aiff"],
  ["basic", "au"],
  ["flac", "flac"],
  ["midi", "mid"],
  ["mp4", "m4a"],
  ["mpeg", "mp3"],
  ["mp3", "mp3"],
  ["ogg", "ogg"],
  ["opus", "opus"],
  ["vorbis", "ogg"],
  ["wav", "wav"],
  ["wave", "wav"],
  ["webm", "webm"],
]);

/**
 * The file name extension for a content type, such as ".wav"; ".bin" if it is unknown.
 * @param {string} contentType  as logged, including parameters
 */
export function fileExtension(contentType) {
  const [, kind = ""] = /^(?:audio|video|application)\/(?:x-|vnd\.)?([a-z0-9]+)/.exec(contentType.toLowerCase()) ?? [];
  return `.${EXTENSIONS.get(kind) ?? "bin"}`;
}
