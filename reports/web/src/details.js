// Tensors, layers, strategies, diagnostics, and what the run was.
import { bytes, el, PARTS, partColour, percent, placeElement, shortPlace, shortScope, whole } from "./dom.js";
import { longTable } from "./table.js";
import { t } from "./text.js";

function lifetime(tensor, profile, state) {
  const last = Math.max(profile.kernel_count - 1, 1);
  const from = (100 * Math.max(tensor.first_kernel, 0)) / last;
  const to = (100 * Math.max(tensor.last_kernel, 0)) / last;
  return el("div", { class: "life", title: `${t("kernel")} ${tensor.first_kernel}–${tensor.last_kernel}` },
    el("i", { style: `left:${Math.min(from, 99)}%;width:${Math.max(to - from, 1)}%;background:${partColour(tensor.part)}` }),
    el("b", { style: `left:${(100 * profile.kernels[state.moment].kernel) / last}%` }));
}

export function tensorsView(profile, state) {
  const box = el("input", { type: "checkbox", id: "alive-only" });
  const isAlive = (tensor) => {
    const kernel = profile.kernels[state.moment].kernel;
    return tensor.first_kernel <= kernel && kernel <= tensor.last_kernel;
  };
  const table = longTable(profile.tensors, [
    { key: "name", title: t("name"), wide: true, cell: (x) => [el("i", { class: "dot", style: `background:${partColour(x.part)}` }), x.name], value: (x) => x.name, text: (x) => x.name },
    { key: "size", title: t("size"), right: true, cell: (x) => bytes(x.bytes), value: (x) => x.bytes },
    { key: "part", title: t("part"), cell: (x) => x.part, value: (x) => x.part, text: (x) => x.part },
    { key: "shape", title: t("shape"), cell: (x) => x.tensor, value: (x) => x.tensor, text: (x) => x.tensor },
    { key: "life", title: t("lifetime"), cell: (x) => lifetime(x, profile, state), value: (x) => x.last_kernel - x.first_kernel },
    { key: "scope", title: t("scope"), cell: (x) => el("span", { title: x.operator }, shortScope(x.scope)), value: (x) => x.scope, text: (x) => `${x.scope} ${x.operator}` },
    { key: "line", title: t("line"), cell: (x) => placeElement(x.place), value: (x) => shortPlace(x.place), text: (x) => shortPlace(x.place) },
  ], { label: t("tensors"), search: true, sort: { key: "size", down: true }, piece: 20, keep: (x) => !box.checked || isAlive(x),
    extra: el("label", { for: "alive-only" }, box, " ", t("aliveOnly")) });
  box.addEventListener("change", table.draw);
  state.on(table.draw);
  return table.element;
}

/** One bar for each layer, coloured by kind. */
export function layersView(memoryClass) {
  const layers = memoryClass.by_layer.filter((layer) => layer.bytes > 0);
  const most = Math.max(...layers.map((layer) => layer.bytes), 1);
  return longTable(layers, [
    { key: "scope", title: t("scope"), wide: true, cell: (x) => el("span", { title: x.scope }, x.scope ? shortScope(x.scope) : "–"), text: (x) => x.scope },
    { key: "bar", title: t("part"), cell: (x) => el("div", { class: "bar", role: "img", "aria-label": x.parts.map((p) => `${p.part} ${bytes(p.bytes)}`).join(", ") },
      x.parts.map((p) => el("i", { style: `width:${(100 * p.bytes) / most}%;background:${partColour(p.part)}`, title: `${p.part} ${bytes(p.bytes)}` }))) },
    { key: "size", title: t("size"), right: true, cell: (x) => bytes(x.bytes), value: (x) => x.bytes },
    { key: "share", title: t("share"), right: true, cell: (x) => percent(x.bytes, memoryClass.used_peak_bytes), value: (x) => x.bytes },
  ], { label: t("layers"), search: layers.length > 12, piece: 16 }).element;
}

export function breakdownBar(memoryClass) {
  const parts = PARTS.map((name) => memoryClass.breakdown.find((p) => p.part === name)).filter((p) => p && p.bytes > 0);
  const all = memoryClass.used_peak_bytes;
  return el("div", { class: "breakdown" },
    el("div", { class: "bar tall", role: "img", "aria-label": parts.map((p) => `${p.part} ${bytes(p.bytes)}`).join(", ") },
      parts.map((p) => el("i", { style: `width:${(100 * p.bytes) / all}%;background:${partColour(p.part)}`, title: `${p.part} ${bytes(p.bytes)} · ${percent(p.bytes, all)}` }))),
    el("ul", { class: "legend figures" }, [...parts].sort((a, b) => b.bytes - a.bytes).map((p) => el("li", {},
      el("i", { style: `background:${partColour(p.part)}` }), p.part, " ", el("b", {}, bytes(p.bytes)), " ", el("small", {}, percent(p.bytes, all))))));
}

export function strategiesView(summary) {
  const scopeOf = (s) => s.operator.slice(0, s.operator.lastIndexOf("/"));
  return longTable(summary.strategies, [
    { key: "operator", title: t("operator"), wide: true, cell: (s) => [el("b", {}, s.operator.slice(s.operator.lastIndexOf("/") + 1)), el("div", { class: "path" }, scopeOf(s))],
      value: (s) => s.operator, text: (s) => s.operator },
    { key: "strategy", title: t("strategy"), cell: (s) => el("code", {}, s.strategy), text: (s) => s.strategy },
    { key: "matrix", title: t("deviceMatrix"), cell: (s) => el("code", {}, `(${s.device_matrix.join(", ")})`), text: (s) => `(${s.device_matrix.join(", ")})` },
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
  const rows = [
    [t("runId"), summary.run.id], [t("script"), `${summary.run.subject}  sha256 ${summary.run.subject_sha256.slice(0, 16)}…`],
    [t("arguments"), summary.run.arguments.join(" ")], [t("flags"), summary.run.flags.map((f) => `--${f}`).join(" ")],
    [t("release"), `${summary.checked.compat} (${summary.checked.compat_from})`],
    ["Drydock", summary.drydock_version], [t("files"), summary.files.join(", ")],
    [t("notModelled"), memory ? memory.not_modelled.join("; ") : ""],
  ].filter(([, value]) => value);
  return [
    el("dl", { class: "facts wide" }, rows.map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)])),
    el("details", {}, el("summary", {}, t("licences")), el("pre", { class: "licences" }, document.getElementById("drydock-licences").textContent)),
  ];
}
