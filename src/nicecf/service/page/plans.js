// The decision, and the menu of plans: what would have to be different for another one.

import { freshId, h, replaceChildren } from "./dom.js";
import { gauge } from "./gauge.js";
import { icon } from "./icons.js";

export class Results {
  constructor(page) {
    this.page = page;
    this.decision = h("div", { class: "ncf-decision" });
    this.menu = h("div", { class: "ncf-menu" });
    this.live = h("p", { class: "ncf-hidden", "aria-live": "polite" });
    this.element = h(
      "section", { class: "ncf-results", "aria-labelledby": "ncf-plans", "aria-busy": "false" },
      this.decision, h("h2", { id: "ncf-plans" }, page.words.say("plans")), this.live, this.menu,
    );
  }

  busy(isBusy) {
    this.element.setAttribute("aria-busy", String(isBusy));
  }

  // Before another row is answered: nothing of the one before is there to be kept or tried.
  clear() {
    replaceChildren(this.decision);
    replaceChildren(this.menu);
  }

  show(answer) {
    const { words } = this.page;
    replaceChildren(
      this.decision,
      h("p", { class: "ncf-decided" }, words.say("decision"), " ", h("strong", {}, answer.display.decision)),
      gauge(answer.display.quantity, words, { now: true }),
      answer.display.notes.length ? h("ul", { class: "ncf-notes" }, answer.display.notes.map((note) => h("li", {}, note))) : null,
    );
    const plans = answer.counterfactuals.filter((plan) => plan.changes.length);
    if (plans.length) replaceChildren(this.menu, plans.map((plan) => planCard(plan, this.page)));
    else replaceChildren(this.menu, answer.found ? h("p", {}, words.say("no_change_needed")) : this.why(answer));
    this.live.textContent = plans.length ? words.say("plans_count", { count: plans.length }) : (answer.reason ?? "");
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
      h("h3", {}, words.say("no_plan")),
      h("p", {}, relaxation ? words.say("blocked", { rule: relaxation.blocks }) : page.isShaped ? words.say("blocked_by_several") : obstacle || answer.reason),
      relaxation ? h("p", {}, words.say("relaxation", { relaxation: relaxation.text, count: relaxation.n_changes })) : null,
      h(
        "p", { class: "ncf-row" },
        shaped ? h("button", { type: "button", class: "ncf-main", onclick: () => page.relax(relaxation) }, words.say("open_one", { rule: relaxation.text })) : null,
        page.isShaped ? others : null,
      ),
      h("details", {}, h("summary", {}, words.say("reason")), h("p", {}, answer.reason)),
    );
  }
}

export function changesList(shown, words) {
  const line = (change) =>
    h(
      "li", {},
      h("span", { class: "ncf-feature" }, change.name), " ",
      h("span", { class: "ncf-from" }, change.before), " ", icon("arrow"),
      h("span", { class: "ncf-hidden" }, words.say("becomes")), " ", h("strong", {}, change.after),
    );
  return [
    h("ul", { class: "ncf-changes" }, shown.changes.map(line)),
    shown.derived.length ? h("p", { class: "ncf-follows" }, words.say("follows")) : null,
    shown.derived.length ? h("ul", { class: "ncf-changes ncf-follows" }, shown.derived.map(line)) : null,
  ];
}

function planCard(plan, page) {
  const { words } = page;
  const title = plan.strengths.length ? plan.strengths.map((one) => words.say(`strength_${one}`)).join(" · ") : words.say("another_way");
  const id = freshId("plan");
  const action = (name, act, described = {}) =>
    h("button", { type: "button", "aria-describedby": id, onclick: act, ...described }, words.say(name));
  return h(
    "article", { class: `ncf-plan${plan.strengths.length ? " ncf-best" : ""}`, "aria-labelledby": id },
    h("header", {}, h("h3", { id }, title), h("span", { class: "ncf-outcome" }, plan.display.decision)),
    changesList(plan.display, words),
    gauge(plan.display.quantity, words),
    h(
      "footer", { class: "ncf-row" },
      action("keep", () => page.keep(plan.changes, plan)),
      action("try", () => page.tryOut(plan.changes)),
      action("letter", () => page.letter(plan)),
      action("record", () => page.record(plan)),
    ),
  );
}
