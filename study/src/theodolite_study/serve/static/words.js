// What scripts say, in the language of the page, and how they say it to people who do not see it.

const WORDS = JSON.parse(document.body.dataset.words ?? "{}");
const plurals = new Intl.PluralRules(document.documentElement.lang || "en");

export function say(name, gaps = {}, number = undefined) {
  const message = WORDS[name] ?? "";
  const text = typeof message === "string" ? message : message[plurals.select(number)] ?? message.other;
  return text.replace(/\{(\w+)\}/g, (gap, key) => String(gaps[key] ?? gap));
}

export function announce(words) {
  const region = document.getElementById("announce");
  region.textContent = "";
  // a second equal sentence is read again only if the region was empty in between
  setTimeout(() => { region.textContent = words; }, 40);
}

export function saved(words, trouble = false) {
  const line = document.getElementById("saved");
  line.classList.toggle("trouble", trouble);
  line.textContent = words;
}

// An element with properties and children; text is always text.
export function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export const pause = (seconds) => new Promise((go) => { setTimeout(go, seconds * 1000); });
