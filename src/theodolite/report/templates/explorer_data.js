// Tables that came with the page: unpacked, read, ordered, put into words.

const SCALE = 1e4, REACH = 3e4, UNDEFINED = 65535;

async function unpacked(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Numbers whose bytes are stored place by place.
function fromPlanes(bytes, start, rows, size) {
  const joined = new Uint8Array(rows * size);
  for (let place = 0; place < size; place++) {
    const from = start + place * rows;
    for (let i = 0; i < rows; i++) joined[i * size + place] = bytes[from + i];
  }
  return joined.buffer;
}

class Table {
  constructor(bytes) {
    const length = new DataView(bytes.buffer).getUint32(0, true);
    Object.assign(this, JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))));
    this.bytes = bytes;
    this.rows = this.names.length;
    this.orders = new Map();
    let at = 4 + length;
    if (this.ranked) {
      this.ranks = new Uint32Array(fromPlanes(bytes, at, this.rows, 4));
      at += 4 * this.rows;
    }
    for (const column of this.columns) {
      const size = column.fixed ? 2 : 4;
      column.at = {};
      for (const part of column.interval ? ["values", "low", "high"] : ["values"]) {
        column.at[part] = at;
        at += size * this.rows;
      }
    }
  }

  // Values of a column, or the ends of its intervals; undefined is NaN. Read when first needed.
  numbers(column, part = "values") {
    const read = (column.read ??= {});
    if (read[part] !== undefined) return read[part];
    const buffer = fromPlanes(this.bytes, column.at[part], this.rows, column.fixed ? 2 : 4);
    if (!column.fixed) return (read[part] = Float64Array.from(new Float32Array(buffer)));
    const codes = new Uint16Array(buffer), found = new Float64Array(this.rows);
    for (let i = 0; i < codes.length; i++) {
      found[i] = codes[i] === UNDEFINED ? NaN : (codes[i] - REACH) / SCALE;
    }
    return (read[part] = found);
  }

  // Rows from the smallest to the largest or back; what is undefined comes last either way, and
  // equals stay as they are in the run.
  order(by, down) {
    const key = `${by} ${down}`;
    if (this.orders.has(key)) return this.orders.get(key);
    const whole = Uint32Array.from({ length: this.rows }, (_, row) => row);
    if (by >= 0 && this.columns[by].fixed) this.counted(whole, this.columns[by], down);
    else if (by >= 0 || this.ranked) {
      const keys = by < 0 ? this.ranks : this.numbers(this.columns[by]), sign = down ? -1 : 1;
      whole.sort((a, b) => Number.isNaN(keys[a]) - Number.isNaN(keys[b])
        || sign * (keys[a] - keys[b]) || a - b);
    } else if (down) whole.reverse();
    this.orders.set(key, whole);
    return whole;
  }

  // Numbers of few digits are put in order by counting how often each comes.
  counted(whole, column, down) {
    const values = this.numbers(column), ends = new Uint32Array(UNDEFINED + 2);
    const place = (row) => {
      if (Number.isNaN(values[row])) return UNDEFINED;
      const code = Math.round(values[row] * SCALE) + REACH;
      return down ? 2 * REACH - code : code;
    };
    for (let row = 0; row < this.rows; row++) ends[place(row) + 1] += 1;
    for (let i = 1; i < ends.length; i++) ends[i] += ends[i - 1];
    for (let row = 0; row < this.rows; row++) whole[ends[place(row)]++] = row;
  }

  // Rows of an order whose name holds what was typed.
  matching(order, typed) {
    const wanted = typed.trim().toLowerCase();
    if (wanted === "") return order;
    this.lowered ??= this.names.map((name) => name.toLowerCase());
    return order.filter((row) => this.lowered[row].includes(wanted));
  }
}

// A number in the words of its column: as many digits as are kept.
function said(column, value) {
  if (Number.isNaN(value)) return "undefined";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  let text;
  if (column.share && column.fixed) text = (100 * value).toFixed(2) + " %";
  else if (column.fixed) text = value.toFixed(4);
  else text = String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
}

// A name that another script or a mark of direction cannot spread from.
const isolated = (name, most = 300) =>
  made("bdi", {}, name.length > most ? name.slice(0, most - 1) + "…" : name);
