/**
 * Pixels of many thin lines: a line is one run of pixels in each column, which without a GPU is several times as fast
 * as the browser's strokes. Pure.
 */

export class Raster {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** Rows of RGBA, transparent at first. */
    this.pixels = new Uint32Array(width * height);
    this.low = new Float64Array(width);
    this.high = new Float64Array(width);
  }

  clear() {
    this.pixels.fill(0);
  }

  /**
   * Draws points from .. to - 1, whose x must not fall. Those whose y is not finite are skipped.
   * @param {ArrayLike<number>} xs
   * @param {ArrayLike<number>} ys
   * @param {number} from
   * @param {number} to
   * @param {readonly [number, number]} xRange  of the left and right edge
   * @param {readonly [number, number]} yRange  of the bottom and top edge
   * @param {number} color  0xBBGGRR
   * @param {number} alpha
   * @param {number} thickness  pixels
   * @param {readonly number[]} [dash]  pixels on, pixels off
   */
  line(xs, ys, from, to, [xMin, xMax], [yMin, yMax], color, alpha, thickness, dash) {
    const { width, height, low, high } = this;
    low.fill(Infinity);
    high.fill(-Infinity);
    const xScale = width / (xMax - xMin);
    // Halved: the distance of two finite numbers may not be finite.
    const yScale = height / (yMax / 2 - yMin / 2);
    let lastX = NaN;
    let lastY = NaN;
    let last = -2; // column of the last point; -1 and width are those outside
    let min = Infinity; // in that column
    let max = -Infinity;
    for (let i = from; i < to; i++) {
      const y = (yMax / 2 - ys[i] / 2) * yScale;
      const x = (xs[i] - xMin) * xScale;
      if (x + y - (x + y) !== 0) continue;
      const column = x < 0 ? -1 : x >= width ? width : x | 0;
      if (column === last) {
        if (y < min) min = y;
        else if (y > max) max = y;
      } else {
        if (last > -2) {
          // The piece between two columns: its ends belong to them, the rest to those it passes.
          const slope = (y - lastY) / (x - lastX);
          let edge = lastY + slope * (last + 1 - lastX);
          this.#span(last, Math.min(min, edge), Math.max(max, edge));
          for (let c = last + 1; c < column; c++) {
            const next = edge + slope;
            if (edge < next) this.#span(c, edge, next);
            else this.#span(c, next, edge);
            edge = next;
          }
          min = Math.min(y, edge);
          max = Math.max(y, edge);
        } else min = max = y;
        last = column;
      }
      lastX = x;
      lastY = y;
    }
    if (last > -2) this.#span(last, min, max);
    const period = dash ? dash[0] + dash[1] : 1;
    for (let c = 0; c < width; c++) {
      if (low[c] <= high[c] && (!dash || c % period < dash[0])) {
        this.#fill(c, low[c] - thickness / 2, high[c] + thickness / 2, color, alpha);
      }
    }
  }

  /** @param {number} column  may be outside @param {number} min @param {number} max */
  #span(column, min, max) {
    const { low, high } = this;
    if (column < 0 || column >= low.length) return;
    if (min < low[column]) low[column] = min;
    if (max > high[column]) high[column] = max;
  }

  /**
   * Fills a part of a column; rows that it covers partly get their part of the colour.
   * @param {number} column
   * @param {number} top
   * @param {number} bottom
   * @param {number} color
   * @param {number} alpha
   */
  #fill(column, top, bottom, color, alpha) {
    const { width, height, pixels } = this;
    const first = Math.floor(top);
    const last = Math.floor(bottom);
    const end = Math.min(last, height - 1);
    const opaque = (0xff000000 | color) >>> 0;
    for (let row = Math.max(first, 0), at = row * width + column; row <= end; row++, at += width) {
      let part = alpha;
      if (row === first) part *= (first === last ? bottom : first + 1) - top;
      else if (row === last) part *= bottom - last;
      if (part === 1) {
        pixels[at] = opaque;
        continue;
      }
      const below = pixels[at];
      const cover = below >>> 24;
      if (cover === 0) {
        pixels[at] = ((part * 255) << 24) | color;
        continue;
      }
      const r = below & 255;
      const g = (below >> 8) & 255;
      const b = (below >> 16) & 255;
      pixels[at] =
        ((cover + (255 - cover) * part) << 24) |
        ((b + (((color >> 16) & 255) - b) * part) << 16) |
        ((g + (((color >> 8) & 255) - g) * part) << 8) |
        (r + ((color & 255) - r) * part);
    }
  }
}
