// The letter about a plan, to be read and saved.

import { download, h } from "./dom.js";

// Opens the dialog; it is gone when it is closed.
export function openLetter(text, page) {
  const { words } = page;
  const close = h("button", { type: "button", class: "ncf-main", onclick: () => dialog.close() }, words.say("close"));
  const dialog = h(
    "dialog", { class: "ncf-dialog", "aria-labelledby": "ncf-letter", onclose: () => dialog.remove() },
    h("h2", { id: "ncf-letter" }, words.say("letter_title")), h("pre", { class: "ncf-letter", tabindex: "0" }, text),
    h("p", { class: "ncf-row" }, close, h("button", { type: "button", onclick: () => download("letter.txt", text, "text/plain") }, words.say("save"))),
  );
  page.element.append(dialog);
  dialog.showModal();
}
