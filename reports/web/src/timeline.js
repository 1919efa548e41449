// When what runs: pipeline and streams; where the time goes.
import { average, bytes, cssColour, el, percent, placeElement, seconds, shortPlace, shortScope, textOn, whole } from "./dom.js";
import { longTable, smallTable } from "./table.js";
import { t } from "./text.js";
import { tipsOf } from "./tip.js";

const ROW = 18;
const THIN = 4;
const GAP = 7;
const COLOURS = { forward: "--phase-forward", backward: "--phase-backward", optimizer: "--phase-optimizer" };

/** Lanes with the place they are drawn at: the computation of a stage, its transfers as thin rows below. */
function placed(lanes) {
  const list = [];
  let y = 0;
  let before = null;
  for (const lane of lanes) {
    if (before && before.stage !== lane.stage) y += GAP;
    const thin = lane.stream !== "computation";
    list.push({ lane, y, height: thin ? THIN : ROW, thin });
    y += (thin ? THIN : ROW) + 1;
    before = lane;
  }
  return { list, height: y };
}

function gantt(lanes, end) {
  const canvas = el("canvas", { role: "img", "aria-label": t("time") });
  const facts = el("p", { class: "hidden", role: "status" }, " ");
  const { list, height: drawn } = placed(lanes);
  const height = drawn + 26;
  const left = 84;
  let width = 0;
  const xOf = (time) => left + ((width - left - 10) * time) / end;
  function drawLane(context, { lane, y, height: tall, thin }) {
    context.fillStyle = cssColour("--panel-2");
    context.fillRect(left, y, width - left - 10, tall);
    if (!thin) {
      context.textAlign = "left";
      context.fillStyle = cssColour("--muted");
      context.fillText(`${t("stage")} ${lane.stage}`, 0, y + 13);
    }
    context.textAlign = "center";
    lane.start_seconds.forEach((start, k) => {
      const x = xOf(start);
      const w = Math.max(xOf(lane.end_seconds[k]) - x, 0.6);
      const colour = cssColour(COLOURS[lane.phase[k]]);
      context.fillStyle = colour;
      context.globalAlpha = lane.micro_batch[k] % 2 === 1 ? 0.78 : 1;
      context.fillRect(x, y, w > 3 ? w - 0.5 : w, tall);
      context.globalAlpha = 1;
      if (!thin && w > 15 && lane.micro_batch[k] >= 0) {
        context.fillStyle = textOn(colour);
        context.fillText(String(lane.micro_batch[k]), x + w / 2, y + 13);
      }
    });
  }
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "12px system-ui, sans-serif";
    list.forEach((item) => drawLane(context, item));
    context.fillStyle = cssColour("--muted");
    const ticks = width < 560 ? 2 : 5;
    for (let i = 0; i <= ticks; i += 1) {
      context.textAlign = i === 0 ? "left" : i === ticks ? "right" : "center";
      context.fillText(i === 0 ? "0" : seconds((end * i) / ticks), xOf((end * i) / ticks), height - 6);
    }
  }
  tipsOf(canvas, (event) => {
    const box = canvas.getBoundingClientRect();
    const y = event.clientY - box.top;
    const time = ((event.clientX - box.left - left) / (width - left - 10)) * end;
    const found = list.find((item) => item.y <= y && y < item.y + item.height + 1);
    if (!found || time < 0) return null;
    const { lane } = found;
    const name = `${t("stage")} ${lane.stage} · ${lane.stream}`;
    const k = lane.start_seconds.findIndex((start, i) => start <= time && time <= lane.end_seconds[i]);
    if (k < 0) return [name];
    return [name, `${t(lane.phase[k])}${lane.micro_batch[k] >= 0 ? ` · ${t("microBatch")} ${lane.micro_batch[k]}` : ""} · ${whole(lane.kernels[k])} ${t("kernels")}`,
      `${seconds(lane.start_seconds[k])} – ${seconds(lane.end_seconds[k])}`];
  }, facts);
  const holder = el("div", { class: "gantt" }, canvas);
  new ResizeObserver(() => {
    if (holder.clientWidth > 0 && holder.clientWidth !== width) {
      width = holder.clientWidth;
      draw();
    }
  }).observe(holder);
  return { element: el("div", {}, holder, el("ul", { class: "legend" }, Object.entries(COLOURS).map(([phase, colour]) =>
    el("li", {}, el("i", { style: `background:var(${colour})` }), t(phase))), el("li", { class: "note" }, t("streams"))), facts),
  redraw: () => { if (width) draw(); } };
}

const USES = [["busy", "busy_seconds", "var(--part-5)"], ["exposed", "exposed_seconds", "var(--part-7)"], ["bubble", "bubble_seconds", "var(--line)"]];

/** Of each class of ranks: busy, waiting for transfers, waiting for other stages. */
function usesTable(line) {
  const share = (value) => percent(value, line.step_seconds);
  const bar = (c) => el("div", { class: "bar", role: "img", "aria-label": USES.map(([name, key]) => `${t(name)} ${share(c[key])}`).join(", ") },
    USES.map(([name, key, colour]) => el("i", { style: `width:${(100 * c[key]) / line.step_seconds}%;background:${colour}`, title: `${t(name)} ${seconds(c[key])} · ${share(c[key])}` })));
  const dot = ([name, , colour]) => [el("i", { class: "dot", style: `background:${colour}` }), t(name)];
  return smallTable(t("classes"), [t("ranks"), t("whereTimeGoes"), ...USES.map(dot)],
    line.classes.map((c) => [line.classes.length > 1 ? `${c.ranks} · ${t("stage")} ${c.stage}` : c.ranks, bar(c),
      ...USES.map(([, key]) => `${seconds(c[key])} · ${share(c[key])}`)]), [2, 3, 4]);
}

export function timelineView(run) {
  const line = run.timeline;
  const chart = run.profile && run.profile.lanes.length ? gantt(run.profile.lanes, line.step_seconds) : null;
  const share = (value) => percent(value, line.step_seconds);
  const transfers = longTable(line.transfers, [
    { key: "kind", title: t("kind"), cell: (x) => el("b", {}, x.kind), value: (x) => x.kind, text: (x) => `${x.kind} ${x.level} ${x.algorithm}` },
    { key: "level", title: t("link"), cell: (x) => `${x.level} · ${x.algorithm}`, value: (x) => x.level },
    { key: "size", title: t("groupSize"), right: true, cell: (x) => whole(x.group_size), value: (x) => x.group_size },
    { key: "count", title: t("count"), right: true, cell: (x) => average(x.count), value: (x) => x.count },
    { key: "bytes", title: t("sent"), right: true, cell: (x) => bytes(Math.round(x.bytes)), value: (x) => x.bytes },
    { key: "seconds", title: t("time"), right: true, cell: (x) => seconds(x.seconds), value: (x) => x.seconds },
    { key: "exposed", title: t("exposed"), right: true, cell: (x) => seconds(x.exposed_seconds), value: (x) => x.exposed_seconds },
  ], { label: t("linksTitle"), sort: { key: "exposed", down: true }, piece: 10 }).element;
  const scopes = longTable(line.scopes, [
    { key: "scope", title: t("scope"), wide: true, cell: (x) => el("span", { title: x.scope }, shortScope(x.scope)), text: (x) => x.scope },
    { key: "seconds", title: t("time"), right: true, cell: (x) => seconds(x.seconds), value: (x) => x.seconds },
    { key: "share", title: t("share"), right: true, cell: (x) => share(x.seconds), value: (x) => x.seconds },
  ], { label: t("scopesTitle"), search: true, sort: { key: "seconds", down: true }, piece: 10 }).element;
  const most = Math.max(...line.critical_path.map((x) => x.seconds), 1e-12);
  const path = longTable(line.critical_path, [
    { key: "operator", title: t("operator"), cell: (x) => [el("i", { class: "dot", style: `background:var(${x.transfer ? "--part-7" : "--part-5"})` }), el("b", {}, x.operator)], text: (x) => x.operator },
    { key: "stage", title: t("stage"), right: true, cell: (x) => whole(x.stage), value: (x) => x.stage },
    { key: "line", title: t("line"), cell: (x) => placeElement(x.place), value: (x) => shortPlace(x.place), text: (x) => shortPlace(x.place) },
    { key: "count", title: t("count"), right: true, cell: (x) => whole(x.count), value: (x) => x.count },
    { key: "bar", title: "", cell: (x) => el("div", { class: "bar", "aria-hidden": "true" }, el("i", { style: `width:${(100 * x.seconds) / most}%;background:var(${x.transfer ? "--part-7" : "--part-5"})` })) },
    { key: "seconds", title: t("time"), right: true, cell: (x) => seconds(x.seconds), value: (x) => x.seconds },
    { key: "share", title: t("share"), right: true, cell: (x) => share(x.seconds), value: (x) => x.seconds },
  ].filter((column) => column.key !== "stage" || line.classes.length > 1), { label: t("criticalPath"), search: true, sort: { key: "seconds", down: true }, piece: 10 }).element;
  return {
    element: el("div", {}, el("p", { class: "note" }, `${line.hardware.name}: ${line.hardware.description}`),
      chart ? chart.element : null, usesTable(line), el("h3", {}, t("criticalPath")), path,
      el("div", { class: "columns" }, el("div", {}, el("h3", {}, t("linksTitle")), transfers), el("div", {}, el("h3", {}, t("scopesTitle")), scopes)),
      el("p", { class: "note" }, `${t("notModelled")}: ${line.not_modelled.join("; ")}`)),
    redraw: () => { if (chart) chart.redraw(); },
  };
}

/** The card of the verdict. */
timelineView.card = (line, card) => card(t("stepTime"), seconds(line.step_seconds),
  `MFU ${(100 * line.model_utilisation).toFixed(1)} % · ${t("busy")} ${(100 * line.busy_share).toFixed(0)} % · ${line.hardware.name}`);
