// All that is known of one row, in a panel over the page.

const SVG = "http://www.w3.org/2000/svg";

function drawing(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

// A score on its axis, right is better: triangle, interval, null. Its numbers stand beside it.
function strip(column, value, low, high) {
  const marks = [value, low, high, column.null?.[1] ?? NaN].filter(Number.isFinite);
  if (!Number.isFinite(value)) return "";
  const ends = column.ends ?? [Math.min(0, ...marks), Math.max(...marks, 1e-9)];
  const [worst, best] = column.lower ? [ends[1], ends[0]] : ends;
  const x = (number) => 4 + 142 * Math.min(Math.max((number - worst) / (best - worst), 0), 1);
  const svg = drawing("svg", { class: "strip small", width: 150, height: 19, viewBox: "0 0 150 19",
    "aria-hidden": "true" });
  svg.append(drawing("rect", { class: "zone", x: 4, y: 7, width: 142, height: 7 }));
  if (column.null) {
    const at = x(column.null[1]);
    svg.append(drawing("line", { class: "null", x1: at, x2: at, y1: 7, y2: 18 }));
  }
  if (Number.isFinite(low) && Number.isFinite(high)) {
    const [start, end] = [x(low), x(high)].sort((a, b) => a - b);
    const missing = Math.max(4 - (end - start), 0) / 2;
    svg.append(drawing("rect", { class: "interval", x: start - missing, y: 7, height: 7, rx: 1,
      width: end - start + 2 * missing }));
  }
  svg.append(drawing("path", { class: "score", d: `M${x(value)} 5l-3.5 -5h7z` }));
  return svg;
}

// Images are in the page once: they are found by length and checksum of their address.
function checksum(text) {
  let low = 1, high = 0;
  for (let i = 0; i < text.length; i++) {
    low = (low + text.charCodeAt(i)) % 65521;
    high = (high + low) % 65521;
  }
  return `${text.length}-${((high << 16) | low) >>> 0}`;
}

// Drawings of the page are found by name, and copied.
let addresses;
function image(key) {
  const named = document.getElementById(key);
  if (named !== null) return named.cloneNode(true);
  addresses ??= new Map([...document.images].map((one) => one.getAttribute("src") ?? "")
    .filter((address) => address.startsWith("data:image/"))
    .map((address) => [checksum(address), address]));
  return addresses.has(key) ? made("img", { src: addresses.get(key), alt: "" }) : undefined;
}

class Panel {
  constructor() {
    this.body = made("div");
    const close = made("button", { type: "button", className: "close" }, "Close");
    close.addEventListener("click", () => this.dialog.close());
    this.dialog = made("dialog", { className: "item", "aria-labelledby": "item-name" },
      close, this.body);
    document.getElementById("explorer").append(this.dialog);
  }

  open(table, row) {
    const about = table.about[row] ?? { says: [], images: [] };
    const heading = made("h3", { id: "item-name" }, isolated(table.names[row]));
    const images = about.images.map(([key, words]) => [image(key), words])
      .filter(([image]) => image !== undefined)
      .map(([image, words]) => made("figure", {}, image,
        made("figcaption", {}, isolated(words))));
    this.body.replaceChildren(
      made("p", { className: "soft" }, `${table.one}, number ${counted(row + 1)} of `
        + `${counted(table.rows)} in the run`),
      heading,
      ...about.says.map((words) => made("p", {}, isolated(words))),
      ...(images.length ? [made("div", { className: "images" }, ...images)]
        : [made("p", { className: "soft" }, `The run kept no images of this ${table.one}.`)]),
      this.scores(table, row));
    this.dialog.showModal();
    this.dialog.scrollTop = 0;
  }

  scores(table, row) {
    const heads = ["score", "value", "interval", "", "all together", "null of all together"];
    const rows = table.columns.map((column) => {
      const value = table.numbers(column)[row];
      const [low, high] = column.interval
        ? ["low", "high"].map((part) => table.numbers(column, part)[row]) : [NaN, NaN];
      const between = Number.isNaN(low) || Number.isNaN(high) ? "–"
        : `${said(column, low)} to ${said(column, high)}`;
      return made("tr", {}, made("th", { scope: "row" }, column.title,
        made("span", { className: "under" }, column.options)),
      made("td", { className: "number" }, made("span", { className: "value" }, said(column, value))),
      made("td", { className: "interval" }, between), made("td", {}, strip(column, value, low, high)),
      made("td", {}, column.whole || "–"),
      made("td", {}, column.null ? `${column.null[0]} ${said(column, column.null[1])}` : "–"));
    });
    return made("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Scores" },
      made("table", {}, made("thead", {}, made("tr", {},
        ...heads.map((head) => made(head ? "th" : "td", {}, head)))),
      made("tbody", {}, ...rows)));
  }
}
