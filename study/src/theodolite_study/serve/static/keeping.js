// The server keeps half an answer, and the image for whoever looks at it.

import { tellAlive } from "./alive.js";
import { pause, saved, say } from "./words.js";

const QUIET = 0.8;
const RETRIES = [2, 5, 10, 20, 30];

export function keep(form) {
  const lease = keepLease(form);
  let version = 0, stored = 0, running = false, timer = null;
  async function store() {
    if (running) return;
    running = true;
    for (let tries = 0; stored < version && !form.dataset.sending;) {
      const wanted = version;
      try {
        lease.renewed(await post(form, "draft", content(form)));
        stored = wanted; tries = 0;
        saved(say("saved"));
      } catch (error) {
        if (error.status >= 400 && error.status < 500 && error.status !== 429) {
          saved(say("not_saved"), true);
          stored = version;
          break;
        }
        saved(say("saving_again"), true);
        await pause(RETRIES[Math.min(tries++, RETRIES.length - 1)]);
      }
    }
    running = false;
  }
  form.addEventListener("input", () => {
    version += 1;
    saved("");
    clearTimeout(timer);
    timer = setTimeout(store, QUIET * 1000);
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden && stored < version) store(); });
}

// All fields but those that only this page needs.
function content(form) {
  const fields = {};
  for (const [name, value] of new FormData(form)) {
    if (!["csrf", "key", "client", "durations"].includes(name) && value !== "") (fields[name] ??= []).push(value);
  }
  return fields;
}

// JSON, with the word that proves that our own page sent it.
async function post(form, part, fields) {
  const response = await fetch(`${form.dataset.action}/${part}`, {
    method: "POST", headers: { "Content-Type": "application/json", "X-CSRF": form.elements.csrf.value },
    body: JSON.stringify(fields), keepalive: true,
  });
  if (!response.ok) throw Object.assign(new Error(`answer ${response.status}`), { status: response.status });
  return response.json();
}

// Away for long, an image may go to somebody else: the page says so in time.
function keepLease(form) {
  const notice = document.getElementById("lease");
  const [line, button] = notice.children;  // a click on the button is a sign of life as any other
  const long = Number(form.dataset.lease) || 0;
  let end = performance.now() + long * 1000, lost = false;
  const early = Math.min(300, long / 3) * 1000;
  const warn = () => {
    const left = end - performance.now();
    notice.hidden = !lost && left > early;
    if (notice.hidden) return;
    const minutes = Math.max(1, Math.round(left / 60000));
    const kept = left > 0 ? say("kept_for", { minutes }, minutes) : say("took_long");
    const words = lost ? say("went_away") : kept;
    if (line.textContent !== words) line.textContent = words;
    button.hidden = lost;
  };
  const renewed = (said) => {
    lost = said.lost === true;
    if (!lost) end = performance.now() + said.lease_seconds * 1000;
    warn();
  };
  tellAlive(Number(form.dataset.action.split("/").pop()), renewed, long);
  setInterval(warn, Math.min(10, Math.max(long / 6, 1)) * 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) warn(); });
  return { renewed };
}
