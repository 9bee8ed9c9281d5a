/**
 * Requests to the server. All addresses are relative to the page, so that they work under a path prefix.
 */

/** An answer that was no success. Its message is what the server said, one line for the user. */
export class ServerError extends Error {
  /**
   * @param {string} message
   * @param {number} status  HTTP status
   */
  constructor(message, status) {
    super(message);
    this.name = "ServerError";
    this.status = status;
  }

  /**
   * @param {Response} response  one that is not ok; its body is read
   * @returns {Promise<ServerError>}
   */
  static async from(response) {
    const text = (await response.text().catch(() => "")).trim();
    const isPlain = (response.headers.get("Content-Type") ?? "").startsWith("text/plain");
    const line = isPlain ? text.split("\n", 1)[0].slice(0, 500) : "";
    return new ServerError(line || `${response.status} ${response.statusText}`.trim(), response.status);
  }
}

/**
 * An address below the page's own.
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} [params]  null and undefined are left out
 * @returns {string} absolute
 */
export function address(path, params = {}) {
  const url = new URL(path, new URL(".", document.baseURI));
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined) url.searchParams.append(name, String(value));
  }
  return url.href;
}

/**
 * Gets JSON.
 * @param {string} url
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 * @throws {ServerError} when the answer is no success
 */
export async function getJSON(url, init) {
  const response = await fetch(url, init);
  if (!response.ok) throw await ServerError.from(response);
  return response.json();
}
