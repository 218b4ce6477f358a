// Many cases at once: what is known of each, which of them are shown, and in which order.

// What an answer came to, best first.
export const STATES = ["change", "unneeded", "no_way", "stopped", "failed"];

// What is kept of an answer, in no language; `target` is the class whose probability is shown, if it is one for all rows.
export function caseOf(answer, target) {
  const { failure, found, stopped_early: isStopped, decision, score, text, counterfactuals = [] } = answer;
  const [plan] = counterfactuals;
  // A plan may only make a decision safer that is the wanted one already.
  const isNeeded = plan?.changes.length > 0 && (decision === undefined || plan.decision !== decision);
  const changes = isNeeded ? plan.changes.filter((change) => !change.derived) : [];
  const state = failure ? "failed" : found ? (isNeeded ? "change" : "unneeded") : isStopped ? "stopped" : "no_way";
  return {
    state,
    decision: decision ?? null,
    number: score ?? chanceOf(answer, target),
    changes: changes.map((change) => change.feature),
    values: state === "change" ? new Map(plan.changes.map((change) => [change.feature, change.after])) : new Map(),
    then: state === "change" ? (plan.decision ?? plan.score) : null,
    text: failure ?? (state === "unneeded" ? null : text),
  };
}

function chanceOf({ decision, probability = null }, target) {
  return probability === null || target === null || decision === target ? probability : 1 - probability;
}

export class Cases {
  constructor(language) {
    this.rows = [];
    this.texts = [];
    this.filters = new Map();
    this.column = null;
    this.isDown = false;
    this.language = language;
    this.collator = new Intl.Collator(language, { numeric: true });
    this.forget();
  }

  // What was computed from the rows before there were more of them.
  forget() {
    this.ranks = new Map();
    this.sorted = null;
  }

  // `text` is what a search looks through.
  add(row, text) {
    this.rows.push(row);
    this.texts.push(text.toLocaleLowerCase(this.language));
    this.forget();
  }

  // Shows only rows that pass a test; without one, the filter of that name is gone.
  filter(name, test = null) {
    if (test === null) this.filters.delete(name);
    else this.filters.set(name, test);
  }

  search(text) {
    const words = text.toLocaleLowerCase(this.language).split(/\s+/).filter(Boolean);
    this.filter("search", words.length ? (_, at) => words.every((word) => this.texts[at].includes(word)) : null);
  }

  // `column` has a key, and the value of a row by which it is sorted; null for the order of the file.
  sort(column, isDown) {
    this.column = column;
    this.isDown = isDown;
    this.sorted = null;
  }

  // The positions of all rows that are shown, in their order.
  shown() {
    this.sorted ??= this.order();
    return this.sorted.filter((at) => this.passes(at));
  }

  passes(at, except = null) {
    for (const [name, test] of this.filters) if (name !== except && !test(this.rows[at], at)) return false;
    return true;
  }

  // How many rows have each key, by state; the filter `except` does not count.
  counts(keysOf, except) {
    const found = new Map();
    this.rows.forEach((row, at) => {
      if (!this.passes(at, except)) return;
      for (const key of keysOf(row)) {
        if (!found.has(key)) found.set(key, { all: 0, change: 0, unneeded: 0, no_way: 0, stopped: 0, failed: 0 });
        found.get(key).all += 1;
        found.get(key)[row.state] += 1;
      }
    });
    return found;
  }

  order() {
    const order = Uint32Array.from(this.rows.keys());
    if (this.column === null) return order;
    const sign = this.isDown ? -1 : 1;
    const keys = this.ranksOf(this.column).map((rank) => (rank < 0 ? Infinity : sign * rank)); // what is missing is last
    return order.sort((one, other) => keys[one] - keys[other] || one - other);
  }

  // The rank of each row in a column, -1 for a missing value: each value is compared once, whatever number of rows has it.
  ranksOf({ key, value }) {
    if (!this.ranks.has(key)) {
      const values = this.rows.map(value);
      const distinct = [...new Set(values)].filter((one) => one !== null).sort((one, other) => this.compare(one, other));
      const ranks = new Map(distinct.map((one, rank) => [one, rank]));
      this.ranks.set(key, Float64Array.from(values, (one) => ranks.get(one) ?? -1));
    }
    return this.ranks.get(key);
  }

  compare(one, other) {
    const areNumbers = typeof one === "number" && typeof other === "number";
    return areNumbers ? one - other : this.collator.compare(String(one), String(other));
  }
}
