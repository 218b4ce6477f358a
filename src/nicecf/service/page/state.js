// What a person has chosen, as plain values: what is asked of the service follows from it, and a link can hold it.

// How much a change counts in the distance.
const EFFORTS = { easy: 0.3, usual: 1, hard: 3 };
const VERSION = 1;

// An object for names of features: one called `constructor` or `__proto__` is a name like any other.
export function byName(entries = []) {
  const named = Object.create(null);
  for (const [name, value] of entries) named[name] = value;
  return named;
}

export function freshState(model, language) {
  const limits = { shape: byName(), most: null, target: null, score: [null, null], margin: "safely" };
  return { model, language, row: null, example: 0, ...limits, kept: [] };
}

export function shapeOf(state, name) {
  return { locked: false, direction: null, low: null, high: null, allowed: null, effort: "usual", ...state.shape[name] };
}

// Changes what is said of one feature; what is as it was at first is not kept.
export function setShape(state, name, change) {
  const shape = { ...shapeOf(state, name), ...change };
  const usual = shapeOf({ shape: byName() }, name);
  const said = Object.fromEntries(Object.entries(shape).filter(([key, value]) => value !== usual[key]));
  if (Object.keys(said).length) state.shape[name] = said;
  else delete state.shape[name];
}

export function isShaped(state, name) {
  return name in state.shape;
}

export function parametersOf(state, about) {
  const rules = {};
  const weights = byName();
  for (const name of Object.keys(state.shape)) {
    const shape = shapeOf(state, name);
    if (shape.locked || shape.allowed?.length === 0) {
      (rules.immutable ??= []).push(name); // whatever else is said of it waits until it is opened
      continue;
    }
    if (shape.direction) (rules[shape.direction] ??= []).push(name);
    if (shape.low !== null || shape.high !== null) {
      (rules.ranges ??= byName())[name] = { ...(shape.low === null ? {} : { low: shape.low }), ...(shape.high === null ? {} : { high: shape.high }) };
    }
    if (shape.allowed !== null) (rules.allowed ??= byName())[name] = shape.allowed;
    if (shape.effort !== "usual") weights[name] = EFFORTS[shape.effort];
  }
  if (state.most !== null) rules.max_changes = state.most;
  return {
    language: state.language,
    display: true,
    ...(Object.keys(rules).length ? { rules } : {}),
    ...(Object.keys(weights).length ? { feature_weights: weights } : {}),
    ...targetOf(state, about),
  };
}

export function targetOf(state, about) {
  if (about.classes.length) return state.target === null ? {} : { target: state.target };
  return { target_score: state.score.some((end) => end !== null) ? state.score : about.parameters.target_score };
}

// A menu for the row: one search finds all of it, that of the explainer if it is one that looks for few or small changes.
// One that proves what it finds is left to it, and finds one way for each row.
export function menuOf(state, about) {
  const isExact = about.search === "exact";
  const isFit = isExact || (about.search === "thorough" && ["sparsity", "proximity"].includes(about.optimize));
  const search = isFit ? {} : { optimize: "sparsity", search: "thorough" };
  const n = isExact ? 1 : Math.min(4, about.limits?.n ?? 4);
  return { ...parametersOf(state, about), plans: true, n, ...search, ...marginOf(state, about) };
}

// How probable the wanted class must be for a plan to be safely over the line.
function marginOf(state, about) {
  const safe = about.safe_probabilities ?? [];
  if (state.margin !== "safely" || !safe.length) return {};
  const at = about.classes.indexOf(state.target);
  return { min_probability: at < 0 ? Math.max(...safe) : safe[at] };
}

// The state as text for the fragment of a link: browsers do not send that to anybody.
export function toLink(state) {
  const { kept, ...rest } = state;
  const plans = kept.map(({ changes }) => changes);
  return encodeText(JSON.stringify({ version: VERSION, ...rest, kept: plans }));
}

// What a link holds; null if it is no link of ours.
export function fromLink(fragment) {
  try {
    const { version, kept, ...rest } = JSON.parse(decodeText(fragment.replace(/^#/, "")));
    const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
    const isPlan = (changes) => Array.isArray(changes) && changes.every((one) => isObject(one) && typeof one.feature === "string");
    const isShape = isObject(rest.shape) && Object.values(rest.shape).every(isObject);
    const isScore = Array.isArray(rest.score) && rest.score.length === 2;
    if (version !== VERSION || !isObject(rest.row) || !Array.isArray(kept) || !kept.every(isPlan) || !isShape || !isScore) return null;
    const shape = byName(Object.entries(rest.shape));
    return { ...freshState(rest.model, rest.language), ...rest, shape, kept: kept.map((changes) => ({ changes })) };
  } catch {
    return null;
  }
}

function encodeText(text) {
  const bytes = new TextEncoder().encode(text);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decodeText(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
}
