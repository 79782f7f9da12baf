// The explanation stays beside its question: on a narrow screen the pair of a question about a changed
// image takes the place of the first one while that question is in view.

export function look(place) {
  const tools = place.querySelector(".tools");
  const views = place.querySelector(".views");
  tools.hidden = false;
  for (const stage of document.querySelectorAll(".stage")) {
    const image = stage.querySelector(".image");
    stage.style.setProperty("--ratio", String(image.getAttribute("width") / image.getAttribute("height")));
  }
  const scrolls = () => { if (views.scrollHeight > views.clientHeight + 1) views.tabIndex = 0; else views.removeAttribute("tabindex"); };
  new ResizeObserver(scrolls).observe(views);
  enlarges(place, views);
  tools.querySelector("[data-original]")?.addEventListener("click", ({ target }) => {
    target.ariaPressed = String(target.ariaPressed !== "true");
    document.getElementById("main").classList.toggle("original", target.ariaPressed === "true");
  });
  const pairs = [...document.querySelectorAll("#answer .pair")];
  if (pairs.length > 0) swaps(place, views, pairs);
}

function swaps(place, views, pairs) {
  const narrow = matchMedia("(max-width: 40rem) and (min-height: 30rem)");
  const form = document.getElementById("answer");
  const first = [...views.childNodes];
  let current = null;
  const show = (pair) => {
    if (pair === current) return;
    // what is below does not jump
    if (current === null) place.style.setProperty("min-height", `${place.offsetHeight}px`);
    current = pair;
    views.replaceChildren(...(pair ? [pair.cloneNode(true)] : first));
  };
  const follow = () => {
    form.classList.toggle("swaps", narrow.matches);
    if (!narrow.matches) { place.style.removeProperty("min-height"); show(null); return; }
    // the question that begins last above the middle of what is left under the explanation
    const below = place.getBoundingClientRect().bottom;
    const line = below + (innerHeight - below) / 2;
    const asked = [...form.querySelectorAll(".question:not([hidden])")].findLast((one) => one.getBoundingClientRect().top <= line);
    show(asked?.querySelector(".pair") ?? null);
  };
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; follow(); });
  };
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  document.addEventListener("focusin", soon);
  follow();
}

function enlarges(place, views) {
  const dialog = document.getElementById("large");
  const open = () => {
    dialog.querySelector(".inside").replaceChildren(...[...views.children].map((one) => one.cloneNode(true)));
    for (const layer of dialog.querySelectorAll(".frames")) layer.remove();
    dialog.showModal();
  };
  place.querySelector("[data-enlarge]").addEventListener("click", open);
  views.addEventListener("click", (event) => { if (event.target.tagName === "IMG" && !event.target.closest(".drawing")) open(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog || event.target.closest("button")) dialog.close(); });
}
