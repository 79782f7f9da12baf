// Drawing with mouse, pen or finger. Two clicks or taps do all that dragging does.

import { put } from "./regions.js";
import { announce, made, say } from "./words.js";

const STILL = 6;

export function drawing(editor) {
  const { stage, layer, size } = editor;
  const state = {
    corner: null, held: null,
    sketch: made("div", { className: "frame sketch", hidden: true }), mark: made("div", { className: "corner", hidden: true }),
  };
  layer.append(state.sketch, state.mark);
  modes(stage);
  const point = (event) => {
    const place = layer.getBoundingClientRect();
    const along = (value, most) => Math.min(Math.max(value, 0), 1) * most;
    return { x: along((event.clientX - place.left) / place.width, size.width), y: along((event.clientY - place.top) / place.height, size.height) };
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    const at = point(event);
    const grip = event.target.closest?.(".grip") ?? null;
    const draws = event.pointerType !== "touch" || stage.classList.contains("draws") || grip !== null;
    state.held = { at, draws, screen: [event.clientX, event.clientY], moved: false, ...holding(editor, grip, at) };
    if (!draws) return;
    stage.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  stage.addEventListener("pointermove", (event) => moves(editor, state, event, point(event)));
  stage.addEventListener("pointerup", (event) => ends(editor, state, point(event)));
  // the page was scrolled: a first corner stays
  stage.addEventListener("pointercancel", () => { state.held = null; if (state.corner === null) drop(state); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || (state.corner === null && state.held === null)) return;
    drop(state);
    announce(say("no_frame"));
  });
}

function modes(stage) {
  const buttons = [...document.querySelectorAll("[data-mode]")];
  const choose = (mode) => {
    for (const one of buttons) one.ariaPressed = String(one.dataset.mode === mode);
    stage.classList.toggle("draws", mode === "draw");
  };
  for (const button of buttons) button.addEventListener("click", () => choose(button.dataset.mode));
  if (document.documentElement.dataset.pointer === "touch") choose("draw");
}

// What a pointer took hold of: a corner of the selected frame, the shape itself, or the image.
function holding(editor, grip, at) {
  const index = editor.selected;
  const shape = index === null ? undefined : editor.shapes[index];
  if (grip !== null && shape !== undefined) {
    const side = [...grip.classList].at(-1);
    const fixed = { x: shape.x + (side.includes("w") ? shape.width : 0), y: shape.y + (side.includes("n") ? shape.height : 0) };
    return { what: "grip", index, fixed };
  }
  if (shape !== undefined && inside(editor, shape, at)) return { what: "shape", index, shape };
  return { what: "image" };
}

function moves(editor, state, event, at) {
  const { held } = state;
  if (held === null) {
    if (state.corner !== null) sketch(editor, state, state.corner, at);
    return;
  }
  if (Math.hypot(event.clientX - held.screen[0], event.clientY - held.screen[1]) > STILL) held.moved = true;
  if (!held.moved || !held.draws) return;
  if (held.what === "grip") editor.change(held.index, between(held.fixed, at), { quiet: true });
  else if (held.what === "shape" && state.corner === null) {
    const { shape } = held;
    const along = (from, by, most) => Math.min(Math.max(0, from + by), most);
    editor.change(held.index, {
      ...shape, x: along(shape.x, at.x - held.at.x, editor.size.width - (shape.width ?? 0)),
      y: along(shape.y, at.y - held.at.y, editor.size.height - (shape.height ?? 0)),
    }, { quiet: true });
  } else if (editor.kinds.includes("box")) sketch(editor, state, held.at, at);
}

function ends(editor, state, at) {
  const { held } = state;
  state.held = null;
  if (held === null || held.what === "grip") return;
  if (held.moved) {
    if (held.draws && held.what === "image" && editor.kinds.includes("box")) finish(editor, state, held.at, at);
    return;
  }
  if (state.corner !== null) { finish(editor, state, state.corner, at); return; }
  const index = editor.shapes.findLastIndex((shape) => inside(editor, shape, at));
  if (index >= 0) { editor.select(index); editor.focus(index); return; }
  if (editor.kinds.includes("point")) { editor.append(at); return; }
  state.corner = held.at;
  editor.select(null);
  put(state.mark, held.at, editor.size);
  state.mark.hidden = false;
  announce(say("first_corner"));
}

function finish(editor, state, one, other) {
  drop(state);
  const box = between(one, other);
  if (Math.min(box.width, box.height) < 2) announce(say("too_small")); else editor.append(box);
}

function sketch(editor, state, one, other) {
  put(state.sketch, between(one, other), editor.size);
  state.sketch.hidden = false;
}

function drop(state) {
  Object.assign(state, { corner: null, held: null });
  state.sketch.hidden = state.mark.hidden = true;
}

const between = (one, other) => ({
  x: Math.min(one.x, other.x), y: Math.min(one.y, other.y), width: Math.abs(one.x - other.x), height: Math.abs(one.y - other.y),
});

// Points are taken hold of by what is drawn for them, which has the same size on every screen.
function inside({ layer, size }, shape, at) {
  const near = "width" in shape ? 0 : (14 * size.width) / layer.clientWidth;
  return at.x >= shape.x - near && at.x <= shape.x + (shape.width ?? 0) + near && at.y >= shape.y - near && at.y <= shape.y + (shape.height ?? 0) + near;
}
