// Keys 1 to 5 answer the question that has the focus.

export function ratingKeys(form) {
  for (const group of form.querySelectorAll(".rating")) {
    group.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (!/^[1-5]$/.test(event.key)) return;
      const radio = group.querySelector(`input[value="${event.key}"]`);
      radio.focus();
      radio.click();
      event.preventDefault();
    });
    group.addEventListener("change", () => cleared(group));
  }
}

export function missingRatings(form) {
  return [...form.querySelectorAll(".rating")].filter((group) => {
    const missing = group.querySelector("input:checked") === null;
    if (missing) marked(group);
    return missing;
  });
}

function marked(group) {
  group.classList.add("missing");
  const line = document.getElementById(`${group.id}-error`);
  line.textContent = "Please choose one of 1 to 5.";
  line.hidden = false;
}

function cleared(group) {
  group.classList.remove("missing");
  document.getElementById(`${group.id}-error`).hidden = true;
}
