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
  return unit === 0 ? `${value} B` : `${scaled.toFixed(1)} ${UNITS[unit]}`;
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

export const PARTS = ["parameters", "optimizer_state", "accumulated_gradients", "constants", "inputs", "activations",
  "gradients", "communication", "outputs", "workspace"];
export const partColour = (part) => `var(--part-${PARTS.indexOf(part)})`;

export function cssColour(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
