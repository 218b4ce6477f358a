// What plans are called: by what they change, and which way.

import { isMoment } from "./shape.js";

// The name of each plan, as no other is called; `shown`: what is displayed of each.
export function planNames(shown, schema, words) {
  const names = shown.map((display) => nameOf(display, schema, words));
  const isTwice = (name) => names.indexOf(name) !== names.lastIndexOf(name);
  const told = names.map((name, at) => (isTwice(name) ? withValues(name, shown[at], words) : name));
  return told.map((name, at) => {
    const before = told.slice(0, at).filter((one) => one === name).length;
    return before ? words.say("name_number", { name, count: before + 1 }) : name;
  });
}

function nameOf(display, schema, words) {
  const changes = changesIn(display);
  const parts = changes.slice(0, 2).map((change) => partOf(change, schema, words));
  const name = changes.length > 2 ? words.say("name_more", { name: parts.join(", "), count: changes.length - 2 }) : words.list(parts);
  return name.charAt(0).toLocaleUpperCase(words.language) + name.slice(1);
}

function partOf(change, schema, words) {
  const feature = schema.features.find((one) => one.name === change.feature);
  const ways = isMoment(feature) ? ["name_earlier", "name_later"] : ["name_down", "name_up"];
  if (!change.goes) return words.say("name_to", { feature: change.name, value: change.after });
  return words.say(ways[change.goes > 0 ? 1 : 0], { feature: change.name });
}

function withValues(name, display, words) {
  return words.say("name_values", { name, values: words.list(changesIn(display).map((change) => change.after)) });
}

// What belongs to another change is no part of a name.
function changesIn(display) {
  return display.changes.filter((change) => !change.together);
}
