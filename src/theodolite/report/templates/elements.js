// What scripts of pages share.

const counted = (number) => number.toLocaleString("en");

// An element with properties and children; text is always text.
function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
