// Drawing with a mouse, a pen or a finger. Two clicks do all that dragging does.

import { announce, made } from "./announce.js";
import { put } from "./boxes.js";

const STILL = 5;

export function drawing(editor) {
  const { stage, layer, size } = editor;
  const sketch = made("div", { className: "frame sketch", hidden: true });
  const mark = made("div", { className: "corner", hidden: true });
  layer.append(sketch, mark);
  const state = { corner: null, held: null, sketch, mark };
  const point = (event) => {
    const place = layer.getBoundingClientRect();
    const along = (value, most) => Math.min(Math.max(value, 0), 1) * most;
    return {
      x: along((event.clientX - place.left) / place.width, size.width),
      y: along((event.clientY - place.top) / place.height, size.height),
    };
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    const at = point(event);
    const grip = event.target.closest?.(".grip");
    state.held = { at, screen: [event.clientX, event.clientY], moved: false, ...holds(editor, grip, at) };
    if (event.pointerType !== "touch" || grip !== null) {
      stage.setPointerCapture(event.pointerId);
      event.preventDefault();
    }
  });
  stage.addEventListener("pointermove", (event) => moves(editor, state, event, point(event)));
  stage.addEventListener("pointerup", (event) => ends(editor, state, point(event)));
  stage.addEventListener("pointercancel", () => {
    // the page was scrolled: a first corner stays
    state.held = null;
    if (state.corner === null) dropped(state);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (state.corner !== null || state.held !== null)) {
      dropped(state);
      announce("No frame was drawn.");
    }
  });
}

// What a pointer took hold of: a corner of the selected frame, the frame itself, or the picture.
function holds(editor, grip, at) {
  const index = editor.selected;
  const box = index === null ? null : editor.boxes[index];
  if (grip !== null && box !== null) {
    const where = [...grip.classList].at(-1);
    const fixed = {
      x: where.includes("w") ? box.x + box.width : box.x,
      y: where.includes("n") ? box.y + box.height : box.y,
    };
    return { what: "grip", index, fixed };
  }
  if (box !== null && inside(box, at)) return { what: "frame", index, box };
  return { what: "picture" };
}

function moves(editor, state, event, at) {
  const { held } = state;
  if (held === null) {
    if (state.corner !== null) sketched(editor, state, state.corner, at);
    return;
  }
  if (Math.hypot(event.clientX - held.screen[0], event.clientY - held.screen[1]) > STILL) held.moved = true;
  if (!held.moved || event.pointerType === "touch" && held.what !== "grip") return;
  if (held.what === "grip") editor.change(held.index, between(held.fixed, at), { say: false });
  else if (held.what === "frame" && state.corner === null) {
    const { box } = held;
    const most = (size, own) => size - own;
    editor.change(held.index, {
      ...box,
      x: Math.min(Math.max(0, box.x + at.x - held.at.x), most(editor.size.width, box.width)),
      y: Math.min(Math.max(0, box.y + at.y - held.at.y), most(editor.size.height, box.height)),
    }, { say: false });
  } else sketched(editor, state, held.at, at);
}

function ends(editor, state, at) {
  const { held } = state;
  if (held === null) return;
  state.held = null;
  if (held.moved) {
    if (held.what === "picture") finished(editor, state, held.at, at);
    return;
  }
  if (held.what === "grip") return;
  if (state.corner !== null) { finished(editor, state, state.corner, at); return; }
  const index = editor.boxes.findLastIndex((box) => inside(box, at));
  if (index >= 0) {
    editor.select(index);
    editor.layer.querySelector(".selected button").focus({ preventScroll: true });
    return;
  }
  state.corner = held.at;
  editor.select(null);
  state.mark.style.setProperty("left", `${(100 * held.at.x) / editor.size.width}%`);
  state.mark.style.setProperty("top", `${(100 * held.at.y) / editor.size.height}%`);
  state.mark.hidden = false;
  announce("First corner is set. Now the opposite corner. Escape leaves it.");
}

function finished(editor, state, one, other) {
  dropped(state);
  const box = between(one, other);
  if (Math.min(box.width, box.height) < 2) { announce("That frame was too small."); return; }
  editor.append(box);
  editor.layer.querySelector(".selected button")?.focus({ preventScroll: true });
}

function sketched(editor, state, one, other) {
  put(state.sketch, between(one, other), editor.size);
  state.sketch.hidden = false;
}

function dropped(state) {
  Object.assign(state, { corner: null, held: null });
  state.sketch.hidden = true;
  state.mark.hidden = true;
}

function between(one, other) {
  return {
    x: Math.min(one.x, other.x), y: Math.min(one.y, other.y),
    width: Math.abs(one.x - other.x), height: Math.abs(one.y - other.y),
  };
}

function inside(box, at) {
  return at.x >= box.x && at.x <= box.x + box.width && at.y >= box.y && at.y <= box.y + box.height;
}
