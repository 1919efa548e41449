// Undoes what reports/page.cc packs: see there.

function tableOf({ texts, order }) {
  const table = new Array(texts.length);
  let before = "";
  texts.forEach((text, i) => {
    const bar = text.indexOf("|");
    before = before.slice(0, Number(text.slice(0, bar))) + text.slice(bar + 1);
    table[order[i]] = before;
  });
  return table;
}

function unpackWith(table) {
  const text = (number) => (number < 0 ? null : table[number]);
  const column = (packed) => {
    if (packed.s) return packed.s.map(text);
    if (packed.n) return packed.n;
    if (packed.o) {
      const distinct = unpack(packed.o);
      return packed.i.map((i) => (i < 0 ? null : distinct[i]));
    }
    return packed.x.map(unpack);
  };
  const unpack = (value) => {
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.map(unpack);
    if (value.$s) return value.$s.map(text);
    if ("$" in value) {
      const items = Array.from({ length: value.$ }, () => ({}));
      for (const [key, packed] of Object.entries(value.c)) {
        column(packed).forEach((item, i) => {
          if (item !== null) items[i][key] = item;
        });
      }
      return items;
    }
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpack(item)]));
  };
  return unpack;
}

/** The runs of a page: reports by kind ("summary", "memory", ...), `name`, `excerpts`. */
export function unpackRuns(data) {
  const unpack = unpackWith(tableOf(data.table));
  return data.runs.map((run) => unpack(run));
}
