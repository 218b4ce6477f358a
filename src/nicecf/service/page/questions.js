// What the page asks about a case: plans, what the new values may be besides, and what the model says of other values.

import { menuOf, targetOf } from "./state.js";

// Milliseconds without a touch until more is asked about the plans: a touch never waits for that.
const PAUSE = 400;

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
    try {
      while (this.isWanted) {
        this.isWanted = false;
        await this.work();
      }
    } finally {
      this.isBusy = false;
    }
  }
}

// `plans` and `trial` are requested anew with each touch. `last`: the question of the plans that are shown.
export class Questions {
  constructor(page) {
    this.page = page;
    this.last = null;
    this.plans = new Latest(() => this.explain());
    this.trial = new Latest(() => this.whatIf());
  }

  async explain() {
    const { page } = this;
    const { state, about, results } = page;
    this.forgetRegions();
    results.busy(true);
    try {
      const { min_probability: margin, ...others } = menuOf(state, about);
      let question = this.about(margin === undefined ? others : { ...others, min_probability: margin });
      let answer = await this.answerTo(question);
      const isFallback = margin !== undefined && !answer.found && this.isOfNow(question);
      if (isFallback) {
        question = this.about(others);
        answer = await this.answerTo(question);
      }
      if (!this.isOfNow(question)) return;
      this.last = question;
      page.answered(answer, isFallback);
      if (answer.counterfactuals.some((plan) => plan.changes.length)) this.explainRegionsLater(question, results);
    } catch (failure) {
      if (page.state === state) page.failed(failure);
    } finally {
      results.busy(false);
    }
  }

  about(parameters) {
    const { state } = this.page;
    return { state, model: state.model, body: { instances: [state.row], parameters } };
  }

  // Whether a question is not of another row or model by now.
  isOfNow({ state, body }) {
    return this.page.state === state && state.row === body.instances[0];
  }

  async answerTo({ model, body }, more = {}, signal = null) {
    const parameters = { ...body.parameters, ...more };
    const { explanations } = await this.page.client.ask(model, "explain", { ...body, parameters }, signal);
    return explanations[0];
  }

  // What the new values may be besides takes longer than the plans, which are there without it, too.
  explainRegionsLater(question, results) {
    this.later = setTimeout(async () => {
      this.regions = new AbortController();
      const answer = await this.answerTo(question, { include: ["regions"] }, this.regions.signal).catch(() => null);
      if (answer && this.last === question) results.showRegions(answer.counterfactuals);
    }, PAUSE);
  }

  forgetRegions() {
    clearTimeout(this.later);
    this.regions?.abort();
  }

  // A plan again, with something more in the answer to the same question. The plans are the same, unless the explainer
  // has changed, or its time was up: then nothing is shown of another one in its place.
  async again(plan, more) {
    const { page } = this;
    try {
      const { counterfactuals } = await this.answerTo(this.last, more);
      const values = JSON.stringify(plan.values);
      const found = counterfactuals.find((one) => JSON.stringify(one.values) === values);
      if (found) return found;
      page.tell(page.words.say("plans_changed"));
      this.plans.request();
    } catch (failure) {
      page.failed(failure);
    }
    return null;
  }

  async whatIf() {
    const { trial } = this.page;
    const values = { ...trial.values };
    trial.busy(true);
    try {
      const [answer] = (await this.tried([values], this.page.state.row, "what-if")) ?? [];
      if (answer && trial === this.page.trial) trial.show(answer, values);
    } finally {
      trial.busy(false);
    }
  }

  // What the model says of the row with other values, several times at once; null if that failed.
  async tried(changes, row = this.page.state.row, whose = "plans") {
    const { page } = this;
    const { state, about } = page;
    const parameters = { language: state.language, display: true, ...targetOf(state, about) };
    try {
      const body = { instances: changes.map(() => row), changes, parameters };
      const { explanations } = await page.client.ask(state.model, "what-if", body);
      page.clearFailure(whose);
      return explanations;
    } catch (failure) {
      page.failed(failure, whose);
      return null;
    }
  }
}
