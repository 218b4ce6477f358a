// What plans are called: by what they change, and which way.

import { isMoment } from "./shape.js";

// So many changes are in a name, unless another plan is called the same.
const NAMED = 2;

// The name of each plan, as no other is called; `shown`: what is displayed of each.
export function planNames(shown, schema, words) {
  const isTwice = (name, names) => names.indexOf(name) !== names.lastIndexOf(name);
  const short = shown.map((display) => nameOf(display, schema, words, NAMED));
  const full = short.map((name, at) => (isTwice(name, short) ? nameOf(shown[at], schema, words, Infinity) : name));
  const alike = (name) => shown.filter((_, at) => full[at] === name);
  const valued = full.map((name, at) => (isTwice(name, full) ? withValues(name, shown[at], alike(name), words) : name));
  return valued.map((name, at) => {
    const before = valued.slice(0, at).filter((one) => one === name).length;
    return before ? words.say("name_number", { name, count: before + 1 }) : name;
  });
}

// The new values that others of the same name do not have; all, if they have the same.
function withValues(name, display, alike, words) {
  const changes = ownChanges(display);
  const differs = (change) => alike.some((other) => ownChanges(other).some((one) => one.feature === change.feature && one.after !== change.after));
  const told = changes.some(differs) ? changes.filter(differs) : changes;
  return words.say("name_values", { name, values: words.list(told.map((change) => change.after)) });
}

function nameOf(display, schema, words, most) {
  const changes = ownChanges(display);
  const parts = changes.slice(0, most).map((change) => partOf(change, schema, words));
  const more = changes.length - parts.length;
  const name = more ? words.say("name_more", { name: parts.join(words.phrases["list.between"]), count: more }) : words.list(parts);
  return name.charAt(0).toLocaleUpperCase(words.language) + name.slice(1);
}

function partOf(change, schema, words) {
  const feature = schema.features.find((one) => one.name === change.feature);
  const ways = isMoment(feature) ? ["name_earlier", "name_later"] : ["name_down", "name_up"];
  if (!change.goes) return words.say("name_to", { feature: change.name, value: change.after });
  return words.say(ways[change.goes > 0 ? 1 : 0], { feature: change.name });
}

// What belongs to another change is no part of a name.
function ownChanges(display) {
  return display.changes.filter((change) => !change.together);
}
