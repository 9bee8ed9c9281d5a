/**
 * POST requests, for parameters that are too long for a URL, such as the names of ten thousand
 * runs.
 */

/** Longer bodies are compressed. The server accepts 1 MB, and a character has at most 3 bytes. */
const MAX_UNCOMPRESSED_CHARS = 300_000;

/**
 * Sends parameters as JSON in the body of a POST request. The server reads them with
 * `tbcore.http.json_body`.
 *
 *     const response = await post(host, "window", { tag, runs }, signal);
 *
 * @param {Pick<import("tbcore/host.js").Host, "fetch">} host
 * @param {string} path  below `data/plugin/<name>/`
 * @param {object} params
 * @param {AbortSignal} [signal]  cancels the request
 * @returns {Promise<Response>} rejects with the server's error message
 */
export async function post(host, path, params, signal) {
  const text = JSON.stringify(params);
  /** @type {RequestInit} */
  const init = { method: "POST", body: text, signal };
  if (text.length > MAX_UNCOMPRESSED_CHARS) {
    const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    init.body = await new Response(compressed).arrayBuffer();
    init.headers = { "Content-Encoding": "gzip" };
  }
  const response = await host.fetch(path, init);
  if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
  return response;
}
