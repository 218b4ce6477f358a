// What plans are called: by what they change, and which way.

import { isMoment } from "./shape.js";

// So many changes are in a name, unless another plan is called the same.
const NAMED = 2;

// The name of each plan, as no other is called; `shown`: what is displayed of each.
export function planNames(shown, schema, words) {
  const longer = [
    (display) => nameOf(display, schema, words, NAMED),
    (display) => nameOf(display, schema, words, Infinity),
    (display) => words.say("name_values", { name: nameOf(display, schema, words, Infinity), values: words.list(ownChanges(display).map((change) => change.after)) }),
  ];
  let names = shown.map(longer[0]);
  for (const name of longer.slice(1)) {
    const isTwice = (one) => names.indexOf(one) !== names.lastIndexOf(one);
    names = names.map((one, at) => (isTwice(one) ? name(shown[at]) : one));
  }
  return names.map((name, at) => {
    const before = names.slice(0, at).filter((one) => one === name).length;
    return before ? words.say("name_number", { name, count: before + 1 }) : name;
  });
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
