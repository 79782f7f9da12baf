// Figures over a table: how a score is spread over all items, and two scores against each other.

const BINS = 40, CELLS = 36, POINTS = 4000, ENDS = 50, SEED = 0;

// Numbers between 0 and 1 that are the same for the same seed (mulberry32).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function ends(values, rows) {
  let low = Infinity, high = -Infinity;
  for (const row of rows) {
    if (values[row] < low) low = values[row];
    if (values[row] > high) high = values[row];
  }
  return high > low ? [low, high] : [low - 0.5, low + 0.5];
}

const finite = (values) => {
  const rows = [];
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) rows.push(i);
  return rows;
};

const bin = (value, [low, high], bins) =>
  Math.min(Math.floor(((value - low) / (high - low)) * bins), bins - 1);

// Counts of all rows in bins of equal width.
function binned(values, bins = BINS) {
  const rows = finite(values);
  if (rows.length === 0) return { rows: 0, bins: [] };
  const span = ends(values, rows), counts = new Array(bins).fill(0);
  for (const row of rows) counts[bin(values[row], span, bins)] += 1;
  const step = (span[1] - span[0]) / bins;
  return {
    rows: rows.length,
    bins: counts.map((count, i) =>
      ({ start: span[0] + i * step, end: span[0] + (i + 1) * step, count })),
  };
}

// Counts of all rows in cells, those that hold any; "depth" is how dark they are drawn.
function cells(x, y, rows, across = CELLS) {
  const wide = ends(x, rows), tall = ends(y, rows), counts = new Uint32Array(across * across);
  for (const row of rows) counts[bin(x[row], wide, across) * across + bin(y[row], tall, across)]++;
  const most = counts.reduce((a, b) => Math.max(a, b), 0), found = [];
  const right = (wide[1] - wide[0]) / across, up = (tall[1] - tall[0]) / across;
  counts.forEach((count, at) => {
    if (count === 0) return;
    const i = Math.floor(at / across), j = at % across;
    found.push({
      left: wide[0] + i * right, right: wide[0] + (i + 1) * right,
      bottom: tall[0] + j * up, top: tall[0] + (j + 1) * up,
      count, depth: 0.12 + 0.78 * Math.sqrt(count / most),
    });
  });
  return found;
}

// Which rows are drawn as points: all, or the ends of both scores and others at random.
function drawn(x, y, { most = POINTS, outer = ENDS, seed = SEED } = {}) {
  const rows = [];
  let undefinedX = 0, undefinedY = 0;
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(x[i])) undefinedX += 1;
    if (!Number.isFinite(y[i])) undefinedY += 1;
    if (Number.isFinite(x[i]) && Number.isFinite(y[i])) rows.push(i);
  }
  const found = { all: rows, chosen: rows, outer: 0, random: 0, undefinedX, undefinedY };
  if (rows.length <= most) return found;
  const kept = new Set();
  for (const values of [x, y]) {
    const order = Uint32Array.from(rows).sort((a, b) => values[a] - values[b] || a - b);
    for (const row of order.subarray(0, outer)) kept.add(row);
    for (const row of order.subarray(order.length - outer)) kept.add(row);
  }
  const rest = rows.filter((row) => !kept.has(row)), random = generator(seed);
  const wanted = Math.min(most - kept.size, rest.length);
  for (let i = 0; i < wanted; i++) {
    const j = i + Math.floor(random() * (rest.length - i));
    [rest[i], rest[j]] = [rest[j], rest[i]];
  }
  return { ...found, chosen: [...kept, ...rest.slice(0, wanted)], outer: kept.size, random: wanted };
}

const label = (column) => column.title + (column.options ? ", " + column.options : "");

function chooser(text, table, chosen, changed) {
  const select = made("select", {},
    ...table.columns.map((column, i) => made("option", { value: String(i) }, label(column))));
  select.value = String(chosen);
  select.addEventListener("change", changed);
  return { select, element: made("label", {}, text, " ", select) };
}

const format = (column) => (column.share ? ".3~%" : ".4~g");

// A small box that follows the pointer; what is said in it is text.
function pointed(view, place, tip, words, open) {
  view.addEventListener("mousemove", (event, item) => {
    const text = item?.datum === undefined ? "" : words(item.datum);
    tip.hidden = text === "";
    tip.replaceChildren(isolated(text, 400));
    const box = place.getBoundingClientRect();
    const right = event.clientX - box.left, wide = Math.min(260, box.width);
    tip.style.left = `${Math.max(0, Math.min(right + 12, box.width - wide))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
    place.classList.toggle("points", item?.datum?.row !== undefined);
  });
  view.addEventListener("mouseout", () => { tip.hidden = true; });
  view.addEventListener("click", (event, item) => {
    if (item?.datum?.row !== undefined) open(item.datum.row);
  });
}

// One figure of the page: its choosers, its place, its words; drawn anew when something changes.
class Figure {
  constructor(table, title, choosers, draw) {
    this.choosers = choosers.map(([text, chosen]) =>
      chooser(text, table, chosen, () => this.redraw()));
    this.place = made("div", { className: "plot", role: "img", "aria-label": title });
    this.inner = made("div", { "aria-hidden": "true" });
    this.tip = made("div", { className: "tip", hidden: true, "aria-hidden": "true" });
    this.place.append(this.inner, this.tip);
    this.words = made("figcaption");
    this.draw = draw;
    this.element = made("figure", { className: "vega" }, made("h3", {}, title),
      made("div", { className: "choose" }, ...this.choosers.map((one) => one.element)),
      this.place, this.words);
  }

  get columns() { return this.choosers.map((one) => Number(one.select.value)); }

  async redraw() {
    this.view?.finalize();
    this.view = await this.draw(this);
    this.element.dataset.drawn = String(Number(this.element.dataset.drawn ?? 0) + 1);
  }

  says(words) {
    const text = words.replaceAll(" %", "\u00a0%");
    this.words.textContent = text;
    this.place.setAttribute("aria-label", text);
  }
}

function histogramFigure(table) {
  return new Figure(table, "How a score is spread", [["Score", 0]], async (figure) => {
    const column = table.columns[figure.columns[0]], values = table.numbers(column);
    const { rows, bins } = binned(values);
    const missing = table.rows - rows;
    const tallest = bins.reduce((a, b) => (b.count > a.count ? b : a), { count: -1 });
    figure.says(rows === 0 ? `${label(column)} is undefined for all ${table.over}.`
      : `${label(column)} of all ${counted(rows)} ${table.over} for which it is defined, in `
        + `${BINS} bins from ${said(column, bins[0].start)} to ${said(column, bins.at(-1).end)}; `
        + `most lie from ${said(column, tallest.start)} to ${said(column, tallest.end)}. `
        + `${counted(missing)} undefined.`);
    const words = { x: label(column), y: table.over, xformat: format(column), yformat: ",.3~f" };
    const view = await drawVega("explorer-histogram", figure.inner, words, { bins });
    pointed(view, figure.place, figure.tip, (datum) => datum.start === undefined ? ""
      : `${said(column, datum.start)} to ${said(column, datum.end)}: ${counted(datum.count)}`);
    return view;
  });
}

function scatterFigure(table, open) {
  const title = "Two scores of the same " + table.over;
  return new Figure(table, title, [["Across", 0], ["Up", 1]], async (figure) => {
    const [across, up] = figure.columns.map((at) => table.columns[at]);
    const x = table.numbers(across), y = table.numbers(up), found = drawn(x, y);
    const shown = counted(found.chosen.length), all = counted(found.all.length);
    const points = found.outer === 0 ? `All ${all} ${table.over} are drawn as points.`
      : `${shown} of ${all} ${table.over} are drawn as points: the ${ENDS} lowest and ${ENDS} `
        + `highest by either score, and ${counted(found.random)} at random (seed ${SEED}).`;
    const missing = table.rows - found.all.length;
    figure.says(`${label(up)} against ${label(across)}. ${points} The shading counts all ${all}. `
      + (missing === 0 ? "None is undefined."
        : `${counted(missing)} are not drawn: the first score (across) is undefined for `
          + `${counted(found.undefinedX)}, the second (up) for ${counted(found.undefinedY)}.`)
      + " Click on a point to see what it is; the table has the same by keyboard.");
    const words = { x: label(across), y: label(up), xformat: format(across), yformat: format(up) };
    const view = await drawVega("explorer-scatter", figure.inner, words, {
      cells: found.all.length ? cells(x, y, found.all) : [],
      points: found.chosen.map((row) => ({ x: x[row], y: y[row], row })),
    });
    pointed(view, figure.place, figure.tip, (datum) =>
      datum.row !== undefined
        ? `${table.names[datum.row]}: ${said(across, datum.x)}, ${said(up, datum.y)}`
        : datum.count === undefined ? "" : `${counted(datum.count)} ${table.over}`, open);
    return view;
  });
}
