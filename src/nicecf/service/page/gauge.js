// The number that decides, and the line that it must cross.

import { h } from "./dom.js";

// `quantity`: as the service gives it. With `now` only the present value is shown.
export function gauge(quantity, words, { now = false } = {}) {
  const isScore = quantity.name === null;
  const numbers = [quantity.before, ...(now ? [] : [quantity.after]), ...quantity.limits];
  const [low, high] = isScore ? spread(numbers) : [0, 1];
  const share = (value) => `${(100 * (Math.min(Math.max(value, low), high) - low)) / (high - low)}%`;
  const place = (kind, value) => h("span", { class: `ncf-${kind}`, style: { left: share(value) } });
  const name = isScore ? words.say("score") : quantity.name;
  const texts = now ? [quantity.before_text] : [quantity.before_text, quantity.after_text];
  const said = words.say(now ? "gauge_now" : "gauge", { name, before: texts[0], after: texts[1] ?? "" });
  const line = quantity.line || (quantity.limits.length && !isScore ? words.say("gauge_line", { limit: percent(quantity.limits[0], words) }) : "");
  const moved = h("span", { class: "ncf-moved" });
  if (!now) {
    const ends = [quantity.before, quantity.after].map((value) => Number.parseFloat(share(value)));
    moved.style.setProperty("left", `${Math.min(...ends)}%`);
    moved.style.setProperty("width", `${Math.abs(ends[1] - ends[0])}%`);
  }
  return h(
    "div", { class: "ncf-gauge" },
    h(
      "div", { class: "ncf-scale", "aria-hidden": "true" },
      now ? null : moved,
      quantity.limits.map((limit) => place("limit", limit)),
      place("before", quantity.before),
      now ? null : place("after", quantity.after),
    ),
    h("p", { class: "ncf-gauge-text" }, (line ? `${said} ${line}` : said).replaceAll(" %", "\u00a0%")), // on one line
  );
}

function percent(value, words) {
  return words.phrases["number.percent"].replace("{number}", words.number(Math.round(value * 1e6) / 1e4));
}

function spread(numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const margin = (high - low || Math.abs(high) || 1) * 0.15;
  return [low - margin, high + margin];
}
