// One feature: what it is said to stand for, what that is held against, and texts.

const WHOLE = 32767, STRONGEST = 0, JUDGED = 11;
let list, words;

const tenthName = (number) => (number === 10 ? "Strongest tenth of its values" : number === 1 ? "Weakest tenth"
  : `Tenth ${number} of 10, from the weakest`);

function contextsOf(part, row) {
  const of = (name) => part.arrays.get(name), counts = of("counts"), out = [];
  let first = 0, token = 0;
  for (let i = 0; i < row; i++) first += counts[i];
  const lengths = of("length");
  for (let i = 0; i < first; i++) token += lengths[i];
  for (let i = first; i < first + counts[row]; i++) {
    const end = token + lengths[i];
    out.push({ group: of("group")[i], peak: of("peak")[i], row: of("row")[i], first: of("first")[i], total: of("total")[i],
      tokens: of("tokens").subarray(token, end), parts: of("parts").subarray(token, end) });
    token = end;
  }
  return out;
}

function wordsOf(context, largest) {
  const line = made("bdi", { dir: "auto" });
  let strongest = "";
  if (context.first > 0) line.append("… ");
  for (const group of grouped(words, context.tokens)) {
    let part = 0;
    for (let i = group.first; i <= group.last; i++) if (Math.abs(context.parts[i]) > Math.abs(part)) part = context.parts[i];
    const inside = shown(group);
    if (part === 0) { line.append(...inside); continue; }
    if (typeof inside[0] === "string" && /^ +\S/.test(inside[0])) {  // the space before a word is not marked
      line.append(" ");
      inside[0] = inside[0].trimStart();
    }
    const value = amount((largest * part) / WHOLE), grade = Math.min(Math.ceil((5 * Math.abs(part)) / WHOLE), 5);
    const peak = context.peak >= group.first && context.peak <= group.last;
    const marked = made("mark", { className: `g${grade}${part < 0 ? " below" : ""}${peak ? " peak" : ""}`,
      title: `${value}, ${percent(Math.abs(part) / WHOLE)} of its largest` }, ...inside);
    if (peak) strongest = plain(group);
    line.append(marked, made("span", { className: "amount" }, value));
  }
  if (context.first + context.tokens.length < context.total) line.append(" …");
  return { line, strongest };
}

function contextItem(context, largest, before, times) {
  const { line, strongest } = wordsOf(context, largest);
  const value = amount((largest * context.parts[context.peak]) / WHOLE);
  const number = made("span", { className: "number" }, before ?? value);
  if (strongest && !before) number.append(made("span", { className: "unseen" }, " at the token ", isolated(strongest)));
  const where = `text ${counted(context.row)}, token ${counted(context.first + context.peak + 1)} of ${counted(context.total)}`;
  const again = times > 1 ? `; the same words ${times} times` : "";
  return made("li", {}, number, made("p", { className: "words" }, line), made("span", { className: "under" }, where + again));
}

// Texts that come twice are shown once, and that is said.
function contextList(contexts, largest) {
  const same = new Map();
  for (const context of contexts) {
    const key = context.tokens.join(" ");
    if (same.has(key)) same.get(key).times += 1; else same.set(key, { context, times: 1 });
  }
  return made("ol", { className: "contexts" }, ...[...same.values()].map(({ context, times }) =>
    contextItem(context, largest, undefined, times)));
}

function judgedList(contexts, answers, largest) {
  return made("ol", { className: "contexts" }, ...contexts.map((context, i) => {
    const [active, answer, judge] = answers[i] ?? [0, null, ""];
    const right = answer !== null && answer > 0.5 === Boolean(active);
    const before = answer === null ? made("span", { className: "soft" }, "no answer")
      : made("span", { className: right ? "right" : "wrong" }, right ? "✓ right" : "✗ wrong");
    const item = contextItem(context, largest, before, 1);
    const says = answer === null ? "could not be read" : answer > 0.5 ? "active" : "not active";
    item.lastChild.prepend(isolated(judge || "the judge"), `: ${says}; it is ${active ? "active" : "not active"} here. `);
    return item;
  }));
}

function scoreTable(part, row, feature) {
  const rows = list.columns.flatMap((score, i) => [
    made("tr", { className: "score" }, made("th", { scope: "rowgroup", colSpan: 3 }, `${score.title}: `,
      made("span", { className: "value" }, scored(score, score.values[feature])))),
    ...score.nulls.map(([name, meaning], j) => {
      const bar = part.arrays.get(`bars ${i}`)[j * part.texts.texts.length + row];
      return made("tr", {}, made("th", { scope: "row" }, name, made("span", { className: "under" }, meaning)),
        made("td", { className: "number" }, scored(score, bar)), made("td", {}, mark(list.mark(i, j, feature))));
    })]);
  if (!rows.length) return made("p", { className: "soft" }, "No score of it is at hand.");
  return made("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Scores" },
    made("table", { className: "beats" }, made("thead", {}, made("tr", {}, made("th", { scope: "col" }, "held against"),
      made("th", { scope: "col", className: "number" }, "must be above"), made("th", { scope: "col" }, "beats it?"))),
    made("tbody", {}, ...rows)));
}

function effectTable(effects) {
  if (!effects.length) return [];
  const heads = ["act", "concept", "causes it?", "measured"].map((text) => made("th", { scope: "col" }, text));
  const rows = effects.map(([act, concept, answer, sentence]) => made("tr", {}, made("th", { scope: "row" }, act),
    made("td", {}, isolated(concept)), made("td", {}, mark({ yes: 2, no: 1 }[answer] ?? 0)), made("td", {}, sentence)));
  return [made("h3", {}, "What it causes"), made("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Effects" },
    made("table", { className: "effects" }, made("thead", {}, made("tr", {}, ...heads)), made("tbody", {}, ...rows)))];
}

// The tokens it raises most, and those it lowers most.
function logitLists(part, row) {
  const values = part.arrays.get("logits"), most = values ? values.length / part.texts.texts.length : 0;
  if (!most) return [];
  const ids = part.arrays.get("logit tokens").subarray(row * most, (row + 1) * most);
  const own = [...values.subarray(row * most, (row + 1) * most)].map((value, i) => [ids[i], value]);
  const column = (title, some) => made("div", {}, made("h4", {}, title), made("ol", {}, ...some.map(([id, value]) =>
    made("li", {}, made("bdi", { dir: "auto", className: "token" }, ...grouped(words, [id]).flatMap(shown)),
      made("span", { className: "number" }, amount(value))))));
  return [made("h3", {}, "What it does to the next token, directly"),
    made("p", { className: "soft" }, "Change of the logit by one unit of its value, past all later layers."),
    made("div", { className: "logits" }, column("More probable", own.slice(0, most / 2)),
      column("Less probable", own.slice(most / 2).reverse()))];
}

function verdictOf(feature) {
  const at = list.columns.flatMap((score, i) => score.nulls.map(([name], j) => [name, i, j]))
    .find(([name]) => name === "random directions");
  if (list.rate[feature] === 0) return "It is never active in these texts.";
  if (!at) return "Nothing was given that tells it from random directions.";
  return ["Whether it beats random directions cannot be told.", "It does not beat random directions.",
    "It beats random directions."][list.mark(at[1], at[2], feature)];
}

function facts(texts, feature) {
  const out = made("dl", { className: "plain" });
  const add = (what, ...says) => out.append(made("dt", {}, what), made("dd", {}, ...says));
  for (const [text, kind, author] of texts.explanations ?? []) {
    add(kind === "text" ? "explanation" : `explanation (${kind})`, isolated(text), author ? " – " : "", author ? isolated(author) : "");
  }
  if (texts.formula) add("formula", isolated(texts.formula));
  add("active at", `${counted(list.arrays.get("active")[feature])} of ${counted(list.tokens)} tokens (${percent(list.rate[feature])}), in `
    + `${counted(list.arrays.get("sequences")[feature])} of ${counted(list.sequences)} texts`);
  if (list.rate[feature]) add("largest value", amount(list.arrays.get("largest")[feature]));
  return out;
}

function key() {
  const grades = [1, 2, 3, 4, 5].map((grade) => made("mark", { className: `g${grade}` }, `${20 * grade - 20}–${20 * grade}`));
  const box = made("input", { type: "checkbox" });
  box.addEventListener("change", () => document.getElementById("feature").classList.toggle("numbers", box.checked));
  box.checked = document.getElementById("feature").classList.contains("numbers");
  return made("ul", { className: "key", "aria-label": "Key" },
    made("li", {}, ...grades.flatMap((grade) => [grade, " "]), "% of its largest value"),
    made("li", {}, "the number of a text is that of its strongest token, in bold"),
    made("li", {}, made("label", {}, box, " a number at every mark")));
}

function turn(feature, label) {
  const order = list.order?.includes(feature) ? list.order : null;
  const at = order ? order.indexOf(feature) : feature, n = order ? order.length : list.n;
  const link = (to, says) => (to < 0 || to >= n ? made("span", { className: "soft" }, says)
    : made("a", { href: `#feature-${order ? order[to] : to}` }, says));
  return made("nav", { className: "turn", "aria-label": label }, made("a", { href: "#list" }, "← All features"),
    link(at - 1, "‹ previous"), link(at + 1, "next ›"), made("span", { className: "soft" }, `${counted(at + 1)} of ${counted(n)} in the list`));
}

async function showFeature(feature) {
  const place = document.getElementById("feature");
  const [part, vocabulary] = await Promise.all([
    block(`features-${String(Math.floor(feature / list.step)).padStart(4, "0")}`), block("vocabulary")]);
  words ??= new Words(vocabulary);
  if (location.hash !== `#feature-${feature}`) return;
  const row = feature - part.texts.first, texts = part.texts.texts[row];
  const contexts = contextsOf(part, row), largest = list.arrays.get("largest")[feature];
  const of = (group) => contexts.filter((context) => context.group === group);
  const title = list.label(feature) || (list.rate[feature] ? "not described" : "never active");
  const children = [turn(feature, "Features"), made("h2", {}, `Feature ${feature}: `, isolated(title)),
    made("p", { className: "bottomline" }, verdictOf(feature)), facts(texts, feature), scoreTable(part, row, feature)];
  children.push(...effectTable(texts.effects ?? []), ...logitLists(part, row));
  if (of(STRONGEST).length) children.push(made("h3", {}, "Where it is strongest"), key(), contextList(of(STRONGEST), largest));
  const tenths = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].filter((number) => of(number).length);
  if (tenths.length) {
    children.push(made("h3", {}, "Across all its values"),
      made("p", { className: "soft" }, "Drawn at random from each tenth of the texts in which it is active, from strong to weak: the strongest alone flatter an explanation."),
      ...tenths.flatMap((number) => [made("h4", {}, tenthName(number)), contextList(of(number), largest)]));
  }
  if (of(JUDGED).length) {
    children.push(made("h3", {}, "What judges answered"), made("p", { className: "soft" }, "Each saw the explanation and the words without marks."),
      judgedList(of(JUDGED), texts.answers ?? [], largest));
  }
  children.push(turn(feature, "Features, again"));
  place.replaceChildren(...children);
  document.title = `Feature ${feature} · theodolite`;
}

const plainTitle = document.title;
async function route() {
  const match = /^#feature-(\d{1,9})$/.exec(location.hash), place = document.getElementById("feature");
  const dictionary = document.getElementById("dictionary"), head = document.querySelector("main > .about");
  const feature = match && list ? Number(match[1]) : -1, inside = feature >= 0 && feature < list.n;
  dictionary.hidden = inside;
  place.hidden = !inside;
  head.hidden = inside;
  if (!inside) {
    document.title = plainTitle;
    if (location.hash === "#list") document.getElementById("list").scrollIntoView();
    return;
  }
  try {
    await showFeature(feature);
    scrollTo(0, 0);
    place.focus({ preventScroll: true });
    place.dataset.shown = String(feature);
  } catch (error) {
    place.replaceChildren(made("p", {}, made("a", { href: "#list" }, "← All features")),
      made("p", { className: "failed", role: "alert" }, `This feature cannot be shown: ${error.message}.`));
  }
}

async function begin() {
  const note = document.getElementById("list-note");
  note.hidden = false;
  try {
    list = new FeatureList(await block("list"));
    list.show(document.getElementById("list-body"), note);
    addEventListener("hashchange", route);
    await route();
  } catch (error) {
    note.className = "failed";
    note.textContent = `The list of features cannot be shown: ${error.message}.`;
  }
}

begin();
