// What the page asks about a case: plans, what the new values may be besides, and what the model says of other values.

import { menuOf, targetOf } from "./state.js";

// Milliseconds without a touch until more is asked about the plans: a touch never waits for that.
const PAUSE = 400;
// The same until it is tried again to get safely over the line: that takes longest where there is no way.
const LONG_PAUSE = 1_500;

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

// `plans` and `trial` are requested anew with each touch. `last`: the question of the plans that are shown. `hardRow`: a
// row that was not got safely over the line; with the next touches, plans that are just over it are asked for first.
export class Questions {
  constructor(page) {
    this.page = page;
    this.last = this.hardRow = null;
    this.plans = new Latest(() => this.explain());
    this.trial = new Latest(() => this.whatIf());
  }

  async explain() {
    const { page } = this;
    const { state, about, results } = page;
    this.forgetMore();
    results.busy(true);
    try {
      const { min_probability: margin, ...others } = menuOf(state, about);
      const isHard = margin !== undefined && this.hardRow === state.row;
      const safely = margin === undefined ? null : this.about({ ...others, min_probability: margin });
      let question = safely && !isHard ? safely : this.about(others);
      let answer = await this.answerTo(question);
      let fallback = isHard ? "just_enough_so_far" : null;
      if (question === safely && !answer.found && this.isOfNow(question)) {
        this.hardRow = state.row;
        question = this.about(others);
        answer = await this.answerTo(question);
        fallback = "just_enough_only";
      }
      if (!this.isOfNow(question)) return;
      this.last = question;
      page.answered(answer, fallback);
      if (answer.counterfactuals.some((plan) => plan.changes.length)) this.askMoreLater(question, isHard ? safely : null);
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

  // What the new values may be besides, and first whether there is a way safely over the line, if nobody has tried yet.
  askMoreLater(question, safely) {
    this.later = setTimeout(async () => {
      this.more = new AbortController();
      const { signal } = this.more;
      const shown = safely && this.last === question ? await this.showSafely(question, safely, signal) : question;
      const answer = await this.answerTo(shown, { include: ["regions"] }, signal).catch(() => null);
      if (answer && this.last === shown) this.page.results.showRegions(answer.counterfactuals);
    }, safely ? LONG_PAUSE : PAUSE);
  }

  // Shows plans that are safely over the line in place of others, if there are any; the question of those shown.
  async showSafely(question, safely, signal) {
    const answer = await this.answerTo(safely, {}, signal).catch(() => null);
    if (!answer || this.last !== question) return question;
    if (!answer.found) {
      this.page.answered(this.page.answer, "just_enough_only");
      return question;
    }
    this.hardRow = null;
    this.last = safely;
    this.page.answered(answer, null);
    return safely;
  }

  forgetMore() {
    clearTimeout(this.later);
    this.more?.abort();
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
