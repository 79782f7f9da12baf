// Frames and points on the image: drawn, set by clicks, or moved by keys and numbers. All in image pixels.

import { drawing } from "./drawing.js";
import { announce, made, say } from "./words.js";

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PARTS = ["x", "y", "width", "height"];
const NAMES = { x: "left", y: "top", width: "width", height: "height" };
const SMALLEST = 2;
const isBox = (shape) => "width" in shape;

export function regions(field, stage) {
  const { name, shapes, most, drawn } = field.dataset;
  const image = stage.querySelector(".image");
  const editor = {
    stage, kinds: shapes.split(" "), most: Number(most), selected: null,
    size: { width: Number(image.getAttribute("width")), height: Number(image.getAttribute("height")) },
    shapes: [], layer: made("div", { className: "frames" }), list: field.querySelector(".shapes"),
    hidden: made("input", { type: "hidden", name }), nothing: field.querySelector(`[name=${name}_nothing]`), field,
  };
  editor.shapes = (drawn ? JSON.parse(drawn) : []).map((shape) => fitted(shape, editor.size));
  Object.assign(editor, actions(editor));
  field.querySelector(".without").remove();
  field.querySelector(".with").hidden = false;
  field.append(editor.hidden);
  stage.append(editor.layer);
  stage.classList.add("drawing");
  redraw(editor);
  drawing(editor);
  for (const button of field.querySelectorAll("[data-add]")) button.addEventListener("click", () => editor.add(button.dataset.add));
  editor.nothing?.addEventListener("change", () => { if (editor.nothing.checked) editor.clear(); });
}

// What can be done to the shapes; everything goes through these.
function actions(editor) {
  const told = (words) => {
    redraw(editor);
    editor.hidden.dispatchEvent(new Event("input", { bubbles: true }));
    if (words) announce(words);
  };
  return {
    select(index) { editor.selected = index; redraw(editor); },
    append(shape) {
      if (editor.shapes.length >= editor.most) { announce(say("most_frames", { number: editor.most })); return; }
      editor.shapes.push(fitted(shape, editor.size));
      editor.selected = editor.shapes.length - 1;
      if (editor.nothing) editor.nothing.checked = false;
      told(say("frame_added", { number: editor.shapes.length }));
      editor.focus(editor.selected);
    },
    add(kind) {
      const { width, height } = editor.size;
      const shift = 0.04 * (editor.shapes.length % 6);
      const [x, y] = [width * (0.25 + shift), height * (0.25 + shift)];
      editor.append(kind === "point" ? { x: x + width / 4, y: y + height / 4 } : { x, y, width: width / 2, height: height / 2 });
    },
    change(index, shape, { quiet = false } = {}) {
      editor.shapes[index] = fitted(shape, editor.size);
      told(quiet ? "" : where(editor.shapes[index], index));
    },
    remove(index) {
      editor.shapes.splice(index, 1);
      editor.selected = null;
      const left = editor.shapes.length;
      told(say("frame_removed", { number: index + 1, left }));
      if (left) editor.focus(Math.min(index, left - 1)); else editor.field.querySelector("[data-add]").focus();
    },
    clear() { editor.shapes = []; editor.selected = null; told(""); },
    focus(index) { editor.layer.querySelectorAll(".frame button")[index]?.focus({ preventScroll: true }); },
  };
}

function where(shape, index) {
  const gaps = { number: index + 1, left: shape.x, top: shape.y, width: shape.width, height: shape.height };
  return say(isBox(shape) ? "frame_where" : "point_where", gaps);
}

// Whole pixels, inside of the image, never smaller than can be seen.
function fitted(shape, size) {
  const within = (value, low, high) => Math.min(Math.max(Math.round(Number(value) || 0), low), high);
  const least = isBox(shape) ? SMALLEST : 0;
  const [x, y] = [within(shape.x, 0, size.width - least), within(shape.y, 0, size.height - least)];
  if (!isBox(shape)) return { x, y };
  return { x, y, width: within(shape.width, SMALLEST, size.width - x), height: within(shape.height, SMALLEST, size.height - y) };
}

function redraw(editor) {
  const { layer, list, shapes } = editor;
  editor.hidden.value = JSON.stringify(shapes);
  const frames = () => [...layer.querySelectorAll(".frame:not(.sketch)")];
  while (frames().length > shapes.length) { frames().at(-1).remove(); list.lastElementChild.remove(); }
  while (frames().length < shapes.length) { layer.append(newFrame(editor, frames().length)); list.append(newLine(editor, list.children.length)); }
  frames().forEach((frame, index) => {
    const shape = shapes[index];
    frame.classList.toggle("selected", index === editor.selected);
    frame.classList.toggle("point", !isBox(shape));
    frame.querySelector("button").ariaLabel = where(shape, index);
    put(frame, shape, editor.size);
    const line = list.children[index];
    line.classList.toggle("selected", index === editor.selected);
    for (const input of line.querySelectorAll("input")) {
      input.parentElement.hidden = !(input.dataset.part in shape);
      // what is being typed is left alone
      if (document.activeElement !== input) input.value = String(shape[input.dataset.part] ?? "");
    }
  });
}

export function put(element, shape, size) {
  const set = (name, part, of) => element.style.setProperty(name, `${(100 * (part ?? 0)) / of}%`);
  set("left", shape.x, size.width);
  set("top", shape.y, size.height);
  set("width", shape.width, size.width);
  set("height", shape.height, size.height);
}

function newFrame(editor, index) {
  const button = made("button", { type: "button" }, made("span", { className: "tag", ariaHidden: "true" }, String(index + 1)));
  const grips = ["nw", "ne", "sw", "se"].map((where) => made("span", { className: `grip ${where}`, ariaHidden: "true" }));
  button.addEventListener("focus", () => { if (editor.selected !== index) editor.select(index); });
  button.addEventListener("keydown", (event) => keyed(editor, index, event));
  return made("div", { className: "frame" }, button, ...grips);
}

function newLine(editor, index) {
  const remove = made("button", { type: "button", ariaLabel: say("remove_frame", { number: index + 1 }) }, say("remove"));
  remove.addEventListener("click", () => editor.remove(index));
  const fields = PARTS.map((part) => {
    const most = editor.size[part === "x" || part === "width" ? "width" : "height"];
    const input = made("input", { type: "number", min: "0", max: String(most), step: "1", inputMode: "numeric", autocomplete: "off" });
    input.dataset.part = part;
    input.addEventListener("focus", () => editor.select(index));
    input.addEventListener("input", () => { if (input.value !== "") editor.change(index, { ...editor.shapes[index], [part]: Number(input.value) }, { quiet: true }); });
    input.addEventListener("change", () => { input.value = String(editor.shapes[index][part]); });
    return made("label", {}, say(NAMES[part]), " ", input);
  });
  return made("li", {}, made("span", { className: "tag" }, String(index + 1)), ...fields, remove);
}

function keyed(editor, index, event) {
  if (event.key === "Delete" || event.key === "Backspace") {
    event.preventDefault();
    editor.remove(index);
    return;
  }
  const way = KEYS[event.key];
  if (way === undefined || event.metaKey) return;
  event.preventDefault();
  const [right, down] = way.map((one) => one * (event.shiftKey ? 10 : 1));
  const shape = { ...editor.shapes[index] };
  if ((event.ctrlKey || event.altKey) && isBox(shape)) {
    shape.width = Math.max(SMALLEST, shape.width + right);
    shape.height = Math.max(SMALLEST, shape.height + down);
  } else {
    shape.x = Math.min(Math.max(0, shape.x + right), editor.size.width - (shape.width ?? 0));
    shape.y = Math.min(Math.max(0, shape.y + down), editor.size.height - (shape.height ?? 0));
  }
  editor.change(index, shape);
}
