// Draws with Vega, which comes in the same bundle with an interpreter of its expressions: with
// "ast" it compiles no code, so that the page's policy needs no 'unsafe-eval'.

// A figure whose spec stands in the page: colors come from the page's style, titles and formats
// from "words", and only numbers from "data".
async function drawVega(id, place, words, data) {
  const style = getComputedStyle(document.documentElement);
  const filled = (key, value) => {
    if (typeof value !== "string") return value;
    if (value.startsWith("--")) return style.getPropertyValue(value).trim();
    return value.startsWith("@") ? words[value.slice(1)] : value;
  };
  const spec = JSON.parse(document.getElementById(id).textContent, filled);
  spec.width = Math.max(place.clientWidth, 200);
  for (const one of spec.data) if (Object.hasOwn(data, one.name)) one.values = data[one.name];
  const { view } = await window.vegaEmbed(place, spec, {
    mode: "vega", ast: true, renderer: "canvas", actions: false, defaultStyle: false,
    hover: false, tooltip: false,
  });
  return view;
}
