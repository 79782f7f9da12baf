// Lines that are put in order: the list begins empty; a press gives a line the next place, arrows and
// a drag by its grip move it. The fields that are sent hold the places.

import { announce, made, say } from "./words.js";

const SIGNS = { up: "↑", down: "↓", out: "×", grip: "≡" };

export function ranking(field) {
  const fields = [...field.querySelectorAll(".line")].map((line) => line.querySelector("select"));
  const order = made("ol", { className: "order" });
  const pool = made("ul", { className: "pool" });
  const state = { field, fields, order, pool };
  const lines = fields.map((select) => newLine(state, select));
  for (const line of lines) {
    const place = Number(line.select.value);
    (place ? order : pool).append(line.element);
    line.element.dataset.place = place;
  }
  order.append(...[...order.children].sort((one, other) => one.dataset.place - other.dataset.place));
  const old = made("div", { hidden: true }, ...field.querySelectorAll(".line"));
  field.querySelector(".without").remove();
  field.querySelector(".with").hidden = false;
  field.append(order, pool, old);
  drags(state);
  numbered(state);
}

function newLine(state, select) {
  const words = select.closest(".line").querySelector("span").textContent;
  const button = (name, label) => made("button", { type: "button", className: name, ariaLabel: say(label, { item: words }) }, SIGNS[name]);
  const grip = made("span", { className: "grip-line", ariaHidden: "true" }, SIGNS.grip);
  const place = made("button", { type: "button", className: "place" }, words);
  const moves = made("span", { className: "moves" }, button("up", "line_up"), button("down", "line_down"), button("out", "line_out"));
  const element = made("li", {}, grip, place, made("span", { className: "what" }, words), moves);
  Object.assign(element, { select, words });
  place.addEventListener("click", () => { put(state, element, null); element.querySelector(".moves button:not([aria-disabled=true])").focus(); });
  moves.addEventListener("click", (event) => pressed(state, element, event.target.closest("button")));
  return { element, select };
}

function pressed(state, element, button) {
  if (button === null) return;
  if (button.className === "out") {
    state.pool.append(element);
    changed(state, say("line_taken_out", { item: element.words }));
    element.querySelector(".place").focus();
    return;
  }
  const up = button.className === "up";
  const other = up ? element.previousElementSibling : element.nextElementSibling;
  if (other === null) { announce(say(up ? "first_place" : "last_place")); return; }
  put(state, element, up ? other : other.nextElementSibling);
  button.focus();
}

function put(state, element, before) {
  state.order.insertBefore(element, before);
  const places = [...state.order.children];
  changed(state, say("place_of", { item: element.words, place: places.indexOf(element) + 1, places: state.fields.length }));
}

function changed(state, words) {
  numbered(state);
  state.field.dispatchEvent(new CustomEvent("ranked", { bubbles: true }));
  state.field.dispatchEvent(new Event("input", { bubbles: true }));
  announce(words);
}

function numbered({ order, pool }) {
  for (const element of pool.children) element.select.value = "";
  [...order.children].forEach((element, index, all) => {
    element.select.value = String(index + 1);
    element.querySelector(".up").ariaDisabled = String(index === 0);
    element.querySelector(".down").ariaDisabled = String(index === all.length - 1);
  });
  order.hidden = order.children.length === 0;
  pool.hidden = pool.children.length === 0;
}

// While a line is dragged, a mark shows where it would go; it is moved when it is let go.
function drags(state) {
  let dragged = null, target = null;
  const clear = () => {
    for (const one of state.field.querySelectorAll(".before, .after, .dragged")) one.classList.remove("before", "after", "dragged");
  };
  state.field.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest(".grip-line");
    if (grip === null || event.button !== 0) return;
    event.preventDefault();
    dragged = grip.closest("li");
    grip.setPointerCapture(event.pointerId);
  });
  state.field.addEventListener("pointermove", (event) => {
    if (dragged === null) return;
    clear();
    dragged.classList.add("dragged");
    const others = [...state.order.children].filter((one) => one !== dragged);
    target = others.find((one) => { const box = one.getBoundingClientRect(); return event.clientY < box.top + box.height / 2; }) ?? null;
    if (target) target.classList.add("before"); else others.at(-1)?.classList.add("after");
  });
  state.field.addEventListener("pointerup", () => {
    if (dragged === null) return;
    if (dragged.classList.contains("dragged")) put(state, dragged, target);
    clear();
    dragged = null;
  });
  state.field.addEventListener("pointercancel", () => { clear(); dragged = null; });
}
