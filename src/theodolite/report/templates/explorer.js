// One by one: pages of a table, ordered and searched, with all that is known of a row.

const FIRST_COLUMNS = 5;
const ENOUGH_FOR_PLOTS = 200;  // few rows are seen as well in the plain figures of the page

class Explorer {
  constructor(section, table, panel) {
    Object.assign(this, { section, table, panel, by: 0, page: 0, size: 25, typed: "" });
    this.down = table.columns[0].lower;
    this.open = (row) => panel.open(table, row);
    this.visible = new Set(section.dataset.first.split(" ").map(Number).slice(0, FIRST_COLUMNS));
    this.scroll = section.querySelector(".scroll");
    this.head = section.querySelector("thead");
    this.rows = section.querySelector("tbody");
    section.querySelector(".static-note")?.remove();
    this.controls();
    this.heads();
    this.show();
    this.figures();
  }

  controls() {
    const search = made("input", { type: "search", autocomplete: "off", spellcheck: false });
    search.addEventListener("input", () => { this.typed = search.value; this.page = 0; this.show(); });
    const size = made("select", {}, ...[25, 50, 100].map((n) => made("option", {}, String(n))));
    size.addEventListener("change", () => {
      this.page = Math.floor((this.page * this.size) / Number(size.value));
      this.size = Number(size.value);
      this.show();
    });
    this.scroll.before(made("div", { className: "controls" },
      made("label", {}, "Search by name ", search), made("label", {}, "Rows per page ", size)),
    ...(this.table.columns.length > 1 ? [this.columnChoice()] : []));
    this.status = made("p", { className: "rows", role: "status" });
    const turns = [["« First", () => 0], ["‹ Previous", () => this.page - 1],
      ["Next ›", () => this.page + 1], ["Last »", () => this.last]];
    this.turns = turns.map(([words, to]) => {
      const button = made("button", { type: "button" }, words);
      button.addEventListener("click", () => this.turn(to()));
      return button;
    });
    this.pager = made("nav", { className: "pager", "aria-label": `Pages of ${this.table.over}` },
      ...this.turns.slice(0, 2), this.status, ...this.turns.slice(2));
    this.pager.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: this.page - 1, PageUp: this.page - 1, ArrowRight: this.page + 1,
        PageDown: this.page + 1, Home: 0, End: this.last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.turn(to);
    });
    this.scroll.after(this.pager);
    addEventListener("beforeprint", () => this.turn(0));
  }

  columnChoice() {
    const words = () => `Scores in the table: ${this.visible.size} of ${this.table.columns.length}`;
    const summary = made("summary", {}, words());
    const boxes = this.table.columns.map((column, at) => {
      const box = made("input", { type: "checkbox", checked: this.visible.has(at) });
      box.addEventListener("change", () => {
        if (box.checked) this.visible.add(at); else this.visible.delete(at);
        summary.textContent = words();
        this.heads();
        this.show();
      });
      return made("label", {}, box, " ", label(column));
    });
    return made("details", { className: "columns" }, summary,
      made("div", { role: "group", "aria-label": "Scores in the table" }, ...boxes));
  }

  heads() {
    const head = (at, words, under) => {
      const button = made("button", { type: "button" }, words);
      button.addEventListener("click", () => {
        this.down = this.by === at ? !this.down : at >= 0 && this.table.columns[at].lower;
        this.by = at;
        this.page = 0;
        this.show();
      });
      const cell = made("th", { scope: "col", className: at < 0 ? "" : "number" }, button, ...under);
      cell.dataset.at = String(at);
      return cell;
    };
    const row = made("tr", {}, head(-1, this.table.one, []));
    for (const [at, column] of this.table.columns.entries()) {
      if (!this.visible.has(at)) continue;
      const under = [column.options, column.whole && `all: ${column.whole}`,
        column.null && `null: ${said(column, column.null[1])}`].filter(Boolean);
      row.append(head(at, column.title,
        under.map((words) => made("span", { className: "under" }, words))));
    }
    this.head.replaceChildren(row);
  }

  cell(column, row) {
    const cell = made("td", { className: "number" },
      made("span", { className: "value" }, said(column, this.table.numbers(column)[row])));
    if (column.interval) {
      const [low, high] = ["low", "high"].map((part) => this.table.numbers(column, part)[row]);
      if (!Number.isNaN(low) && !Number.isNaN(high)) {
        const from = said(column, low).replace(" %", ""), to = said(column, high).replace(" %", "");
        cell.append(made("span", { className: "under" }, `${from} to ${to}`));
      }
    }
    return cell;
  }

  row(row) {
    const button = made("button", { type: "button", className: "name" },
      isolated(this.table.names[row], 90));
    const element = made("tr", {}, made("th", { scope: "row" }, button));
    for (const at of [...this.visible].sort((a, b) => a - b)) {
      element.append(this.cell(this.table.columns[at], row));
    }
    element.addEventListener("click", () => { button.focus(); this.open(row); });
    return element;
  }

  turn(to) {
    this.page = Math.min(Math.max(to, 0), this.last);
    this.show();
  }

  show() {
    const found = this.table.matching(this.table.order(this.by, this.down), this.typed);
    this.last = Math.max(Math.ceil(found.length / this.size) - 1, 0);
    const first = this.page * this.size, rows = found.subarray(first, first + this.size);
    this.rows.replaceChildren(...Array.from(rows, (row) => this.row(row)));
    for (const cell of this.head.querySelectorAll("th")) {
      if (Number(cell.dataset.at) !== this.by) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", this.down ? "descending" : "ascending");
    }
    const of = found.length === this.table.rows ? counted(this.table.rows)
      : `${counted(found.length)} found among ${counted(this.table.rows)}`;
    this.status.textContent = found.length === 0 ? `no name holds this; ${counted(this.table.rows)} rows`
      : `rows ${counted(first + 1)}–${counted(first + rows.length)} of ${of}`;
    // not "disabled": the button that was pressed keeps the focus
    this.turns.forEach((button, i) =>
      button.setAttribute("aria-disabled", String(i < 2 ? this.page === 0 : this.page === this.last)));
  }

  figures() {
    if (this.table.rows < ENOUGH_FOR_PLOTS) return;
    const figures = [histogramFigure(this.table)];
    if (this.table.columns.length > 1) figures.push(scatterFigure(this.table, this.open));
    const place = made("div", { className: "plots" }, ...figures.map((one) => one.element));
    this.section.querySelector(".static-figures")?.remove();
    this.section.append(place);
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      figures.forEach((one) => one.redraw());
    }, { rootMargin: "400px" }).observe(place);
  }
}

// One section at a time, each unpacked when it is first asked for.
function tabs(sections, panel) {
  const list = made("div", { className: "tabs", role: "tablist", "aria-label": "One by one" });
  const buttons = sections.map((section, at) => {
    const button = made("button", { type: "button", role: "tab", id: `tab-${section.id}`,
      "aria-controls": section.id }, section.dataset.title, " ",
    made("span", { className: "soft" }, section.dataset.rows));
    button.addEventListener("click", () => choose(at));
    section.setAttribute("role", "tabpanel");
    section.setAttribute("aria-labelledby", button.id);
    return button;
  });
  const ready = new Map();
  async function choose(at) {
    sections.forEach((section, i) => {
      section.hidden = i !== at;
      buttons[i].setAttribute("aria-selected", String(i === at));
      buttons[i].tabIndex = i === at ? 0 : -1;
    });
    if (ready.has(at)) return;
    ready.set(at, true);
    const text = sections[at].querySelector("script").textContent;
    const table = new Table(await unpacked(text));
    table.one = sections[at].dataset.one;
    new Explorer(sections[at], table, panel);
    sections[at].dataset.ready = "yes";
  }
  list.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement), n = buttons.length;
    const to = { ArrowRight: (at + 1) % n, ArrowLeft: (at + n - 1) % n, Home: 0, End: n - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    buttons[to].focus();
    choose(to);
  });
  list.append(...buttons);
  sections[0].before(list);
  return choose(0);
}

async function begin() {
  const root = document.getElementById("explorer"), fold = root.closest("details");
  if (fold !== null && !fold.open) {  // nothing is unpacked before it is looked at
    fold.addEventListener("toggle", begin, { once: true });
    return;
  }
  const note = document.getElementById("explorer-note");
  if (typeof DecompressionStream === "undefined") {
    note.textContent = "This browser cannot unpack the other rows (it has no DecompressionStream). "
      + "They are in scores.json and per_sample.parquet beside this file.";
    return;
  }
  try {
    await tabs([...root.querySelectorAll(".explorer")], new Panel());
    note.remove();
    root.classList.add("live");
  } catch (error) {
    note.textContent = `The other rows could not be unpacked (${error.message}). `
      + "They are in scores.json and per_sample.parquet beside this file.";
  }
}

begin();
