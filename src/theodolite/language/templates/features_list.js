// All features, a page at a time: ordered, searched, filtered.

class FeatureList {
  constructor({ texts, arrays }) {
    Object.assign(this, texts);
    this.arrays = arrays;
    this.n = this.labels.length;
    this.rate = Float64Array.from(arrays.get("active"), (count) => count / Math.max(this.tokens, 1));
    this.columns = this.scores.map((score, i) => ({ ...score, values: arrays.get(`score ${i}`), marks: arrays.get(`marks ${i}`) }));
    Object.assign(this, { by: "number", down: false, page: 0, size: 50, typed: "", only: "all" });
  }

  mark(score, null_, row) { return this.columns[score].marks[null_ * this.n + row]; }

  label(row) { return this.labels[row]; }

  show(place, note) {
    this.body = made("tbody");
    this.head = made("thead");
    this.status = made("p", { role: "status" });
    const turns = [["« First", () => 0], ["‹ Previous", () => this.page - 1],
      ["Next ›", () => this.page + 1], ["Last »", () => this.last]];
    this.turns = turns.map(([words, to]) => {
      const button = made("button", { type: "button" }, words);
      button.addEventListener("click", () => { this.page = Math.min(Math.max(to(), 0), this.last); this.draw(); });
      return button;
    });
    place.replaceChildren(this.controls(),
      made("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "All features" },
        made("table", {}, this.head, this.body)),
      made("nav", { className: "pager", "aria-label": "Pages of features" },
        ...this.turns.slice(0, 2), this.status, ...this.turns.slice(2)));
    this.draw();
    note.hidden = true;
    place.dataset.ready = "yes";
  }

  controls() {
    const search = made("input", { type: "search", autocomplete: "off", spellcheck: false });
    let later;
    search.addEventListener("input", () => {
      clearTimeout(later);
      later = setTimeout(() => { this.typed = search.value; this.page = 0; this.draw(); }, 120);
    });
    const only = made("select", {}, made("option", { value: "all" }, "all"),
      made("option", { value: "alive" }, "active at some token"), made("option", { value: "dead" }, "never active"));
    if (Object.keys(this.effects).length) only.append(made("option", { value: "effect" }, "measured for effects"));
    this.columns.forEach((score, i) => score.nulls.forEach(([name], j) => {
      only.append(made("option", { value: `2 ${i} ${j}` }, `beat ${name}`));
    }));
    this.columns.forEach((score, i) => score.nulls.forEach(([name], j) => {
      only.append(made("option", { value: `1 ${i} ${j}` }, `do not beat ${name}`));
    }));
    only.addEventListener("change", () => { this.only = only.value; this.page = 0; this.draw(); });
    return made("div", { className: "controls" },
      made("label", {}, "Search by number or words ", search), made("label", {}, "Features that are ", only));
  }

  keys() {
    const fixed = { number: null, rate: this.rate };
    if (this.by in fixed) return fixed[this.by];
    if (this.by === "label") {
      if (!this.ranks) {
        const order = Uint32Array.from(this.labels.keys()), compare = new Intl.Collator("en", { numeric: true }).compare;
        order.sort((a, b) => compare(this.labels[a], this.labels[b]) || a - b);
        this.ranks = new Float64Array(this.n);
        order.forEach((row, place) => { this.ranks[row] = this.labels[row] ? place : NaN; });
      }
      return this.ranks;
    }
    return this.columns[Number(this.by)].values;
  }

  rows() {
    const wanted = this.typed.trim().toLowerCase();
    this.lowered ??= this.labels.map((label, row) => [label, ...this.words[row]].join("\n").toLowerCase());
    const [mark_, score, null_] = this.only.split(" ").map(Number);
    const rows = [];
    for (let row = 0; row < this.n; row++) {
      if (this.only === "alive" ? this.rate[row] === 0 : this.only === "dead" ? this.rate[row] > 0
        : this.only === "effect" ? !this.effects[row] : this.only !== "all" && this.mark(score, null_, row) !== mark_) continue;
      if (wanted && !this.lowered[row].includes(wanted) && !String(row).startsWith(wanted)) continue;
      rows.push(row);
    }
    const keys = this.keys(), sign = this.down ? -1 : 1;
    if (keys) rows.sort((a, b) => Number.isNaN(keys[a]) - Number.isNaN(keys[b]) || sign * (keys[a] - keys[b]) || a - b);
    else if (this.down) rows.reverse();
    return rows;
  }

  heads() {
    const head = (by, words, under = "", number = true) => {
      const button = made("button", { type: "button" }, words);
      button.addEventListener("click", () => {
        this.down = this.by === by ? !this.down : !["number", "label"].includes(by);
        this.by = by;
        this.page = 0;
        this.draw();
        this.head.querySelector("th[aria-sort] button").focus();
      });
      const cell = made("th", { scope: "col", className: number ? "number" : "" }, button);
      if (under) cell.append(made("span", { className: "under" }, under));
      if (this.by === by) cell.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      return cell;
    };
    const row = made("tr", {}, head("number", "feature", "", false), head("label", "said to stand for", "", false),
      head("rate", "active at", "of the tokens"));
    this.columns.forEach((score, i) => {
      row.append(head(String(i), score.title));
      score.nulls.forEach(([name, meaning]) => row.append(made("th", { scope: "col", title: meaning }, `beats ${name}?`)));
    });
    this.head.replaceChildren(row);
  }

  row(row) {
    const label = this.labels[row], [peaks, raised] = this.words[row];
    const said = made("td", { className: "label-text" },
      label ? isolated(label) : made("span", { className: "soft" }, this.rate[row] ? "–" : "never active"));
    const under = (what, text) => text && said.append(made("span", { className: "under" }, what, isolated(text)));
    under("strongest at: ", peaks);
    under("makes probable: ", raised);
    for (const [act, answer] of this.effects[row] ?? []) under(`effect of ${act}: `, answer);
    const element = made("tr", {}, made("th", { scope: "row" }, made("a", { href: `#feature-${row}` }, String(row))), said,
      made("td", { className: "number" }, percent(this.rate[row])));
    this.columns.forEach((score, i) => {
      element.append(made("td", { className: "number" }, made("span", { className: "value" }, scored(score, score.values[row]))));
      score.nulls.forEach((_, j) => element.append(made("td", {}, mark(this.mark(i, j, row)))));
    });
    return element;
  }

  draw() {
    const rows = this.rows();
    this.last = Math.max(Math.ceil(rows.length / this.size) - 1, 0);
    this.page = Math.min(this.page, this.last);
    const first = this.page * this.size, some = rows.slice(first, first + this.size);
    this.order = rows;
    this.heads();
    this.body.replaceChildren(...some.map((row) => this.row(row)));
    const of = rows.length === this.n ? counted(this.n) : `${counted(rows.length)} found among ${counted(this.n)}`;
    this.status.textContent = rows.length === 0 ? `none; ${counted(this.n)} features`
      : `${counted(first + 1)}–${counted(first + some.length)} of ${of}`;
    // not "disabled": the button that was pressed keeps the focus
    this.turns.forEach((button, i) => button.setAttribute("aria-disabled", String(i < 2 ? this.page === 0 : this.page === this.last)));
  }
}
