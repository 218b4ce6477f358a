// The case: the values of one row, and beside each what a person says about changing it.

import { freshId, h, replaceChildren } from "./dom.js";
import { editor } from "./editor.js";
import { icon } from "./icons.js";
import { isMoment, shapeControls } from "./shape.js";
import { isShaped, setShape, shapeOf } from "./state.js";

// `page` has the state, the schema and the words; `page.rowChanged(name, value)` and `page.shapeChanged()` are told.
export class CaseForm {
  constructor(page) {
    this.page = page;
    const { words } = page;
    this.lines = page.schema.features.filter((feature) => page.isNamed(feature)).map((feature) => new FeatureLine(feature, page));
    this.reset = h("button", { type: "button", class: "ncf-quiet", onclick: () => page.resetShape() }, words.say("reset_shape"));
    this.most = this.mostChanges();
    this.element = h(
      "details", { class: "ncf-case", open: true },
      h("summary", {}, h("h2", {}, words.say("case"))),
      h("p", { class: "ncf-hint" }, words.say("case_hint")),
      h("div", { class: "ncf-lines" }, this.lines.map((line) => line.element)),
      h("div", { class: "ncf-row" }, this.most.element, this.reset),
    );
    this.update();
  }

  mostChanges() {
    const { words, state, schema } = this.page;
    const id = freshId("most");
    const counts = Array.from({ length: Math.min(schema.features.length, 8) }, (_, at) => at + 1);
    const select = h(
      "select", { id, onchange: () => { state.most = select.value === "" ? null : Number(select.value); this.page.shapeChanged(); } },
      h("option", { value: "" }, words.say("most_any")), counts.map((count) => h("option", { value: String(count) }, String(count))),
    );
    return { element: h("span", { class: "ncf-most" }, h("label", { for: id }, words.say("most")), select), select, count: counts.length };
  }

  // After something else than the form has changed the state.
  update() {
    this.lines.forEach((line) => line.update());
    this.most.select.value = this.page.state.most === null ? "" : String(this.page.state.most);
    this.showReset();
  }

  showReset() {
    const { state } = this.page;
    this.reset.hidden = !Object.keys(state.shape).length && state.most === null;
  }

  // Says at a feature what is wrong with its value; with null, that nothing is.
  refuse(name, content) {
    this.lines.forEach((line) => line.refuse(line.feature.name === name ? content : null));
    return this.lines.some((line) => line.feature.name === name);
  }
}

class FeatureLine {
  constructor(feature, page) {
    this.feature = feature;
    this.page = page;
    const { words } = page;
    const id = freshId("value");
    this.refusal = h("div", { class: "ncf-refusal", id: freshId("refusal"), hidden: true });
    this.isUnread = false; // whether what stands in the field is no value
    this.chips = h("span", { class: "ncf-chips" });
    const head = h("div", { class: "ncf-label" }, h("label", { for: id, class: "ncf-name" }, feature.title), this.chips);
    if (feature.derived) {
      this.output = h("output", { id, class: "ncf-derived" });
      this.chips.append(h("span", { class: "ncf-chip" }, words.say("follows_rule")));
      this.element = h("div", { class: "ncf-line" }, head, this.output);
      return;
    }
    this.field = editor(feature, id, words, (value) => this.entered(value), (message) => this.unread(message));
    const field = h("span", { class: "ncf-field" }, this.field.element, feature.unit ? h("span", { class: "ncf-unit" }, feature.unit.replace("{}", "").trim()) : null);
    if (feature.fixed) {
      this.chips.append(h("span", { class: "ncf-chip" }, words.say("fixed_rule")));
      this.element = h("div", { class: "ncf-line" }, head, field, this.refusal);
      return;
    }
    this.lock = h("button", { type: "button", class: "ncf-lock", onclick: () => this.change({ locked: !this.shape.locked }) });
    const panel = freshId("shape");
    this.more = h("button", {
      type: "button", class: "ncf-more", "aria-expanded": "false", "aria-controls": panel,
      "aria-label": words.say("shape_feature", { feature: feature.title }), title: words.say("shape"), onclick: () => this.toggle(),
    }, icon("shape"));
    this.panel = h("div", { id: panel, hidden: true });
    this.element = h("div", { class: "ncf-line" }, head, field, h("span", { class: "ncf-tools" }, this.lock, this.more), this.refusal, this.panel);
  }

  entered(value) {
    this.isUnread = false;
    this.refuse(null);
    this.page.rowChanged(this.feature.name, value);
  }

  // The value stays as it was until the field holds one.
  unread(message) {
    this.isUnread = true;
    this.setRefusal(message);
  }

  get shape() {
    return shapeOf(this.page.state, this.feature.name);
  }

  change(change) {
    setShape(this.page.state, this.feature.name, change);
    this.show();
    this.page.shapeChanged();
  }

  toggle() {
    const isOpen = this.panel.hidden;
    if (isOpen && !this.controls) {
      this.controls = shapeControls(this.feature, this.page.words, (change) => this.change(change));
      this.panel.append(this.controls.element);
    }
    this.panel.hidden = !isOpen;
    this.more.setAttribute("aria-expanded", String(isOpen));
    this.controls.update(this.shape, this.value);
  }

  get value() {
    return this.page.state.row?.[this.feature.name] ?? null;
  }

  update() {
    const { value } = this;
    if (this.output) this.output.textContent = this.page.words.value(this.feature, value);
    if (this.field) {
      this.isUnread = false;
      this.refuse(null);
      this.field.set(value);
    }
    if (!this.lock) return;
    this.controls?.update(this.shape, value);
    this.show();
  }

  // The lock, and in a few words what is said of the feature.
  show() {
    const { words } = this.page;
    const { feature, shape } = this;
    replaceChildren(this.lock, icon(shape.locked ? "locked" : "open"));
    this.lock.setAttribute("aria-pressed", String(shape.locked));
    this.lock.setAttribute("aria-label", words.say("lock", { feature: feature.title }));
    this.lock.title = words.say(shape.locked ? "lock_open" : "lock_close");
    this.element.classList.toggle("ncf-is-locked", shape.locked);
    this.element.classList.toggle("ncf-is-shaped", isShaped(this.page.state, feature.name));
    replaceChildren(this.chips, this.said().map((text) => h("span", { class: "ncf-chip" }, text)));
  }

  said() {
    const { words } = this.page;
    const { feature, shape } = this;
    const isDate = isMoment(feature);
    const said = [];
    const way = shape.direction ?? feature.direction;
    if (way) said.push(words.say(way === "increasing" ? (isDate ? "direction_later" : "direction_up") : isDate ? "direction_earlier" : "direction_down"));
    const [low, high] = [shape.low, shape.high].map((end) => (end === null ? null : words.value(feature, end)));
    if (low !== null && high !== null) said.push(words.say("range_between", { low, high }));
    else if (low !== null) said.push(words.say("range_from", { low }));
    else if (high !== null) said.push(words.say("range_to", { high }));
    if (shape.allowed !== null) said.push(words.say("allowed_count", { count: shape.allowed.length }));
    if (shape.effort !== "usual") said.push(words.say(`effort_${shape.effort}`));
    return said;
  }

  // What the service refuses, or null; what is no value is still to be seen.
  refuse(content) {
    if (this.field && !this.isUnread) this.setRefusal(content);
  }

  setRefusal(content) {
    this.refusal.hidden = content === null;
    replaceChildren(this.refusal, content);
    const about = content === null ? {} : { "aria-invalid": "true", "aria-describedby": this.refusal.id };
    for (const name of ["aria-invalid", "aria-describedby"]) {
      if (about[name]) this.field.element.setAttribute(name, about[name]);
      else this.field.element.removeAttribute(name);
    }
  }
}
