// The words of the page in one language, and numbers as that language writes them.

// What people put between groups of three digits, besides the mark of the language: blanks of any width.
const BLANKS = " \u00a0\u2009\u202f";

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

  // Parts of a sentence, one after the other: "a, b and c".
  list(parts) {
    const { "list.between": between, "list.last": last } = this.phrases;
    return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(between)}${last}${parts.at(-1)}`;
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

  // A number in a field, with all its digits: what `parse` reads as the same number.
  written(value, grouped = 10_000) {
    const [whole, ...rest] = String(Math.abs(value)).split(/(?=[.e])/);
    const apart = Math.abs(value) >= grouped && !rest.some((one) => one.startsWith("e"));
    const groups = apart ? whole.replace(/\B(?=(\d{3})+$)/g, this.phrases["number.thousands"]) : whole;
    const text = groups + rest.join("").replace(".", this.phrases["number.decimal_point"]);
    return value < 0 ? `${this.phrases["number.minus"]}${text}` : text;
  }

  // The number that somebody wrote in the manner of the language; null where it is none, or could be two.
  parse(text) {
    const [point, group] = ["number.decimal_point", "number.thousands"].map((name) => this.phrases[name].replace(/\W/g, "\\$&"));
    const bare = text.trim().replace(this.phrases["number.minus"], "-").replace("−", "-");
    const plain = `\\d+(?:${point}\\d*)?|${point}\\d+`;
    const grouped = `[1-9]\\d{0,2}(?<mark>${group}|[${BLANKS}])\\d{3}(?:\\k<mark>\\d{3})*(?:${point}\\d+)?`;
    const found = new RegExp(`^(?<sign>[-+]?)[${BLANKS}]*(?:(?<plain>(?:${plain})(?:e[-+]?\\d+)?)|(?<grouped>${grouped}))$`, "i").exec(bare);
    if (!found) return null;
    const { sign, plain: simple, grouped: apart, mark } = found.groups;
    const digits = (simple ?? apart.split(mark).join("")).replace(this.phrases["number.decimal_point"], ".");
    const number = Number(sign + digits);
    return Number.isFinite(number) ? number : null;
  }
}
