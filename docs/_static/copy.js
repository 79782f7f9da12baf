// A button beside each block of code; without a script the code can be marked as ever.
for (const block of document.querySelectorAll("div.highlight")) {
  const code = block.querySelector("pre");
  if (!code || !navigator.clipboard) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.innerText.replace(/^\$ /gm, "").trimEnd() + "\n");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  block.append(button);
}
