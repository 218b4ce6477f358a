// What a person says about the changes of one feature: which way, how far, to what, and how hard it is.

import { freshId, h, svg } from "./dom.js";

const STEPS = 200;

// The controls for one feature: `element`, and `update(shape, value)` where something else has changed them.
export function shapeControls(feature, words, changed) {
  const parts = [
    ...(isOrdered(feature) && !feature.direction ? [direction(feature, words, changed)] : []),
    ...(hasRange(feature) ? [range(feature, words, changed)] : []),
    ...(feature.values && feature.values.length > 1 ? [allowed(feature, words, changed)] : []),
    effort(feature, words, changed),
  ];
  const element = h("div", { class: "ncf-shape" }, parts.map((part) => part.element));
  return { element, update: (shape, value) => parts.forEach((part) => part.update(shape, value)) };
}

export function hasRange(feature) {
  return Boolean(feature.edges && !feature.values && feature.counts.length > 1);
}

function isOrdered(feature) {
  return hasRange(feature) || Boolean(feature.ordered);
}

// One of a few: `element`, and `set(value)`; `chosen` is called with another value.
export function radios(legend, options, chosen) {
  const name = freshId("radio");
  const inputs = options.map(([value, title]) => {
    const id = freshId("option");
    const input = h("input", { type: "radio", name, id, onchange: () => chosen(value) });
    return { value, input, element: h("span", { class: "ncf-radio" }, input, h("label", { for: id }, title)) };
  });
  const element = h("fieldset", { class: "ncf-radios" }, h("legend", {}, legend), inputs.map((one) => one.element));
  return { element, set: (value) => inputs.forEach((one) => (one.input.checked = one.value === value)) };
}

function direction(feature, words, changed) {
  const isDate = isMoment(feature);
  const group = radios(
    words.say("direction"),
    [
      [null, words.say("direction_any")],
      ["increasing", words.say(isDate ? "direction_later" : "direction_up")],
      ["decreasing", words.say(isDate ? "direction_earlier" : "direction_down")],
    ],
    (way) => changed({ direction: way }),
  );
  return { element: group.element, update: (shape) => group.set(shape.direction) };
}

function effort(feature, words, changed) {
  const efforts = ["easy", "usual", "hard"].map((one) => [one, words.say(`effort_${one}`)]);
  const group = radios(words.say("effort"), efforts, (one) => changed({ effort: one }));
  return { element: group.element, update: (shape) => group.set(shape.effort) };
}

// The positions of a slider, and the values that they stand for.
export function scaleOf(feature) {
  const edges = feature.edges;
  if (feature.edges_as_text) {
    const texts = feature.edges_as_text;
    const last = texts.length - 1;
    // Dates are in the order of their text; of durations, only those that are ends of bars have a known place.
    const position = (value) => {
      const at = texts.indexOf(value) >= 0 || !isMoment(feature) ? texts.indexOf(value) : texts.findIndex((text) => text >= value);
      return at >= 0 ? at : last;
    };
    return { last, at: (at) => texts[at], position, share: (value) => position(value) / last };
  }
  // Whole numbers of which each has a bar: it begins half of one before the number.
  const half = edges[1] - edges[0] === 1 && Math.abs(edges[0] % 1) === 0.5 ? 0.5 : 0;
  const [low, high] = [edges[0] + half, edges.at(-1) - half];
  const size = 10 ** feature.decimals;
  const steps = feature.decimals === 0 ? Math.max(1, Math.min(STEPS, Math.floor(high - low))) : STEPS;
  const round = (value) => Math.round(value * size) / size;
  return {
    last: steps,
    at: (position) => (position <= 0 ? low : position >= steps ? high : round(low + ((high - low) * position) / steps)),
    position: (value) => Math.round((Math.min(Math.max(value, low), high) - low) / (high - low) * steps),
    share: (value) => Math.min(Math.max((value - edges[0]) / (edges.at(-1) - edges[0]), 0), 1),
  };
}

export function isMoment(feature) {
  return Boolean(feature.edges_as_text) && feature.kind !== "duration";
}

// The range that a changed value may lie in: two handles on what training looked like.
function range(feature, words, changed) {
  const scale = scaleOf(feature);
  const picture = histogram(feature, scale);
  const said = h("output", { class: "ncf-range-text" });
  const slider = (name) =>
    h("input", {
      type: "range", min: "0", max: String(scale.last), step: "1", class: "ncf-slider",
      "aria-label": words.say(name, { feature: feature.title }), oninput: () => moved(name),
    });
  const [low, high] = [slider("range_low"), slider("range_high")];

  function bounds() {
    return [Number(low.value), Number(high.value)];
  }

  function moved(name) {
    const [from, to] = bounds();
    if (from > to) (name === "range_low" ? low : high).value = String(name === "range_low" ? to : from);
    show();
    const [first, last] = bounds();
    changed({ low: first <= 0 ? null : scale.at(first), high: last >= scale.last ? null : scale.at(last) });
  }

  function show() {
    const [from, to] = bounds();
    const texts = [from, to].map((position) => words.value(feature, scale.at(position)));
    low.setAttribute("aria-valuetext", texts[0]);
    high.setAttribute("aria-valuetext", texts[1]);
    const isOpen = from <= 0 && to >= scale.last;
    said.textContent = isOpen ? words.say("range_any") : words.say("range_between", { low: texts[0], high: texts[1] });
    picture.update(scale.share(scale.at(from)), scale.share(scale.at(to)));
    // Where both handles meet at the upper end, the lower one must be on top.
    low.style.setProperty("z-index", from >= scale.last ? "2" : "auto");
  }

  const element = h(
    "fieldset", { class: "ncf-range" },
    h("legend", {}, words.say("range")), picture.element, h("div", { class: "ncf-handles" }, low, high), said,
  );
  function update(shape, value) {
    low.value = String(shape.low === null ? 0 : scale.position(shape.low));
    high.value = String(shape.high === null ? scale.last : scale.position(shape.high));
    picture.mark(value === null || value === undefined || feature.kind === "duration" ? null : scale.share(value));
    show();
  }
  return { element, update };
}

function histogram(feature) {
  const most = Math.max(...feature.counts, 1);
  const width = 100 / feature.counts.length;
  const bars = feature.counts.map((count, at) => {
    const height = count === 0 ? 0 : Math.max(1.5, 38 * Math.sqrt(count / most));
    return svg("rect", { x: at * width + width * 0.08, y: 40 - height, width: width * 0.84, height });
  });
  const own = svg("line", { y1: 0, y2: 40, class: "ncf-own", "vector-effect": "non-scaling-stroke" });
  const element = svg(
    "svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", class: "ncf-histogram", "aria-hidden": "true" }, bars, own,
  );
  function update(from, to) {
    bars.forEach((bar, at) => {
      const middle = (at + 0.5) / bars.length;
      bar.classList.toggle("ncf-outside", middle < from - 0.5 / bars.length || middle > to + 0.5 / bars.length);
    });
  }
  function mark(share) {
    own.style.setProperty("display", share === null ? "none" : "inline");
    if (share === null) return;
    own.setAttribute("x1", String(share * 100));
    own.setAttribute("x2", String(share * 100));
  }
  return { element, update, mark };
}

// The categories that a feature may change to.
function allowed(feature, words, changed) {
  const most = Math.max(...feature.counts, 1);
  const boxes = feature.values.map((value, at) => {
    const id = freshId("value");
    const input = h("input", { type: "checkbox", id, onchange: chosen });
    const bar = h("span", { class: "ncf-bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${(100 * feature.counts[at]) / most}%`);
    return { value, input, element: h("div", { class: "ncf-check" }, input, h("label", { for: id }, feature.titles[at]), bar) };
  });
  function chosen() {
    const values = boxes.filter((box) => box.input.checked).map((box) => box.value);
    changed({ allowed: values.length === boxes.length ? null : values });
  }
  const element = h(
    "fieldset", { class: "ncf-allowed" }, h("legend", {}, words.say("allowed")), boxes.map((box) => box.element),
  );
  function update(shape) {
    boxes.forEach((box) => (box.input.checked = shape.allowed === null || shape.allowed.includes(box.value)));
  }
  return { element, update };
}
