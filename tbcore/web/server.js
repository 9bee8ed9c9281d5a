/**
 * Requests to the server. All addresses are relative to the page, so that they work under a path prefix.
 */

/** An answer that was no success. Its message is what the server said, one line for the user. */
export class ServerError extends Error {
  /**
   * @param {string} message
   * @param {number} status  HTTP status
   * @param {string} [details]  what the server said beyond its message
   */
  constructor(message, status, details = "") {
    super(message);
    this.name = "ServerError";
    this.status = status;
    this.details = details;
  }

  /**
   * @param {Response} response  one that is not ok; its body is read
   * @returns {Promise<ServerError>}
   */
  static async from(response) {
    const text = (await response.text().catch(() => "")).trim();
    const isPlain = (response.headers.get("Content-Type") ?? "").startsWith("text/plain");
    const [line, ...rest] = isPlain ? text.split("\n") : [""];
    const message = line.slice(0, 500) || `${response.status} ${response.statusText}`.trim();
    return new ServerError(message, response.status, rest.join("\n").trim());
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
 * An object of an answer whose keys are names from a log: it has nothing for those that are not there, not even for
 * `__proto__` or `toString`.
 * @template T
 * @param {T} answer
 * @returns {T}
 */
export function byName(answer) {
  return answer !== null && typeof answer === "object" && !Array.isArray(answer) ? Object.setPrototypeOf(answer, null) : answer;
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
