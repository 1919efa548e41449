// Tables that are long: searched, sorted by a click on a heading, shown piece by piece.
import { el, whole } from "./dom.js";
import { t } from "./text.js";

const PIECE = 50;

/**
 * columns: {key, title, cell(row), value(row) to sort by, text(row) to search in, right}
 * options: {label, search, sort, extra (elements beside the search), keep(row), piece}
 */
export function longTable(rows, columns, options) {
  let shown = options.piece || PIECE;
  let words = [];
  let sort = options.sort || null;
  const body = el("tbody");
  const status = el("p", { class: "status", role: "status" });
  const more = el("button", { type: "button", class: "more", onclick: () => { shown *= 4; draw(); } }, t("more"));

  const textOf = (row) => columns.map((c) => (c.text ? c.text(row) : "")).join(" ").toLowerCase();
  const texts = new Map();
  const matches = (row) => {
    if (options.keep && !options.keep(row)) return false;
    if (!words.length) return true;
    if (!texts.has(row)) texts.set(row, textOf(row));
    return words.every((word) => texts.get(row).includes(word));
  };
  const sorted = (list) => {
    if (!sort) return list;
    const column = columns.find((c) => c.key === sort.key);
    const sign = sort.down ? -1 : 1;
    return [...list].sort((a, b) => {
      const x = column.value(a);
      const y = column.value(b);
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
    });
  };
  function draw() {
    const list = sorted(rows.filter(matches));
    body.replaceChildren(...list.slice(0, shown).map((row) =>
      el("tr", options.rowAttributes ? options.rowAttributes(row) : {},
        columns.map((c) => el("td", { class: [c.right && "right", c.wide && "wide", c.wrap && "wrap"].filter(Boolean).join(" ") || null }, c.cell(row))))));
    more.hidden = list.length <= shown;
    status.textContent = list.length === 0 ? t("nothing") :
      `${whole(Math.min(shown, list.length))} ${t("of")} ${whole(list.length)} ${t("shown")}`;
    headings.forEach(([column, heading]) => heading.setAttribute("aria-sort",
      sort && sort.key === column.key ? (sort.down ? "descending" : "ascending") : "none"));
  }
  const headings = [];
  const head = el("tr", {}, columns.map((c) => {
    const heading = el("th", { scope: "col", class: c.right ? "right" : null },
      c.value ? el("button", { type: "button", onclick: () => {
        sort = { key: c.key, down: sort && sort.key === c.key ? !sort.down : Boolean(c.right) };
        draw();
      } }, c.title) : c.title);
    headings.push([c, heading]);
    return heading;
  }));
  const search = options.search && el("input", { type: "search", placeholder: t("search"), "aria-label": `${t("search")}: ${options.label}`,
    oninput: (event) => {
      words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = options.piece || PIECE;
      draw();
    } });
  draw();
  const element = el("div", { class: "long-table" },
    el("div", { class: "tools" }, search, options.extra || null, status),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label },
      el("table", {}, el("caption", { class: "hidden" }, options.label), el("thead", {}, head), body)),
    more);
  return { element, draw };
}

/** A plain table: rows of cells; the first of each row is a heading where `rowHeads`. */
export function smallTable(label, heads, rows, rights = []) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", {}, el("caption", { class: "hidden" }, label),
    el("thead", {}, el("tr", {}, heads.map((h, i) => el("th", { scope: "col", class: rights.includes(i) ? "right" : null }, h)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) =>
      el(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: rights.includes(i) ? "right" : null }, cell)))))));
}
