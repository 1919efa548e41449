// When what runs: pipeline and streams; where the time goes.
import { bytes, cssColour, el, percent, placeElement, seconds, shortPlace, shortScope, whole } from "./dom.js";
import { longTable, smallTable } from "./table.js";
import { t } from "./text.js";

const ROW = 20;
const COLOURS = { forward: "--phase-forward", backward: "--phase-backward", optimizer: "--phase-optimizer" };

function gantt(lanes, end) {
  const canvas = el("canvas", { role: "img", "aria-label": t("time") });
  const facts = el("p", { class: "status", role: "status" }, " ");
  const label = (lane) => `${t("stage")} ${lane.stage} · ${lane.stream}`;
  const height = lanes.length * (ROW + 3) + 24;
  const left = 150;
  let width = 0;
  const xOf = (time) => left + ((width - left - 10) * time) / end;
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "12px system-ui, sans-serif";
    lanes.forEach((lane, i) => {
      const y = i * (ROW + 3);
      context.textAlign = "left";
      context.fillStyle = cssColour("--muted");
      context.fillText(label(lane), 2, y + 14);
      context.fillStyle = cssColour("--panel-2");
      context.fillRect(left, y, width - left - 10, ROW);
      context.textAlign = "center";
      lane.start_seconds.forEach((start, k) => {
        const x = xOf(start);
        const w = Math.max(xOf(lane.end_seconds[k]) - x, 0.7);
        context.fillStyle = cssColour(COLOURS[lane.phase[k]]);
        context.globalAlpha = lane.micro_batch[k] % 2 === 1 ? 0.78 : 1;
        context.fillRect(x, y, w > 3 ? w - 0.5 : w, ROW);
        context.globalAlpha = 1;
        if (w > 18 && lane.micro_batch[k] >= 0) {
          context.fillStyle = cssColour("--on-part");
          context.fillText(String(lane.micro_batch[k]), x + w / 2, y + 14);
        }
      });
    });
    context.fillStyle = cssColour("--muted");
    for (let i = 0; i <= 5; i += 1) {
      context.textAlign = i === 0 ? "left" : i === 5 ? "right" : "center";
      context.fillText(seconds((end * i) / 5), xOf((end * i) / 5), height - 6);
    }
  }
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - box.top) / (ROW + 3))];
    const time = ((event.clientX - box.left - left) / (width - left - 10)) * end;
    const k = lane ? lane.start_seconds.findIndex((start, i) => start <= time && time <= lane.end_seconds[i]) : -1;
    facts.textContent = k < 0 ? " " : `${label(lane)} · ${t(lane.phase[k])}${lane.micro_batch[k] >= 0 ? ` · ${t("microBatch")} ${lane.micro_batch[k]}` : ""} · ${whole(lane.kernels[k])} ${t("kernels")} · ${seconds(lane.start_seconds[k])} – ${seconds(lane.end_seconds[k])}`;
  });
  const holder = el("div", { class: "gantt" }, canvas);
  new ResizeObserver(() => {
    if (holder.clientWidth > 0 && holder.clientWidth !== width) {
      width = holder.clientWidth;
      draw();
    }
  }).observe(holder);
  return { element: el("div", {}, holder, el("ul", { class: "legend" }, Object.entries(COLOURS).map(([phase, colour]) =>
    el("li", {}, el("i", { style: `background:var(${colour})` }), t(phase)))), facts), redraw: () => { if (width) draw(); } };
}

export function timelineView(run) {
  const line = run.timeline;
  const chart = run.profile && run.profile.lanes.length ? gantt(run.profile.lanes, line.step_seconds) : null;
  const share = (value) => percent(value, line.step_seconds);
  const classes = smallTable(t("classes"), [t("ranks"), t("stage"), t("busy"), t("exposed"), t("bubble")],
    line.classes.map((c) => [c.ranks, c.stage, `${seconds(c.busy_seconds)} · ${share(c.busy_seconds)}`, `${seconds(c.exposed_seconds)} · ${share(c.exposed_seconds)}`, `${seconds(c.bubble_seconds)} · ${share(c.bubble_seconds)}`]), [1, 2, 3, 4]);
  const transfers = longTable(line.transfers, [
    { key: "kind", title: t("kind"), cell: (x) => el("b", {}, x.kind), value: (x) => x.kind, text: (x) => `${x.kind} ${x.level} ${x.algorithm}` },
    { key: "level", title: t("link"), cell: (x) => `${x.level} · ${x.algorithm}`, value: (x) => x.level },
    { key: "size", title: t("groupSize"), right: true, cell: (x) => whole(x.group_size), value: (x) => x.group_size },
    { key: "count", title: t("count"), right: true, cell: (x) => whole(x.count), value: (x) => x.count },
    { key: "bytes", title: t("sent"), right: true, cell: (x) => bytes(Math.round(x.bytes)), value: (x) => x.bytes },
    { key: "seconds", title: t("time"), right: true, cell: (x) => seconds(x.seconds), value: (x) => x.seconds },
    { key: "exposed", title: t("exposed"), right: true, cell: (x) => seconds(x.exposed_seconds), value: (x) => x.exposed_seconds },
  ], { label: t("communication"), sort: { key: "exposed", down: true }, piece: 10 }).element;
  const scopes = longTable(line.scopes, [
    { key: "scope", title: t("scope"), wide: true, cell: (x) => el("span", { title: x.scope }, shortScope(x.scope)), text: (x) => x.scope },
    { key: "seconds", title: t("time"), right: true, cell: (x) => seconds(x.seconds), value: (x) => x.seconds },
  ], { label: t("scope"), search: true, sort: { key: "seconds", down: true }, piece: 10 }).element;
  const path = longTable(line.critical_path, [
    { key: "operator", title: t("operator"), wide: true, cell: (x) => x.operator, text: (x) => x.operator },
    { key: "count", title: t("count"), right: true, cell: (x) => whole(x.count), value: (x) => x.count },
    { key: "line", title: t("line"), cell: (x) => placeElement(x.place), value: (x) => shortPlace(x.place), text: (x) => shortPlace(x.place) },
    { key: "seconds", title: t("time"), right: true, cell: (x) => seconds(x.seconds), value: (x) => x.seconds },
    { key: "share", title: t("share"), right: true, cell: (x) => share(x.seconds), value: (x) => x.seconds },
  ], { label: t("criticalPath"), search: true, sort: { key: "seconds", down: true }, piece: 12 }).element;
  return {
    element: el("div", {}, el("p", { class: "note" }, `${line.hardware.name}: ${line.hardware.description}`),
      chart ? chart.element : null, classes, el("h3", {}, t("criticalPath")), path,
      el("div", { class: "columns" }, el("div", {}, el("h3", {}, t("communication")), transfers), el("div", {}, el("h3", {}, t("scope")), scopes)),
      el("p", { class: "note" }, `${t("notModelled")}: ${line.not_modelled.join("; ")}`)),
    redraw: () => { if (chart) chart.redraw(); },
  };
}

/** The card of the verdict. */
timelineView.card = (line, card) => card(t("stepTime"), seconds(line.step_seconds),
  `MFU ${(100 * line.model_utilisation).toFixed(1)} % · ${t("busy")} ${(100 * line.busy_share).toFixed(0)} % · ${line.hardware.name}`);
