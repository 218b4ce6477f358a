// A table: many rows at once, from a CSV file, with progress, a table of answers and a report.

import { download, freshId, h, replaceChildren } from "./dom.js";
import { parametersOf } from "./state.js";

const AT_ONCE = 25; // or as many as the service takes
const SHOWN = 200;

export class TableView {
  constructor(page) {
    this.page = page;
    const { words } = page;
    const id = freshId("file");
    this.file = h("input", { type: "file", id, accept: ".csv,.txt,text/csv", onchange: () => this.read() });
    this.said = h("p", { class: "ncf-hint" });
    this.go = h("button", { type: "button", class: "ncf-main", hidden: true, onclick: () => this.explain() }, words.say("table_explain"));
    this.stop = h("button", { type: "button", hidden: true, onclick: () => (this.isStopped = true) }, words.say("stop"));
    this.save = h("button", { type: "button", hidden: true, onclick: () => this.csv() }, words.say("table_csv"));
    this.report = h("button", { type: "button", hidden: true, onclick: () => this.makeReport() }, words.say("table_report"));
    this.progress = h("progress", { hidden: true, "aria-label": words.say("table_progress") });
    this.status = h("p", { role: "status" });
    this.body = h("div", { class: "ncf-scroll", tabindex: "0", role: "region", "aria-label": words.say("table"), hidden: true });
    this.element = h(
      "section", { class: "ncf-batch", "aria-labelledby": "ncf-batch" },
      h("h2", { id: "ncf-batch" }, words.say("table")), h("p", { class: "ncf-hint" }, words.say("table_hint")),
      h("p", { class: "ncf-row" }, h("label", { for: id }, words.say("table_file")), this.file),
      this.said, h("p", { class: "ncf-row" }, this.go, this.stop, this.save, this.report), this.progress, this.status, this.body,
    );
  }

  async read() {
    const { page } = this;
    const [file] = this.file.files;
    if (!file) return;
    this.run = null;
    [this.go, this.save, this.report, this.body].forEach((one) => (one.hidden = true));
    this.status.textContent = "";
    try {
      this.upload = await page.client.read(page.state.model, file);
    } catch (failure) {
      this.said.textContent = "";
      page.failed(failure, "table");
      return;
    } finally {
      this.file.value = ""; // so that the same file can be chosen again when it is mended
    }
    page.clearFailure("table");
    const { instances, left_out: out } = this.upload;
    const count = instances.length;
    this.said.textContent = page.words.say("table_read", { count }) + (out.length ? ` ${page.words.say("table_left_out", { columns: out.join(", ") })}` : "");
    this.go.hidden = false;
  }

  get parameters() {
    return parametersOf(this.page.state, this.page.about);
  }

  // What is shown, saved and reported afterwards is of one run: its rows, answers and limits belong together.
  async explain() {
    const { page, upload, parameters } = this;
    const { words, client } = page;
    const { model } = page.state;
    const run = { upload, parameters, model, answers: [] };
    const { length } = upload.instances;
    const size = Math.min(AT_ONCE, page.about.limits.rows);
    this.isStopped = false;
    [this.go, this.save, this.report].forEach((one) => (one.hidden = true));
    [this.stop, this.progress].forEach((one) => (one.hidden = false));
    this.file.disabled = true;
    this.progress.max = length;
    try {
      for (let at = 0; at < length && !this.isStopped; at += size) {
        const instances = upload.instances.slice(at, at + size);
        const { explanations } = await client.ask(model, "explain", { instances, parameters });
        run.answers.push(...explanations);
        this.progress.value = run.answers.length;
        this.status.textContent = words.say("table_done", { done: run.answers.length, count: length });
      }
      page.clearFailure("table");
    } catch (failure) {
      page.failed(failure, "table");
    }
    this.file.disabled = false;
    [this.stop, this.progress].forEach((one) => (one.hidden = true));
    [this.go, this.save, this.report].forEach((one) => (one.hidden = false));
    const found = run.answers.filter((one) => one.found).length;
    this.status.textContent = words.say("table_found", { count: run.answers.length, found });
    this.run = run;
    this.show();
  }

  show() {
    const { words } = this.page;
    const { answers, upload } = this.run;
    const head = ["table_row", "decision_short", "table_then", "table_text"].map((name) => h("th", { scope: "col" }, words.say(name)));
    const lines = answers.slice(0, SHOWN).map((answer, at) => {
      const open = h("button", { type: "button", class: "ncf-link", onclick: () => this.page.openRow(upload.instances[at]) }, upload.labels[at]);
      const then = answer.counterfactuals[0]?.display.decision ?? words.say("none");
      return h("tr", {}, h("th", { scope: "row" }, open), h("td", {}, answer.display.decision), h("td", {}, then), h("td", { class: "ncf-text" }, answer.text));
    });
    const more = answers.length - SHOWN;
    this.body.hidden = !lines.length;
    replaceChildren(
      this.body,
      h("table", { class: "ncf-table" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines)),
      more > 0 ? h("p", { class: "ncf-hint" }, words.say("table_more", { count: more })) : null,
    );
  }

  csv() {
    const { schema, words } = this.page;
    const names = schema.features.map((feature) => feature.name);
    const head = [words.say("table_row"), words.say("decision_short"), words.say("table_then"), words.say("table_text"), ...names];
    const { answers, upload } = this.run;
    const lines = answers.map((answer, at) => {
      const [plan] = answer.counterfactuals;
      return [upload.labels[at], answer.display.decision, plan?.display.decision ?? null, answer.text, ...names.map((name) => plan?.values[name] ?? null)];
    });
    const text = [head, ...lines].map((line) => line.map(cell).join(",")).join("\r\n");
    download("nicecf.csv", `\ufeff${text}\r\n`, "text/csv");
  }

  async makeReport() {
    const { page } = this;
    const { upload, model } = this.run;
    const { display, ...parameters } = this.run.parameters;
    this.report.disabled = true;
    try {
      download("nicecf.html", await page.client.report(model, { instances: upload.instances, parameters }), "text/html");
      page.clearFailure("table");
    } catch (failure) {
      page.failed(failure, "table");
    }
    this.report.disabled = false;
  }
}

// A cell of CSV. What a spreadsheet would take for a formula gets an apostrophe.
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
