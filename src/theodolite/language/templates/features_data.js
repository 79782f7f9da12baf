"use strict";
// Blocks of numbers and texts: in the page, or scripts beside it that hand over one string each.

const waiting = new Map(), blocks = new Map();
const VIEWS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, f4: Float32Array };

window.theodoliteBlock = (name, text) => {
  waiting.get(name)?.resolve(String(text));
  waiting.delete(name);
};

function loaded(name) {
  const inside = document.getElementById(`block-${name}`);
  if (inside) return Promise.resolve(inside.textContent);
  return new Promise((resolve, reject) => {
    waiting.set(name, { resolve });
    const script = document.createElement("script");
    script.src = `blocks/${name}.js`;
    const fail = () => {
      if (!waiting.delete(name)) return;
      reject(new Error(`blocks/${name}.js cannot be read: keep the folder “blocks” beside this page`));
    };
    script.addEventListener("error", fail);
    script.addEventListener("load", () => { fail(); script.remove(); });
    document.head.append(script);
  });
}

async function unpacked(text) {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser has no DecompressionStream");
  const binary = atob(text.trim()), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const whole = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(whole.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(whole.subarray(4, 4 + length)));
  const arrays = new Map();
  let at = 4 + length;
  for (const [name, kind, size] of header.arrays) {
    const View = VIEWS[kind], end = at + size * View.BYTES_PER_ELEMENT;
    arrays.set(name, new View(whole.slice(at, end).buffer));
    at = end;
  }
  return { texts: header.texts, arrays };
}

// A block by name, read once; of many features only some are kept.
function block(name) {
  if (!blocks.has(name)) {
    const promise = loaded(name).then(unpacked);
    promise.catch(() => blocks.delete(name));
    blocks.set(name, promise);
    const features = [...blocks.keys()].filter((key) => key.startsWith("features-"));
    if (features.length > 8) blocks.delete(features[0]);
  }
  return blocks.get(name);
}

// A text that a mark of direction cannot spread from.
const isolated = (text) => made("bdi", { dir: "auto" }, text);

function percent(share) {
  if (Number.isNaN(share)) return "undefined";
  const value = 100 * share;
  if (value === 0 || value >= 0.095) return `${value.toFixed(value >= 0.95 || value === 0 ? 1 : 2)} %`;
  return `${Number(value.toPrecision(2))} %`;
}

const amount = (value) => (Math.abs(value) >= 1000 ? counted(Math.round(value)) : value.toPrecision(3)).replace("-", "−");
const scored = (score, value) => (Number.isNaN(value) ? "undefined" : score.share ? percent(value) : amount(value));
const MARKS = [["cannot", "?", "inconclusive"], ["no", "✗", "no"], ["yes", "✓", "yes"]];
const mark = (number) => made("span", { className: `mark ${MARKS[number][0]}` }, `${MARKS[number][1]} ${MARKS[number][2]}`);
