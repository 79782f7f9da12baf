// How long the page was looked at, on what kind of screen, whether words were pasted, how often lines
// of a ranking were moved.

const JUMP = 20;

export function measured(form) {
  const place = `theodolite ${form.action}`;
  const before = Number(read(place)) || 0;
  const answered = {};
  let seen = 0, pasted = false, moves = 0;
  let since = document.hidden ? null : performance.now();
  const seconds = () => Math.round(100 * (before + (seen + (since === null ? 0 : performance.now() - since)) / 1000)) / 100;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && since !== null) { seen += performance.now() - since; since = null; }
    else if (!document.hidden && since === null) since = performance.now();
    write(place, String(seconds()));
  });
  addEventListener("pagehide", () => write(place, String(seconds())));
  const lengths = new WeakMap([...form.querySelectorAll("textarea")].map((area) => [area, area.value.length]));
  form.addEventListener("paste", () => { pasted = true; });
  form.addEventListener("ranked", () => { moves += 1; });
  form.addEventListener("input", ({ target }) => {
    const block = target.closest?.(".question")?.dataset.block;
    if (block) answered[block] = seconds();
    if (target.tagName !== "TEXTAREA") return;
    // what was filled in by a menu or a tool sends no paste
    if (target.value.length - (lengths.get(target) ?? 0) > JUMP) pasted = true;
    lengths.set(target, target.value.length);
  });
  return {
    fill() {
      const client = {
        width: innerWidth, height: innerHeight, pixel_ratio: devicePixelRatio, seconds: seconds(),
        theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
        pointer: matchMedia("(pointer: coarse)").matches ? "coarse" : "fine", pasted,
        image_width: Math.round(document.querySelector("#look .image")?.getBoundingClientRect().width ?? 0),
      };
      if (form.querySelector(".ranking")) client.moves = moves;
      form.elements.client.value = JSON.stringify(client);
      if (form.elements.durations) form.elements.durations.value = JSON.stringify({ visible: seconds(), ...answered });
    },
    forget: () => write(place, null),
  };
}

// Without a store (private windows) a reload begins the count anew: no harm.
function read(place) { try { return sessionStorage.getItem(place); } catch { return null; } }
function write(place, value) {
  try { if (value === null) sessionStorage.removeItem(place); else sessionStorage.setItem(place, value); } catch { /* as said above */ }
}
