// How a person enters a value of a feature: a form made from the schema.

import { h } from "./dom.js";

const MISSING = "\u0000missing";

// An element to edit a value with: `element` and `set(value)`. `changed` is called with each new value, `refused` with a
// sentence about what was entered in place of a value.
export function editor(feature, id, words, changed, refused) {
  if (feature.values) return choice(feature, id, words, changed);
  if (feature.kind === "number") return numberField({ id, placeholder: words.phrases["value.missing"] }, words, changed, refused, feature.unit ? 1_000 : 10_000);
  return textField(feature, id, words, changed);
}

function choice(feature, id, words, changed) {
  const options = feature.values.map((value, at) => h("option", { value: String(at) }, feature.titles[at]));
  const missing = h("option", { value: MISSING }, words.phrases["value.missing"]);
  const other = h("option", { value: "other", hidden: true });
  const element = h("select", { id, onchange: () => changed(read()) }, options, missing, other);
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

// A number as people of the language write it. What is none, or could be two, is not taken for anything.
export function numberField(properties, words, changed, refused, grouped = 10_000) {
  const element = h("input", { ...properties, type: "text", inputmode: "decimal", autocomplete: "off", onchange: read });

  function read() {
    const text = element.value.trim();
    const number = text === "" ? null : words.parse(text);
    if (text !== "" && number === null) refused(words.say("refused_number", { text }));
    else changed(number);
  }

  return { element, set: (value) => (element.value = value === null ? "" : typeof value === "number" ? words.written(value, grouped) : String(value)) };
}

// Dates are chosen from a calendar where they have no time of day; all else is text.
function textField(feature, id, words, changed) {
  const isDay = ["date", "datetime"].includes(feature.kind) && feature.edges_as_text?.length && feature.edges_as_text.every((one) => /^\d{4}-\d\d-\d\d$/.test(one));
  const element = h("input", {
    id,
    type: isDay ? "date" : "text",
    placeholder: words.phrases["value.missing"],
    onchange: () => changed(element.value === "" ? null : element.value),
  });
  return { element, set: (value) => (element.value = value === null ? "" : String(value)) };
}
