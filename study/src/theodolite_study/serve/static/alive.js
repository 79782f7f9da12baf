// Tells the server that somebody is at the page: at most once a minute, and only after an input.

const EVERY = 60;
const SIGNS = ["pointerdown", "pointermove", "keydown", "touchstart", "scroll", "wheel"];

// `heard` takes what the server says about the item that the page shows, if it shows one.
export function tellAlive(item, heard, long) {
  const word = document.body.dataset.alive;
  if (!word) return;
  const every = 1000 * (long > 0 ? Math.min(EVERY, Math.max(long / 3, 1)) : EVERY);
  let last = -Infinity, seen = false;
  const tell = async () => {
    if (!seen || performance.now() - last < every) return;
    last = performance.now(); seen = false;
    try {
      const response = await fetch("/alive", {
        method: "POST", headers: { "Content-Type": "application/json", "X-CSRF": word },
        body: JSON.stringify(item ? { item } : {}), keepalive: true,
      });
      if (response.ok && item) heard(await response.json());
    } catch { /* the next input tries again */ }
  };
  for (const kind of SIGNS) addEventListener(kind, () => { seen = true; tell(); }, { passive: true, capture: true });
  setInterval(tell, every);
}
