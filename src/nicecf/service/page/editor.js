// How a person enters a value of a feature: a form made from the schema.

import { h } from "./dom.js";

const MISSING = "\u0000missing";

// An element to edit a value with: `element`, `id`, and `set(value)`; `changed` is called with each new value.
export function editor(feature, id, words, changed, { label = null } = {}) {
  const named = label === null ? { id } : { id, "aria-label": label };
  if (feature.values) return choice(feature, named, words, changed);
  if (feature.kind === "number") return numberField(feature, named, words, changed);
  return textField(feature, named, words, changed);
}

function choice(feature, named, words, changed) {
  const options = feature.values.map((value, at) => h("option", { value: String(at) }, feature.titles[at]));
  const missing = h("option", { value: MISSING }, words.phrases["value.missing"]);
  const other = h("option", { value: "other", hidden: true });
  const element = h("select", { ...named, onchange: () => changed(read()) }, options, missing, other);
  let unlisted = null;

  function read() {
    if (element.value === MISSING) return null;
    return element.value === "other" ? unlisted : feature.values[Number(element.value)];
  }

  function set(value) {
    const at = feature.values.indexOf(value);
    unlisted = value;
    other.hidden = value === null || at >= 0;
    other.textContent = other.hidden ? "" : String(value);
    element.value = value === null ? MISSING : at >= 0 ? String(at) : "other";
  }

  return { element, set };
}

function numberField(feature, named, words, changed) {
  const step = feature.decimals === undefined || feature.decimals > 6 ? "any" : String(10 ** -feature.decimals);
  const element = h("input", {
    ...named,
    type: "number",
    step: step === "1" ? "1" : "any",
    inputmode: "decimal",
    placeholder: words.phrases["value.missing"],
    // What is no number leaves the value as it was: the browser says so itself.
    onchange: () => (element.validity.badInput ? element.reportValidity() : changed(element.value === "" ? null : Number(element.value))),
  });
  return { element, set: (value) => (element.value = value === null ? "" : String(value)) };
}

// Dates are chosen from a calendar where they have no time of day; all else is text.
function textField(feature, named, words, changed) {
  const isDay = ["date", "datetime"].includes(feature.kind) && feature.edges_as_text?.length && feature.edges_as_text.every((one) => /^\d{4}-\d\d-\d\d$/.test(one));
  const element = h("input", {
    ...named,
    type: isDay ? "date" : "text",
    placeholder: words.phrases["value.missing"],
    onchange: () => changed(element.value === "" ? null : element.value),
  });
  return { element, set: (value) => (element.value = value === null ? "" : String(value)) };
}
