// CSV as spreadsheets of a language open it: in German with semicolons and decimal commas.

// The rule of nicecf's other CSV files, in nicecf/tables/files/formulas.py. Blanks and other characters that are not seen
// may stand before a sign, and so may apostrophes.
const FORMULA = /^(?:[\s'\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20][\s\x1c-\x1f\x85]*[^\s\x1c-\x1f\x85]|'*[\t\r\n])/;
const NUMBER = /^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/;
// With a decimal comma these could be thousands; another zero says that they are not.
const LIKE_THOUSANDS = /^-?[1-9]\d{0,2},\d{3}$/;

// Lines of cells as a file; `decimal` is the mark of the language.
export function csvOf(lines, decimal) {
  const separator = decimal === "," ? ";" : ",";
  const text = lines.map((line) => line.map((cell) => csvCell(cell, separator, decimal)).join(separator));
  return `\ufeff${text.join("\r\n")}\r\n`;
}

function csvCell(cell, separator, decimal) {
  if (cell === null) return "";
  if (typeof cell === "number") return csvNumber(cell, decimal);
  const text = withApostrophe(String(cell));
  return ['"', "\r", "\n", separator].some((one) => text.includes(one)) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvNumber(number, decimal) {
  const text = String(number).replace(".", decimal);
  return LIKE_THOUSANDS.test(text) ? `${text}0` : text;
}

// Text that a spreadsheet could take for a formula gets an apostrophe; a number does not.
export function withApostrophe(text) {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}
