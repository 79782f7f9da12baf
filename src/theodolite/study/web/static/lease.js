// A picture is kept for whoever looks at it. Away for long, it may go to somebody else.

import { post } from "./posting.js";

const BEAT = 60;

export function keepLease(form) {
  const notice = document.getElementById("lease");
  const long = Number(form.dataset.lease) || 0;
  let end = performance.now() + long * 1000;
  const early = Math.min(300, long / 3) * 1000;
  const renewed = (said) => {
    const seconds = Number(said?.lease_seconds) || long;
    end = performance.now() + seconds * 1000;
    notice.hidden = true;
  };
  const beat = async () => {
    try { renewed(await post(form, "heartbeat", {})); } catch { warn(); }
  };
  const warn = () => {
    const left = end - performance.now();
    if (long <= 0 || left > early) return;
    const minutes = Math.max(1, Math.round(left / 60000));
    const words = left > 0
      ? `This picture is kept for you for ${minutes} more ${minutes === 1 ? "minute" : "minutes"}.`
      : "You were away for long. You can still answer; perhaps somebody else got this picture meanwhile.";
    const line = notice.querySelector("p");
    if (line.textContent !== words) line.textContent = words;
    notice.hidden = false;
  };
  notice.querySelector("button").addEventListener("click", beat);
  setInterval(() => { if (document.hidden) warn(); else beat(); }, Math.min(BEAT, Math.max(long / 3, 1)) * 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) warn(); });
  return { renewed };
}
