// A note beside the pointer: what is under it. The same text goes to a status line for screen readers.
import { el } from "./dom.js";

let note = null;

/** Lines of text beside the pointer of `event`; nothing hides the note. */
export function tip(event, lines) {
  if (!lines || !lines.length) {
    if (note) note.hidden = true;
    return;
  }
  if (!note || !note.isConnected) {
    note = el("div", { class: "tip", "aria-hidden": "true" });
    document.body.append(note);
  }
  note.hidden = false;
  note.replaceChildren(...lines.map((line, i) => el(i === 0 ? "b" : "span", {}, line)));
  const box = note.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const above = event.clientY + 18 + box.height > window.innerHeight - 8;
  note.style.left = `${Math.max(left, 8)}px`;
  note.style.top = `${above ? event.clientY - box.height - 12 : event.clientY + 18}px`;
}

/** The notes of a drawing: `at(event)` gives the lines, or nothing. */
export function tipsOf(drawing, at, status) {
  drawing.addEventListener("mousemove", (event) => {
    const lines = at(event);
    tip(event, lines);
    if (status && lines && lines.length) status.textContent = lines.join(" · ");
  });
  drawing.addEventListener("mouseleave", () => tip(null, null));
}
