import { allocatorView } from "./allocator.js";
import { commonTop, compareView, VERDICTS } from "./compare.js";
import { aboutView, breakdownBar, layersView, problemsView, strategiesView, tensorsView } from "./details.js";
import { bytes, count, el, percent, placeElement, seconds, whole } from "./dom.js";
import { memoryChart, positionOf } from "./memory.js";
import { languageTag, switchLanguage, t, verdictText } from "./text.js";
import { timelineView } from "./timeline.js";
import { causesView, matrixView, trafficSummary } from "./traffic.js";
import { treemapView } from "./treemap.js";
import { unpackRuns } from "./unpack.js";

/** What the views of one class of ranks share: the chosen moment. */
function moment(profile) {
  const listeners = [];
  return {
    moment: positionOf(profile, Math.max(profile.peak_kernel, 0)),
    on(listener) { listeners.push(listener); },
    choose(index) {
      this.moment = index;
      listeners.forEach((listener) => listener());
    },
  };
}

let redraws = [];

/** A hull in a dock. */
function brand() {
  return el("svg", { viewBox: "0 0 24 24", width: 20, height: 20, "aria-hidden": "true" },
    el("path", { d: "M5 9h14l-2.6 7H7.6z", fill: "var(--accent)" }), el("path", { d: "M11 3h2v5h-2zM2 6h2v12h16V6h2v14H2z", fill: "currentColor" }));
}

function section(id, title, ...content) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), content);
}

function card(label, value, help, tone) {
  return el("div", { class: `card ${tone || ""}` }, el("span", {}, label), el("b", {}, value), help ? el("small", {}, help) : null);
}

function gauge(item) {
  const used = (100 * item.actual_peak_bytes) / item.limit_bytes;
  return el("div", { class: `gauge${item.fits ? "" : " bad"}`, role: "meter", "aria-valuenow": Math.round(used), "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-label": `${t("peakActual")} ${bytes(item.actual_peak_bytes)} ${t("of")} ${bytes(item.limit_bytes)}` },
  el("div", { style: `width:${Math.min(used, 100)}%` }));
}

function head(run) {
  const { summary, memory, communication } = run;
  const { checked } = summary;
  const cards = [];
  if (memory) {
    const worst = memory.classes[memory.heaviest];
    cards.push(el("div", { class: `card wide ${worst.fits ? "" : "bad"}` }, el("span", {}, `${t("peakActual")} · ${t("ranks")} ${worst.ranks}`),
      el("b", {}, bytes(worst.actual_peak_bytes), el("small", {}, ` / ${bytes(worst.limit_bytes)}`)), gauge(worst),
      el("small", {}, worst.fits ? `${bytes(worst.head_room_bytes)} ${t("headRoom")} · ${bytes(worst.used_peak_bytes)} ${t("peakUsed")}` : `${t("exceeded")} ${bytes(-worst.head_room_bytes)}`)));
    cards.push(card(t("kept"), bytes(worst.kept_for_backward_bytes), t("keptHelp")));
  }
  if (run.timeline) cards.push(timelineView.card(run.timeline, card));
  if (summary.parameter_count > 0) {
    cards.push(card(t("parameters"), count(summary.parameter_count), memory ? `${count(memory.classes[memory.heaviest].parameter_count)} ${t("perRank")}` : `${count(summary.trainable_parameter_count)} ${t("trainable")}`));
  }
  if (communication) {
    cards.push(card(t("sentPerRank"), bytes(communication.total.sent_bytes), `${whole(communication.total.count)} ${t("collectives")}`));
    if (communication.job.nodes > 1) {
      cards.push(card(t("betweenNodes"), bytes(communication.job.inter_node_bytes), `${percent(communication.job.inter_node_bytes, communication.job.sent_bytes)} · ${whole(communication.job.nodes)} ${t("nodes")}`));
    }
  }
  const mode = [checked.parallel_mode, checked.search_mode].filter(Boolean).join("/");
  const facts = [`${whole(checked.world_size)} ${t("ranks")}`, mode, checked.pipeline_stages > 1 ? `${checked.pipeline_stages} ${t("stages")}` : "", checked.device_target,
    `${t("level")} ${checked.simulation_level}`, `${t("release")} ${checked.compat}`, checked.dataset_strategy ? `${t("dataSet")} ${checked.dataset_strategy}` : ""].filter(Boolean);
  return el("div", { class: `verdict ${summary.verdict === "ok" ? "good" : "bad"}` },
    el("p", { class: "verdict-line" }, el("span", { class: "pill" }, t(VERDICTS[summary.verdict] || summary.verdict)), el("span", {}, verdictText(summary, memory && memory.classes[memory.heaviest], bytes))),
    el("p", { class: "facts-line" }, el("b", {}, checked.subject.split("/").pop()), ` · ${facts.join(" · ")}`),
    summary.error && summary.error.hint ? el("p", { class: "hint" }, el("b", {}, `${t("hint")}: `), summary.error.hint, " ", placeElement(summary.error.place)) : null,
    trialsView(summary, memory),
    cards.length ? el("div", { class: "cards" }, cards) : null);
}

/** What was tried because the job does not fit: what the heaviest rank needs then. */
function trialsView(summary, memory) {
  const trials = [...(summary.trials || [])].sort((a, b) => b.fits - a.fits);
  if (!trials.length) return null;
  const limit = memory.classes[memory.heaviest].limit_bytes;
  const scale = Math.max(limit, ...trials.map((one) => one.peak_bytes), memory.classes[memory.heaviest].actual_peak_bytes);
  return el("div", { class: "trials" }, el("h3", {}, t(trials[0].fits ? "wouldFit" : "noneFits")),
    el("ul", {}, trials.map((one) => el("li", { class: one.fits ? "fits" : null },
      el("span", { class: "tag" }, t(one.fits ? "fits" : "fitsNot")), el("span", {}, one.change, one.problem ? el("small", {}, ` ${one.problem}`) : null),
      one.problem ? null : el("div", { class: "against", role: "img", "aria-label": `${bytes(one.peak_bytes)} ${t("of")} ${bytes(limit)}` },
        el("i", { style: `width:${(100 * one.peak_bytes) / scale}%` }), el("b", { style: `left:${(100 * limit) / scale}%` })),
      one.problem ? null : el("b", {}, bytes(one.peak_bytes), one.step_seconds ? el("small", {}, ` · ${t("step")} ${seconds(one.step_seconds)}`) : null)))));
}

function classPicker(run, chosen, choose) {
  if (run.memory.classes.length < 2) return null;
  return el("fieldset", { class: "classes" }, el("legend", {}, t("classes")), run.memory.classes.map((item, i) =>
    el("label", { class: i === chosen ? "chosen" : null },
      el("input", { type: "radio", name: `class-${run.name}`, checked: i === chosen, onchange: () => choose(i) }),
      el("span", {}, `${t("ranks")} ${item.ranks}`), el("small", {}, `${t("stage")} ${item.stage}`), gauge(item), el("b", {}, bytes(item.actual_peak_bytes)))));
}

function memoryPart(run, top) {
  const place = el("div");
  function show(chosen) {
    const item = run.memory.classes[chosen];
    const profile = run.profile && run.profile.classes[chosen];
    const parts = [classPicker(run, chosen, show), breakdownBar(item)];
    redraws = redraws.filter((entry) => entry.of !== place);
    if (profile && profile.kernels.length) {
      const state = moment(profile);
      const chart = memoryChart(profile, state, { limit: item.limit_bytes, top });
      const allocator = allocatorView(profile, state);
      const map = treemapView(profile, state);
      const layers = layersView(item);
      redraws.push({ of: place, redraw: () => [chart, map, layers, allocator].forEach((one) => one.redraw()) });
      parts.push(el("h3", {}, t("memory")),
        el("div", { class: "over-step" }, el("div", {}, chart.chart,
          el("div", { class: "under" }, el("p", { class: "note" }, t("chartHelp")), el("button", { type: "button", onclick: () => state.choose(positionOf(profile, Math.max(profile.peak_kernel, 0))) }, t("toPeak")))), chart.readout),
        el("h3", { id: "alive" }, t("alive")), map.element,
        el("h3", { id: "layers" }, t("layers")), layers.element,
        el("h3", { id: "tensors" }, t("tensors")), tensorsView(profile, state),
        el("h3", { id: "allocator" }, t("allocator")), allocator.element);
    } else {
      parts.push(el("p", { class: "note" }, t("noProfile")), el("h3", { id: "layers" }, t("layers")), layersView(item).element);
    }
    place.replaceChildren(...parts.filter(Boolean));
  }
  show(run.memory.heaviest);
  return place;
}

function sections(run, top) {
  const list = [];
  const problems = run.summary.error || run.summary.diagnostics.length;
  if (problems) list.push(section("diagnostics", t("diagnostics"), problemsView(run)));
  if (run.memory) list.push(section("memory", t("memoryTitle"), memoryPart(run, top)));
  if (run.timeline) {
    const view = timelineView(run);
    redraws.push({ of: run, redraw: view.redraw });
    list.push(section("time", t("time"), view.element));
  }
  if (run.communication && run.communication.total.count > 0) {
    const matrix = matrixView(run.communication);
    redraws.push({ of: run, redraw: matrix.redraw });
    list.push(section("communication", t("communication"),
      el("p", { class: "note" }, run.communication.agreement.holds ? `✓ ${t("agree")}` : `${t("disagree")}: ${run.communication.agreement.first_conflict}`),
      el("div", { class: "columns" }, el("div", {}, trafficSummary(run)), el("div", {}, el("h3", { id: "matrix" }, t("matrix")), matrix.element)), el("h3", { id: "causes" }, t("causes")), causesView(run)));
  }
  if (run.summary.strategies.length) list.push(section("strategies", t("strategies"), strategiesView(run.summary)));
  list.push(section("about", t("about"), aboutView(run)));
  return list;
}

function page(runs, shown) {
  redraws = [];
  document.documentElement.lang = languageTag();
  const run = runs[shown];
  document.title = `${run.summary.checked.subject.split("/").pop()} – Drydock`;
  const top = runs.length > 1 ? commonTop(runs) : 0;
  const parts = sections(run, top);
  const nav = el("nav", { class: "contents", "aria-label": t("contents") }, parts.map((part) =>
    el("a", { href: `#${part.id}` }, part.querySelector("h2").textContent)));
  markWhereWeAre(nav, parts);
  const bar = el("header", { class: "top" },
    el("a", { class: "skip", href: "#main" }, t("skip")),
    el("b", { class: "brand" }, brand(), "Drydock"), nav,
    el("span", { class: "tools" },
      el("button", { type: "button", onclick: () => { switchLanguage(); page(runs, shown); } }, t("language")),
      el("button", { type: "button", "aria-label": t("theme"), title: t("theme"), onclick: switchTheme }, "◐")));
  const compared = runs.length > 1 ? [
    section("compare", t("compare"), compareView(runs)),
    el("div", { class: "switch", role: "group", "aria-label": t("details") }, el("span", {}, `${t("details")} `), runs.map((one, i) =>
      el("button", { type: "button", "aria-pressed": String(i === shown), onclick: () => page(runs, i) }, one.name || String(i + 1))))] : [];
  document.getElementById("app").replaceChildren(bar, el("main", { id: "main", tabindex: "-1" }, compared, head(run), parts));
}

let watcher = null;

/** The link of the section that is being read is marked. */
function markWhereWeAre(nav, parts) {
  if (watcher) watcher.disconnect();
  const links = new Map(parts.map((part, i) => [part, nav.children[i]]));
  watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) links.get(entry.target).setAttribute("aria-current", "location");
      else links.get(entry.target).removeAttribute("aria-current");
    }
  }, { rootMargin: "-120px 0px -55% 0px" });
  parts.forEach((part) => watcher.observe(part));
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  redraws.forEach((entry) => entry.redraw());
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((entry) => entry.redraw()));
const data = JSON.parse(document.getElementById("drydock-data").textContent);
if (data) {
  const runs = unpackRuns(data);
  window.drydockRuns = runs; // For people with a console, and tests.
  page(runs, 0);
}
