/**
 * Types of sounds. Pure.
 */

/** @type {Record<string, string>} */
const ENDINGS = {
  aac: "aac",
  aiff: "aiff",
  basic: "au",
  flac: "flac",
  midi: "mid",
  mp4: "m4a",
  mpeg: "mp3",
  mp3: "mp3",
  ogg: "ogg",
  opus: "opus",
  vorbis: "ogg",
  wav: "wav",
  wave: "wav",
  webm: "webm",
};

/**
 * The ending of a file's name.
 * @param {string} contentType  as logged, parameters and all
 */
export function endingOf(contentType) {
  const [, kind = ""] = /^(?:audio|video|application)\/(?:x-|vnd\.)?([a-z0-9]+)/.exec(contentType.toLowerCase()) ?? [];
  return `.${ENDINGS[kind] ?? "bin"}`;
}
