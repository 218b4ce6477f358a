// What is above a case: which model, language and row, and which decision is wanted.

import { freshId, h } from "./dom.js";
import { numberField } from "./editor.js";

export const LANGUAGES = { en: "English", de: "Deutsch" };

export function modelChooser(page) {
  if (page.models.length < 2) return null;
  const id = freshId("model");
  const select = h("select", { id, onchange: () => page.reopen(select.value, select) }, page.models.map((name) => h("option", { value: name, selected: name === page.state.model }, name)));
  return h("span", {}, h("label", { for: id }, page.words.say("model")), " ", select);
}

export function languageChooser(page) {
  const { words } = page;
  const select = h(
    "select", { "aria-label": words.say("language"), onchange: () => page.speak(select.value, select) },
    Object.entries(LANGUAGES).map(([code, name]) => h("option", { value: code, lang: code, selected: code === words.language }, name)),
  );
  return select;
}

// Which row to look at, and which decision is wanted. `set(example)` shows which row that is; null: one of their own.
export function caseChooser(page) {
  const { words, examples, about } = page;
  const id = freshId("example");
  const own = h("option", { value: "own" }, words.say("own_row"));
  const select = h("select", { id, onchange: () => chosen() }, examples.map((one, at) => h("option", { value: String(at) }, words.say("example", one))), own);
  function chosen() {
    if (select.value === "own") page.form.element.open = true;
    else page.openRow(examples[Number(select.value)].row, Number(select.value));
  }
  const element = h("div", { class: "ncf-pick" }, h("p", { class: "ncf-pair" }, h("label", { for: id }, words.say("pick")), select), about.classes.length ? wantedClass(page) : wantedScore(page));
  return { element, set: (example) => (select.value = example === null ? "own" : String(example)) };
}

function wantedClass(page) {
  const { words, state, about, schema } = page;
  const id = freshId("target");
  const options = about.classes.map((label, at) => h("option", { value: String(at), selected: label === state.target }, schema.class_titles[at]));
  const select = h("select", { id, onchange: () => chosen() }, h("option", { value: "" }, words.say("target_any")), options);
  function chosen() {
    state.target = select.value === "" ? null : about.classes[Number(select.value)];
    page.targetChanged();
  }
  return h("p", { class: "ncf-pair" }, h("label", { for: id }, words.say("target")), select);
}

function wantedScore(page) {
  const { words, state, about } = page;
  const usual = about.parameters.target_score ?? [null, null];
  const shown = () => (state.score.some((one) => one !== null) ? state.score : usual);
  const refusal = h("p", { class: "ncf-refusal", role: "alert" });
  const ends = ["score_low", "score_high"].map((name, at) => {
    const id = freshId("score");
    const field = numberField({ id }, words, (value) => changed(at, value), (message) => (refusal.textContent = message));
    return { field, element: h("p", { class: "ncf-pair" }, h("label", { for: id }, words.say(name)), field.element) };
  });
  const show = () => ends.forEach(({ field }, at) => field.set(shown()[at]));
  function changed(at, value) {
    refusal.textContent = "";
    state.score = shown().map((one, other) => (other === at ? value : one)); // without any, the usual ones
    show();
    page.targetChanged();
  }
  show();
  return [ends.map((end) => end.element), refusal];
}
