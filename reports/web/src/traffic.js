// Who sends to whom, and why.
import { bytes, cssColour, el, percent, placeElement, shortPlace, whole } from "./dom.js";
import { longTable, smallTable } from "./table.js";
import { reasonName, t } from "./text.js";
import { tipsOf } from "./tip.js";

const MOST_SQUARES = 64;
const MOST_RANKS = 70000;

/** "0-3,8" or "0-12:4" -> [[0, 3, 1], [8, 8, 1]] */
function ranges(text) {
  return text.split(",").map((part) => {
    const [, first, last, step] = /^(\d+)(?:-(\d+))?(?::(\d+))?$/.exec(part);
    return [Number(first), Number(last || first), Number(step || 1)];
  });
}

const digit = (d, position) => Math.floor(position / d.stride) % d.extent;

/** How far it is in ranks to the member behind a position in the ring of its group. */
function stepToNext(digits, position) {
  let step = 0;
  for (let i = digits.length - 1; i >= 0; i -= 1) {
    const value = digit(digits[i], position);
    if (value + 1 < digits[i].extent) return step + digits[i].stride;
    step -= value * digits[i].stride;
  }
  return step;
}

function membersOf(digits, position) {
  let members = [digits.reduce((lowest, d) => lowest - digit(d, position) * d.stride, position)];
  for (const d of digits) {
    members = members.flatMap((m) => Array.from({ length: d.extent }, (_, i) => m + i * d.stride));
  }
  return members;
}

/** Bytes from block to block of `fold` ranks: {size, fold, cells: Float64Array, largest}. */
export function matrixOf(communication) {
  const world = communication.world_size;
  const perNode = communication.job.devices_per_node || 8;
  let fold = Math.ceil(world / MOST_SQUARES);
  if (fold > 1) fold = Math.ceil(fold / perNode) * perNode;
  const size = Math.ceil(world / fold);
  const cells = new Float64Array(size * size);
  if (world > MOST_RANKS) return null;
  const stageRanks = world / communication.pipeline_stages;
  const patterns = new Map(communication.group_patterns.map((p) => [p.id, p]));
  const sums = new Map();
  for (const c of communication.causes || communication.collectives) {
    if (c.sent_bytes === 0) continue;
    const key = `${c.group}/${c.exchange}/${c.ranks || ""}/${c.distance || 0}`;
    sums.set(key, (sums.get(key) || 0) + c.sent_bytes);
  }
  for (const [key, sent] of sums) {
    const [group, exchange, own, distance] = key.split("/");
    const { digits, of_job: ofJob, size: members } = patterns.get(Number(group));
    for (const [first, last, step] of own ? ranges(own) : [[0, world - 1, 1]]) {
      for (let rank = first; rank <= last; rank += step) {
        const position = ofJob ? rank : rank % stageRanks;
        const row = Math.floor(rank / fold) * size;
        if (exchange === "all") {
          for (const member of membersOf(digits, position)) {
            if (member !== position) cells[row + Math.floor((rank + member - position) / fold)] += sent / (members - 1);
          }
        } else {
          cells[row + Math.floor((rank + (Number(distance) || stepToNext(digits, position))) / fold)] += sent;
        }
      }
    }
  }
  return { size, fold, cells, largest: cells.reduce((a, b) => Math.max(a, b), 0), perNode };
}

export function matrixView(communication) {
  const matrix = matrixOf(communication);
  if (!matrix) return { element: el("p", { class: "note" }, t("none")), redraw() {} };
  const { size, fold, cells, largest, perNode } = matrix;
  const canvas = el("canvas", { role: "img", "aria-label": t("matrix"), "data-sum": String(cells.reduce((a, b) => a + b, 0)) });
  const facts = el("p", { class: "hidden", role: "status" }, " ");
  const name = (i) => (fold === 1 ? String(i) : `${i * fold}–${Math.min((i + 1) * fold, communication.world_size) - 1}`);
  const margin = 44;
  let side = 0;
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = (side + margin) * ratio;
    canvas.height = (side + margin) * ratio;
    canvas.style.width = canvas.style.height = `${side + margin}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const cell = side / size;
    const strong = cssColour("--accent");
    context.fillStyle = cssColour("--panel-2");
    context.fillRect(margin, margin, side, side);
    for (let i = 0; i < size; i += 1) {
      for (let j = 0; j < size; j += 1) {
        const value = cells[i * size + j];
        if (value <= 0) continue;
        context.globalAlpha = 0.18 + 0.82 * Math.sqrt(value / largest);
        context.fillStyle = strong;
        context.fillRect(margin + j * cell, margin + i * cell, Math.max(cell - (cell > 5 ? 1 : 0), 0.8), Math.max(cell - (cell > 5 ? 1 : 0), 0.8));
      }
    }
    context.globalAlpha = 1;
    // Nodes.
    context.strokeStyle = cssColour("--muted");
    context.lineWidth = 0.6;
    const block = Math.max(perNode / fold, 1);
    if (communication.world_size > perNode && block > 1 && side / (size / block) > 6) {
      for (let k = 0; k <= size; k += block) {
        context.strokeRect(margin, margin, k * cell, side);
        context.strokeRect(margin, margin, side, k * cell);
      }
    } else {
      context.strokeRect(margin, margin, side, side);
    }
    context.fillStyle = cssColour("--muted");
    context.font = "11px system-ui, sans-serif";
    const every = Math.ceil(size / 8);
    for (let k = 0; k < size; k += every) {
      context.textAlign = "right";
      context.fillText(String(k * fold), margin - 5, margin + (k + 0.5) * cell + 4);
      context.textAlign = "center";
      context.fillText(String(k * fold), margin + (k + 0.5) * cell, margin - 6);
    }
    context.textAlign = "left";
    context.fillText(`${t("fromRank")} ↓  ${t("toRank")} →`, 2, 11);
  }
  tipsOf(canvas, (event) => {
    const box = canvas.getBoundingClientRect();
    const i = Math.floor(((event.clientY - box.top - margin) / side) * size);
    const j = Math.floor(((event.clientX - box.left - margin) / side) * size);
    return i >= 0 && j >= 0 && i < size && j < size ?
      [`${name(i)} → ${name(j)}`, `${bytes(Math.round(cells[i * size + j]))} ${t("perStep")}`] : null;
  }, facts);
  const holder = el("div", { class: "matrix" }, canvas);
  new ResizeObserver(() => {
    const wanted = Math.min(holder.clientWidth - margin, 460);
    if (wanted > 50 && wanted !== side) {
      side = wanted;
      draw();
    }
  }).observe(holder);
  return { element: el("div", {}, holder, facts, fold > 1 ? el("p", { class: "note" }, `${t("folded")}: ${whole(fold)}`) : null), redraw: () => { if (side) draw(); }, matrix };
}

function meter(label, value, all, colour) {
  return el("div", { class: "meter" }, el("span", {}, label), el("div", { class: "track" },
    el("div", { style: { width: `${all > 0 ? (100 * value) / all : 0}%`, background: colour } })), el("b", {}, `${bytes(value)} · ${percent(value, all)}`));
}

export function trafficSummary(run) {
  const c = run.communication;
  const patterns = new Map(c.group_patterns.map((p) => [p.id, p]));
  const total = c.total.sent_bytes;
  const row = (item) => [item.key, whole(item.count), bytes(item.payload_bytes), bytes(item.sent_bytes), percent(item.sent_bytes, total)];
  const heads = (first) => [first, t("count"), t("payload"), t("sent"), t("share")];
  return [
    el("div", { class: "meters" },
      meter(t("withinNodes"), c.job.intra_node_bytes, c.job.sent_bytes, "var(--part-5)"),
      meter(t("acrossNodes"), c.job.inter_node_bytes, c.job.sent_bytes, "var(--part-6)"),
      el("p", { class: "note" }, `${whole(c.job.nodes)} ${t("nodes")} · ${whole(c.job.devices_per_node)} ${t("devicesPerNode")} · ${bytes(c.job.sent_bytes)}`)),
    el("div", { class: "stack" },
      el("div", {}, el("h3", {}, t("byKind")), smallTable(t("byKind"), heads(t("kind")), c.by_kind.map(row), [1, 2, 3, 4])),
      el("div", {}, el("h3", {}, t("byPhase")), smallTable(t("byPhase"), heads(t("phase")), c.by_phase.map((item) => row({ ...item, key: t(item.key) })), [1, 2, 3, 4])),
      el("div", {}, el("h3", {}, t("byGroup")), smallTable(t("byGroup"), [t("axis"), t("groupSize"), t("count"), t("sent")],
        c.by_axis.map((item, i) => [item.key, whole((patterns.get(i) || {}).size || 0), whole(item.count), bytes(item.sent_bytes)]), [1, 2, 3]))),
  ];
}

/** Causes of all stages: those with the same operator, reason, line and part of the step are one. */
function foldedCauses(communication) {
  const folded = new Map();
  const list = communication.causes || [];
  for (const c of list) {
    const key = [c.kind, c.reason, c.phase, shortPlace(c.place), c.group_size].join("|");
    const all = c.sent_bytes * c.rank_count;
    const cause = folded.get(key);
    if (!cause) {
      folded.set(key, { ...c, all, whys: new Set([c.why]), ranks: c.ranks ? [c.ranks] : [] });
      continue;
    }
    cause.all += all;
    cause.inter_node_bytes += c.inter_node_bytes;
    cause.whys.add(c.why);
    // What a rank issues: of other ranks the most, of the same ones (other groups) the sum.
    const same = c.ranks && cause.ranks.includes(c.ranks);
    if (c.ranks && !same) cause.ranks.push(c.ranks);
    const sum = same || !c.ranks;
    cause.count = sum ? cause.count + c.count : Math.max(cause.count, c.count);
    cause.sent_bytes = sum ? cause.sent_bytes + c.sent_bytes : Math.max(cause.sent_bytes, c.sent_bytes);
  }
  return [...folded.values()];
}

export function causesView(run) {
  const causes = foldedCauses(run.communication);
  const all = run.communication.job.sent_bytes;
  const most = Math.max(...causes.map((c) => c.all), 1);
  const examples = (c) => [...c.whys].filter(Boolean);
  const stages = run.communication.pipeline_stages > 1;
  return longTable(causes, [
    { key: "kind", title: t("kind"), cell: (c) => el("b", {}, c.kind), value: (c) => c.kind, text: (c) => c.kind },
    { key: "reason", title: t("cause"), wide: true, value: (c) => c.reason, text: (c) => `${c.reason} ${reasonName(c.reason)} ${[...c.whys].join(" ")}`,
      cell: (c) => [reasonName(c.reason), examples(c).length === 1 ? el("div", { class: "path" }, examples(c)[0]) :
        examples(c).length ? el("details", { class: "items" }, el("summary", { class: "path" }, `${examples(c)[0]} (+${whole(examples(c).length - 1)})`),
          el("ul", {}, examples(c).slice(0, 200).map((why) => el("li", {}, why)))) : null] },
    { key: "place", title: t("line"), cell: (c) => placeElement(c.place), value: (c) => shortPlace(c.place), text: (c) => `${shortPlace(c.place)} ${c.place ? c.place.text : ""}` },
    { key: "phase", title: t("phase"), cell: (c) => t(c.phase), value: (c) => c.phase, text: (c) => c.phase },
    { key: "ranks", wrap: true, title: t("ranks"), cell: (c) => (c.ranks.length > 2 ? `${c.ranks[0]} … ${c.ranks[c.ranks.length - 1]}` : c.ranks.join(", ")), text: (c) => c.ranks.join(" ") },
    { key: "size", title: t("groupSize"), right: true, cell: (c) => (c.exchange === "message" ? "2" : whole(c.group_size)), value: (c) => c.group_size },
    { key: "count", title: t("count"), right: true, cell: (c) => whole(c.count), value: (c) => c.count },
    { key: "sent", title: t("eachRank"), right: true, cell: (c) => bytes(c.sent_bytes), value: (c) => c.sent_bytes },
    { key: "share", title: t("causeShare"), right: true, value: (c) => c.all,
      cell: (c) => el("div", { class: "share" }, el("div", { class: "bar", "aria-hidden": "true" }, el("i", { style: `width:${(100 * c.all) / most}%;background:var(--accent)` })), percent(c.all, all)) },
  ].filter((column) => column.key !== "ranks" || stages), { label: t("causes"), search: causes.length > 8, sort: { key: "share", down: true }, piece: 20 }).element;
}
