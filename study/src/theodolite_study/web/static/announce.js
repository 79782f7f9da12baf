// Says things to people who do not see the page: into one polite live region.

export function announce(words) {
  const region = document.getElementById("announce");
  if (region === null) return;
  region.textContent = "";
  // a second equal sentence is read again only if the region was empty in between
  setTimeout(() => { region.textContent = words; }, 40);
}

// Makes an element with properties and children; text is always text.
export function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
