// The page: what a person chooses, what is asked, and where the answers go.

import { CaseForm } from "./case.js";
import { download, freshId, h, replaceChildren } from "./dom.js";
import { Kept } from "./kept.js";
import { Results } from "./plans.js";
import { freshState, fromLink, menuOf, setShape, shapeOf, targetOf, toLink } from "./state.js";
import { TableView } from "./table.js";
import { WhatIf } from "./what_if.js";
import { Words } from "./words.js";

const LANGUAGES = { en: "English", de: "Deutsch" };
// Below this, all is in one column, and the plans come before a long form.
const NARROW = 900;

// Does some work again and again, one at a time, and always with what is wanted last.
class Latest {
  constructor(work) {
    this.work = work;
    this.isWanted = this.isBusy = false;
  }

  async request() {
    this.isWanted = true;
    if (this.isBusy) return;
    this.isBusy = true;
    while (this.isWanted) {
      this.isWanted = false;
      await this.work();
    }
    this.isBusy = false;
  }
}

export class Page {
  // `client`: whom to ask. `isWidget`: part of a notebook, without links and uploads. `onkept`: is told the plans kept.
  constructor(element, client, { isWidget = false, onkept = () => {} } = {}) {
    this.client = client;
    this.onkept = onkept;
    this.isWidget = isWidget;
    this.element = element;
    this.element.classList.add("ncf");
    this.askPlans = new Latest(() => this.explain());
    this.askWhatIf = new Latest(() => this.whatIf());
  }

  async start() {
    const linked = this.isWidget ? null : fromLink(location.hash);
    const language = linked?.language ?? (navigator.language.startsWith("de") ? "de" : "en");
    try {
      this.words = new Words(await this.client.words(language in LANGUAGES ? language : "en"));
      this.models = await this.client.models();
      const model = this.models.includes(linked?.model) ? linked.model : this.models[0];
      await this.open(model, linked);
    } catch (failure) {
      this.notOpened(failure, () => this.start());
    }
  }

  // Opens an explainer, with what a link holds, if any.
  async open(model, linked = null) {
    const { language } = this.words;
    const [about, schema, examples] = await Promise.all([
      this.client.about(model), this.client.schema(model, language), this.client.examples(model),
    ]);
    Object.assign(this, { about, schema, examples, answer: null, sound: {} });
    const names = schema.features.map((feature) => feature.name);
    const fits = linked?.model === model && linked.row && names.every((name) => name in linked.row);
    this.state = fits ? { ...linked, language } : freshState(model, language);
    await this.decideExamples();
    if (!fits) this.begin(names);
    this.build();
    if (linked && !fits) this.tell(this.words.say("link_refused"));
    await this.askPlans.request();
    await this.showKept();
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

  build() {
    const { words, state } = this;
    document.documentElement.lang = this.isWidget ? document.documentElement.lang : words.language;
    this.alert = h("div", { role: "alert", class: "ncf-alert", hidden: true });
    this.toast = h("p", { role: "status", class: "ncf-toast" });
    this.results = new Results(this);
    this.form = new CaseForm(this);
    this.trial = new WhatIf(this);
    this.kept = new Kept(this);
    this.table = this.isWidget ? null : new TableView(this);
    this.heading = h("h1", { tabindex: "-1" }, words.say("title"));
    this.one = h(
      "div", { class: "ncf-one" },
      h("div", { class: "ncf-left" }, this.pick(), this.form.element),
      h("div", { class: "ncf-middle" }, this.results.element),
      h("div", { class: "ncf-right" }, this.trial.element, this.kept.element),
    );
    replaceChildren(
      this.element,
      h(
        "header", { class: "ncf-head" },
        h("div", { class: "ncf-titles" }, this.heading, h("p", { class: "ncf-hint" }, words.say("subtitle"))),
        h("div", { class: "ncf-row" }, this.chooseModel(), this.chooseLanguage(), this.copyButton()),
      ),
      this.alert, this.toast,
      h(this.isWidget ? "div" : "main", {}, this.views()),
    );
    if (this.element.clientWidth < NARROW) this.form.element.open = false;
    this.isShapedShown();
    if (!Object.keys(state.row).length) this.tell(words.say("no_examples"));
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

  chooseModel() {
    if (this.models.length < 2) return null;
    const id = freshId("model");
    const select = h("select", { id, onchange: () => this.reopen(select.value) }, this.models.map((name) => h("option", { value: name, selected: name === this.state.model }, name)));
    return h("span", {}, h("label", { for: id }, this.words.say("model")), " ", select);
  }

  chooseLanguage() {
    const { words } = this;
    const select = h(
      "select", { "aria-label": words.say("language"), onchange: () => this.speak(select.value) },
      Object.entries(LANGUAGES).map(([code, name]) => h("option", { value: code, lang: code, selected: code === words.language }, name)),
    );
    return select;
  }

  copyButton() {
    if (this.isWidget) return null;
    return h("button", { type: "button", onclick: () => this.copyLink() }, this.words.say("copy_link"));
  }

  async speak(language) {
    try {
      this.words = new Words(await this.client.words(language));
      await this.open(this.state.model, { ...this.state, language });
    } catch (failure) {
      this.failed(failure);
    }
  }

  async reopen(model) {
    try {
      await this.open(model);
    } catch (failure) {
      this.failed(failure);
    }
  }

  // Which row to look at, and which decision is wanted.
  pick() {
    const { words, state, examples, about, schema } = this;
    const id = freshId("example");
    const own = h("option", { value: "own" }, words.say("own_row"));
    const select = h(
      "select", { id, onchange: () => (select.value === "own" ? this.form.element.setAttribute("open", "") : this.openRow(examples[Number(select.value)].row, Number(select.value))) },
      examples.map((one, at) => h("option", { value: String(at) }, words.say("example", one))), own,
    );
    select.value = state.example === null ? "own" : String(state.example);
    this.picker = select;
    return h("div", { class: "ncf-pick" }, h("p", { class: "ncf-row" }, h("label", { for: id }, words.say("pick")), select), about.classes.length ? this.wantClass(about, schema) : this.wantScore(about));
  }

  wantClass(about, schema) {
    const { words, state } = this;
    const id = freshId("target");
    const options = about.classes.map((label, at) => h("option", { value: String(at), selected: label === state.target }, schema.class_titles[at]));
    const select = h(
      "select", { id, onchange: () => { state.target = select.value === "" ? null : about.classes[Number(select.value)]; this.shapeChanged(); } },
      h("option", { value: "" }, words.say("target_any")), options,
    );
    return h("p", { class: "ncf-row" }, h("label", { for: id }, words.say("target")), select);
  }

  wantScore(about) {
    const { words, state } = this;
    const usual = about.parameters.target_score ?? [null, null];
    const end = (at, name) => {
      const id = freshId("score");
      const input = h("input", { id, type: "number", step: "any", value: state.score[at] ?? usual[at] ?? "", onchange: () => { state.score = state.score.every((one) => one === null) ? [...usual] : state.score; state.score[at] = input.value === "" ? null : Number(input.value); this.shapeChanged(); } });
      return [h("label", { for: id }, words.say(name)), input];
    };
    return h("p", { class: "ncf-row" }, end(0, "score_low"), end(1, "score_high"));
  }

  // --- what is asked ------------------------------------------------------------------------------------------------

  async explain() {
    const { state, about } = this;
    this.results.busy(true);
    try {
      const body = { instances: [state.row], parameters: menuOf(state, about) };
      const { explanations } = await this.client.ask(state.model, "explain", body);
      this.asked = body;
      this.sound = body.instances[0];
      this.answer = explanations[0];
      this.clearFailure();
      this.results.show(this.answer);
    } catch (failure) {
      this.failed(failure);
    }
    this.results.busy(false);
  }

  async whatIf() {
    this.trial.busy(true);
    const [answer] = (await this.tried([this.trial.values])) ?? [];
    if (answer) this.trial.show(answer);
    this.trial.busy(false);
  }

  // What the model says of the row with other values, several times at once; null if that failed.
  async tried(changes, row = this.state.row) {
    const { state, about } = this;
    const parameters = { language: state.language, display: true, ...targetOf(state, about) };
    try {
      const body = { instances: changes.map(() => row), changes, parameters };
      const { explanations } = await this.client.ask(state.model, "what-if", body);
      this.clearFailure();
      return explanations;
    } catch (failure) {
      this.failed(failure);
      return null;
    }
  }

  // --- what a person does -------------------------------------------------------------------------------------------

  openRow(row, example = null) {
    this.state.row = { ...row };
    this.state.example = example;
    this.picker.value = example === null ? "own" : String(example);
    this.showCase?.();
    this.newRow();
  }

  async rowChanged(name, value) {
    const { state, schema } = this;
    state.row = { ...state.row, [name]: value };
    state.example = null;
    this.picker.value = "own";
    if (schema.features.some((feature) => feature.derived) && !(await this.completeRow())) return;
    this.newRow();
  }

  // What follows from the others is computed by the service, which knows how: from the last row that it accepted.
  async completeRow() {
    const { state, schema } = this;
    const entered = schema.features.map((feature) => feature.name).filter((name) => state.row[name] !== this.sound[name]);
    const changes = Object.fromEntries(entered.map((name) => [name, state.row[name]]));
    this.results.busy(true);
    const [answer] = (await this.tried([changes], this.sound)) ?? [];
    this.results.busy(false);
    if (answer) state.row = answer.counterfactuals[0].values;
    return Boolean(answer);
  }

  newRow() {
    this.state.kept = [];
    this.form.update();
    this.kept.update();
    this.trial.start([]);
    this.askPlans.request();
  }

  shapeChanged() {
    this.isShapedShown();
    this.askPlans.request();
  }

  isShapedShown() {
    this.form.showReset();
  }

  get isShaped() {
    return Object.keys(this.state.shape).length > 0 || this.state.most !== null;
  }

  resetShape() {
    this.state.shape = {};
    this.state.most = null;
    this.form.update();
    this.shapeChanged();
  }

  // Whether it was this person who made the rule that blocks.
  canRelax(relaxation) {
    if (!relaxation) return false;
    const { state } = this;
    if (relaxation.rule.startsWith("max_changes")) return state.most !== null;
    return relaxation.features.some((name) => name in state.shape);
  }

  relax({ rule, features, n_changes: count }) {
    const { state } = this;
    if (rule.startsWith("max_changes")) state.most = Math.max(count, state.most + 1);
    for (const name of features) {
      const shape = shapeOf(state, name);
      if (rule === "immutable") setShape(state, name, shape.locked ? { locked: false } : { allowed: null });
      else if (rule.startsWith("ranges")) setShape(state, name, { low: null, high: null });
      else if (rule === "allowed") setShape(state, name, { allowed: null });
      else if (shape.direction) setShape(state, name, { direction: null });
    }
    this.form.update();
    this.shapeChanged();
  }

  keep(changes, plan) {
    const own = changes.filter((change) => !change.derived).map(({ feature, after }) => ({ feature, after }));
    this.state.kept.push({ changes: own, shown: plan ? keptOf(plan) : null });
    this.kept.update();
    this.tell(this.words.say("kept_now"));
  }

  // Plans of a link have no answers yet.
  async showKept() {
    const plans = this.state.kept.filter((plan) => !plan.shown);
    if (!plans.length) return;
    const asked = plans.map((plan) => Object.fromEntries(plan.changes.map(({ feature, after }) => [feature, after])));
    const answers = await this.tried(asked);
    answers?.forEach((answer, at) => (plans[at].shown = keptOf(answer.counterfactuals[0])));
    this.kept.update();
  }

  tryOut(changes) {
    this.trial.start(changes);
    this.trial.element.scrollIntoView({ block: "nearest" });
    this.trial.element.querySelector("input, select").focus({ preventScroll: true });
  }

  // The same question again, with something more in the answer: the plans are the same.
  async again(more) {
    const body = { ...this.asked, parameters: { ...this.asked.parameters, ...more } };
    try {
      const { explanations } = await this.client.ask(this.state.model, "explain", body);
      return explanations[0].counterfactuals.filter((plan) => plan.changes.length);
    } catch (failure) {
      this.failed(failure);
      return null;
    }
  }

  async letter(at) {
    const plans = await this.again({ letter: true });
    if (!plans) return;
    const { words } = this;
    const text = plans[at].letter;
    const close = h("button", { type: "button", class: "ncf-main", onclick: () => dialog.close() }, words.say("close"));
    const dialog = h(
      "dialog", { class: "ncf ncf-dialog", "aria-labelledby": "ncf-letter", onclose: () => dialog.remove() },
      h("h2", { id: "ncf-letter" }, words.say("letter_title")), h("pre", { class: "ncf-letter", tabindex: "0" }, text),
      h("p", { class: "ncf-row" }, close, h("button", { type: "button", onclick: () => download("letter.txt", text, "text/plain") }, words.say("save"))),
    );
    this.element.append(dialog);
    dialog.showModal();
  }

  async record(at) {
    const plans = await this.again({ record: true });
    if (plans) download("record.json", JSON.stringify(plans[at].record, null, 2), "application/json");
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

  clearFailure() {
    this.form?.refuse(null, null);
    if (this.alert) this.alert.hidden = true;
  }

  failed(failure) {
    const { words } = this;
    if (!failure.kind) throw failure;
    const [, name, said] = /^(?:instances|changes)\[\d+\]\.(.*?): (.*)$/s.exec(failure.message) ?? [];
    if (name !== undefined && this.form.refuse(name, said)) {
      this.form.element.open = true;
      return;
    }
    if (failure.kind === "key") {
      this.notOpened(failure, () => this.start());
      return;
    }
    const again = h("button", { type: "button", onclick: () => this.retry() }, words.say("again"));
    replaceChildren(this.alert, h("p", {}, words.say(`failure_${failure.kind}`, { message: failure.message })), again);
    this.alert.hidden = false;
  }

  retry() {
    this.askPlans.request();
    this.trial.ask();
  }

  // Before there is anything to show: a key is asked for, or the same is tried again.
  notOpened(failure, again) {
    if (!failure.kind) throw failure;
    if (!this.words) {
      // Nobody has answered yet, so that there are no words either.
      replaceChildren(this.element, h("div", { role: "alert", class: "ncf-alert" }, h("p", {}, "The service does not answer."), h("button", { type: "button", onclick: again }, "Try again")));
      return;
    }
    replaceChildren(this.element, h("main", {}, failure.kind === "key" ? this.keyForm(again) : this.gone(failure, again)));
    this.element.querySelector("input")?.focus();
  }

  gone(failure, again) {
    const { words } = this;
    const button = h("button", { type: "button", onclick: again }, words.say("again"));
    return h("div", { role: "alert", class: "ncf-alert" }, h("p", {}, words.say(`failure_${failure.kind}`, { message: failure.message })), button);
  }

  keyForm(again) {
    const { words } = this;
    const id = freshId("key");
    const input = h("input", { id, type: "password", autocomplete: "off", required: "" });
    const use = (event) => {
      event.preventDefault();
      this.client.useKey(input.value);
      again();
    };
    return h(
      "form", { class: "ncf-key", onsubmit: use },
      h("h1", {}, words.say("title")), h("p", {}, words.say("key_needed")),
      this.client.key ? h("p", { role: "alert", class: "ncf-refusal" }, words.say("key_wrong")) : null,
      h("p", { class: "ncf-row" }, h("label", { for: id }, words.say("key")), input, h("button", { class: "ncf-main" }, words.say("key_use"))),
    );
  }
}

// What is shown of a plan that is kept: the decision, and the values as they were worded.
function keptOf({ display }) {
  const texts = Object.fromEntries(display.changes.map(({ feature, before, after }) => [feature, { before, after }]));
  return { decision: display.decision, chance: display.quantity.after_text, texts };
}
