// Many cases at once, from a CSV file: they are explained with progress, shown, saved, and reported.

import { caseOf } from "./cases.js";
import { CasesView } from "./cases_view.js";
import { csvOf } from "./csv.js";
import { download, freshId, h, replaceChildren } from "./dom.js";
import { menuOf } from "./state.js";

const AT_ONCE = 25; // or as many as the service takes
// Rows one after the other that cannot be explained: then it is not the rows.
const FAILURES = 3;
const LONGEST_WAIT = 30; // seconds

export class TableView {
  constructor(page) {
    this.page = page;
    const { words } = page;
    const id = freshId("file");
    const button = (name, onclick, described = {}) => h("button", { type: "button", hidden: true, onclick, ...described }, words.say(name));
    this.file = h("input", { type: "file", id, accept: ".csv,.txt,text/csv", onchange: () => this.read() });
    this.about = h("p", { class: "ncf-hint" });
    this.proceed = button("table_continue", () => this.goOn(), { class: "ncf-main" });
    this.start = button("table_explain", () => this.explain(), { class: "ncf-main" });
    this.stop = button("stop", () => this.halt());
    this.save = button("table_csv", () => this.csv());
    this.report = button("table_report", () => this.makeReport());
    this.limit = h("p", { class: "ncf-hint", hidden: true });
    this.progress = h("progress", { hidden: true, "aria-label": words.say("table_progress") });
    this.done = h("p", { class: "ncf-hint", hidden: true });
    this.status = h("p", { role: "status" });
    this.body = h("div");
    this.element = h(
      "section", { class: "ncf-batch", "aria-labelledby": "ncf-batch" },
      h("h2", { id: "ncf-batch" }, words.say("table_title")), h("p", { class: "ncf-hint" }, words.say("table_hint")),
      h("p", { class: "ncf-row" }, h("label", { for: id }, words.say("table_file")), this.file),
      this.about, h("p", { class: "ncf-row" }, this.proceed, this.start, this.stop, this.save, this.report),
      this.limit, this.progress, this.done, this.status, this.body,
    );
    // In another language, the rows and answers are still there.
    const { run } = page.table ?? {};
    if (run?.model === page.state.model) this.take(run);
  }

  async read() {
    const { page } = this;
    const [file] = this.file.files;
    if (!file) return;
    let upload;
    try {
      upload = await page.client.read(page.state.model, file);
    } catch (failure) {
      page.failed(failure, "table");
      return;
    } finally {
      this.file.value = ""; // so that the same file can be chosen again when it is mended
    }
    page.clearFailure("table");
    this.take({ upload, name: file.name, model: page.state.model, answers: [] });
  }

  // What is shown, saved and reported is of one run: its rows, answers and limits belong together.
  take(run) {
    const { words } = this.page;
    const { instances, left_out: out } = run.upload;
    this.run = run;
    this.about.textContent = `${run.name}: ` + words.say("table_read", { count: instances.length }) + (out.length ? ` ${words.say("table_left_out", { columns: out.join(", ") })}` : "");
    this.showCases();
    this.ended();
  }

  showCases() {
    const { run, page } = this;
    this.view = new CasesView(page, run.target ?? null);
    this.view.onshow = () => this.showLimit();
    replaceChildren(this.body, this.view.element);
    this.view.add(this.rows(0, run.answers));
  }

  // Answers beside what they are about.
  rows(first, answers) {
    const { instances, labels } = this.run.upload;
    return answers.map((answer, at) => ({ ...answer, label: labels[first + at], instance: instances[first + at] }));
  }

  explain() {
    const { page, run } = this;
    const { classes, wanted } = page.about;
    // As in the first tab, so that a case that is opened there has the same way first.
    const { plans, n, ...parameters } = menuOf(page.state, page.about);
    const target = classes.length === 2 ? (parameters.target ?? wanted ?? classes[1]) : null;
    this.run = { ...run, parameters, target, answers: [] };
    this.showCases();
    return this.goOn();
  }

  async goOn() {
    const { page, run } = this;
    const { length } = run.upload.instances;
    this.isStopped = false;
    [this.proceed, this.start].forEach((button) => (button.hidden = true));
    [this.stop, this.progress, this.done].forEach((element) => (element.hidden = false));
    this.file.disabled = true;
    this.status.textContent = "";
    this.progress.max = length;
    this.stop.focus();
    this.begun = { time: performance.now(), count: run.answers.length };
    try {
      await this.explainRest(run);
      if (this.isCurrent(run)) page.clearFailure("table");
    } catch (failure) {
      if (this.isCurrent(run)) page.failed(failure, "table");
    }
    if (this.isCurrent(run)) this.ended();
  }

  // A refusal of several rows may be about one of them: fewer are sent then, and only that one is left without an answer.
  async explainRest(run) {
    const { page } = this;
    const { instances } = run.upload;
    const most = Math.min(AT_ONCE, page.about.limits.rows);
    let size = most;
    let failures = 0;
    while (run.answers.length < instances.length && !this.isStopped && this.isCurrent(run)) {
      const rows = instances.slice(run.answers.length, run.answers.length + size);
      try {
        const explanations = await this.ask(run, rows);
        if (!this.isCurrent(run)) return;
        this.answered(run, explanations);
        size = Math.min(most, 2 * size);
        failures = 0;
      } catch (failure) {
        if (!this.isCurrent(run)) return;
        if (failure.kind === "busy") await this.pause(failure.seconds);
        else if (!["refused", "failed"].includes(failure.kind) || failures === FAILURES) throw failure;
        else if (rows.length === 1) {
          failures += 1;
          this.answered(run, [{ failure: failure.message }]);
        } else size = Math.ceil(rows.length / 2);
      }
    }
  }

  // As in the first tab: what has no way safely over the line may have one that is just over it.
  async ask({ model, parameters }, instances) {
    const { client } = this.page;
    const { explanations } = await client.ask(model, "explain", { instances, parameters });
    const { min_probability: margin, ...others } = parameters;
    const open = margin === undefined ? [] : [...instances.keys()].filter((at) => !explanations[at].found);
    if (!open.length) return explanations;
    const again = await client.ask(model, "explain", { instances: open.map((at) => instances[at]), parameters: others });
    return explanations.map((answer, at) => again.explanations[open.indexOf(at)] ?? answer);
  }

  // Whether the page still shows this run: with another model or language it is built anew.
  isCurrent(run) {
    return this.page.table === this && this.run === run;
  }

  answered(run, explanations) {
    const { words } = this.page;
    const first = run.answers.length;
    const answers = explanations.map((answer) => caseOf(answer, run.target));
    run.answers.push(...answers);
    this.view.add(this.rows(first, answers));
    const [done, count] = [run.answers.length, run.upload.instances.length];
    const perRow = (performance.now() - this.begun.time) / (done - this.begun.count);
    const left = Math.round((perRow * (count - done)) / 60_000);
    this.progress.value = done;
    this.done.textContent = words.say("table_done", { done, count }) + (left ? ` ${words.say("table_left", { count: left })}` : "");
    [this.save, this.report].forEach((button) => (button.hidden = false));
  }

  // The service has too much to do: it says when to come back.
  async pause(seconds) {
    this.done.textContent = this.page.words.say("table_busy");
    await new Promise((resolve) => {
      this.wake = resolve;
      setTimeout(resolve, 1_000 * Math.min(LONGEST_WAIT, Math.max(1, seconds || 1)));
    });
  }

  halt() {
    this.isStopped = true;
    this.wake?.();
  }

  ended() {
    const { answers, upload } = this.run;
    const hadFocus = document.activeElement === this.stop;
    this.file.disabled = false;
    [this.stop, this.progress, this.done].forEach((element) => (element.hidden = true));
    [this.save, this.report].forEach((button) => (button.hidden = !answers.length));
    this.start.hidden = false;
    this.proceed.hidden = !answers.length || answers.length === upload.instances.length;
    this.start.classList.toggle("ncf-main", this.proceed.hidden && !answers.length);
    this.status.textContent = answers.length ? this.summary(answers) : "";
    if (hadFocus) (this.proceed.hidden ? this.save : this.proceed).focus();
  }

  summary(answers) {
    const { words } = this.page;
    const count = (state) => answers.filter((answer) => answer.state === state).length;
    const states = ["change", "unneeded", "no_way", ...["stopped", "failed"].filter(count)];
    const counts = states.map((state) => words.say(`table_count_${state}`, { count: count(state) })).join(", ");
    return words.say("table_found", { count: answers.length, counts });
  }

  showLimit() {
    const { words, about } = this.page;
    const most = about.limits.report_rows;
    this.limit.hidden = this.report.hidden || this.view.positions.length <= most;
    this.limit.textContent = words.say("table_report_limit", { most });
  }

  csv() {
    const { words, schema, about } = this.page;
    const { cases, usual } = this.view;
    const names = schema.features.map((feature) => feature.name);
    const changed = schema.features.filter((feature) => cases.rows.some((row) => row.values.has(feature.name)));
    const [label, ...others] = usual.filter((column) => column.key !== "change");
    const ours = [label.title, words.say("table_state"), ...others.map((column) => column.title), words.say("table_text"), ...changed.map((feature) => words.say("table_new", { feature: feature.title }))];
    const lines = this.view.shown().map((row) => [
      row.label, words.say(`table_state_${row.state}`), ...others.map((column) => column.value(row)), row.text,
      ...changed.map((feature) => row.values.get(feature.name) ?? null), ...names.map((name) => row.instance[name]),
    ]);
    download("nicecf.csv", csvOf([[...unlike(ours, names), ...names], ...lines], words.phrases["number.decimal_point"]), "text/csv");
  }

  async makeReport() {
    const { page } = this;
    const { model } = this.run;
    // Without the margin: a report is about who needs a change, and who needs none.
    const { display, min_probability: margin, ...parameters } = this.run.parameters;
    const rows = this.view.shown().slice(0, page.about.limits.report_rows);
    const instances = rows.map((row) => row.instance);
    const labels = rows.map((row) => row.label);
    this.report.disabled = true;
    try {
      download("nicecf.html", await page.client.report(model, { instances, labels, parameters }), "text/html");
      page.clearFailure("table");
    } catch (failure) {
      page.failed(failure, "table");
    }
    this.report.disabled = false;
  }
}

// Titles of columns, with a number behind one that is taken: a file with two of a name cannot be read.
function unlike(titles, names) {
  const taken = new Set(names);
  return titles.map((title) => {
    let free = title;
    for (let number = 2; taken.has(free); number += 1) free = `${title} ${number}`;
    taken.add(free);
    return free;
  });
}
