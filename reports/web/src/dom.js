// Elements and figures.

export function el(tag, attributes, ...children) {
  const svg = ["svg", "g", "rect", "text", "line", "title", "path"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style" && typeof value === "object") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** 63642609152 -> "59.3 GiB", as the terminal writes it. */
export function bytes(value) {
  if (value < 0) return "−" + bytes(-value);
  let unit = 0;
  let scaled = value;
  while (scaled >= 1024 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${oneDigit(scaled)} ${UNITS[unit]}`;
}

/** 1.25 -> "1.2": halves go to the even digit, as on the terminal; toFixed would say 1.3. */
function oneDigit(value) {
  const tenths = value * 10;
  return (tenths % 1 === 0.5 ? 2 * Math.round(tenths / 2) / 10 : value).toFixed(1);
}

/** 174600000000 -> "174.6 B". */
export function count(value) {
  for (const [size, unit] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e4, "k"]]) {
    if (value >= size) return `${(value / (unit === "k" ? 1e3 : size)).toFixed(1)} ${unit}`;
  }
  return whole(value);
}

export const whole = (value) => value.toLocaleString("en-US");
export const percent = (part, all) => (all > 0 ? `${((100 * part) / all).toFixed(1)} %` : "0 %");

export function seconds(value) {
  if (value >= 1) return `${value.toFixed(2)} s`;
  return value >= 1e-3 ? `${(value * 1e3).toFixed(2)} ms` : `${(value * 1e6).toFixed(1)} µs`;
}

/** "net.py:45". */
export function shortPlace(place) {
  if (!place) return "";
  const file = place.file.split("/").pop();
  return place.line > 0 ? `${file}:${place.line}` : file;
}

/** The place with its line of the script, as an element that shows the whole path. */
export function placeElement(place) {
  return place ? el("span", { class: "place", title: `${place.file}:${place.line}\n${place.text}` }, shortPlace(place)) : "";
}

/** "12-Block/attention" of a long scope: its last two Cells. */
export function shortScope(scope) {
  const cells = scope.split("/");
  return cells.length <= 2 ? scope : "…/" + cells.slice(-2).join("/");
}

/** 1824 -> "1,824", 96.375 -> "96.4": averages over ranks. */
export const average = (value) => (Number.isInteger(value) ? whole(value) : value.toLocaleString("en-US", { maximumFractionDigits: 1 }));

export const PARTS = ["parameters", "optimizer_state", "accumulated_gradients", "constants", "inputs", "activations",
  "gradients", "communication", "outputs", "workspace"];
export const partColour = (part) => `var(--part-${PARTS.indexOf(part)})`;

/** "#101418" or white, whichever reads better on a colour "#rrggbb". */
export function textOn(colour) {
  const light = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255)
    .map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return luminance > 0.19 ? "#101418" : "#ffffff";
}

let ruler = null;

/** As much of a text as fits into `width` pixels; "" if that says nothing. */
export function clip(text, width, font) {
  ruler = ruler || document.createElement("canvas").getContext("2d");
  ruler.font = `${font} system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif`;
  if (ruler.measureText(text).width <= width) return text;
  let most = Math.floor((text.length * width) / ruler.measureText(text).width);
  while (most > 2 && ruler.measureText(`${text.slice(0, most)}…`).width > width) most -= 1;
  return most < 3 ? "" : `${text.slice(0, most)}…`;
}

export function cssColour(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
