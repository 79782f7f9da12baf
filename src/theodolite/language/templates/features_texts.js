// Texts of tokens: bytes put together to characters, what cannot be seen written out.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/u;
const JOINERS = /^[\u200c\u200d]+$/;

class Words {
  constructor({ texts, arrays }) {
    this.long = new Map(Object.entries(texts.long).map(([id, size]) => [Number(id), size]));
    this.ids = arrays.get("ids");
    this.ends = arrays.get("ends");
    this.bytes = arrays.get("bytes");
  }

  place(id) {
    let low = 0, high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ids[middle] < id) low = middle + 1; else high = middle;
    }
    return low;
  }

  of(id) {
    const at = this.place(id);
    return this.bytes.subarray(at ? this.ends[at - 1] : 0, this.ends[at]);
  }
}

// How many bytes a character that begins so is missing at the end of the bytes; 0 if none.
function missing(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (byte >= 0xc0) return Math.max((byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) - back, 0);
    if (byte < 0x80) return 0;
  }
  return 0;
}

// Tokens that are parts of one character are shown together.
function grouped(words, tokens) {
  const groups = [];
  for (let i = 0; i < tokens.length; i++) {
    const own = words.of(tokens[i]), last = groups.at(-1);
    const goes = last && last.missing && own.length && own.every((byte) => (byte & 0xc0) === 0x80)
      && own.length <= last.missing;
    if (goes) {
      last.bytes = Uint8Array.from([...last.bytes, ...own]);
      last.last = i;
      last.missing -= own.length;
    } else groups.push({ first: i, last: i, bytes: own, missing: missing(own), long: words.long.get(tokens[i]) });
  }
  return groups;
}

// Pieces of text: as it is, or written out because it cannot be seen or is no text.
function pieces(bytes) {
  const out = [];
  const put = (text, escaped) => {
    if (out.length && out.at(-1).escaped === escaped) out.at(-1).text += text;
    else out.push({ text, escaped });
  };
  let at = 0;
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  while (at < bytes.length) {
    const first = bytes[at], size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    let character = null;
    try { character = strict.decode(bytes.subarray(at, at + size)); } catch { character = null; }
    if (character === null || [...character].length !== 1) {
      put(`\\x${first.toString(16).padStart(2, "0")}`, true);
      at += 1;
      continue;
    }
    if (character === "\n") put("↵", true);
    else if (character === "\t") put("⇥", true);
    else if (JOINERS.test(character) && bytes.length > 3) put(character, false);
    else if (HIDDEN.test(character)) put(`\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`, true);
    else put(character, false);
    at += size;
  }
  return out.flatMap((part) => (part.escaped ? [part] : part.text.split(/( {4,})/).filter(Boolean).map((text) =>
    (/^ {4,}$/.test(text) ? { text: `␣×${text.length} `, escaped: true } : { text, escaped: false }))));
}

function shown(group) {
  const parts = pieces(group.bytes).map(({ text, escaped }) =>
    (escaped ? made("span", { className: "escape" }, text) : text));
  if (group.long) parts.push(made("span", { className: "escape" }, `… (${counted(group.long)} bytes)`));
  return parts;
}

const plain = (group) => pieces(group.bytes).map((part) => part.text).join("");
