// What if: a person moves values and watches the decision; nothing is searched for.

import { freshId, h, replaceChildren } from "./dom.js";
import { editor } from "./editor.js";
import { gauge } from "./gauge.js";
import { icon } from "./icons.js";
import { changesList } from "./plans.js";
import { hasRange, scaleOf } from "./shape.js";
import { byName } from "./state.js";

export class WhatIf {
  constructor(page) {
    this.page = page;
    this.values = byName();
    this.unread = new Set(); // features whose fields hold something else than a value
    const { words } = page;
    const id = freshId("add");
    this.add = h("select", { id, onchange: () => this.added(this.add.value) });
    this.list = h("div", { class: "ncf-moves" });
    this.refusal = h("div", { class: "ncf-refusal", role: "alert", hidden: true });
    this.outcome = h("div", { class: "ncf-outcome-box", "aria-live": "polite" });
    this.keep = h("button", { type: "button", onclick: () => page.keep(this.changes(), this.answer) }, words.say("keep"));
    this.clear = h("button", { type: "button", class: "ncf-quiet", onclick: () => this.start([]) }, words.say("clear"));
    this.element = h(
      "section", { class: "ncf-whatif", "aria-labelledby": "ncf-whatif", "aria-busy": "false" },
      h("h2", { id: "ncf-whatif" }, words.say("what_if")), h("p", { class: "ncf-hint" }, words.say("what_if_hint")),
      this.list,
      h("p", { class: "ncf-pair" }, h("label", { for: id }, words.say("what_if_add")), this.add),
      this.refusal, this.outcome,
      h("p", { class: "ncf-row" }, this.keep, this.clear),
    );
    this.start([]);
  }

  get features() {
    return this.page.schema.features.filter((feature) => !feature.derived && this.page.isNamed(feature));
  }

  // Begins with the changes of a plan, or with none.
  start(changes) {
    const known = new Set(this.features.map((feature) => feature.name));
    this.values = byName(changes.filter((one) => known.has(one.feature)).map((one) => [one.feature, one.after]));
    this.answer = null;
    this.build();
    this.ask();
  }

  changes() {
    const { row } = this.page.state;
    return Object.entries(this.values).map(([feature, after]) => ({ feature, before: row[feature], after }));
  }

  build() {
    const { words } = this.page;
    this.unread.clear();
    const moved = this.features.filter((feature) => feature.name in this.values);
    replaceChildren(this.list, moved.map((feature) => this.move(feature)));
    const rest = this.features.filter((feature) => !(feature.name in this.values));
    replaceChildren(this.add, h("option", { value: "" }, words.say("what_if_choose")), rest.map((feature) => h("option", { value: feature.name }, feature.title)));
    const isEmpty = !moved.length;
    this.keep.hidden = this.clear.hidden = isEmpty;
    if (isEmpty) replaceChildren(this.outcome);
  }

  added(name) {
    if (!name) return;
    this.values[name] = this.page.state.row[name];
    this.build();
    this.list.lastElementChild?.querySelector("input, select")?.focus();
    this.ask();
  }

  move(feature) {
    const { words, state } = this.page;
    const id = freshId("move");
    const slider = hasRange(feature) ? this.slider(feature, () => field.set(this.values[feature.name])) : null;
    const entered = (value) => {
      this.unread.delete(feature.name);
      this.values[feature.name] = value;
      slider?.set(value);
      this.ask();
    };
    const unread = (message) => {
      this.unread.add(feature.name);
      this.refuse(message);
    };
    const field = editor(feature, id, words, entered, unread);
    field.set(this.values[feature.name]);
    slider?.set(this.values[feature.name]);
    const remove = h("button", {
      type: "button", class: "ncf-lock", "aria-label": words.say("what_if_remove", { feature: feature.title }), title: words.say("clear"),
      onclick: () => { delete this.values[feature.name]; this.build(); this.ask(); this.add.focus(); },
    }, icon("close"));
    return h(
      "div", { class: "ncf-move" },
      h("label", { for: id, class: "ncf-name" }, feature.title),
      h("span", { class: "ncf-was" }, words.say("was", { value: words.value(feature, state.row[feature.name]) })),
      h("span", { class: "ncf-field" }, field.element), remove, slider?.element,
    );
  }

  slider(feature, changed) {
    const { words } = this.page;
    const scale = scaleOf(feature);
    const element = h("input", {
      type: "range", class: "ncf-slider", min: "0", max: String(scale.last), step: "1", "aria-label": feature.title,
      oninput: () => {
        this.values[feature.name] = scale.at(Number(element.value));
        element.setAttribute("aria-valuetext", words.value(feature, this.values[feature.name]));
        changed();
        this.ask();
      },
    });
    return {
      element,
      set: (value) => {
        if (value !== null) element.value = String(scale.position(value));
        element.setAttribute("aria-valuetext", words.value(feature, value));
      },
    };
  }

  ask() {
    this.answer = null; // that of before is not of these values
    this.refusal.hidden = !this.unread.size;
    if (Object.keys(this.values).length) this.page.questions.trial.request();
  }

  // Says what is wrong with a value; what was answered before is of other values.
  refuse(content) {
    this.answer = null;
    this.refusal.hidden = false;
    replaceChildren(this.refusal, content);
    replaceChildren(this.outcome);
    return true;
  }

  busy(isBusy) {
    this.element.setAttribute("aria-busy", String(isBusy));
  }

  show(answer, values) {
    const { words } = this.page;
    if (!Object.keys(this.values).length || JSON.stringify(values) !== JSON.stringify(this.values)) return;
    const [then] = answer.counterfactuals;
    if (!then) {
      this.refuse(words.say("not_computed")); // what follows from these values
      return;
    }
    this.answer = then;
    const isSame = then.display.decision === answer.display.decision;
    replaceChildren(
      this.outcome,
      h("p", { class: "ncf-decided" }, words.say(isSame ? "still" : "then"), " ", h("strong", {}, then.display.decision)),
      gauge(then.display.quantity, words),
      then.display.derived.length ? changesList({ changes: [], derived: then.display.derived }, words) : null,
    );
  }
}
