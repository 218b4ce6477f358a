// The words of the page in one language, and numbers as that language writes them.

export class Words {
  constructor(phrases) {
    this.phrases = phrases;
    this.language = phrases.code;
    // Making one takes longer than using it a hundred times.
    this.formats = [false, true].map((useGrouping) => new Intl.NumberFormat(this.language, { maximumFractionDigits: 6, useGrouping }));
  }

  // A phrase with its fields filled in; with a count of one, the phrase with `_one` behind its name.
  say(name, fields = {}) {
    const one = fields.count === 1 && `${name}_one` in this.phrases;
    const phrase = this.phrases[one ? `${name}_one` : name];
    if (phrase === undefined) throw new Error(`there is no phrase ${name}`);
    return phrase.replace(/\{(\w+)\}/g, (_, field) =>
      typeof fields[field] === "number" ? this.number(fields[field]) : String(fields[field] ?? ""),
    );
  }

  // A number; its thousands are apart from `grouped` on: years have none.
  number(value, grouped = 10_000) {
    return this.formats[Number(Math.abs(value) >= grouped)].format(value).replace("-", "−");
  }

  // A value of a feature as people read it.
  value(feature, value) {
    if (value === null || value === undefined) return this.phrases["value.missing"];
    if (feature.values) {
      const at = feature.values.indexOf(value);
      if (at >= 0) return feature.titles[at];
    }
    if (typeof value === "boolean") return this.phrases[value ? "value.true" : "value.false"];
    const text = typeof value === "number" ? this.number(value, feature.unit ? 1_000 : 10_000) : String(value);
    return feature.unit ? feature.unit.replace("{}", text) : text;
  }
}
