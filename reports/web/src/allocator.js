// Addresses over the step: each tensor a bar from the kernel that places it to the last that needs it. White
// between bars below the highest one is what fragments are.
import { bytes, cssColour, el, PARTS, shortPlace } from "./dom.js";
import { partName, t } from "./text.js";
import { tipsOf } from "./tip.js";

const HEIGHT = 380;

export function allocatorView(profile, state) {
  const canvas = el("canvas", { role: "img", "aria-label": `${t("allocator")}, ${profile.ranks}` });
  const facts = el("p", { class: "hidden", role: "status" }, " ");
  const tensors = profile.tensors;
  // Stretches of addresses that no listed tensor ever uses (the pool takes large blocks) are left out.
  const used = stretches(tensors);
  const high = used.reduce((sum, s) => sum + s.to - s.from, 0);
  const last = Math.max(profile.kernel_count, 1);
  const left = 72;
  const bottom = 22;
  let width = 0;
  const xOf = (kernel) => left + ((width - left - 8) * Math.max(kernel, 0)) / last;
  const flat = (address) => {
    const s = used.find((one) => address <= one.to);
    return s ? s.offset + address - s.from : high;
  };
  const yOf = (address) => (HEIGHT - bottom) * (1 - flat(address) / Math.max(high, 1));

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    canvas.style.height = `${HEIGHT}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const colours = Object.fromEntries(PARTS.map((part, i) => [part, cssColour(`--part-${i}`)]));
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    for (let i = 0; i <= 4; i += 1) {
      const y = ((HEIGHT - bottom) * (4 - i)) / 4;
      context.fillStyle = cssColour("--grid");
      context.fillRect(left, Math.round(y), width - left - 8, 1);
      context.fillStyle = cssColour("--muted");
      context.fillText(bytes(Math.round((high * i) / 4)), left - 8, Math.min(Math.max(y + 4, 11), HEIGHT - bottom));
    }
    for (const tensor of tensors) {
      const x = xOf(tensor.first_kernel);
      const y = yOf(tensor.address + tensor.bytes);
      const w = Math.max(xOf(tensor.last_kernel + 1) - x, 0.6);
      const h = Math.max(yOf(tensor.address) - y, 0.4);
      context.fillStyle = colours[tensor.part];
      context.fillRect(x, y, w, h > 3 ? h - 0.5 : h);
    }
    context.fillStyle = cssColour("--text");
    context.globalAlpha = 0.25;
    for (const one of used.slice(1)) context.fillRect(left, yOf(one.from), width - left - 8, 0.6);
    context.globalAlpha = 1;
    context.fillRect(xOf(profile.kernels[state.moment].kernel), 0, 1.5, HEIGHT - bottom);
    context.textAlign = "center";
    context.fillStyle = cssColour("--muted");
    context.fillText(t("kernel"), left + (width - left) / 2, HEIGHT - 5);
  }
  tipsOf(canvas, (event) => {
    const box = canvas.getBoundingClientRect();
    const kernel = ((event.clientX - box.left - left) / (width - left - 8)) * last;
    const height = (1 - (event.clientY - box.top) / (HEIGHT - bottom)) * high;
    const s = used.find((one) => height <= one.offset + one.to - one.from) || used[used.length - 1];
    const address = s.from + height - s.offset;
    const found = tensors.find((x) => x.address <= address && address < x.address + x.bytes && Math.max(x.first_kernel, 0) <= kernel && kernel < x.last_kernel + 1);
    return found ? [`${found.name}  ${bytes(found.bytes)}`, `${partName(found.part)} · ${found.tensor}`,
      `${t("kernel")} ${found.first_kernel}–${found.last_kernel}${found.place ? ` · ${shortPlace(found.place)}` : ""}`] : null;
  }, facts);
  state.on(draw);
  new ResizeObserver(() => {
    if (canvas.parentElement && canvas.parentElement.clientWidth > 0 && canvas.parentElement.clientWidth !== width) {
      width = canvas.parentElement.clientWidth;
      draw();
    }
  }).observe(canvas);
  return { element: el("div", { class: "allocator" }, canvas, facts), redraw: () => { if (width) draw(); } };
}

function stretches(tensors) {
  const sorted = [...tensors].sort((a, b) => a.address - b.address);
  const list = [];
  for (const tensor of sorted) {
    const last = list[list.length - 1];
    const end = tensor.address + tensor.bytes;
    if (last && tensor.address - last.to < 1 << 20) last.to = Math.max(last.to, end);
    else list.push({ from: tensor.address, to: end, offset: 0 });
  }
  let offset = 0;
  for (const one of list) {
    one.offset = offset;
    offset += one.to - one.from;
  }
  return list;
}
