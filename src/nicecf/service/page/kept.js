// Plans that a person keeps, side by side.

import { h, replaceChildren } from "./dom.js";
import { icon } from "./icons.js";

export class Kept {
  constructor(page) {
    this.page = page;
    this.body = h("div", { class: "ncf-scroll", tabindex: "0", role: "region", "aria-labelledby": "ncf-kept" });
    this.element = h("section", { class: "ncf-kept" }, h("h2", { id: "ncf-kept" }, page.words.say("kept")), this.body);
    this.update();
  }

  update() {
    const { words, state, schema } = this.page;
    const plans = state.kept;
    this.page.onkept(plans.map((plan) => Object.fromEntries(plan.changes.map(({ feature, after }) => [feature, after]))));
    this.element.hidden = !plans.length;
    if (!plans.length) return;
    const changed = schema.features.filter((feature) => plans.some((plan) => plan.changes.some((one) => one.feature === feature.name)));
    const head = h(
      "tr", {}, h("th", { scope: "col" }, words.say("feature")), h("th", { scope: "col" }, words.say("now")),
      plans.map((plan, at) => h("th", { scope: "col" }, words.say("plan_number", { count: at + 1 }), " ", this.remove(at), h("span", { class: "ncf-plan-name" }, plan.shown?.name))),
    );
    const lines = changed.map((feature) =>
      h(
        "tr", {}, h("th", { scope: "row" }, feature.title), h("td", {}, textOf(plans, feature, "before") ?? words.value(feature, state.row[feature.name])),
        plans.map((plan) => {
          const change = plan.changes.find((one) => one.feature === feature.name);
          return change ? h("td", { class: "ncf-new" }, textOf([plan], feature, "after") ?? words.value(feature, change.after)) : h("td", {}, h("span", { "aria-label": words.say("unchanged") }, "–"));
        }),
      ),
    );
    const outcome = h(
      "tr", { class: "ncf-total" }, h("th", { scope: "row" }, words.say("decision_short")), h("td", {}, this.page.answer?.display.decision ?? ""),
      plans.map((plan) => h("td", {}, plan.shown ? `${plan.shown.decision} (${plan.shown.chance})` : "…")),
    );
    replaceChildren(this.body, h("table", { class: "ncf-table" }, h("thead", {}, head), h("tbody", {}, lines, outcome)));
  }

  remove(at) {
    const { words, state } = this.page;
    return h("button", {
      type: "button", class: "ncf-lock", "aria-label": words.say("remove_plan", { count: at + 1 }),
      onclick: () => { state.kept.splice(at, 1); this.update(); this.page.heading.focus(); },
    }, icon("close"));
  }
}

// How the first of some plans words a value, if one does.
function textOf(plans, feature, when) {
  return plans.map((plan) => plan.shown?.texts.get(feature.name)?.[when]).find((text) => text !== undefined);
}
