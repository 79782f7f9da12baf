// How long the page was looked at, and on what kind of screen: a telephone shows another picture.

export function measured(form) {
  const place = `theodolite ${form.dataset.action} ${form.dataset.stage}`;
  const before = Number(read(place)) || 0;
  const answered = {};
  let seen = 0;
  let since = document.hidden ? null : performance.now();
  const seconds = () => before + (seen + (since === null ? 0 : performance.now() - since)) / 1000;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && since !== null) { seen += performance.now() - since; since = null; }
    else if (!document.hidden && since === null) since = performance.now();
    write(place, String(seconds()));
  });
  addEventListener("pagehide", () => write(place, String(seconds())));
  form.addEventListener("change", (event) => {
    if (event.target.type === "radio") answered[event.target.name] = round(seconds());
  });
  return { fill: () => fill(form, seconds(), answered), forget: () => write(place, null) };
}

function fill(form, seconds, answered) {
  const seen = { visible: round(seconds), ...answered };
  const client = {
    width: innerWidth, height: innerHeight, pixel_ratio: devicePixelRatio,
    theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
    pointer: matchMedia("(pointer: coarse)").matches ? "coarse" : "fine",
    picture_width: Math.round(document.querySelector(".picture")?.getBoundingClientRect().width ?? 0),
  };
  if (form.elements.durations) form.elements.durations.value = JSON.stringify(seen);
  else client.seconds = seen.visible;
  form.elements.client.value = JSON.stringify(client);
}

const round = (number) => Math.round(number * 100) / 100;

// Without a store (private windows) a reload begins the count anew: no harm.
function read(place) { try { return sessionStorage.getItem(place); } catch { return null; } }
function write(place, value) {
  try { if (value === null) sessionStorage.removeItem(place); else sessionStorage.setItem(place, value); } catch { /* as said above */ }
}
