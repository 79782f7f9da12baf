// Figures over a table: how a score is spread over all items, and two scores against each other.

const BINS = 40, CELLS = 36, POINTS = 4000, ENDS = 50, SEED = 0;
const PLOT = { width: 480, left: 60, right: 472, top: 24 };

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
      ({ left: span[0] + i * step, right: span[0] + (i + 1) * step, bottom: 0, top: count, count })),
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

// Round numbers from low to high, about five.
function ticks([low, high]) {
  const least = (high - low) / 5, size = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].map((by) => by * size).find((one) => one >= least * (1 - 1e-9));
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

const tickText = (column, value) => {
  const text = column?.share ? `${Number((100 * value).toPrecision(3))} %`
    : counted(Number(value.toPrecision(4)));
  return text.replace("-", "−");
};

// A plot as SVG: boxes below, points above, each with the numbers that it shows as "datum". An axis
// has ends, a title and a column, which tells the unit of its ticks.
function plotted(height, across, up, boxes, points = []) {
  const base = height - 44, { width, left, right, top } = PLOT;
  const svg = drawing("svg", { class: "plotted", viewBox: `0 0 ${width} ${height}` });
  const place = ([low, high], start, end) => (value) =>
    start + ((end - start) * (value - low)) / (high - low);
  const x = place(across.ends, left, right), y = place(up.ends, base, top);
  const text = (content, at, height, anchor) => {
    const element = drawing("text", { class: "label", x: at, y: height, "text-anchor": anchor });
    element.textContent = content;
    svg.append(element);
  };
  const add = (tag, datum, attributes) => {
    const element = drawing(tag, attributes);
    element.datum = datum;
    svg.append(element);
  };
  for (const tick of ticks(up.ends)) {
    svg.append(drawing("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }));
    text(tickText(up.column, tick), left - 6, y(tick) + 4, "end");
  }
  for (const tick of ticks(across.ends)) text(tickText(across.column, tick), x(tick), base + 17, "middle");
  text(across.title, (left + right) / 2, base + 37, "middle");
  text(up.title, 2, 13, "start");
  for (const one of boxes) {
    add("rect", one, { class: "bar", x: x(one.left), y: y(one.top), opacity: one.depth ?? 1,
      width: x(one.right) - x(one.left), height: y(one.bottom) - y(one.top) });
  }
  for (const one of points) add("circle", one, { class: "dot", cx: x(one.x), cy: y(one.y), r: 1.8 });
  return svg;
}

// A small box that follows the pointer; what is said in it is text.
function pointed(svg, place, tip, words, open) {
  svg.addEventListener("mousemove", (event) => {
    const datum = event.target.datum, box = place.getBoundingClientRect();
    tip.hidden = datum === undefined;
    if (datum !== undefined) tip.replaceChildren(isolated(words(datum), 400));
    const right = event.clientX - box.left, wide = Math.min(260, box.width);
    tip.style.left = `${Math.max(0, Math.min(right + 12, box.width - wide))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
    place.classList.toggle("points", datum?.row !== undefined);
  });
  svg.addEventListener("mouseleave", () => { tip.hidden = true; });
  svg.addEventListener("click", (event) => {
    if (event.target.datum?.row !== undefined) open(event.target.datum.row);
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
    this.element = made("figure", {}, made("h3", {}, title),
      made("div", { className: "choose" }, ...this.choosers.map((one) => one.element)),
      this.place, this.words);
  }

  get columns() { return this.choosers.map((one) => Number(one.select.value)); }

  redraw() {
    this.inner.replaceChildren(this.draw(this));
    this.element.dataset.drawn = String(Number(this.element.dataset.drawn ?? 0) + 1);
  }

  says(words) {
    const text = words.replaceAll(" %", "\u00a0%");
    this.words.textContent = text;
    this.place.setAttribute("aria-label", text);
  }
}

function histogramFigure(table) {
  return new Figure(table, "How a score is spread", [["Score", 0]], (figure) => {
    const column = table.columns[figure.columns[0]], values = table.numbers(column);
    const { rows, bins } = binned(values);
    const missing = table.rows - rows;
    const tallest = bins.reduce((a, b) => (b.count > a.count ? b : a), { count: -1 });
    figure.says(rows === 0 ? `${label(column)} is undefined for all ${table.over}.`
      : `${label(column)} of all ${counted(rows)} ${table.over} for which it is defined, in `
        + `${BINS} bins from ${said(column, bins[0].left)} to ${said(column, bins.at(-1).right)}; `
        + `most lie from ${said(column, tallest.left)} to ${said(column, tallest.right)}. `
        + `${counted(missing)} undefined.`);
    const across = { ends: [bins[0]?.left ?? 0, bins.at(-1)?.right ?? 1], title: label(column), column };
    const view = plotted(230, across, { ends: [0, Math.max(tallest.count, 1)], title: table.over }, bins);
    pointed(view, figure.place, figure.tip, (datum) =>
      `${said(column, datum.left)} to ${said(column, datum.right)}: ${counted(datum.count)}`);
    return view;
  });
}

function scatterFigure(table, open) {
  const title = "Two scores of the same " + table.over;
  return new Figure(table, title, [["Across", 0], ["Up", 1]], (figure) => {
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
    const spans = [x, y].map((values) => (found.all.length ? ends(values, found.all) : [0, 1]));
    const view = plotted(320, { ends: spans[0], title: label(across), column: across },
      { ends: spans[1], title: label(up), column: up }, found.all.length ? cells(x, y, found.all) : [],
      found.chosen.map((row) => ({ x: x[row], y: y[row], row })));
    pointed(view, figure.place, figure.tip, (datum) =>
      datum.row === undefined ? `${counted(datum.count)} ${table.over}`
        : `${table.names[datum.row]}: ${said(across, datum.x)}, ${said(up, datum.y)}`, open);
    return view;
  });
}
