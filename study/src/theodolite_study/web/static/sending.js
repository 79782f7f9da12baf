// Sends the form. A lost connection or a busy server is tried again, with the same key: it counts once.

import { announce, made } from "./announce.js";
import { pause } from "./posting.js";
import { missingRatings } from "./ratings.js";

const PAUSES = [1, 2, 4, 8, 15];
const BUSY = [429, 502, 503, 504];

export function sendSafely(form, measures) {
  const button = form.querySelector("button.main");
  let asked = false;
  form.noValidate = true;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.sending) return;
    if (!complete(form)) return;
    if (!asked && framesForgotten(form)) { asked = true; return; }
    measures.fill();
    form.dataset.sending = "yes";
    button.setAttribute("aria-busy", "true");
    const went = await sent(form);
    if (went) { measures.forget(); return; }
    delete form.dataset.sending;
    button.removeAttribute("aria-busy");
  });
}

async function sent(form) {
  const line = document.getElementById("saved");
  const say = (words, trouble) => { line.classList.toggle("trouble", trouble); line.textContent = words; };
  say("Sending …", false);
  for (let tries = 0; ; tries += 1) {
    let wait = PAUSES[tries];
    try {
      const response = await fetch(form.action, {
        method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams(new FormData(form)),
      });
      if (!BUSY.includes(response.status)) return await arrived(form, response, say);
      const after = Number(response.headers.get("Retry-After"));
      if (wait !== undefined && after > wait) wait = Math.min(after, 30);
    } catch { /* no connection: the next try may have one */ }
    if (wait === undefined) break;
    say("The server does not answer. Trying again …", true);
    await pause(wait);
  }
  say("This could not be sent. Your answers are still here: please try again in a moment.", true);
  return false;
}

async function arrived(form, response, say) {
  const said = await response.json().catch(() => ({}));
  if (response.ok && said.next) {
    location.assign(said.next);
    return true;
  }
  if (response.status === 422 && said.errors?.length) {
    say("", false);
    listed(said.errors.map((words) => [words, null]));
    return false;
  }
  // anything else has a page of its own: an ordinary sending shows it
  HTMLFormElement.prototype.submit.call(form);
  return true;
}

function complete(form) {
  const wrong = missingRatings(form).map((group) => [
    `Question ${group.querySelector(".number").textContent} has no answer yet`, `${group.id}-1`,
  ]);
  const text = form.elements.text;
  if (text && text.value.trim() === "") {
    wrong.push(["Say it in your own words", "text"]);
    marked(text);
  }
  listed(wrong);
  return wrong.length === 0;
}

function marked(text) {
  const line = document.getElementById("text-error");
  line.textContent = "Please write something, a few words are enough.";
  line.hidden = false;
  text.setAttribute("aria-invalid", "true");
  text.addEventListener("input", () => { line.hidden = true; text.removeAttribute("aria-invalid"); }, { once: true });
}

function listed(wrong) {
  const summary = document.getElementById("errors");
  summary.hidden = wrong.length === 0;
  summary.querySelector("ul").replaceChildren(...wrong.map(([words, id]) => {
    if (id === null) return made("li", { textContent: words });
    const link = made("a", { href: `#${id}`, textContent: words });
    link.addEventListener("click", (event) => { event.preventDefault(); document.getElementById(id).focus(); });
    return made("li", {}, link);
  }));
  if (wrong.length > 0) summary.focus();
}

function framesForgotten(form) {
  if (form.dataset.stage !== "baseline" || form.elements.boxes?.value !== "[]") return false;
  const line = document.getElementById("saved");
  line.classList.add("trouble");
  line.textContent = "You have framed nothing. If there is nothing to frame, press the button again.";
  announce(line.textContent);
  return true;
}
