// The page: what a person chooses, what is asked, and where the answers go.

import { CaseForm } from "./case.js";
import { download, freshId, h, replaceChildren } from "./dom.js";
import { Failures } from "./failures.js";
import { caseChooser, languageChooser, LANGUAGES, modelChooser } from "./head.js";
import { Kept } from "./kept.js";
import { openLetter } from "./letter.js";
import { planNames } from "./names.js";
import { Results } from "./plans.js";
import { Questions } from "./questions.js";
import { byName, freshState, fromLink, setShape, shapeOf, targetOf, toLink } from "./state.js";
import { TableView } from "./table.js";
import { WhatIf } from "./what_if.js";
import { Words } from "./words.js";

// Below this, all is in one column, and the plans come before a long form.
const NARROW = 900;
export class Page {
  // `client`: whom to ask. `isWidget`: part of a notebook, without links and uploads. `onkept`: is told the plans kept.
  constructor(element, client, { isWidget = false, onkept = () => {} } = {}) {
    this.client = client;
    this.onkept = onkept;
    this.isWidget = isWidget;
    this.element = element;
    this.element.classList.add("ncf");
    this.questions = new Questions(this);
    this.failures = new Failures(this);
  }

  async start() {
    const linked = this.state ?? (this.isWidget ? null : fromLink(location.hash));
    const language = linked?.language ?? (navigator.language.startsWith("de") ? "de" : "en");
    try {
      this.words = new Words(await this.client.words(Object.hasOwn(LANGUAGES, language) ? language : "en"));
      this.models = await this.client.models();
      const model = this.models.includes(linked?.model) ? linked.model : this.models[0];
      await this.open(model, linked);
      if (!linked && !this.isWidget && location.hash.length > 1) this.tell(this.words.say("link_refused"));
    } catch (failure) {
      this.failures.notOpened(failure, () => this.start());
    }
    if (!this.isWidget) addEventListener("hashchange", () => this.followLink(), { once: true });
  }

  // A link that is pasted into the address of a page that is open already.
  followLink() {
    this.state = null;
    this.start();
  }

  // Opens an explainer, with what a link holds, if any.
  async open(model, linked = null) {
    const { language } = this.words;
    const [about, schema, examples] = await Promise.all([
      this.client.about(model), this.client.schema(model, language), this.client.examples(model),
    ]);
    Object.assign(this, { about, schema, examples, answer: null });
    const names = schema.features.map((feature) => feature.name);
    const fits = linked?.model === model && linked.row && names.every((name) => Object.hasOwn(linked.row, name));
    this.state = fits ? { ...linked, language, kept: linked.kept.map(({ changes }) => ({ changes })) } : freshState(model, language);
    if (!about.classes.includes(this.state.target)) this.state.target = null;
    await this.decideExamples();
    if (!fits) this.begin(names);
    const chosen = examples[this.state.example];
    if (chosen && names.some((name) => chosen.row[name] !== this.state.row[name])) this.state.example = null;
    this.sound = this.state.row; // the last row that the service accepted, or will say what is wrong with
    this.build();
    if (linked && !fits) this.tell(this.words.say("link_refused"));
    await this.questions.plans.request();
    await this.showKept();
    this.kept.update();
  }

  // What the model says of each example: it is told beside its name. If that fails, the first question will say why.
  async decideExamples() {
    const { examples, about, state } = this;
    if (!examples.length) return;
    const parameters = { language: state.language, display: true, ...targetOf(state, about) };
    const body = { instances: examples.map((one) => one.row), changes: examples.map(() => ({})), parameters };
    const said = await this.client.ask(state.model, "what-if", body).catch(() => null);
    said?.explanations.forEach((one, at) => Object.assign(examples[at], { decision: one.display.decision, decided: one.decision, isReached: one.counterfactuals[0]?.reached }));
  }

  // Begins with an example that has not got the decision that people want, if it is known which one that is.
  begin(names) {
    const { examples, state, about } = this;
    if (about.wanted !== undefined) state.target = about.wanted;
    const isOpen = (one) => (about.classes.length ? state.target !== null && one.decided !== state.target : one.isReached === false);
    const at = Math.max(0, examples.findIndex(isOpen));
    state.example = examples.length ? at : null;
    state.row = { ...(examples[at]?.row ?? Object.fromEntries(names.map((name) => [name, null]))) };
  }

  // Whether a case shows a feature. One that is protected is not named, unless nothing but the person can give its value.
  isNamed(feature) {
    return !feature.protected || !this.examples.length;
  }

  build() {
    const { words, state } = this;
    this.element.lang = words.language;
    if (!this.isWidget) document.documentElement.lang = words.language;
    this.toast = h("p", { role: "status", class: "ncf-toast" });
    this.results = new Results(this);
    this.form = new CaseForm(this);
    this.trial = new WhatIf(this);
    this.kept = new Kept(this);
    this.table = this.isWidget ? null : new TableView(this);
    this.heading = h("h1", { tabindex: "-1" }, words.say("title"));
    this.picker = caseChooser(this);
    this.picker.set(state.example);
    this.one = h(
      "div", { class: "ncf-one" },
      h("div", { class: "ncf-left" }, this.picker.element, this.form.element),
      h("div", { class: "ncf-middle" }, this.results.element),
      h("div", { class: "ncf-right" }, this.trial.element),
      h("div", { class: "ncf-below" }, this.kept.element),
    );
    replaceChildren(
      this.element,
      this.skipLink(),
      h(
        "header", { class: "ncf-head" },
        h("div", { class: "ncf-titles" }, this.heading, h("p", { class: "ncf-hint" }, words.say("subtitle"))),
        h("div", { class: "ncf-row" }, modelChooser(this), languageChooser(this), this.copyButton()),
      ),
      this.failures.alert, this.toast,
      h(this.isWidget ? "div" : "main", {}, this.views()),
    );
    if (this.element.clientWidth < NARROW) this.form.element.open = false;
    this.isShapedShown();
    if (!Object.keys(state.row).length) this.tell(words.say("no_examples"));
  }

  // Past the form of the case; not by the address, whose fragment holds links.
  skipLink() {
    const skip = (event) => {
      event.preventDefault();
      this.showCase?.();
      this.results.heading.focus();
    };
    return h("a", { href: "#ncf-plans", class: "ncf-skip", onclick: skip }, this.words.say("skip"));
  }

  // One case, or a table: two tabs.
  views() {
    if (!this.table) return this.one;
    const { words } = this;
    const panels = [this.one, this.table.element];
    const tabs = ["one_case", "table"].map((name, at) => {
      panels[at].id = freshId("view");
      panels[at].setAttribute("role", "tabpanel");
      const id = freshId("tab");
      panels[at].setAttribute("aria-labelledby", id);
      return h("button", { type: "button", role: "tab", id, "aria-controls": panels[at].id, onclick: () => choose(at), onkeydown: (event) => moved(event, at) }, words.say(name));
    });
    const choose = (chosen) => {
      tabs.forEach((tab, at) => {
        tab.setAttribute("aria-selected", String(at === chosen));
        tab.tabIndex = at === chosen ? 0 : -1;
        panels[at].hidden = at !== chosen;
      });
    };
    const moved = (event, at) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      choose(1 - at);
      tabs[1 - at].focus();
    };
    this.showCase = () => choose(0);
    choose(0);
    return [h("div", { role: "tablist", class: "ncf-tabs", "aria-label": words.say("views") }, tabs), panels];
  }

  copyButton() {
    if (this.isWidget) return null;
    return h("button", { type: "button", onclick: () => this.copyLink() }, this.words.say("copy_link"));
  }

  async speak(language, select) {
    const { words, state } = this;
    const tried = this.trial.changes();
    try {
      this.words = new Words(await this.client.words(language));
      await this.open(state.model, { ...state, language });
      if (tried.length) this.trial.start(tried);
    } catch (failure) {
      this.words = words;
      select.value = words.language;
      this.failed(failure);
    }
  }

  async reopen(model, select) {
    const before = this.state.model;
    try {
      await this.open(model);
    } catch (failure) {
      select.value = before;
      this.failed(failure);
    }
  }

  // The plans are there; `fallback`: what is said where they are just over the line, and safe ones are wanted.
  answered(answer, fallback) {
    this.sound = this.state.row;
    this.answer = answer;
    this.clearFailure();
    this.results.show(answer, fallback);
  }

  // --- what a person does -------------------------------------------------------------------------------------------

  openRow(row, example = null) {
    this.state.row = { ...row };
    this.state.example = example;
    this.picker.set(example);
    this.showCase?.();
    this.newRow();
  }

  async rowChanged(name, value) {
    const { state, schema } = this;
    state.row = { ...state.row, [name]: value };
    state.example = null;
    this.picker.set(null);
    if (schema.features.some((feature) => feature.derived) && !(await this.completeRow())) return;
    this.newRow();
  }

  // What follows from the others is computed by the service, which knows how: from the last row that it accepted.
  async completeRow() {
    const { state, schema } = this;
    const asked = state.row;
    const entered = schema.features.map((feature) => feature.name).filter((name) => state.row[name] !== this.sound[name]);
    const changes = Object.fromEntries(entered.map((name) => [name, state.row[name]]));
    this.results.busy(true);
    const [answer] = (await this.questions.tried([changes], this.sound)) ?? [];
    this.results.busy(false);
    if (!answer || this.state !== state || state.row !== asked) return false; // refused, or something else by now
    const [then] = answer.counterfactuals;
    if (!then) {
      this.form.refuse(entered[0], this.words.say("not_computed")); // what follows of this
      return false;
    }
    state.row = then.values;
    return true;
  }

  newRow() {
    this.state.kept = [];
    this.results.clear();
    this.form.update();
    this.kept.update();
    this.trial.start([]);
    this.questions.plans.request();
  }

  targetChanged() {
    this.trial.ask();
    this.shapeChanged();
  }

  shapeChanged() {
    this.isShapedShown();
    this.questions.plans.request();
  }

  isShapedShown() {
    this.form.showReset();
  }

  get isShaped() {
    return Object.keys(this.state.shape).length > 0 || this.state.most !== null;
  }

  resetShape() {
    this.state.shape = byName();
    this.state.most = null;
    this.form.update();
    this.shapeChanged();
  }

  // Whether it was this person who made the rule that blocks.
  canRelax(relaxation) {
    if (!relaxation) return false;
    const { state } = this;
    if (relaxation.rule === "max_changes") return state.most !== null;
    return relaxation.features.some((name) => this.opened(relaxation.rule, name) !== null);
  }

  // What to change of what a person said of a feature so that a rule is gone; null if it is not theirs.
  opened(rule, name) {
    const shape = shapeOf(this.state, name);
    if (rule === "immutable" && shape.locked) return { locked: false };
    if (["immutable", "allowed"].includes(rule) && shape.allowed !== null) return { allowed: null };
    if (rule === "ranges" && (shape.low !== null || shape.high !== null)) return { low: null, high: null };
    return shape.direction === rule ? { direction: null } : null;
  }

  relax({ rule, features, n_changes: count }) {
    const { state } = this;
    const { most } = this.form;
    if (rule === "max_changes") state.most = count <= most.count ? Math.max(count, state.most + 1) : null;
    for (const name of features) setShape(state, name, this.opened(rule, name) ?? {});
    this.form.update();
    this.shapeChanged();
  }

  keep(changes, plan) {
    const own = changes.filter((change) => !change.derived).map(({ feature, after }) => ({ feature, after }));
    this.state.kept.push({ changes: own, shown: plan ? this.keptOf(plan) : null });
    this.kept.update();
    if (!plan) this.showKept();
    this.tell(this.words.say("kept_now"));
  }

  // Plans of a link have no answers yet.
  async showKept() {
    const plans = this.state.kept.filter((plan) => !plan.shown);
    if (!plans.length) return;
    const asked = plans.map((plan) => Object.fromEntries(plan.changes.map(({ feature, after }) => [feature, after])));
    const answers = await this.questions.tried(asked);
    answers?.forEach((answer, at) => (plans[at].shown = this.keptOf(answer.counterfactuals[0])));
    this.kept.update();
  }

  tryOut(changes) {
    this.trial.start(changes);
    this.trial.element.scrollIntoView({ block: "nearest" });
    this.trial.element.querySelector("input, select").focus({ preventScroll: true });
  }

  async letter(plan) {
    const found = await this.questions.again(plan, { letter: true });
    if (found) openLetter(found.letter, this);
  }

  async record(plan) {
    const found = await this.questions.again(plan, { record: true });
    if (found) download("record.json", JSON.stringify(found.record, null, 2), "application/json");
  }

  async copyLink() {
    const link = `${location.origin}${location.pathname}#${toLink(this.state)}`;
    try {
      await navigator.clipboard.writeText(link);
      this.tell(this.words.say("link_copied"));
    } catch {
      history.replaceState(null, "", link); // where a browser does not let a page copy
      this.tell(this.words.say("link_in_address"));
    }
  }

  // --- what is said -------------------------------------------------------------------------------------------------

  tell(text) {
    this.toast.textContent = text;
    clearTimeout(this.toastGone);
    this.toastGone = setTimeout(() => (this.toast.textContent = ""), 6_000);
  }

  clearFailure(whose = "plans") {
    this.failures.clear(whose);
  }

  failed(failure, whose = "plans") {
    this.failures.show(failure, whose);
  }

  // What is shown of a plan that is kept: its name, the decision, and the values as they were worded.
  keptOf({ display }) {
    const texts = new Map(display.changes.map(({ feature, before, after }) => [feature, { before, after }]));
    const [name] = planNames([display], this.schema, this.words);
    return { name, decision: display.decision, chance: display.quantity.after_text, texts };
  }
}
