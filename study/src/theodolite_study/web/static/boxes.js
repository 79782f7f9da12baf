// Frames on the picture: dragged, set by two clicks, or moved by keys and numbers. All in picture pixels.

import { announce, made } from "./announce.js";
import { frameList } from "./frame_list.js";
import { drawing } from "./drawing.js";

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const MOST = 50;
const SMALLEST = 2;

export function boxEditor(stage, form) {
  const given = document.getElementById("editor");
  const size = { width: Number(given.dataset.width), height: Number(given.dataset.height) };
  const editor = {
    stage, form, size,
    boxes: JSON.parse(given.dataset.boxes).map((box) => fitted(box, size)),
    selected: null,
    layer: made("div", { className: "frames" }),
    field: made("input", { type: "hidden", name: "boxes" }),
    add: document.getElementById("add-frame"),
  };
  Object.assign(editor, actions(editor));
  form.append(editor.field);
  stage.append(editor.layer);
  stage.classList.add("drawing");
  const numbers = frameList(document.getElementById("frame-list"), editor);
  editor.redraw = () => { drawn(editor); numbers(); };
  editor.redraw();
  placed(editor);
  drawing(editor);
  editor.add.addEventListener("click", () => {
    const { width, height } = size;
    const shift = 0.04 * (editor.boxes.length % 6);
    editor.append({ x: width * (0.25 + shift), y: height * (0.25 + shift), width: width / 2, height: height / 2 });
    editor.layer.querySelector(".selected button")?.focus();
  });
}

// What can be done to the boxes; everything goes through these.
function actions(editor) {
  const told = (words) => {
    editor.field.value = JSON.stringify(editor.boxes);
    editor.form.dispatchEvent(new CustomEvent("framed"));
    if (words) announce(words);
  };
  editor.field.value = JSON.stringify(editor.boxes);
  return {
    select(index) { editor.selected = index; editor.redraw(); },
    append(box) {
      if (editor.boxes.length >= MOST) { announce(`At most ${MOST} frames.`); return; }
      editor.boxes.push(fitted(box, editor.size));
      editor.selected = editor.boxes.length - 1;
      editor.redraw();
      told(`Frame ${editor.boxes.length} added: ${words(editor.boxes.at(-1))}. Arrow keys move it.`);
    },
    change(index, box, { say = true } = {}) {
      editor.boxes[index] = fitted(box, editor.size);
      editor.redraw();
      told(say ? `Frame ${index + 1}: ${words(editor.boxes[index])}` : "");
    },
    remove(index) {
      editor.boxes.splice(index, 1);
      editor.selected = null;
      editor.redraw();
      const left = editor.boxes.length;
      told(`Frame ${index + 1} removed. ${left} left.`);
      const next = editor.layer.querySelectorAll(".frame button")[Math.min(index, left - 1)];
      (next ?? editor.add).focus();
    },
  };
}

export function words(box) {
  return `${Math.round(box.x)} from the left, ${Math.round(box.y)} from the top, `
    + `${Math.round(box.width)} wide, ${Math.round(box.height)} high`;
}

// Whole pixels, inside of the picture, never smaller than can be seen.
export function fitted(box, size) {
  const within = (value, low, high) => Math.min(Math.max(Math.round(Number(value) || 0), low), high);
  const x = within(box.x, 0, size.width - SMALLEST);
  const y = within(box.y, 0, size.height - SMALLEST);
  return {
    x, y,
    width: within(box.width, SMALLEST, size.width - x),
    height: within(box.height, SMALLEST, size.height - y),
  };
}

function drawn(editor) {
  const { layer, boxes } = editor;
  while (layer.querySelectorAll(".frame:not(.sketch)").length > boxes.length) layer.querySelector(".frame:not(.sketch)").remove();
  while (layer.querySelectorAll(".frame:not(.sketch)").length < boxes.length) layer.append(newFrame(editor));
  layer.querySelectorAll(".frame:not(.sketch)").forEach((frame, index) => {
    frame.classList.toggle("selected", index === editor.selected);
    frame.querySelector(".tag").textContent = String(index + 1);
    frame.querySelector("button").setAttribute("aria-label", `Frame ${index + 1}: ${words(boxes[index])}`);
    put(frame, boxes[index], editor.size);
  });
}

export function put(element, box, size) {
  element.style.setProperty("left", `${(100 * box.x) / size.width}%`);
  element.style.setProperty("top", `${(100 * box.y) / size.height}%`);
  element.style.setProperty("width", `${(100 * box.width) / size.width}%`);
  element.style.setProperty("height", `${(100 * box.height) / size.height}%`);
}

function newFrame(editor) {
  const button = made("button", { type: "button", "aria-describedby": "frame-help" });
  const grips = ["nw", "ne", "sw", "se"].map((where) => made("span", { className: `grip ${where}`, "aria-hidden": "true" }));
  const frame = made("div", { className: "frame" }, button, made("span", { className: "tag", "aria-hidden": "true" }), ...grips);
  const index = () => [...editor.layer.querySelectorAll(".frame:not(.sketch)")].indexOf(frame);
  button.addEventListener("focus", () => { if (editor.selected !== index()) editor.select(index()); });
  button.addEventListener("keydown", (event) => moved(editor, index(), event));
  return frame;
}

function moved(editor, index, event) {
  if (event.key === "Delete" || event.key === "Backspace") {
    event.preventDefault();
    editor.remove(index);
    return;
  }
  const way = KEYS[event.key];
  if (way === undefined || event.metaKey) return;
  event.preventDefault();
  const step = event.shiftKey ? 10 : 1;
  const [right, down] = way.map((one) => one * step);
  const box = { ...editor.boxes[index] };
  if (event.ctrlKey || event.altKey) {
    box.width = Math.max(SMALLEST, box.width + right);
    box.height = Math.max(SMALLEST, box.height + down);
  } else {
    box.x = Math.min(Math.max(0, box.x + right), editor.size.width - box.width);
    box.y = Math.min(Math.max(0, box.y + down), editor.size.height - box.height);
  }
  editor.change(index, box);
}

// The layer lies exactly on the picture, which may be smaller than its place.
function placed(editor) {
  const picture = editor.stage.querySelector(".picture");
  const fit = () => {
    const [wide, high] = [picture.clientWidth, picture.clientHeight];
    const scale = Math.min(wide / editor.size.width, high / editor.size.height);
    const [width, height] = [editor.size.width * scale, editor.size.height * scale];
    const set = (name, value) => editor.layer.style.setProperty(name, `${value}px`);
    set("left", picture.offsetLeft + (wide - width) / 2);
    set("top", picture.offsetTop + (high - height) / 2);
    set("width", width);
    set("height", height);
  };
  new ResizeObserver(fit).observe(picture);
  picture.addEventListener("load", fit);
  fit();
}
