// Small things: copy a code, look again after a while, ask for a wider window, show what is missing.

import { announce } from "./announce.js";

export function small() {
  for (const button of document.querySelectorAll("[data-copy]")) copies(button);
  const again = document.querySelector("[data-again]");
  if (again !== null) looksAgain(again);
  asksForWidth();
  const errors = document.getElementById("errors");
  if (errors !== null && !errors.hidden) errors.focus();
  // a page that comes back by the back button may be old: ask the server
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

function copies(button) {
  const code = document.getElementById(button.dataset.copy);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      announce("The code was copied.");
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: press Ctrl+C";
    }
  });
}

function looksAgain(form) {
  const line = document.getElementById("countdown");
  let left = Math.max(1, Number(form.dataset.again));
  const show = () => { line.textContent = `This page looks by itself in ${left} s.`; };
  show();
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return show();
    clearInterval(timer);
    line.textContent = "Looking again …";
    form.requestSubmit();
  }, 1000);
}

function asksForWidth() {
  const notice = document.getElementById("too-narrow");
  const least = Number(document.body.dataset.smallestWidth);
  if (notice === null || !(least > 0)) return;
  const look = () => { notice.hidden = innerWidth >= least; };
  addEventListener("resize", look);
  look();
}
