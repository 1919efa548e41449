// Two runs side by side: the figures that decide, and both curves at one scale.
import { bytes, count, el, seconds, whole } from "./dom.js";
import { totals } from "./memory.js";
import { partName, t } from "./text.js";

export const VERDICTS = { ok: "ok", rejected: "rejected", unsupported: "unsupported", failed: "failed", "ranks-disagree": "ranksDisagree", "memory-exceeded": "memoryExceeded" };

const heaviest = (run) => (run.memory ? run.memory.classes[run.memory.heaviest] : null);

function figures(a, b) {
  const rows = [];
  const add = (label, of, form = bytes) => {
    const [x, y] = [of(a), of(b)];
    if (x !== undefined && y !== undefined && x !== null && y !== null) rows.push([label, x, y, form]);
  };
  add(t("peakActual"), (r) => heaviest(r)?.actual_peak_bytes);
  add(t("stepTime"), (r) => r.timeline?.step_seconds, (value) => (value < 0 ? `−${seconds(-value)}` : seconds(value)));
  add(t("peakUsed"), (r) => heaviest(r)?.used_peak_bytes);
  add(t("headRoom"), (r) => heaviest(r)?.head_room_bytes);
  add(t("kept"), (r) => heaviest(r)?.kept_for_backward_bytes);
  const parts = new Set([a, b].flatMap((r) => (heaviest(r)?.breakdown || []).filter((p) => p.bytes > 0).map((p) => p.part)));
  for (const part of parts) {
    add(partName(part), (r) => heaviest(r)?.breakdown.find((p) => p.part === part)?.bytes ?? 0);
  }
  add(t("sentPerRank"), (r) => r.communication?.total.sent_bytes);
  add(t("collectives"), (r) => r.communication?.total.count, whole);
  const kinds = new Set([a, b].flatMap((r) => (r.communication?.by_kind || []).map((k) => k.key)));
  for (const kind of kinds) {
    add(kind, (r) => r.communication?.by_kind.find((k) => k.key === kind)?.sent_bytes ?? 0);
  }
  add(t("betweenNodes"), (r) => r.communication?.job.inter_node_bytes);
  add(t("parameters"), (r) => r.summary.parameter_count, count);
  add(t("ranks"), (r) => r.summary.checked.world_size, whole);
  return rows;
}

/** "(+12.5 %)", and of what is many times as much "(× 46)". */
function relative(x, y) {
  if (x === 0 || x === y) return "";
  if (y / x >= 10) return ` (× ${Math.round(y / x)})`;
  return x < 0 || y < 0 ? "" : ` (${y > x ? "+" : "−"}${Math.abs((100 * (y - x)) / x).toFixed(1)} %)`;
}

/** What was asked for: words of the command line that the other run does not have. */
function asked(run, other) {
  const words = (r) => [...r.summary.run.flags.map((flag) => `--${flag}`), r.summary.run.subject, ...r.summary.run.arguments];
  const own = words(run).filter((word) => !words(other).includes(word));
  return el("td", { class: "wrap" }, own.length ? el("code", {}, own.join(" ")) : "=");
}

const CURVE = [260, 70];

/** Memory in use over the step, small. */
function curve(run, top) {
  const profile = run.profile && run.profile.classes[run.memory.heaviest];
  if (!profile || !profile.kernels.length || top <= 0) return el("td", {});
  const [width, height] = CURVE;
  const values = totals(profile);
  const points = values.map((value, i) => `${((width * i) / Math.max(values.length - 1, 1)).toFixed(1)} ${(height * (1 - value / top)).toFixed(1)}`);
  return el("td", {}, el("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${t("memory")}, ${run.name}`, class: "curve" },
    el("path", { d: `M0 ${height}L${points.join("L")}L${width} ${height}Z`, fill: "var(--accent)" })));
}

/** Rows of the comparison, largest of each curve, for both runs. */
export function compareView(runs) {
  const [a, b] = runs;
  const rows = figures(a, b);
  const top = commonTop(runs);
  const tag = (r) => el("td", { class: "right" }, el("span", { class: r.summary.verdict === "ok" ? "tag user" : "tag bad" }, t(VERDICTS[r.summary.verdict] || r.summary.verdict)));
  const table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("compare") }, el("table", { class: "compare" },
    el("thead", {}, el("tr", {}, el("th", {}, ""), el("th", { class: "right" }, a.name), el("th", { class: "right" }, b.name), el("th", { class: "right" }, t("difference")))),
    el("tbody", {}, el("tr", {}, el("th", { scope: "row" }, t("verdict")), tag(a), tag(b), el("td", {})),
    el("tr", {}, el("th", { scope: "row" }, t("asked")), asked(a, b), asked(b, a), el("td", {})),
    el("tr", {}, el("th", { scope: "row" }, t("memory")), curve(a, top), curve(b, top), el("td", {})),
    rows.map(([label, x, y, form]) => {
      const difference = y - x;
      return el("tr", { class: difference === 0 ? "same" : null }, el("th", { scope: "row" }, label), el("td", { class: "right" }, form(x)), el("td", { class: "right" }, form(y)),
        el("td", { class: "right" }, difference === 0 ? "=" : `${difference > 0 ? "+" : ""}${form(difference)}${relative(x, y)}`));
    }))));
  return table;
}

/** The largest value of the curves of both runs, so that they can be drawn at one scale. */
export function commonTop(runs) {
  return Math.max(0, ...runs.flatMap((run) => (run.profile ? run.profile.classes.map((c) => Math.max(...totals(c))) : [])));
}
