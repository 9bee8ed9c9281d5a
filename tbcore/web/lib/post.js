/** Questions that are too long for an address, such as the names of ten thousand runs. */

/** From so many characters on a body is compressed: a server takes 1 MB, and a character has at most 3 bytes. */
const LONG = 300_000;

/**
 * Sends a question as JSON, which `tbcore.http.request_body` reads.
 *
 *     const response = await post(host, "window", { tag, runs }, signal);
 *
 * @param {Pick<import("tbcore/host.js").Host, "fetch">} host
 * @param {string} path  below `data/plugin/<name>/`
 * @param {object} question
 * @param {AbortSignal} [signal]  ends the asking
 * @returns {Promise<Response>} rejects with what the server said
 */
export async function post(host, path, question, signal) {
  const text = JSON.stringify(question);
  /** @type {RequestInit} */
  const init = { method: "POST", body: text, signal };
  if (text.length > LONG) {
    const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    init.body = await new Response(packed).arrayBuffer();
    init.headers = { "Content-Encoding": "gzip" };
  }
  const response = await host.fetch(path, init);
  if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
  return response;
}
