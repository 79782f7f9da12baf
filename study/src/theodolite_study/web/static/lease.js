// A picture is kept for whoever looks at it. Away for long, it may go to somebody else.

import { post } from "./posting.js";

const BEAT = 60;

export function keepLease(form) {
  const notice = document.getElementById("lease");
  const button = notice.querySelector("button");
  const long = Number(form.dataset.lease) || 0;
  let end = performance.now() + long * 1000, lost = false;
  const early = Math.min(300, long / 3) * 1000;
  const renewed = (said) => {
    if (said?.lost === true) lost = true;
    // what does not say how long, such as a draft, says nothing about it
    else if (said?.lease_seconds !== undefined) end = performance.now() + said.lease_seconds * 1000;
    warn();
  };
  const beat = async () => {
    try { renewed(await post(form, "heartbeat", {})); } catch { warn(); }
  };
  const warn = () => {
    const left = end - performance.now();
    notice.hidden = !lost && left > early;
    if (notice.hidden) return;
    const minutes = Math.max(1, Math.round(left / 60000));
    const kept = left > 0
      ? `This picture is kept for you for ${minutes} more ${minutes === 1 ? "minute" : "minutes"}.`
      : "This took long. You can still answer; perhaps somebody else got this picture meanwhile.";
    const words = lost
      ? "This picture went to somebody else; your answers are still stored, but will not count."
      : kept;
    const line = notice.querySelector("p");
    if (line.textContent !== words) line.textContent = words;
    button.hidden = lost;
  };
  button.addEventListener("click", beat);
  const every = long > 0 ? Math.min(BEAT, Math.max(long / 3, 1)) : BEAT;
  setInterval(() => { if (document.hidden) warn(); else beat(); }, every * 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) warn(); });
  if (long <= 0) beat();
  return { renewed };
}
