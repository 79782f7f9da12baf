// What a question is answered with so far, and whether earlier answers let it be asked.

export const questions = (form) => [...form.querySelectorAll(".question")];

// The answer of a question, undefined without one: the same as the server reads from the fields.
export function answerOf(question) {
  const { kind, block } = question.dataset;
  const fields = [...question.querySelectorAll("input, select, textarea")].filter((field) => field.name);
  if (kind === "ranking") return ranked(fields);
  if (kind === "regions") return marked(block, fields);
  const chosen = fields.filter((field) => field.checked && field.name === block).map((field) => field.value);
  if (kind === "choice" && question.querySelector("[type=checkbox]")) return chosen.length ? chosen : undefined;
  if (kind === "likert") return chosen.length ? Number(chosen[0]) : undefined;
  if (kind === "choice" || kind === "comparison") return chosen[0];
  const text = fields.find((field) => field.name === block)?.value.trim() ?? "";
  if (text === "") return undefined;
  return kind === "number" || kind === "slider" ? Number(text) : text;
}

function ranked(fields) {
  const places = fields.map((field) => field.value);
  if (new Set(places).size < places.length || places.includes("")) return undefined;
  return [...fields].sort((one, other) => one.value - other.value).map((field) => field.name.split(".").pop());
}

function marked(block, fields) {
  const value = (name) => fields.find((field) => field.name === name);
  const drawn = JSON.parse(value(block)?.value || "[]");
  const typed = fields.some((field) => field.type === "number" && field.value !== "");
  if (drawn.length > 0 || typed) return drawn;
  return value(`${block}_nothing`)?.checked ? [] : undefined;
}

// The server decides which questions are asked; here they only appear and disappear in time.
export function anticipate(form) {
  const earlier = JSON.parse(form.dataset.earlier ?? "{}");
  const look = () => {
    const known = { ...earlier };
    for (const question of questions(form)) {
      const { rule, block } = question.dataset;
      question.hidden = rule !== undefined && !holds(JSON.parse(rule), known);
      const answer = question.hidden ? undefined : answerOf(question);
      if (answer !== undefined) known[block] = answer;
    }
  };
  form.addEventListener("input", look);
  look();
}

export function holds(rule, known) {
  if (rule.all) return rule.all.every((part) => holds(part, known));
  if (rule.any) return rule.any.some((part) => holds(part, known));
  if (rule.not) return !holds(rule.not, known);
  if (!(rule.block in known)) return false;
  return rule.op === "answered" || compared(rule, known[rule.block]);
}

function compared({ op, value }, answer) {
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const list = (one) => (Array.isArray(one) ? one : [one]);
  if (op === "in") return list(value).some((one) => list(answer).some((other) => same(one, other)));
  if (op === "eq" || op === "ne") return same(value, answer) === (op === "eq");
  if (typeof answer !== "number" || typeof value !== "number") return false;
  return { lt: answer < value, le: answer <= value, gt: answer > value, ge: answer >= value }[op];
}
