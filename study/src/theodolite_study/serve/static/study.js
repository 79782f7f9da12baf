// Makes the pages pleasant. Each part looks for its own place on the page and does nothing without.

import { tellAlive } from "./alive.js";
import { anticipate } from "./answers.js";
import { keep } from "./keeping.js";
import { look } from "./look.js";
import { measured } from "./measures.js";
import { ranking } from "./ranking.js";
import { regions } from "./regions.js";
import { sendSafely } from "./sending.js";
import { slider } from "./slider.js";
import { announce, saved, say } from "./words.js";

const root = document.documentElement;
root.dataset.pointer = matchMedia("(pointer: coarse)").matches ? "touch" : "mouse";
addEventListener("pointerdown", (event) => { root.dataset.pointer = event.pointerType === "touch" ? "touch" : "mouse"; }, true);

// a page that comes back by the back button may be old: ask the server
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

const place = document.getElementById("look");
if (place !== null) look(place);
for (const field of document.querySelectorAll(".ranking")) ranking(field);
for (const question of document.querySelectorAll("[data-kind=slider]")) slider(question);
const stage = place?.querySelector(".stage");
const marked = document.querySelector(".regions");
// one question draws on the image; further ones are answered by numbers
if (stage && marked) regions(marked, stage);

for (const group of document.querySelectorAll(".rating")) {
  group.addEventListener("keydown", (event) => {
    const radio = /^[0-9]$/.test(event.key) && !event.ctrlKey && !event.altKey && !event.metaKey
      ? group.querySelector(`input[value="${event.key}"]`) : null;
    radio?.focus();
    radio?.click();
  });
}

const form = document.getElementById("answer");
if (form !== null) {
  anticipate(form);
  if ("kept" in form.dataset) keep(form);
  sendSafely(form, measured(form));
}
if (!form || !("kept" in form.dataset)) tellAlive();

// the code of a link is its fragment, which reaches no server
const given = document.getElementById("code");
if (given && location.hash.length > 1) given.value = decodeURIComponent(location.hash.slice(1));

const errors = document.getElementById("errors");
if (!errors.hidden) errors.focus();

for (const button of document.querySelectorAll("[data-copy]")) {
  const code = button.parentElement.querySelector(".code");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = say("copied");
      announce(say("code_copied"));
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = say("selected");
    }
  });
}

const again = document.querySelector("[data-again]");
if (again !== null) {
  let seconds = Math.max(1, Number(again.dataset.again));
  saved(say("looks_again", { seconds }, seconds));
  setInterval(() => { seconds -= 1; if (seconds === 0) { saved(say("looking")); location.assign(again.href); } }, 1000);
}
