// Lines move up and down by buttons; the hidden fields hold their places.

import { announce } from "./announce.js";

export function rankingButtons(form) {
  for (const list of form.querySelectorAll(".order")) {
    const lines = [...list.querySelectorAll("[data-item]")];
    const place = (line) => Number(line.querySelector("select").value);
    list.append(...lines.sort((one, other) => place(one) - place(other)));
    numbered(list);
    list.addEventListener("click", (event) => {
      const button = event.target.closest("[data-move]");
      if (button !== null) moved(list, button.closest("[data-item]"), Number(button.dataset.move), button);
    });
    list.addEventListener("keydown", (event) => {
      const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const line = event.target.closest("[data-item]");
      if (way === undefined || line === null) return;
      event.preventDefault();
      moved(list, line, way, event.target);
    });
  }
}

function moved(list, line, way, focused) {
  const other = way < 0 ? line.previousElementSibling : line.nextElementSibling;
  if (other === null) {
    announce(way < 0 ? "This is the first place." : "This is the last place.");
    return;
  }
  if (way < 0) other.before(line); else other.after(line);
  list.querySelectorAll(".moved").forEach((one) => one.classList.remove("moved"));
  line.classList.add("moved");
  numbered(list);
  focused.focus();
  const places = [...list.children];
  announce(`${line.querySelector(".line").textContent}: place ${places.indexOf(line) + 1} of ${places.length}.`);
}

function numbered(list) {
  [...list.children].forEach((line, index, all) => {
    line.querySelector("select").value = String(index + 1);
    const [up, down] = line.querySelectorAll("[data-move]");
    up.setAttribute("aria-disabled", String(index === 0));
    down.setAttribute("aria-disabled", String(index === all.length - 1));
  });
}
