// Types of sounds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endingOf } from "../../tbcore_audio/static/types.js";

test("files are named after their type", () => {
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
    "": ".bin",
  };
  assert.deepEqual(Object.keys(types).map(endingOf), Object.values(types));
});
