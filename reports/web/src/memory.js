// Memory over the step: stacked by kind, with a cursor that names kernel, operator and line.
import uPlot from "uplot";
import { bytes, cssColour, el, PARTS, partColour, placeElement, shortPlace, whole } from "./dom.js";
import { partName, t } from "./text.js";

const HEIGHT = 340;
const STRIP = 7;

/** Index of the kernel shown at or before `kernel`. */
export function positionOf(profile, kernel) {
  let low = 0;
  let high = profile.kernels.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (profile.kernels[middle].kernel <= kernel) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Bytes in use at each shown kernel. */
export function totals(profile) {
  return profile.kernels.map((_, i) => profile.parts.reduce((sum, part) => sum + part.bytes[i], 0));
}

function readout(profile, at) {
  const kernel = profile.kernels[at];
  if (!kernel) return [el("p", {}, t("preparation"))];
  const sum = profile.parts.reduce((total, part) => total + part.bytes[at], 0);
  const parts = profile.parts.filter((part) => part.bytes[at] > 0)
    .sort((a, b) => b.bytes[at] - a.bytes[at]);
  return [
    el("p", { class: "big" }, bytes(sum), el("small", {}, ` ${t("inUse")}`)),
    el("dl", { class: "facts" },
      el("dt", {}, t("kernel")), el("dd", {}, `${whole(kernel.kernel)} ${t("of")} ${whole(profile.kernel_count)} · ${kernel.kind}`),
      el("dt", {}, t("operator")), el("dd", { class: "path" }, kernel.operator),
      el("dt", {}, t("phase")), el("dd", {}, t(kernel.phase)),
      kernel.place ? [el("dt", {}, t("line")), el("dd", {}, placeElement(kernel.place), el("code", { class: "source" }, kernel.place.text))] : null),
    el("ul", { class: "amounts" }, parts.map((part) => el("li", {},
      el("i", { style: `background:${partColour(part.part)}` }), el("span", {}, partName(part.part)), el("b", {}, bytes(part.bytes[at]))))),
  ];
}

function phaseStrip(profile) {
  const colours = { forward: "--phase-forward", backward: "--phase-backward", optimizer: "--phase-optimizer" };
  return (u) => {
    const { ctx, bbox } = u;
    const ratio = window.devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (let i = 0; i < profile.kernels.length;) {
      let end = i;
      while (end + 1 < profile.kernels.length && profile.kernels[end + 1].phase === profile.kernels[i].phase) end += 1;
      const from = u.valToPos(profile.kernels[i].kernel, "x", true);
      const to = u.valToPos(end + 1 < profile.kernels.length ? profile.kernels[end + 1].kernel : profile.kernels[end].kernel + 1, "x", true);
      ctx.fillStyle = cssColour(colours[profile.kernels[i].phase] || "--muted");
      ctx.fillRect(from, bbox.top + bbox.height - STRIP * ratio, Math.max(to - from, 0.5), STRIP * ratio);
      i = end + 1;
    }
    ctx.restore();
  };
}

function limitLine(limit) {
  return (u) => {
    const y = u.valToPos(limit, "y", true);
    const { ctx, bbox } = u;
    if (!(y > bbox.top && y < bbox.top + bbox.height)) return;
    ctx.save();
    ctx.strokeStyle = cssColour("--bad");
    ctx.fillStyle = cssColour("--bad");
    ctx.lineWidth = 1.5 * (window.devicePixelRatio || 1);
    ctx.setLineDash([8, 5]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.font = `${12 * (window.devicePixelRatio || 1)}px system-ui, sans-serif`;
    const label = `${t("limit")} ${bytes(limit)}`;
    const ratio = window.devicePixelRatio || 1;
    const wide = ctx.measureText(label).width;
    ctx.fillStyle = cssColour("--panel");
    ctx.globalAlpha = 0.85;
    ctx.fillRect(bbox.left + 4 * ratio, y - 18 * ratio, wide + 8 * ratio, 16 * ratio);
    ctx.globalAlpha = 1;
    ctx.fillStyle = cssColour("--bad");
    ctx.fillText(label, bbox.left + 8 * ratio, y - 6 * ratio);
    ctx.restore();
  };
}

/**
 * state: {moment: index into profile.kernels, on(listener), choose(index)}; options: {limit, top (largest y), id}
 */
export function memoryChart(profile, state, options) {
  const x = profile.kernels.map((kernel) => kernel.kernel);
  const ordered = PARTS.filter((name) => profile.parts.some((part) => part.part === name))
    .map((name) => profile.parts.find((part) => part.part === name));
  // Painted from the whole stack down to the lowest kind, each over the one before.
  const sums = [];
  let sum = new Array(x.length).fill(0);
  for (const part of ordered) {
    sum = sum.map((value, i) => value + part.bytes[i]);
    sums.push(sum);
  }
  const highest = Math.max(...sum);
  const limit = options.limit && options.limit < highest * 2.2 ? options.limit : 0;
  const top = Math.max(options.top || 0, highest, limit) * 1.06;
  const holder = el("div", { class: "chart", tabindex: "0", role: "slider", "aria-label": `${t("memory")}, ${profile.ranks}`,
    "aria-valuemin": 0, "aria-valuemax": x.length - 1 });
  const panel = el("div", { class: "readout" });
  let at = state.moment;
  const stepped = uPlot.paths.stepped({ align: 1 });
  let plot = null;

  function show(index) {
    at = Math.max(0, Math.min(index, x.length - 1));
    panel.replaceChildren(...readout(profile, at));
    const kernel = profile.kernels[at];
    holder.setAttribute("aria-valuenow", at);
    holder.setAttribute("aria-valuetext", kernel ? `${t("kernel")} ${kernel.kernel}, ${kernel.operator}, ${shortPlace(kernel.place)}, ${bytes(sum[at])}` : "");
  }
  function marker(u) {
    const left = u.valToPos(x[state.moment], "x", true);
    u.ctx.save();
    u.ctx.strokeStyle = cssColour("--text");
    u.ctx.lineWidth = 2 * (window.devicePixelRatio || 1);
    u.ctx.beginPath();
    u.ctx.moveTo(left, u.bbox.top);
    u.ctx.lineTo(left, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.restore();
  }
  function draw() {
    if (plot) plot.destroy();
    const axis = { stroke: cssColour("--muted"), grid: { stroke: cssColour("--grid"), width: 1 }, ticks: { stroke: cssColour("--grid"), width: 1 }, font: "12px system-ui, sans-serif" };
    plot = new uPlot({
      width: Math.max(holder.clientWidth, 260),
      height: HEIGHT,
      legend: { show: false },
      scales: { x: { time: false }, y: { range: [0, top] } },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
      axes: [
        { ...axis, label: t("kernel"), labelFont: "12px system-ui, sans-serif", labelSize: 20, size: 34, values: (_, ticks) => ticks.map((v) => (Number.isInteger(v) ? whole(v) : "")) },
        { ...axis, size: 80, values: (_, ticks) => ticks.map((v) => (v === 0 ? "0" : bytes(v))), splits: () => ticksUpTo(top) },
      ],
      series: [{}, ...ordered.map((_, i) => ordered.length - 1 - i).map((i) => ({
        label: ordered[i].part, fill: cssColour(`--part-${PARTS.indexOf(ordered[i].part)}`), width: 0, paths: stepped, points: { show: false } }))],
      hooks: {
        draw: [phaseStrip(profile), limit ? limitLine(limit) : () => {}, marker],
        setCursor: [(u) => { if (u.cursor.idx !== null && u.cursor.idx !== undefined && u.cursor.left >= 0) show(u.cursor.idx); }],
      },
    }, [x, ...[...sums].reverse()], holder);
    let down = null;
    plot.over.addEventListener("mousedown", (event) => { down = event.clientX; });
    plot.over.addEventListener("click", (event) => {
      if (down !== null && Math.abs(event.clientX - down) < 4) state.choose(at);
    });
    plot.over.addEventListener("mouseleave", () => show(state.moment));
  }
  holder.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -Math.ceil(x.length / 20), PageDown: Math.ceil(x.length / 20), Home: -x.length, End: x.length };
    if (event.key in steps) {
      show(at + steps[event.key]);
      plot.setCursor({ left: plot.valToPos(x[at], "x"), top: 10 });
      event.preventDefault();
    } else if (event.key === "Enter" || event.key === " ") {
      state.choose(at);
      event.preventDefault();
    }
  });
  state.on(() => {
    show(state.moment);
    if (plot) plot.redraw(false);
  });
  new ResizeObserver(() => {
    if (holder.clientWidth > 0 && (!plot || Math.abs(plot.width - holder.clientWidth) > 1)) draw();
  }).observe(holder);
  show(at);
  return { chart: holder, readout: panel, redraw: () => { if (holder.clientWidth > 0) draw(); } };
}

/** Ticks at whole multiples of a power of two of a unit. */
function ticksUpTo(top) {
  let step = 1;
  while (top / step > 6) step *= 2;
  const ticks = [];
  for (let value = 0; value <= top; value += step) ticks.push(value);
  return ticks;
}
