// The page from top to bottom: summary, charts, answers, tables, evaluations.

const main = document.querySelector("main");
const MEASURES = [
  ["test_auc", "test AUC", Math.max],
  ["cv_auc", "AUC in cross-validation", Math.max],
  ["total_training_seconds", "total training time (s)", null],
  ["average_training_seconds", "average training time (s)", null],
  ["outcomes", "outcomes", null],
];
const SUMMARY_COLUMNS = ["task", "system", "test_auc", "external_auc", "cv_auc", "cv_auc_sd", "total_training_seconds", "average_training_seconds", "refit_seconds", "configurations", ...OUTCOMES, "test_outcome", "machines", "configuration_id", "configuration"];
const CONFIGURATION_COLUMNS = ["task", "system", "configuration_id", "selected", "cv_auc", "cv_auc_sd", "training_seconds", ...OUTCOMES, "machines", "configuration"];
const LIVE_COLUMNS = ["task", "system", "done", "planned", ...OUTCOMES, "cv_auc", "configuration_id", "configuration"];
const EVALUATION_COLUMNS = ["task", "system", "configuration_id", "stage", "fold", "repeat", "outcome", "reason", "score", "fit_seconds", "wall_seconds", "cpu_seconds", "peak_mib", "configuration"];

const KEPT = ["task", "system", "outcome", "ok", "configuration", "configuration_id"];

// Columns that say nothing in this run are left out of what is shown, not of exports.
function telling(table, names) {
  return names.filter((name) => {
    const values = table.byName.get(name)?.values;
    if (!values || KEPT.includes(name)) return Boolean(values);
    const dull = ["machines", "test_outcome", "repeat"].includes(name) ? values[0] : null;
    return values.some((value) => value !== null && value !== 0 && value !== false && value !== dull);
  });
}

function open(table) {
  return (row) => {
    const id = table.value(row, "configuration_id");
    if (id !== null) openConfiguration(table.value(row, "task"), table.value(row, "system"), id);
  };
}

function section(id, title, ...children) {
  const found = children.filter(Boolean);
  if (!found.length) return;
  document.querySelector("nav").append(element("a", { href: `#${id}` }, title));
  main.append(element("section", { id, class: "block" }, element("h2", {}, title), ...found));
}

function overview() {
  const summary = tables.get("summary");
  const facts = element("dl", { class: "facts" }, ...content.facts.map(([word, text]) =>
    element("div", {}, element("dt", {}, word), element("dd", {}, text))));
  const notes = content.notes.length
    ? element("ul", { class: "notes", "aria-label": "Mind" }, ...content.notes.map((note) => element("li", {}, note)))
    : null;
  section("summary", "Summary", facts, notes, summary ? matrix(summary) : null,
    summary ? new TableView(summary, { names: telling(summary, SUMMARY_COLUMNS), open: open(summary) }).node : null);
}

// Systems down, tasks across.
function matrix(summary) {
  const names = (column) => [...new Set(summary.byName.get(column).values)];
  const [tasks, systems] = [names("task"), names("system")];
  const places = new Map();
  for (let row = 0; row < summary.length; row += 1) {
    places.set(JSON.stringify([summary.value(row, "task"), summary.value(row, "system")]), row);
  }
  const holder = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Systems by task" });
  const select = element("select", { "aria-label": "Measure", "data-choice": "measure" },
    ...MEASURES.map(([name, title]) => element("option", { value: name }, title)));
  const told = element("span", { class: "told" });
  const draw = () => {
    const [name, title, best] = MEASURES.find(([candidate]) => candidate === select.value);
    told.textContent = best ? `${title}; ● the best of a task` : title;
    holder.replaceChildren(element("table", { class: "matrix" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "system"), ...tasks.map((task) => element("th", { scope: "col", class: "number" }, task)))),
      element("tbody", {}, ...systems.map((system) => element("tr", {}, element("th", { scope: "row" }, system),
        ...tasks.map((task) => {
          const row = places.get(JSON.stringify([task, system]));
          return matrixCell(summary, row, name, best && bestOf(summary, task, name, best));
        }))))));
  };
  select.addEventListener("change", draw);
  kept.push({
    name: "measure",
    save: () => select.value,
    restore: (value) => {
      select.value = value;
      draw();
    },
  });
  draw();
  return element("div", { class: "table", "data-table": "matrix" }, element("div", { class: "tools" }, select, told), holder);
}

function bestOf(summary, task, name, best) {
  const rows = summary.rows((row) => summary.value(row, "task") === task);
  const values = rows.map((row) => summary.value(row, name));
  return best(...values.filter((value) => value !== null));
}

function withoutScore(summary, row) {
  const outcome = summary.value(row, "test_outcome");
  if (outcome !== "ok") return outcome;
  // Only a competition has the labels.
  const external = summary.value(row, "external_auc");
  return external === null ? "awaited" : `${show(external, summary.byName.get("external_auc"))} (external)`;
}

function matrixCell(summary, row, name, best) {
  if (row === undefined) return element("td", { class: "number" }, "");
  if (name === "outcomes") return element("td", { class: "number" }, outcomesText(summary, row));
  const value = summary.value(row, name);
  const text = show(value, summary.byName.get(name));
  const why = value === null && name === "test_auc" ? withoutScore(summary, row) : null;
  return element("td", { class: value !== null && value === best ? "number best" : "number" }, why ?? text);
}

function listed(ids, names) {
  return ids.filter((id) => tables.has(id)).map((id) => {
    const table = tables.get(id);
    const all = names && telling(table, names);
    const view = new TableView(table, all ? { names: all, open: open(table) } : {});
    return element("article", { id }, all ? null : element("h3", {}, table.title), view.node);
  });
}

function build() {
  const far = strip();
  if (far) main.append(far);
  overview();
  const charts = content.charts.map((chart) => new ChartView(chart));
  section("charts", "Charts", ...charts.map((chart) => chart.node));
  section("answers", "Answers", content.answers.length ? element("div", { class: "prose" }, ...content.answers.map((text) => element("p", {}, text))) : null);
  section("configurations-section", "Configurations", ...listed(["configurations"], CONFIGURATION_COLUMNS));
  section("evaluations-section", "Evaluations", ...listed(["evaluations"], EVALUATION_COLUMNS));
  const own = ["live", "summary", "configurations", "evaluations"];
  section("study", "Study tables", ...listed([...tables.keys()].filter((id) => !own.includes(id)), null));
  // Before anything is painted, so that nothing jumps.
  for (const chart of charts) chart.draw();
  restore();
}

build();
keepUp();
