// File name extensions of audio formats.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileExtension } from "../../tbcore_audio/static/file-extension.js";

test("the extension follows from the content type", () => {
  const types = {
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/vnd.wave": ".wav",
    "AUDIO/MPEG; rate=44100": ".mp3",
    "audio/ogg; codecs=opus": ".ogg",
    "audio/flac": ".flac",
    "video/mp4": ".m4a",
    "application/ogg": ".ogg",
    "application/octet-stream": ".bin",
    "text/html": ".bin",
    "audio/constructor": ".bin",
    "": ".bin",
  };
  assert.deepEqual(Object.keys(types).map(fileExtension), Object.values(types));
});
