/** Reads tables of numbers that a server sends with `tbcore.http.columns_response`. */

/**
 * Reads the body of a response. The columns are views into the buffer: nothing is parsed or copied.
 *
 *     const { header, tables } = readColumns(await (await host.fetch("window", …)).arrayBuffer());
 *
 * The body is the length of a JSON text (uint32), the text, padded so that it ends at a multiple of
 * 8 bytes, and then the columns one after the other (float64). Everything is little-endian, like
 * all machines that browsers run on.
 * @param {ArrayBuffer} buffer
 * @returns {{ header: any, tables: Record<string, Float64Array>[] }}
 */
export function readColumns(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  /** @type {{ header: any, tables: { rows: number, columns: string[] }[] }} */
  const { header, tables } = JSON.parse(text);
  let offset = 4 + length;
  return {
    header,
    tables: tables.map(({ rows, columns }) => {
      /** @type {Record<string, Float64Array>} */
      const table = {};
      for (const name of columns) {
        table[name] = new Float64Array(buffer, offset, rows);
        offset += 8 * rows;
      }
      return table;
    }),
  };
}
