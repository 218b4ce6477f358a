// The table of many cases: a line for each, a page of lines at a time, with filters, groups, and an order to choose.

import { Cases, STATES } from "./cases.js";
import { freshId, h, replaceChildren } from "./dom.js";

const LINES = 100; // at a time: more would take longer to draw than a person waits
const STATE_PHRASES = { all: "table_all", ...Object.fromEntries(STATES.map((state) => [state, `table_state_${state}`])) };

export class CasesView {
  // `target`: the class whose probability is shown, null for that of each row's own decision.
  constructor(page, target) {
    this.page = page;
    this.cases = new Cases(page.words.language);
    this.features = new Map(page.schema.features.map((feature) => [feature.name, feature]));
    this.percent = new Intl.NumberFormat(page.words.language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    this.usual = this.usualColumns(target);
    this.own = [];
    this.seen = new Set();
    this.group = null;
    this.build();
  }

  say(name, fields) {
    return this.page.words.say(name, fields);
  }

  // --- columns --------------------------------------------------------------------------------------------------------

  usualColumns(target) {
    const hasClasses = this.page.about.classes.length > 0;
    const name = !hasClasses ? "table_score" : target === null ? "table_probability" : "table_probability_of";
    const number = { key: "number", title: this.say(name, { decision: this.decision(target) }), value: (row) => row.number, text: (row) => this.number(row.number), isNumber: true, width: () => "10.5rem" };
    const then = (row) => (hasClasses ? this.decision(row.then) : this.number(row.then));
    return [
      { key: "label", title: this.say("table_row"), value: (row) => row.label },
      ...(hasClasses ? [{ key: "decision", title: this.say("decision_short"), value: (row) => this.decision(row.decision) }] : []),
      number,
      { key: "change", title: this.say("table_change"), value: (row) => this.rankOfChange(row), text: (row) => this.change(row), width: (count) => `${Math.round(140 / count)}%` },
      { key: "then", title: this.say("table_then"), value: hasClasses ? then : (row) => row.then, text: then, isNumber: !hasClasses },
    ];
  }

  // A column of the file.
  ownColumn(feature) {
    const { words } = this.page;
    const text = (row) => words.value(feature, row.instance[feature.name]);
    const value = (row) => {
      const cell = row.instance[feature.name];
      if (cell === null || typeof cell === "number") return cell;
      return feature.ordered ? feature.values.indexOf(cell) : text(row);
    };
    return { key: `own ${feature.name}`, title: feature.title, value, text, isNumber: feature.kind === "number" };
  }

  get columns() {
    return [...this.usual, ...this.own.map((name) => this.ownColumn(this.features.get(name)))];
  }

  decision(label) {
    const { about, schema } = this.page;
    return label === null ? null : schema.class_titles[about.classes.indexOf(label)];
  }

  // A probability in percent, or a score.
  number(number) {
    const { words, about } = this.page;
    if (number === null) return null;
    return about.classes.length ? words.say("number.percent", { number: this.percent.format(100 * number) }) : words.number(number);
  }

  change(row) {
    return row.state === "change" ? this.titles(row.changes) : this.say(`table_state_${row.state}`);
  }

  titles(names) {
    return names.map((name) => this.features.get(name).title).join(", ");
  }

  // Few changes first, then what needs none, then what has no way.
  rankOfChange(row) {
    return `${STATES.indexOf(row.state)} ${row.changes.length} ${this.titles(row.changes)}`;
  }

  // --- rows -----------------------------------------------------------------------------------------------------------

  add(rows) {
    const seen = this.seen.size;
    for (const row of rows) {
      this.cases.add(row, [row.label, this.decision(row.decision), this.change(row), ...this.ownTexts(row)].join(" "));
      row.changes.forEach((name) => this.seen.add(name));
    }
    if (this.seen.size > seen) this.fillChanges();
    this.show();
  }

  // What a search finds of the columns of the file.
  ownTexts({ instance }) {
    const { words } = this.page;
    return [...this.features.values()].map((feature) => {
      const cell = instance[feature.name];
      return typeof cell === "number" ? String(cell).replace(".", words.phrases["number.decimal_point"]) : words.value(feature, cell);
    });
  }

  // The rows that are shown, in their order.
  shown() {
    return Array.from(this.positions, (at) => this.cases.rows[at]);
  }

  clear() {
    [this.search, this.decisions, this.changes].forEach((control) => (control.value = ""));
    this.cases.filters.clear();
    this.selected = undefined;
    this.search.focus(); // the button that was pressed goes away
  }

  // --- what is built once ---------------------------------------------------------------------------------------------

  build() {
    this.counted = h("p", { role: "status", class: "ncf-counted" });
    this.states = h("div", { class: "ncf-states", role: "group", "aria-label": this.say("table_state") });
    this.groups = h("div", { class: "ncf-groups", hidden: true });
    this.head = h("thead");
    this.body = h("tbody", { onclick: (event) => this.clicked(event), onkeydown: (event) => this.moved(event) });
    const keys = freshId("keys");
    this.table = h("table", { class: "ncf-table ncf-cases", "aria-describedby": keys }, this.head, this.body);
    this.element = h(
      "div", { hidden: true },
      this.states, this.tools(), this.groups,
      h("div", { class: "ncf-row ncf-above" }, this.counted, this.pager()),
      h("div", { class: "ncf-scroll ncf-cases-box", role: "region", tabindex: "0", "aria-label": this.say("table_title") }, this.table),
      h("p", { class: "ncf-hint", id: keys }, this.say("table_keys")),
    );
    this.showHead();
  }

  tools() {
    const { schema, about } = this.page;
    const labelled = (name, control) => h("p", {}, h("label", { for: control.id }, this.say(name)), control);
    const select = (name, onchange) => h("select", { id: freshId(name), onchange });
    this.search = h("input", { type: "search", id: freshId("search"), oninput: () => this.narrow(() => this.cases.search(this.search.value)) });
    this.decisions = select("decisions", () => this.choose("decision", this.decisions, (row, at) => row.decision === about.classes[at]));
    replaceChildren(this.decisions, this.anything(), schema.class_titles.map((title, at) => h("option", { value: String(at) }, title)));
    this.changes = select("changes", () => this.choose("change", this.changes, (row, at) => row.changes.includes(schema.features[at].name)));
    this.fillChanges();
    this.groupings = [
      ...(about.classes.length ? [{ title: this.say("decision_short"), keysOf: (row) => [row.decision], nameOf: (label) => this.decision(label) ?? this.say("none") }] : []),
      { title: this.say("table_change"), keysOf: (row) => row.changes, nameOf: (name) => this.titles([name]), isMany: true },
      ...schema.features.filter((feature) => feature.values).map((feature) => ({
        title: feature.title, keysOf: (row) => [row.instance[feature.name]], nameOf: (value) => this.page.words.value(feature, value),
      })),
    ];
    const grouping = select("group", () => this.groupBy(this.groupings[grouping.value] ?? null));
    replaceChildren(grouping, h("option", { value: "" }, this.say("table_no_group")), this.groupings.map((one, at) => h("option", { value: String(at) }, one.title)));
    const boxes = schema.features.map((feature) =>
      h("label", { class: "ncf-radio" }, h("input", { type: "checkbox", onchange: (event) => this.showOwn(feature.name, event.target.checked) }), feature.title),
    );
    this.all = h("button", { type: "button", hidden: true, onclick: () => this.narrow(() => this.clear()) }, this.say("table_show_all"));
    return h(
      "div", { class: "ncf-tools-row" },
      labelled("table_search", this.search),
      about.classes.length ? labelled("decision_short", this.decisions) : null,
      labelled("table_change", this.changes), labelled("table_group", grouping),
      h("details", { class: "ncf-columns" }, h("summary", {}, this.say("table_columns")), h("div", { class: "ncf-column-list" }, boxes)),
      this.all,
    );
  }

  anything() {
    return h("option", { value: "" }, this.say("table_any"));
  }

  // Only what some row changes can be chosen.
  fillChanges() {
    const { value } = this.changes;
    const options = this.page.schema.features.map((feature, at) => (this.seen.has(feature.name) ? h("option", { value: String(at) }, feature.title) : null));
    replaceChildren(this.changes, this.anything(), options);
    this.changes.value = value;
  }

  pager() {
    const button = (name, go) => h("button", { type: "button", onclick: () => this.turn(go()) }, this.say(name));
    this.back = [button("table_first", () => 0), button("table_previous", () => this.first - LINES)];
    this.forth = [button("table_next", () => this.first + LINES), button("table_last", () => this.positions.length - 1)];
    this.range = h("span", { class: "ncf-range-text" });
    this.turner = h("nav", { class: "ncf-row ncf-pager", "aria-label": this.say("table_pages") }, this.back, this.range, this.forth);
    this.first = 0;
    return this.turner;
  }

  // --- what a person does ---------------------------------------------------------------------------------------------

  // Shows fewer or other rows, from their first one on.
  narrow(change) {
    change();
    this.first = 0;
    this.show();
  }

  choose(name, control, test) {
    const at = Number(control.value);
    this.narrow(() => this.cases.filter(name, control.value === "" ? null : (row) => test(row, at)));
  }

  groupBy(group) {
    this.group = group;
    this.narrow(() => this.select(undefined));
  }

  // Shows the rows of one group only; undefined for those of all.
  select(key) {
    this.selected = key;
    this.cases.filter("group", key === undefined ? null : (row) => this.group.keysOf(row).includes(key));
  }

  showOwn(name, isShown) {
    this.own = this.own.filter((one) => one !== name);
    if (isShown) this.own.push(name);
    else if (this.cases.column?.key === `own ${name}`) this.cases.sort(null, false);
    this.showHead();
    this.show();
  }

  // Up, then down, then the order of the file again.
  sortBy(column) {
    const { cases } = this;
    const isSame = cases.column?.key === column.key;
    this.narrow(() => cases.sort(isSame && cases.isDown ? null : column, isSame && !cases.isDown));
    this.showOrder();
  }

  turn(position) {
    this.first = Math.max(0, Math.floor(position / LINES) * LINES);
    this.show();
    this.table.parentElement.scrollTop = 0;
    // The button that was pressed may be disabled now, and would lose the focus.
    if (document.activeElement.disabled) this.table.parentElement.focus();
  }

  clicked(event) {
    const line = event.target.closest("tr[data-key]");
    if (!line || (event.detail && !getSelection().isCollapsed)) return; // somebody marks text
    this.page.openRow(this.cases.rows[Number(line.dataset.key)].instance);
    this.page.heading.focus();
  }

  // One line can be reached with Tab, the others with the arrows: a hundred stops would be in everybody's way.
  moved(event) {
    const buttons = [...this.body.querySelectorAll("button")];
    const now = buttons.indexOf(event.target);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (now < 0 || !buttons[next]) return;
    event.preventDefault();
    buttons[now].tabIndex = -1;
    buttons[next].tabIndex = 0;
    buttons[next].focus();
  }

  // --- what is drawn --------------------------------------------------------------------------------------------------

  show() {
    const { cases } = this;
    this.positions = cases.shown();
    this.first = Math.min(this.first, Math.max(0, Math.floor((this.positions.length - 1) / LINES) * LINES));
    this.element.hidden = !cases.rows.length;
    this.all.hidden = !cases.filters.size;
    this.counted.textContent = this.say("table_shown", { shown: this.positions.length, count: cases.rows.length });
    keepFocus(this.states, () => this.showStates());
    keepFocus(this.groups, () => this.showGroups());
    this.showLines();
    this.onshow?.();
  }

  showStates() {
    const { cases } = this;
    const counts = cases.counts((row) => ["all", row.state], "state");
    const used = new Set(cases.rows.map((row) => row.state));
    const isPressed = (state) => (cases.filters.has("state") ? this.state === state : state === "all");
    const press = (state) => this.narrow(() => {
      this.state = state;
      cases.filter("state", state === "all" ? null : (row) => row.state === state);
    });
    // What hardly ever happens has a button only where it did.
    const states = ["all", ...STATES.slice(0, 3), ...STATES.slice(3).filter((state) => used.has(state))];
    replaceChildren(
      this.states,
      states.map((state) => h(
        "button", { type: "button", "data-key": state, "aria-pressed": String(isPressed(state)), onclick: () => press(state) },
        this.say(STATE_PHRASES[state]), " ", h("b", {}, this.page.words.number(counts.get(state)?.all ?? 0)),
      )),
    );
  }

  showGroups() {
    const { group } = this;
    this.groups.hidden = group === null;
    if (group === null) return;
    const { words } = this.page;
    const counts = [...this.cases.counts(group.keysOf, "group")].sort(([, one], [, other]) => other.all - one.all);
    const most = counts[0]?.[1].all;
    const states = ["all", ...STATES.filter((state) => counts.some(([, count]) => count[state] > 0))];
    const press = (key) => this.narrow(() => this.select(this.selected === key ? undefined : key));
    const line = ([key, count]) => h(
      "tr", {},
      h("th", { scope: "row" }, h("button", { type: "button", class: "ncf-link", "data-key": String(key), "aria-pressed": String(this.selected === key), onclick: () => press(key) }, group.nameOf(key))),
      states.map((state) => h("td", { class: "ncf-number" }, words.number(count[state]))),
      h("td", { class: "ncf-share" }, h("div", { class: "ncf-bar", style: { "--share": `${(100 * count.all) / most}%` } })),
    );
    replaceChildren(
      this.groups,
      group.isMany ? h("p", { class: "ncf-hint" }, this.say("table_group_many")) : null,
      h(
        "div", { class: "ncf-scroll", role: "region", tabindex: "0", "aria-label": this.say("table_groups") },
        h(
          "table", { class: "ncf-table" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, group.title), states.map((state) => h("th", { scope: "col", class: "ncf-number" }, this.say(STATE_PHRASES[state]))), h("td"))),
          h("tbody", {}, counts.map(line)),
        ),
      ),
    );
  }

  showHead() {
    this.heads = this.columns.map((column) => [column, h("th", { scope: "col", class: column.isNumber && "ncf-number" }, h("button", { type: "button", onclick: () => this.sortBy(column) }, column.title))]);
    replaceChildren(this.head, h("tr", { "aria-rowindex": "1" }, this.heads.map(([, cell]) => cell)));
    this.table.querySelector("colgroup")?.remove();
    this.table.prepend(h("colgroup", {}, this.columns.map((column) => h("col", { style: column.width && { width: column.width(this.columns.length) } }))));
    this.table.style.setProperty("--columns", this.columns.length);
    this.drawn = null;
    this.showOrder();
  }

  showOrder() {
    const { column, isDown } = this.cases;
    for (const [one, cell] of this.heads) cell.setAttribute("aria-sort", one.key !== column?.key ? "none" : isDown ? "descending" : "ascending");
  }

  showLines() {
    const { positions, columns } = this;
    const lines = positions.slice(this.first, this.first + LINES);
    this.table.setAttribute("aria-rowcount", positions.length + 1);
    this.turner.hidden = positions.length <= LINES;
    this.range.textContent = this.say("table_range", { first: this.first + 1, last: this.first + lines.length });
    this.back.forEach((button) => (button.disabled = this.first === 0));
    this.forth.forEach((button) => (button.disabled = this.first + LINES >= positions.length));
    const drawn = `${this.first} ${lines.join(" ")}`;
    if (drawn === this.drawn) return; // answers arrive, but not on this page
    this.drawn = drawn;
    keepFocus(this.body, () => replaceChildren(this.body, lines.length ? Array.from(lines, (at, line) => this.line(at, line, columns)) : this.nothing(columns)));
  }

  line(at, line, columns) {
    const row = this.cases.rows[at];
    const open = h("button", { type: "button", class: "ncf-link", "data-key": String(at), tabindex: line ? "-1" : "0" }, row.label);
    const style = ({ key, isNumber }) => (key === "change" && row.state !== "change" ? "ncf-hint" : isNumber && "ncf-number");
    const cell = (column) => h("td", { class: style(column) }, (column.text ?? column.value)(row) ?? "–");
    const [, ...others] = columns;
    return h("tr", { "data-key": String(at), "data-state": row.state, "aria-rowindex": String(this.first + line + 2) }, h("th", { scope: "row" }, open), others.map(cell));
  }

  nothing(columns) {
    return h("tr", {}, h("td", { colspan: String(columns.length) }, this.say("table_nothing")));
  }
}

// Draws something again; what had the focus has it again, if it is still there.
function keepFocus(element, draw) {
  const { key } = element.contains(document.activeElement) ? document.activeElement.dataset : {};
  draw();
  if (key === undefined) return;
  const again = [...element.querySelectorAll("button")].find((button) => button.dataset.key === key);
  if (!again) return;
  element.querySelectorAll("tr > th > button[tabindex='0']").forEach((button) => (button.tabIndex = -1));
  if (again.hasAttribute("tabindex")) again.tabIndex = 0;
  again.focus({ preventScroll: true });
}
