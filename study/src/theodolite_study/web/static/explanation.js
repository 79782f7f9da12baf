// How strongly the colours cover the picture, the picture alone, and one's own frames on top.

export function explanationControls(looks, slider) {
  for (const look of looks) {
    for (const button of look.querySelectorAll("[data-toggle]")) {
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(pressed));
        if (button.dataset.toggle === "original") look.classList.toggle("original", pressed);
        else shown(look.querySelector(".own"), pressed);
      });
    }
  }
  if (slider === null) return;
  const set = () => {
    document.getElementById("main").style.setProperty("--strength", String(slider.value / 100));
    slider.setAttribute("aria-valuetext", `${slider.value} percent`);
  };
  slider.addEventListener("input", set);
  set();
}

function shown(svg, visible) {
  // an SVG element has no property `hidden`
  if (svg !== null) svg.toggleAttribute("hidden", !visible);
}

// How wide a picture is for its height: what stands under it gets the same width.
export function proportions(stages) {
  for (const stage of stages) {
    const picture = stage.querySelector(".picture");
    const ratio = Number(picture.getAttribute("width")) / Number(picture.getAttribute("height"));
    stage.parentElement.style.setProperty("--ratio", String(ratio));
  }
}
