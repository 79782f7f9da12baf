// A slider beside its number. It has no thumb before somebody has touched it.

import { made, say } from "./words.js";

export function slider(question) {
  const number = question.querySelector("input[type=number]");
  const { min, max, step } = number;
  const range = made("input", { type: "range", min, max, step, className: "untouched" });
  range.setAttribute("aria-labelledby", (number.labels[0].id = `label-${number.name}`));
  range.setAttribute("aria-valuetext", say("no_answer_yet"));
  const touched = () => {
    range.classList.remove("untouched");
    range.removeAttribute("aria-valuetext");
  };
  // a press in the very middle changes no value, and is an answer all the same
  for (const name of ["input", "pointerup", "click"]) {
    range.addEventListener(name, () => {
      touched();
      if (number.value === range.value) return;
      number.value = range.value;
      number.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
  number.addEventListener("input", () => { if (number.value !== "") { range.value = number.value; touched(); } });
  if (number.value !== "") { range.value = number.value; touched(); }
  question.querySelector(".ends").before(range);
}
