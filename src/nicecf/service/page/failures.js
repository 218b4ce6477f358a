// What went wrong, in the language of the page; the sentence of the service is there for whoever unfolds it.

import { freshId, h, replaceChildren } from "./dom.js";

const PLACE = /^(?:instances|changes)\[\d+\]\./;

// What the service refuses of a feature, by what can be wrong with a value of its kind.
function refusalOf(feature, value) {
  if (feature.kind === "number") return typeof value === "number" ? "refused_large" : "refused_no_number";
  if (feature.kind === "date") return "refused_date";
  if (feature.kind === "datetime") return "refused_datetime";
  if (feature.kind === "duration") return "refused_duration";
  return feature.kind === "text" && typeof value === "string" && !feature.ordered ? "refused_text" : "refused_category";
}

// A sentence, and behind it, folded, what the service said.
export function withDetail(sentence, detail, words, isOpen = false) {
  return [
    h("span", {}, sentence),
    detail ? h("details", { class: "ncf-detail", open: isOpen }, h("summary", {}, words.say("detail")), h("p", { lang: "en" }, detail)) : null,
  ];
}

export class Failures {
  constructor(page) {
    this.page = page;
    this.alert = h("div", { role: "alert", class: "ncf-alert", hidden: true });
  }

  // What was asked for works again; what somebody else has failed at is still to be seen.
  clear(whose = "plans") {
    if (whose === "plans") this.page.form.refuse(null, null);
    if (this.whose !== whose) return;
    clearTimeout(this.later);
    this.alert.hidden = true;
  }

  show(failure, whose = "plans") {
    const { page } = this;
    if (failure.kind === "key") {
      this.notOpened(failure, () => page.start());
      return;
    }
    const { feature, said } = this.about(failure);
    if (feature && this.isSaidAtField(feature, said, whose)) return;
    this.whose = whose;
    clearTimeout(this.later);
    const { words } = page;
    const isAgain = whose !== "table" && failure.kind === "busy" && failure.seconds !== null;
    if (isAgain) this.later = setTimeout(() => this.retry(), 1000 * failure.seconds);
    const sentence = isAgain ? words.say("failure_busy_again", { count: failure.seconds }) : this.sentence(failure, whose);
    const again = h("button", { type: "button", onclick: () => this.retry() }, words.say("again"));
    const detail = feature && whose !== "table" && !page.isNamed(feature) ? said : failure.message;
    replaceChildren(this.alert, h("div", {}, withDetail(sentence, ["busy", "gone"].includes(failure.kind) ? "" : detail, words, whose === "table")), again);
    this.alert.hidden = false;
  }

  // The feature that a refusal is about, if it is one, and what was said of it.
  about(failure) {
    const place = PLACE.exec(failure.message)?.[0];
    const rest = place === undefined ? "" : failure.message.slice(place.length);
    const named = (this.page.schema?.features ?? []).filter((one) => rest.startsWith(`${one.name}: `));
    const feature = named.sort((one, other) => other.name.length - one.name.length)[0];
    return feature ? { feature, said: rest.slice(feature.name.length + 2) } : {};
  }

  isSaidAtField(feature, said, whose) {
    const { page } = this;
    const { words } = page;
    if (whose === "what-if") return page.trial.refuse(withDetail(words.say(refusalOf(feature, page.trial.values[feature.name])), said, words));
    if (whose !== "plans" || !page.form.refuse(feature.name, withDetail(words.say(refusalOf(feature, page.state.row[feature.name])), said, words))) return false;
    page.form.element.open = true;
    return true;
  }

  sentence(failure, whose) {
    const { words } = this.page;
    return words.say(whose === "table" && failure.kind === "refused" ? "failure_file" : `failure_${failure.kind ?? "failed"}`);
  }

  retry() {
    clearTimeout(this.later);
    this.page.questions.plans.request();
    this.page.trial.ask();
  }

  // Before there is anything to show: a key is asked for, or the same is tried again.
  notOpened(failure, again) {
    const { page } = this;
    const { words, element } = page;
    if (!words) {
      // Nobody has answered yet, so that there are no words either.
      replaceChildren(element, h("div", { role: "alert", class: "ncf-alert" }, h("p", {}, "The service does not answer."), h("button", { type: "button", onclick: again }, "Try again")));
      return;
    }
    replaceChildren(element, h("main", {}, failure.kind === "key" ? this.keyForm(again) : this.gone(failure, again)));
    element.querySelector("input")?.focus();
  }

  gone(failure, again) {
    const { words } = this.page;
    const button = h("button", { type: "button", onclick: again }, words.say("again"));
    return h("div", { role: "alert", class: "ncf-alert" }, h("div", {}, withDetail(this.sentence(failure), failure.message, words)), button);
  }

  keyForm(again) {
    const { words, client } = this.page;
    const id = freshId("key");
    const input = h("input", { id, type: "password", autocomplete: "off", required: "" });
    const use = (event) => {
      event.preventDefault();
      client.useKey(input.value);
      again();
    };
    return h(
      "form", { class: "ncf-key", onsubmit: use },
      h("h1", {}, words.say("title")), h("p", {}, words.say("key_needed")),
      client.key ? h("p", { role: "alert", class: "ncf-refusal" }, words.say("key_wrong")) : null,
      h("p", { class: "ncf-row" }, h("label", { for: id }, words.say("key")), input, h("button", { class: "ncf-main" }, words.say("key_use"))),
    );
  }
}
