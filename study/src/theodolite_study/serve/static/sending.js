// Sends a form. A lost connection or a busy server is tried again, with the same key: it counts once.

import { answerOf, questions } from "./answers.js";
import { made, pause, saved, say } from "./words.js";

const PAUSES = [1, 2, 4, 8, 15, 30];
const BUSY = [429, 502, 503, 504];

export function sendSafely(form, measures) {
  const button = form.querySelector("button.main");
  form.noValidate = true;
  form.addEventListener("input", (event) => mark(event.target.closest(".question"), ""));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.sending || !complete(form)) return;
    measures.fill();
    form.dataset.sending = "yes";
    button.setAttribute("aria-busy", "true");
    if (await sent(form)) { measures.forget(); return; }
    delete form.dataset.sending;
    button.removeAttribute("aria-busy");
  });
}

async function sent(form) {
  saved(say("sending"));
  for (let tries = 0; ; tries += 1) {
    let wait = PAUSES[tries];
    try {
      const response = await fetch(form.action, {
        method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams(new FormData(form)),
      });
      if (!BUSY.includes(response.status)) return await arrived(form, response);
      const after = Number(response.headers.get("Retry-After"));
      if (wait !== undefined && after > wait) wait = Math.min(after, 30);
    } catch { /* no connection: the next try may have one */ }
    if (wait === undefined) break;
    saved(say("no_answer"), true);
    await pause(wait);
  }
  saved(say("not_sent"), true);
  return false;
}

async function arrived(form, response) {
  const said = await response.json().catch(() => ({}));
  if (response.ok && said.next) {
    location.assign(said.next);
    return true;
  }
  saved("");
  list(form, said.errors ?? [say("not_sent")]);
  return false;
}

function complete(form) {
  const open = questions(form).filter((question) => !question.hidden && "required" in question.dataset && answerOf(question) === undefined);
  list(form, open.map(({ dataset }) => ({ block: dataset.block, message: dataset.needed })));
  return open.length === 0;
}

// A summary with links, and a line at each question.
function list(form, errors) {
  const summary = document.getElementById("errors");
  for (const question of questions(form)) mark(question, errors.find(({ block }) => block === question.dataset.block)?.message ?? "");
  summary.hidden = errors.length === 0;
  summary.querySelector("ul").replaceChildren(...errors.map((error) => {
    const question = error.block && document.getElementById(`block-${error.block}`);
    if (!question) return made("li", {}, error.message ?? error);
    const link = made("a", { href: `#${question.id}` }, question.querySelector(".ask").textContent);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      question.querySelector("input:not([type=hidden]), select:not([hidden] *), textarea, button:not([hidden] *)")?.focus();
      question.scrollIntoView({ block: "start" });
    });
    return made("li", {}, link, " ", error.message);
  }));
  if (errors.length > 0) summary.focus();
}

function mark(question, words) {
  const line = question?.querySelector(".error");
  if (!line) return;
  question.classList.toggle("missing", words !== "");
  line.hidden = words === "";
  line.textContent = words;
  const field = question.querySelector("textarea, input[type=number][id]");
  if (words) field?.setAttribute("aria-invalid", "true"); else field?.removeAttribute("aria-invalid");
}
