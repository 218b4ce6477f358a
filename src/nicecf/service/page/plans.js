// The decision, and the menu of plans: what would have to be different for another one.

import { freshId, h, replaceChildren } from "./dom.js";
import { gauge } from "./gauge.js";
import { icon } from "./icons.js";
import { planNames } from "./names.js";
import { radios } from "./shape.js";

// So many are shown at first.
const FIRST = 3;

export class Results {
  constructor(page) {
    this.page = page;
    const { words } = page;
    this.decision = h("div", { class: "ncf-decision" });
    this.heading = h("h2", { id: "ncf-plans", tabindex: "-1" }, words.say("plans"));
    this.margin = this.chooseMargin();
    this.remarks = h("ul", { class: "ncf-remarks" });
    this.menu = h("div", { class: "ncf-menu" });
    this.more = h("button", { type: "button", hidden: true, onclick: () => this.showAll() });
    this.live = h("p", { class: "ncf-hidden", "aria-live": "polite" });
    this.cards = [];
    this.element = h(
      "section", { class: "ncf-results", "aria-labelledby": "ncf-plans", "aria-busy": "false" },
      this.decision, h("div", { class: "ncf-over" }, this.heading, this.margin?.element), this.remarks, this.live, this.menu, this.more,
    );
  }

  // How far over the line plans are to be, where there is a line to be over.
  chooseMargin() {
    const { words, state, about } = this.page;
    if (!about.safe_probabilities?.length) return null;
    const options = ["safely", "enough"].map((one) => [one, words.say(`margin_${one}`)]);
    const group = radios(words.say("margin"), options, (one) => {
      state.margin = one;
      this.page.shapeChanged();
    });
    group.set(state.margin);
    return group;
  }

  busy(isBusy) {
    this.element.setAttribute("aria-busy", String(isBusy));
  }

  // Before another row is answered: nothing of the one before is there to be kept or tried.
  clear() {
    this.cards = [];
    [this.decision, this.remarks, this.menu].forEach((one) => replaceChildren(one));
    this.more.hidden = true;
    this.isAll = false;
  }

  // `fallback`: the phrase for plans that are just over the line where safe ones are wanted.
  show(answer, fallback = null) {
    const { page } = this;
    const { words } = page;
    const plans = answer.counterfactuals.filter((plan) => plan.changes.length);
    const { display } = answer;
    replaceChildren(
      this.decision,
      h("p", { class: "ncf-decided" }, words.say("decision"), " ", h("strong", {}, display.decision)),
      gauge(display.quantity, words, { now: true }),
      display.notes.length ? h("ul", { class: "ncf-notes" }, display.notes.map((note) => h("li", {}, note))) : null,
    );
    const names = planNames(plans.map((plan) => plan.display), page.schema, words);
    this.cards = plans.map((plan, at) => new PlanCard(plan, names[at], page));
    replaceChildren(this.remarks, this.remarksOn(answer, plans, fallback).map((text) => h("li", {}, text)));
    if (plans.length) replaceChildren(this.menu, this.cards.map((card) => card.element));
    else if (answer.found) replaceChildren(this.menu, h("p", {}, words.say("no_change_needed")));
    else replaceChildren(this.menu, answer.stopped_early ? this.stopped() : this.why(answer));
    if (plans.length && answer.stopped_early) this.menu.append(h("p", {}, this.again()));
    this.fold();
    const none = answer.found ? words.say("no_change_needed") : answer.stopped_early ? words.say("stopped") : display.obstacle;
    this.live.textContent = plans.length ? words.say("plans_count", { count: plans.length }) : none;
  }

  remarksOn(answer, plans, fallback) {
    const { words, state } = this.page;
    const isWanted = state.target !== null && answer.decision === state.target;
    return [
      plans.length && isWanted ? words.say("safer_only") : null,
      plans.length && fallback ? words.say(fallback) : null,
      answer.display.proof || null,
    ].filter(Boolean);
  }

  // The first few, and a button for the others.
  fold() {
    const count = this.cards.length - FIRST;
    this.cards.forEach((card, at) => (card.element.hidden = !this.isAll && at >= FIRST));
    this.more.hidden = this.isAll || count <= 0;
    this.more.textContent = this.page.words.say("more_plans", { count });
  }

  showAll() {
    this.isAll = true;
    this.fold();
    this.cards[FIRST].title.focus();
  }

  // What the new values may be besides, of those plans that are still shown.
  showRegions(plans) {
    for (const plan of plans) this.cards.find((card) => card.isOf(plan))?.showRegions(plan.display.changes);
  }

  again() {
    const { page } = this;
    return h("button", { type: "button", onclick: () => page.questions.plans.request() }, page.words.say("again"));
  }

  // Time was up: whether there is a way, and what stands in it, nobody knows.
  stopped() {
    const { words } = this.page;
    return h("div", { class: "ncf-none" }, h("h3", {}, words.say("stopped")), h("p", {}, words.say("stopped_hint")), h("p", { class: "ncf-row" }, this.again()));
  }

  // Why there is no plan, and what to allow for there to be one.
  why(answer) {
    const { page } = this;
    const { words } = page;
    const { relaxation, obstacle } = answer.display;
    const shaped = page.canRelax(relaxation);
    const others = h("button", { type: "button", onclick: () => page.resetShape() }, words.say("open_all"));
    return h(
      "div", { class: "ncf-none" },
      h("h3", {}, words.say(answer.proof === "infeasible" ? "no_plan" : "no_plan_found")),
      h("p", {}, relaxation ? words.say("blocked", { rule: relaxation.blocks }) : obstacle),
      relaxation ? h("p", {}, words.say("relaxation", { relaxation: relaxation.text, count: relaxation.n_changes })) : null,
      h(
        "p", { class: "ncf-row" },
        shaped ? h("button", { type: "button", class: "ncf-main", onclick: () => page.relax(relaxation) }, words.say("open_one", { rule: relaxation.text })) : null,
        page.isShaped ? others : null,
      ),
    );
  }
}

export function changesList(shown, words) {
  return [
    h("ul", { class: "ncf-changes" }, shown.changes.map((change) => changeLine(change, words))),
    shown.derived.length ? h("p", { class: "ncf-follows" }, words.say("follows")) : null,
    shown.derived.length ? h("ul", { class: "ncf-changes ncf-follows" }, shown.derived.map((change) => changeLine(change, words))) : null,
  ];
}

function changeLine(change, words) {
  return h(
    "li", {},
    h("span", { class: "ncf-feature" }, change.name), " ",
    change.contribution ? h("span", { class: "ncf-gain" }, change.contribution) : null, " ",
    h("span", { class: "ncf-values" }, h("span", { class: "ncf-from" }, change.before), " ", icon("arrow"), h("span", { class: "ncf-hidden" }, words.say("becomes")), " ", h("strong", {}, change.after)),
  );
}

class PlanCard {
  constructor(plan, name, page) {
    this.plan = plan;
    this.page = page;
    const { words } = page;
    const id = freshId("plan");
    this.title = h("h3", { id, tabindex: "-1" }, name);
    const [changes, ...derived] = changesList(plan.display, words);
    this.changes = changes;
    const action = (phrase, act) => h("button", { type: "button", "aria-describedby": id, onclick: act }, words.say(phrase));
    this.element = h(
      "article", { class: "ncf-plan", "aria-labelledby": id },
      h(
        "header", {}, this.title,
        h("p", { class: "ncf-badges" }, h("span", { class: "ncf-outcome" }, plan.display.decision), plan.strengths.map((one) => [" ", h("span", { class: "ncf-badge" }, words.say(`strength_${one}`))])),
      ),
      h("div", { class: "ncf-plan-changes" }, changes, derived),
      h(
        "div", { class: "ncf-plan-end" }, gauge(plan.display.quantity, words),
        h(
          "footer", { class: "ncf-row" },
          action("keep", () => page.keep(plan.changes, plan)),
          action("try", () => page.tryOut(plan.changes)),
          action("letter", () => page.letter(plan)),
          action("record", () => page.record(plan)),
        ),
      ),
    );
  }

  isOf(plan) {
    return JSON.stringify(plan.values) === JSON.stringify(this.plan.values);
  }

  showRegions(changes) {
    changes.forEach((change, at) => {
      if (change.region) this.changes.children[at].append(" ", h("span", { class: "ncf-region" }, this.page.words.say("region", { region: change.region })));
    });
  }
}
