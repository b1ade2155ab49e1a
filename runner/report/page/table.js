// A table that sorts by its headings, filters by words and choices, and shows a page of rows at a time.

const PAGE = 25;
const MOST_CHOICES = 60;
const CHOICE_COLUMNS = ["task", "system", "stage", "outcome", "dataset", "platform", "over", "size", "kind"];

function compare(one, other) {
  if (one === null || other === null) return (one === null) - (other === null);
  return typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other;
}

function split(words) {
  return words.toLowerCase().split(/\s+/).filter(Boolean);
}

class TableView {
  // names: the columns shown, all others are in the export. open(row): what a click on a row does.
  // shown: how many rows are shown at first.
  constructor(table, { names = table.columns.map((column) => column.name), open = null, shown = PAGE } = {}) {
    this.table = table;
    this.name = `table ${table.id}`;
    this.choosers = new Map();
    this.columns = names.filter((name) => table.has(name)).map((name) => table.byName.get(name));
    this.open = open;
    this.words = [];
    this.chosen = new Map();
    this.order = { column: null, descending: false };
    [this.first, this.shown] = [shown, shown];
    this.node = this.build();
    this.update();
    kept.push(this);
  }

  // What a reader has made of the table, for the page's next load.
  save() {
    const { column, descending } = this.order;
    return {
      words: this.input.value, chosen: [...this.chosen], column: column && column.name, descending, shown: this.shown, left: this.scroll.scrollLeft,
    };
  }

  restore({ words, chosen, column, descending, shown, left }) {
    this.input.value = words;
    this.words = split(words);
    for (const [name, value] of chosen) {
      if (this.choosers.get(name)?.(value)) this.chosen.set(name, value);
    }
    if (this.columns.some((one) => one.name === column)) this.order = { column: this.table.byName.get(column), descending };
    this.shown = shown;
    this.update();
    this.scroll.scrollLeft = left;
  }

  build() {
    this.count = element("span", { class: "told found", role: "status" });
    this.body = element("tbody");
    this.headings = this.columns.map((column) => {
      const button = element("button", { type: "button", onclick: () => this.sort(column) }, heading(column.name));
      return element("th", { scope: "col", class: column.type, "data-column": column.name }, button);
    });
    this.left = element("span", { class: "told" });
    this.more = element("p", { class: "more" },
      element("button", { type: "button", onclick: () => this.extend() }, "Show more"), this.left);
    this.scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": this.table.title },
      element("table", {}, element("thead", {}, element("tr", {}, ...this.headings)), this.body));
    return element(
      "div", { class: "table", "data-table": this.table.id },
      this.tools(),
      this.scroll,
      this.more,
    );
  }

  tools() {
    this.input = element("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${this.table.title}`, "data-keep": `filter ${this.table.id}` });
    this.input.addEventListener("input", () => this.filter(() => { this.words = split(this.input.value); }));
    return element(
      "div", { class: "tools" },
      this.input,
      ...this.columns.filter((column) => CHOICE_COLUMNS.includes(column.name)).map((column) => this.choice(column)),
      this.count,
      element("button", { type: "button", "data-export": "csv", onclick: () => exportCsv(this.table, this.rows) }, "CSV"),
    );
  }

  choice(column) {
    const values = [...new Set(column.values)].filter((value) => value !== null).sort(compare);
    if (values.length < 2 || values.length > MOST_CHOICES) return null;
    const select = element("select", { "aria-label": column.name, "data-choice": column.name },
      element("option", { value: "" }, `every ${column.name}`),
      ...values.map((value, place) => element("option", { value: place }, value)));
    select.addEventListener("change", () => this.filter(() => {
      if (select.value === "") this.chosen.delete(column.name);
      else this.chosen.set(column.name, values[Number(select.value)]);
    }));
    this.choosers.set(column.name, (value) => {
      const place = values.indexOf(value);
      if (place >= 0) select.value = String(place);
      return place >= 0;
    });
    return select;
  }

  filter(change) {
    change();
    this.shown = this.first;
    this.update();
  }

  sort(column) {
    const again = this.order.column === column;
    // Numbers are asked for by the highest first, names from A.
    this.order = { column, descending: again ? !this.order.descending : column.type !== "text" };
    this.update();
  }

  extend() {
    this.shown += 20 * PAGE;
    this.draw();
  }

  matches(row) {
    for (const [name, value] of this.chosen) if (this.table.value(row, name) !== value) return false;
    if (!this.words.length) return true;
    let text = "";
    for (const column of this.columns) text += ` ${this.text(row, column)}`;
    text = text.toLowerCase();
    return this.words.every((word) => text.includes(word));
  }

  text(row, column) {
    const value = column.values[row];
    return column.name === "configuration" && value !== null ? configurationText(value) : show(value, column);
  }

  update() {
    this.rows = this.table.rows((row) => this.matches(row));
    const { column, descending } = this.order;
    if (column) {
      const sign = descending ? -1 : 1;
      this.rows.sort((one, other) => {
        const [a, b] = [column.values[one], column.values[other]];
        // What is missing stays last either way.
        return a === null || b === null ? compare(a, b) : sign * compare(a, b);
      });
    }
    this.draw();
  }

  draw() {
    for (const heading of this.headings) {
      const sorted = this.order.column?.name === heading.dataset.column;
      if (sorted) heading.setAttribute("aria-sort", this.order.descending ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    }
    this.body.replaceChildren(...this.rows.slice(0, this.shown).map((row) => this.line(row)));
    const all = this.table.length.toLocaleString("en");
    const found = this.rows.length.toLocaleString("en");
    this.count.textContent = this.rows.length === this.table.length ? `${all} rows` : `${found} of ${all} rows`;
    const rest = this.rows.length - this.shown;
    this.more.hidden = rest <= 0;
    this.left.textContent = `${Math.max(rest, 0).toLocaleString("en")} more rows`;
  }

  line(row) {
    const cells = this.columns.map((column, place) => {
      const text = this.text(row, column);
      const inside = this.open && place === 0
        ? element("button", { type: "button", class: "open", "aria-haspopup": "dialog" }, text)
        : text;
      return element("td", { class: column.name === "outcome" ? `text outcome ${text}` : column.type }, inside);
    });
    const line = element("tr", { "data-row": row, class: this.open ? "opens" : null }, ...cells);
    if (this.open) line.addEventListener("click", () => this.open(row));
    return line;
  }
}
