/**
 * Draws many thin lines into an array of pixels. Each line is one vertical span of pixels per
 * column. Without a GPU, the browser's strokes take seconds for a chart that takes 20 ms here. No
 * DOM.
 */

/** An array of pixels to draw lines into. */
export class Raster {
  /** @param {number} width  pixels @param {number} height  pixels */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** RGBA, row by row from the top; transparent at first. */
    this.pixels = new Uint32Array(width * height);
    /** Top of the current line's span in each column; empty spans have low > high, as all have between two lines. */
    this.low = new Float64Array(width).fill(Infinity);
    /** Bottom of the current line's span in each column. */
    this.high = new Float64Array(width).fill(-Infinity);
  }

  /** Makes all pixels transparent. */
  clear() {
    this.pixels.fill(0);
  }

  /**
   * Draws a line through points from .. to - 1, whose x must never decrease. Points that are not
   * finite are skipped.
   *
   * 1. Go over the points, and extend the span of each column that the line passes.
   * 2. Fill the spans.
   * @param {ArrayLike<number>} xs @param {ArrayLike<number>} ys @param {number} from
   * @param {number} to
   * @param {readonly [number, number]} xRange  x at the left and right edge
   * @param {readonly [number, number]} yRange  y at the bottom and top edge
   * @param {number} color  0xBBGGRR
   * @param {number} alpha  opacity, 0 to 1
   * @param {number} thickness  pixels
   * @param {readonly number[]} [dash]  pixels on, pixels off
   */
  line(xs, ys, from, to, [xMin, xMax], [yMin, yMax], color, alpha, thickness, dash) {
    const { width, height, low, high } = this;
    const xScale = width / (xMax - xMin);
    // Halves, because the difference of two large doubles may overflow to infinity.
    const yScale = height / (yMax / 2 - yMin / 2);
    // 1. Extend the spans.
    let lastX = NaN;
    let lastY = NaN;
    // Column of the last point: -1 is left of the picture, `width` is right of it, and -2 means
    // that there is no last point.
    let last = -2;
    let first = 0;
    // Y range of the points in that column.
    let min = Infinity;
    let max = -Infinity;
    for (let i = from; i < to; i++) {
      const y = (yMax / 2 - ys[i] / 2) * yScale;
      const x = (xs[i] - xMin) * xScale;
      // Not finite.
      if (x + y - (x + y) !== 0) continue;
      const column = x < 0 ? -1 : x >= width ? width : x | 0;
      if (column === last) {
        if (y < min) min = y;
        else if (y > max) max = y;
      } else {
        if (last > -2) {
          // The line from the last point to this one adds to both columns, and to all between them.
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
        } else {
          min = max = y;
          first = Math.max(0, column);
        }
        last = column;
      }
      lastX = x;
      lastY = y;
    }
    if (last > -2) this.#span(last, min, max);
    // 2. Fill the spans, and empty them.
    const period = dash ? dash[0] + dash[1] : 1;
    for (let c = first; c <= last && c < width; c++) {
      if (low[c] <= high[c] && (!dash || c % period < dash[0])) {
        this.#fill(c, low[c] - thickness / 2, high[c] + thickness / 2, color, alpha);
      }
      low[c] = Infinity;
      high[c] = -Infinity;
    }
  }

  /** Extends the span of a column, which may be outside the picture. @param {number} column @param {number} min @param {number} max */
  #span(column, min, max) {
    const { low, high } = this;
    if (column < 0 || column >= low.length) return;
    if (min < low[column]) low[column] = min;
    if (max > high[column]) high[column] = max;
  }

  /**
   * Fills a span of a column, with antialiasing: a pixel that is covered in part gets less of the
   * colour, which is blended with what was drawn before.
   * @param {number} column
   * @param {number} top  pixels from the top of the picture, not rounded
   * @param {number} bottom
   * @param {number} color  0xBBGGRR
   * @param {number} alpha  opacity, 0 to 1
   */
  #fill(column, top, bottom, color, alpha) {
    const { width, height, pixels } = this;
    const first = Math.floor(top);
    const last = Math.floor(bottom);
    const end = Math.min(last, height - 1);
    const opaque = (0xff000000 | color) >>> 0;
    // Red and blue are blended together, as the halves of one number, with weights of 256ths.
    const redBlue = color & 0xff00ff;
    const green = color & 0xff00;
    const weight = alpha * 256;
    for (let row = Math.max(first, 0), at = row * width + column; row <= end; row++, at += width) {
      let share = weight;
      if (row === first) share *= (first === last ? bottom : first + 1) - top;
      else if (row === last) share *= bottom - last;
      if (share >= 256) {
        pixels[at] = opaque;
        continue;
      }
      share |= 0;
      const old = pixels[at];
      const oldAlpha = old >>> 24;
      if (oldAlpha === 0) {
        pixels[at] = (((share * 255) >> 8) << 24) | color;
        continue;
      }
      const oldRedBlue = old & 0xff00ff;
      const oldGreen = old & 0xff00;
      pixels[at] =
        ((oldAlpha + (((255 - oldAlpha) * share) >> 8)) << 24) |
        ((oldRedBlue + (Math.imul(redBlue - oldRedBlue, share) >> 8)) & 0xff00ff) |
        ((oldGreen + (((green - oldGreen) * share) >> 8)) & 0xff00);
    }
  }
}
