// What a study may have rules about: how wide the window is, and whether a finger points.

const form = document.getElementById("begin");
form?.addEventListener("submit", () => {
  const pointer = matchMedia("(pointer: coarse)").matches ? "coarse" : "fine";
  form.elements.client.value = JSON.stringify({ width: innerWidth, pointer });
});
