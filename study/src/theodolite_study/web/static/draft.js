// Half an answer is kept by the server, so that a reload or a lost connection costs nothing.

import { pause, post } from "./posting.js";

const QUIET = 0.8;
const RETRIES = [2, 5, 10, 20, 30];

export function keepDraft(form, lease) {
  const line = document.getElementById("saved");
  let version = 0, stored = 0, running = false, timer = null;
  const changed = () => {
    version += 1;
    line.textContent = "";
    clearTimeout(timer);
    timer = setTimeout(store, QUIET * 1000);
  };
  async function store() {
    if (running) return;
    running = true;
    for (let tries = 0; stored < version && !form.dataset.sending;) {
      const wanted = version;
      try {
        lease.renewed(await post(form, "draft", content(form)));
        stored = wanted; tries = 0;
        told(line, "Saved", false);
      } catch (error) {
        if (error.status >= 400 && error.status < 500 && error.status !== 429) {
          told(line, "Not saved. Your answers stay on this page until you send them.", true);
          stored = version;
          break;
        }
        told(line, "Not saved yet. Trying again …", true);
        await pause(RETRIES[Math.min(tries++, RETRIES.length - 1)]);
      }
    }
    running = false;
  }
  form.addEventListener("input", changed);
  form.addEventListener("framed", changed);
  document.addEventListener("visibilitychange", () => { if (document.hidden && stored < version) store(); });
}

function told(line, words, trouble) {
  line.classList.toggle("trouble", trouble);
  line.textContent = words;
}

function content(form) {
  const given = new FormData(form);
  if (form.dataset.stage === "baseline") {
    return { text: given.get("text"), boxes: JSON.parse(given.get("boxes") || "[]") };
  }
  const answers = {};
  for (const radio of form.querySelectorAll(".rating input:checked")) answers[radio.name] = Number(radio.value);
  return { answers };
}
