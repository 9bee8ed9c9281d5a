/** Why the browser cannot show a sample. Loaded with the first such sample. */

/**
 * The server's error message for its bytes, or their type.
 * @param {readonly import("./cell.js").Entry[]} samples  of the same step
 * @param {number} index
 * @param {string} noun
 * @param {string} url  of its bytes; "" if there is no route for them
 * @param {AbortSignal} signal
 */
export async function whyBroken(samples, index, noun, url, signal) {
  const which = samples.length > 1 ? `${index + 1} of ${samples.length}: ` : "";
  return which + ((url && (await serverErrorOf(url, signal))) || `The browser cannot show this ${noun}. Its type is ${samples[index].content_type}.`);
}

/** The server's error message, or "". @param {string} url @param {AbortSignal} signal */
async function serverErrorOf(url, signal) {
  try {
    const response = await fetch(url, { signal, headers: { Range: "bytes=0-0" } });
    // Status 416: the sample has no bytes, so there is no first byte.
    return response.ok || response.status === 416 ? "" : await response.text();
  } catch {
    return "The server cannot be reached.";
  }
}
