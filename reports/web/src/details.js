// Tensors, layers, strategies, diagnostics, and what the run was.
import { bytes, cssColour, el, PARTS, partColour, percent, placeElement, shortPlace, shortScope, whole } from "./dom.js";
import { longTable } from "./table.js";
import { partName, t } from "./text.js";
import { tipsOf } from "./tip.js";

const MOST_BARS = 64;

/** When each of the tensors of a row lives. */
function lifetime(row, profile, state) {
  const last = Math.max(profile.kernel_count - 1, 1);
  const bar = (tensor) => {
    const from = (100 * Math.max(tensor.first_kernel, 0)) / last;
    const to = (100 * Math.max(tensor.last_kernel, 0)) / last;
    return el("i", { style: `left:${Math.min(from, 99)}%;width:${Math.max(to - from, 0.8)}%;background:${partColour(tensor.part)}` });
  };
  return el("div", { class: "life", title: row.items.slice(0, 8).map((x) => `${t("kernel")} ${x.first_kernel}–${x.last_kernel}`).join("\n") },
    row.items.slice(0, MOST_BARS).map(bar),
    el("b", { style: `left:${(100 * profile.kernels[state.moment].kernel) / last}%` }));
}

/** Tensors with the same name in the same place, one for each micro batch or use, as one row. */
function sameTensors(tensors) {
  const rows = new Map();
  for (const tensor of tensors) {
    const key = [tensor.name, tensor.part, tensor.tensor, tensor.scope, tensor.bytes, shortPlace(tensor.place)].join("|");
    const row = rows.get(key);
    if (row) row.items.push(tensor);
    else rows.set(key, { ...tensor, items: [tensor] });
  }
  return [...rows.values()];
}

export function tensorsView(profile, state) {
  const box = el("input", { type: "checkbox", id: "alive-only" });
  const isAlive = (row) => {
    const kernel = profile.kernels[state.moment].kernel;
    return row.items.some((tensor) => tensor.first_kernel <= kernel && kernel <= tensor.last_kernel);
  };
  const table = longTable(sameTensors(profile.tensors), [
    { key: "name", title: t("name"), wide: true, cell: (x) => [el("i", { class: "dot", style: `background:${partColour(x.part)}` }), x.name, x.items.length > 1 ? el("span", { class: "times", title: `${whole(x.items.length)} ${t("alike")}` }, `× ${whole(x.items.length)}`) : null], value: (x) => x.name, text: (x) => x.name },
    { key: "size", title: t("size"), right: true, cell: (x) => bytes(x.bytes), value: (x) => x.bytes },
    { key: "part", title: t("part"), cell: (x) => partName(x.part), value: (x) => x.part, text: (x) => `${x.part} ${partName(x.part)}` },
    { key: "shape", title: t("shape"), cell: (x) => el("span", { class: "shape" }, x.tensor), value: (x) => x.tensor, text: (x) => x.tensor },
    { key: "life", title: t("lifetime"), cell: (x) => lifetime(x, profile, state), value: (x) => x.last_kernel - x.first_kernel },
    { key: "scope", title: t("scope"), wrap: true, cell: (x) => el("span", { title: x.operator }, shortScope(x.scope)), value: (x) => x.scope, text: (x) => `${x.scope} ${x.operator}` },
    { key: "line", title: t("line"), cell: (x) => placeElement(x.place), value: (x) => shortPlace(x.place), text: (x) => shortPlace(x.place) },
  ], { label: t("tensors"), search: true, sort: { key: "size", down: true }, piece: 20, keep: (x) => !box.checked || isAlive(x),
    extra: el("label", { for: "alive-only" }, box, " ", t("aliveOnly")) });
  box.addEventListener("change", table.draw);
  state.on(table.draw);
  return table.element;
}

const COLUMNS = 150;

/** A column for each layer in the order of the network, stacked by kind; few layers are better read as a table. */
function layersChart(layers, all) {
  const canvas = el("canvas", { role: "img", "aria-label": t("layers") });
  const facts = el("p", { class: "hidden", role: "status" }, " ");
  const most = Math.max(...layers.map((layer) => layer.bytes), 1);
  let width = 0;
  const step = () => width / layers.length;
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = COLUMNS * ratio;
    canvas.style.height = `${COLUMNS}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    layers.forEach((layer, i) => {
      let y = COLUMNS;
      for (const name of PARTS) {
        const part = layer.parts.find((p) => p.part === name);
        const tall = part ? ((COLUMNS - 4) * part.bytes) / most : 0;
        if (tall <= 0) continue;
        y -= tall;
        context.fillStyle = cssColour(`--part-${PARTS.indexOf(name)}`);
        context.fillRect(i * step(), y, Math.max(step() - (step() > 4 ? 2 : 0.3), 0.7), tall);
      }
    });
  }
  tipsOf(canvas, (event) => {
    const layer = layers[Math.floor((event.clientX - canvas.getBoundingClientRect().left) / step())];
    return layer ? [`${layer.scope ? shortScope(layer.scope) : "–"}  ${bytes(layer.bytes)}`, percent(layer.bytes, all),
      ...layer.parts.filter((p) => p.bytes > 0).sort((x, y) => y.bytes - x.bytes).map((p) => `${partName(p.part)} ${bytes(p.bytes)}`)] : null;
  }, facts);
  const holder = el("div", { class: "layers" }, canvas, facts);
  new ResizeObserver(() => {
    if (holder.clientWidth > 0 && holder.clientWidth !== width) {
      width = holder.clientWidth;
      draw();
    }
  }).observe(holder);
  return { element: holder, redraw: () => { if (width) draw(); } };
}

/** The peak by layer: a column each, and a table. */
export function layersView(memoryClass) {
  const layers = memoryClass.by_layer.filter((layer) => layer.bytes > 0);
  const most = Math.max(...layers.map((layer) => layer.bytes), 1);
  const many = layers.length > 14;
  const chart = many ? layersChart(layers, memoryClass.used_peak_bytes) : null;
  const table = longTable(layers, [
    { key: "scope", title: t("scope"), wide: true, cell: (x) => el("span", { title: x.scope }, x.scope ? shortScope(x.scope) : "–"), text: (x) => x.scope },
    { key: "bar", title: t("part"), cell: (x) => el("div", { class: "bar", role: "img", "aria-label": x.parts.map((p) => `${partName(p.part)} ${bytes(p.bytes)}`).join(", ") },
      x.parts.map((p) => el("i", { style: `width:${(100 * p.bytes) / most}%;background:${partColour(p.part)}`, title: `${partName(p.part)} ${bytes(p.bytes)}` }))) },
    { key: "size", title: t("size"), right: true, cell: (x) => bytes(x.bytes), value: (x) => x.bytes },
    { key: "share", title: t("share"), right: true, cell: (x) => percent(x.bytes, memoryClass.used_peak_bytes), value: (x) => x.bytes },
  ], { label: t("layers"), search: many, piece: 16 }).element;
  const element = many ? el("div", {}, el("p", { class: "note" }, t("layerHelp")), chart.element,
    el("details", { class: "fold" }, el("summary", {}, `${t("asTable")} (${whole(layers.length)})`), table)) : table;
  return { element, redraw: () => { if (chart) chart.redraw(); } };
}

export function breakdownBar(memoryClass) {
  const parts = PARTS.map((name) => memoryClass.breakdown.find((p) => p.part === name)).filter((p) => p && p.bytes > 0);
  const all = memoryClass.used_peak_bytes;
  return el("div", { class: "breakdown" },
    el("div", { class: "bar tall", role: "img", "aria-label": parts.map((p) => `${partName(p.part)} ${bytes(p.bytes)}`).join(", ") },
      parts.map((p) => el("i", { style: `width:${(100 * p.bytes) / all}%;background:${partColour(p.part)}`, title: `${partName(p.part)} ${bytes(p.bytes)} · ${percent(p.bytes, all)}` }))),
    el("ul", { class: "legend figures" }, [...parts].sort((a, b) => b.bytes - a.bytes).map((p) => el("li", {},
      el("i", { style: `background:${partColour(p.part)}` }), partName(p.part), " ", el("b", {}, bytes(p.bytes)), " ", el("small", {}, percent(p.bytes, all))))));
}

/** Strategies of operators that differ only in the number of their layer, as one row with their count. */
function alike(strategies) {
  const rows = new Map();
  for (const item of strategies) {
    const cut = item.operator.lastIndexOf("/");
    const name = item.operator.slice(cut + 1);
    const scope = item.operator.slice(0, Math.max(cut, 0)).replace(/(^|\/)\d+-/g, "$1*-");
    const key = [scope, name, item.strategy, item.device_matrix.join(), item.source, shortPlace(item.place)].join("|");
    const row = rows.get(key);
    if (row) row.count += 1;
    else rows.set(key, { ...item, scope, name, count: 1 });
  }
  return [...rows.values()];
}

export function strategiesView(summary) {
  return longTable(alike(summary.strategies), [
    { key: "operator", title: t("operator"), wide: true, cell: (s) => [el("b", {}, s.name), s.count > 1 ? el("span", { class: "times", title: `${whole(s.count)} ${t("alike")}` }, `× ${whole(s.count)}`) : null, el("div", { class: "path" }, s.scope)],
      value: (s) => s.operator, text: (s) => `${s.operator} ${s.scope}` },
    { key: "strategy", wrap: true, title: t("strategy"), cell: (s) => el("code", {}, s.strategy), text: (s) => s.strategy },
    { key: "matrix", wrap: true, title: t("deviceMatrix"), cell: (s) => el("code", {}, `(${s.device_matrix.join(", ")})`), text: (s) => `(${s.device_matrix.join(", ")})` },
    { key: "source", title: t("decided"), cell: (s) => el("span", { class: `tag ${s.source}` }, s.source), value: (s) => s.source, text: (s) => s.source },
    { key: "line", title: t("line"), cell: (s) => placeElement(s.place), value: (s) => shortPlace(s.place), text: (s) => `${shortPlace(s.place)} ${s.place ? s.place.text : ""}` },
  ], { label: t("strategies"), search: true, piece: 20 }).element;
}

function excerptFor(place, excerpts) {
  const found = place && excerpts.find((e) => e.file === place.file && e.first_line <= place.line && place.line < e.first_line + e.lines.length);
  if (!found) return place && place.text ? el("pre", { class: "excerpt" }, el("span", { class: "hit" }, `${place.line}  ${place.text}`)) : null;
  return el("pre", { class: "excerpt" }, found.lines.map((line, i) => {
    const number = found.first_line + i;
    return el("span", { class: number === place.line ? "hit" : null }, `${String(number).padStart(5)}  ${line}\n`);
  }));
}

export function problemsView(run) {
  const { error, diagnostics } = run.summary;
  const list = [];
  if (error) {
    list.push(el("article", { class: "problem bad" }, el("h3", {}, error.reason || error.code),
      el("p", {}, error.message), el("p", {}, placeElement(error.place)), excerptFor(error.place, run.excerpts),
      error.hint ? el("p", {}, el("b", {}, `${t("hint")}: `), error.hint) : null,
      error.notes.map((note) => el("p", { class: "note" }, note))));
  }
  for (const d of diagnostics) {
    list.push(el("article", { class: `problem${d.unsupported ? " warn" : ""}` },
      el("h3", {}, d.code, " ", d.unsupported ? el("span", { class: "tag" }, t("unsupported")) : null, d.count > 1 ? el("small", {}, ` ${whole(d.count)} ${t("times")}`) : null),
      el("p", {}, d.text), d.place ? el("p", {}, placeElement(d.place)) : null, excerptFor(d.place, run.excerpts)));
  }
  return list.length ? list : [el("p", { class: "note" }, t("none"))];
}

export function aboutView(run) {
  const { summary, memory } = run;
  const word = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const command = ["msrun", ...summary.run.flags.map((f) => word(`--${f}`)), word(summary.run.subject), ...summary.run.arguments.map(word)].join(" ");
  const rows = [
    [t("again"), el("code", {}, command)], [t("runId"), summary.run.id], [t("script"), `${summary.run.subject}  sha256 ${summary.run.subject_sha256.slice(0, 16)}…`],
    [t("release"), `${summary.checked.compat} (${summary.checked.compat_from})`],
    ["Drydock", summary.drydock_version], [t("files"), summary.files.join(", ")],
    [t("notModelled"), memory ? memory.not_modelled.join("; ") : ""],
  ].filter(([, value]) => value);
  return [
    el("dl", { class: "facts wide" }, rows.map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)])),
    el("details", {}, el("summary", {}, t("licences")), el("pre", { class: "licences" }, document.getElementById("drydock-licences").textContent)),
  ];
}
