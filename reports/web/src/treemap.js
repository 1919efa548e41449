// What is in memory at one moment: areas by scope, coloured by kind.
import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { bytes, clip, cssColour, el, partColour, percent, PARTS, shortPlace, textOn } from "./dom.js";
import { partName, t } from "./text.js";
import { tip } from "./tip.js";

const HEIGHT = 460;
const HEAD = 16;

/** Scopes that are large enough for a heading. */
const isGroup = (d) => d.depth > 0 && Boolean(d.children) && d.x1 - d.x0 > 30 && d.y1 - d.y0 > 34;

/** Tensors alive at a shown kernel, and per kind what is in the smaller ones that are not listed. */
export function aliveAt(profile, position) {
  const kernel = profile.kernels[position].kernel;
  const listed = profile.tensors.filter((tensor) => tensor.first_kernel <= kernel && kernel <= tensor.last_kernel);
  const rest = profile.parts.map((part) => ({
    part: part.part,
    bytes: part.bytes[position] - listed.reduce((sum, tensor) => sum + (tensor.part === part.part ? tensor.bytes : 0), 0),
  })).filter((part) => part.bytes > 0);
  return { listed, rest };
}

function treeOf({ listed, rest }) {
  const root = { name: "", children: new Map(), leaves: [] };
  for (const tensor of listed) {
    let node = root;
    for (const cell of tensor.scope ? tensor.scope.split("/") : ["–"]) {
      if (!node.children.has(cell)) node.children.set(cell, { name: cell, children: new Map(), leaves: [] });
      node = node.children.get(cell);
    }
    node.leaves.push(tensor);
  }
  const plain = (node) => {
    const children = [...node.children.values()].map(plain);
    const leaves = node.leaves.map((tensor) => ({ name: tensor.name, tensor, bytes: tensor.bytes }));
    if (children.length === 1 && leaves.length === 0 && children[0].children && node.name) {
      return { name: `${node.name}/${children[0].name}`, children: children[0].children };
    }
    return { name: node.name, children: [...children, ...leaves] };
  };
  const tree = plain(root);
  if (rest.length) {
    tree.children.push({ name: t("smaller"), children: rest.map((part) => ({ name: partName(part.part), part: part.part, bytes: part.bytes })) });
  }
  return tree;
}

export function treemapView(profile, state) {
  const drawing = el("div", { class: "treemap" });
  const crumbs = el("nav", { class: "crumbs", "aria-label": t("scope") });
  const facts = el("p", { class: "status", role: "status" });
  let path = [];

  function nodeAt(tree) {
    let node = tree;
    for (let i = 0; i < path.length; i += 1) {
      const next = node.children.find((child) => child.name === path[i] && child.children);
      if (!next) {
        path = path.slice(0, i);
        break;
      }
      node = next;
    }
    return node;
  }
  function describe(leaf, all) {
    const d = leaf.data;
    const place = d.tensor ? shortPlace(d.tensor.place) : "";
    const part = d.tensor ? d.tensor.part : d.part;
    return [`${d.name}  ${bytes(leaf.value)}`, `${part ? `${partName(part)} · ` : ""}${percent(leaf.value, all)}${place ? ` · ${place}` : ""}`,
      ...(d.tensor && d.tensor.tensor ? [d.tensor.tensor] : []), ...(d.tensor && d.tensor.scope ? [d.tensor.scope] : [])];
  }
  function draw() {
    const width = Math.max(drawing.clientWidth, 260);
    const tree = treeOf(aliveAt(profile, state.moment));
    const node = nodeAt(tree);
    const root = hierarchy(node).sum((d) => (d.children ? 0 : d.bytes)).sort((a, b) => b.value - a.value);
    treemap().tile(treemapSquarify).size([width, HEIGHT]).paddingInner(1).paddingTop((d) => (isGroup(d) ? HEAD : 0)).round(true)(root);
    const all = root.value;
    facts.textContent = `${bytes(all)} · ${path.length ? path.join("/") : t("all")}`;
    const inks = Object.fromEntries(PARTS.map((part, i) => [part, textOn(cssColour(`--part-${i}`))]));
    const boxes = [];
    for (const leaf of root.leaves()) {
      const w = leaf.x1 - leaf.x0;
      const h = leaf.y1 - leaf.y0;
      if (w < 1.5 || h < 1.5) continue;
      const part = leaf.data.tensor ? leaf.data.tensor.part : leaf.data.part;
      const name = w > 34 && h > 15 ? clip(leaf.data.name, w - 8, "11px") : "";
      boxes.push(el("g", { transform: `translate(${leaf.x0},${leaf.y0})`, onmousemove: (event) => tip(event, describe(leaf, all)) },
        el("rect", { width: w, height: h, fill: partColour(part), rx: 1.5 }),
        name ? el("text", { x: 4, y: 12, class: "label", fill: inks[part] }, name) : null,
        name && h > 30 ? el("text", { x: 4, y: 26, class: "label", fill: inks[part] }, clip(bytes(leaf.value), w - 8, "11px")) : null));
    }
    const groups = root.descendants().filter(isGroup).map((child) => {
      const open = () => {
        path = [...path, ...child.ancestors().slice(0, -1).reverse().map((d) => d.data.name)];
        draw();
        drawing.querySelector("[tabindex]")?.focus();
      };
      return el("g", { transform: `translate(${child.x0},${child.y0})`, class: "group", tabindex: "0", role: "button",
        "aria-label": `${child.data.name}, ${bytes(child.value)}, ${percent(child.value, all)}`, onclick: open,
        onmousemove: (event) => tip(event, [`${child.data.name}  ${bytes(child.value)}`, percent(child.value, all)]),
        onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } } },
      el("rect", { width: child.x1 - child.x0, height: child.y1 - child.y0, class: "frame" }),
      el("rect", { width: child.x1 - child.x0, height: HEAD - 1, class: "head" }),
      el("text", { x: 4, y: 12.5, class: "group-label" }, groupLabel(child.data.name, bytes(child.value), child.x1 - child.x0 - 8)));
    });
    drawing.replaceChildren(el("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": t("alive") }, boxes, groups));
    crumbs.replaceChildren(...[t("all"), ...path].map((name, i) => (i === path.length ?
      el("span", { "aria-current": "location" }, name) :
      el("button", { type: "button", onclick: () => { path = path.slice(0, i); draw(); } }, name))));
  }
  drawing.addEventListener("mouseleave", () => tip(null, null));
  state.on(draw);
  let width = 0;
  new ResizeObserver(() => {
    if (drawing.clientWidth > 0 && Math.abs(drawing.clientWidth - width) > 1) {
      width = drawing.clientWidth;
      draw();
    }
  }).observe(drawing);
  const element = el("div", {}, crumbs, drawing, facts);
  return { element, redraw: () => { if (width) draw(); } };
}

/** Name and bytes if both fit, else what does. */
function groupLabel(name, size, width) {
  const both = `${name}  ${size}`;
  return clip(both, width, "600 12px") === both ? both : clip(name, width, "600 12px");
}
