// Two runs side by side: the figures that decide, and both curves at one scale.
import { bytes, count, el, whole } from "./dom.js";
import { totals } from "./memory.js";
import { t } from "./text.js";

const heaviest = (run) => (run.memory ? run.memory.classes[run.memory.heaviest] : null);

function figures(a, b) {
  const rows = [];
  const add = (label, of, form = bytes) => {
    const [x, y] = [of(a), of(b)];
    if (x !== undefined && y !== undefined && x !== null && y !== null) rows.push([label, x, y, form]);
  };
  add(t("peakActual"), (r) => heaviest(r)?.actual_peak_bytes);
  add(t("peakUsed"), (r) => heaviest(r)?.used_peak_bytes);
  add(t("headRoom"), (r) => heaviest(r)?.head_room_bytes);
  add(t("kept"), (r) => heaviest(r)?.kept_for_backward_bytes);
  const parts = new Set([a, b].flatMap((r) => (heaviest(r)?.breakdown || []).filter((p) => p.bytes > 0).map((p) => p.part)));
  for (const part of parts) {
    add(part, (r) => heaviest(r)?.breakdown.find((p) => p.part === part)?.bytes ?? 0);
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

/** Rows of the comparison, largest of each curve, for both runs. */
export function compareView(runs) {
  const [a, b] = runs;
  const rows = figures(a, b);
  const table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("compare") }, el("table", { class: "compare" },
    el("thead", {}, el("tr", {}, el("th", {}, ""), el("th", { class: "right" }, a.name), el("th", { class: "right" }, b.name), el("th", { class: "right" }, t("difference")))),
    el("tbody", {}, rows.map(([label, x, y, form]) => {
      const difference = y - x;
      const relative = x !== 0 && difference !== 0 ? ` (${difference > 0 ? "+" : "−"}${Math.abs((100 * difference) / x).toFixed(1)} %)` : "";
      return el("tr", { class: difference === 0 ? "same" : null }, el("th", { scope: "row" }, label), el("td", { class: "right" }, form(x)), el("td", { class: "right" }, form(y)),
        el("td", { class: "right" }, difference === 0 ? "=" : `${difference > 0 ? "+" : ""}${form(difference)}${relative}`));
    }))));
  return table;
}

/** The largest value of the curves of both runs, so that they can be drawn at one scale. */
export function commonTop(runs) {
  return Math.max(0, ...runs.flatMap((run) => (run.profile ? run.profile.classes.map((c) => Math.max(...totals(c))) : [])));
}
