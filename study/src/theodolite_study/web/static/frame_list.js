// The list of frames beside the picture: their numbers, to be read and typed, and a way to remove each.

import { made } from "./announce.js";

const FIELDS = [["x", "Left"], ["y", "Top"], ["width", "Width"], ["height", "Height"]];

export function frameList(list, editor) {
  return function redraw() {
    while (list.children.length > editor.boxes.length) list.lastElementChild.remove();
    while (list.children.length < editor.boxes.length) list.append(line(list, editor));
    [...list.children].forEach((item, index) => {
      item.classList.toggle("selected", index === editor.selected);
      const [title, remove] = item.querySelectorAll("button");
      title.textContent = `Frame ${index + 1}`;
      title.setAttribute("aria-expanded", String(index === editor.selected));
      remove.setAttribute("aria-label", `Remove frame ${index + 1}`);
      item.querySelectorAll("input").forEach((input, at) => {
        const [name, words] = FIELDS[at];
        input.setAttribute("aria-label", `${words} of frame ${index + 1}`);
        // what is being typed is left alone
        if (document.activeElement !== input) input.value = String(editor.boxes[index][name]);
      });
    });
  };
}

function line(list, editor) {
  const remove = made("button", { type: "button", className: "quiet", textContent: "Remove" });
  const title = made("button", { type: "button", className: "name" });
  const item = made("li", {}, made("div", { className: "head" }, title, remove));
  const index = () => [...list.children].indexOf(item);
  title.addEventListener("click", () => editor.select(editor.selected === index() ? null : index()));
  remove.addEventListener("click", () => editor.remove(index()));
  for (const [name, title] of FIELDS) {
    const most = name === "x" || name === "width" ? editor.size.width : editor.size.height;
    const input = made("input", { type: "number", min: "0", max: String(most), step: "1", inputMode: "numeric", autocomplete: "off" });
    input.addEventListener("focus", () => { if (editor.selected !== index()) editor.select(index()); });
    input.addEventListener("input", () => {
      if (input.value !== "") editor.change(index(), { ...editor.boxes[index()], [name]: Number(input.value) }, { say: false });
    });
    input.addEventListener("change", () => { input.value = String(editor.boxes[index()][name]); });
    item.append(made("label", {}, title, input));
  }
  return item;
}
