// One configuration with each of its evaluations: folds, times, memory, limits in force, log.

const dialog = document.querySelector("dialog");
const FOLD_COLUMNS = ["stage", "fold", "repeat", "outcome", "score", "fit_seconds", "predict_seconds", "wall_seconds", "cpu_seconds", "peak_mib", "reason"];
const GROUPS = [
  ["Outcome", /^(stage|fold|repeat|seed|metric|score|outcome|reason|error|attempt|imputed|shared_with)$/],
  ["Times (s)", /seconds|timed_fits|timing|started_at|throttled/],
  ["Memory", /mib|oom/],
  ["Limits in force", /^(limit_.*|cpus|threads|memory_mib|enforced)$/],
  ["Machine", /^(neighbours|load|node|machine|quiet|governor|turbo|versions)$/],
];

function groupOf(name) {
  if (/^limit_|^memory_mib$/.test(name)) return "Limits in force";
  return (GROUPS.find(([, pattern]) => pattern.test(name)) ?? ["Other"])[0];
}

function definitions(table, row) {
  const groups = new Map([...GROUPS.map(([title]) => [title, []]), ["Other", []]]);
  for (const column of table.columns) {
    const value = column.values[row];
    if (value === null || /^(log_tail|task|system|configuration|configuration_id)$/.test(column.name)) continue;
    const text = column.type === "number" ? String(value) : show(value, column);
    groups.get(groupOf(column.name)).push(
      element("div", { "data-field": column.name }, element("dt", {}, column.name.replaceAll("_", " ")), element("dd", {}, text)));
  }
  return [...groups].filter(([, pairs]) => pairs.length).map(([title, pairs]) =>
    element("section", {}, element("h4", {}, title), element("dl", {}, ...pairs)));
}

function evaluationDetails(table, row) {
  const fold = table.value(row, "fold");
  const name = fold === null ? table.value(row, "stage") : `fold ${fold}`;
  const outcome = table.value(row, "outcome");
  const repeat = table.value(row, "repeat");
  const log = table.value(row, "log_tail");
  return element(
    "details", { open: outcome !== "ok", "data-evaluation": table.value(row, "key") },
    element("summary", {}, `${name}${repeat ? `, repeat ${repeat}` : ""}: ${outcome}`),
    element("div", { class: "groups" }, ...definitions(table, row)),
    log === null ? null : element("section", {}, element("h4", {}, "Log, its end"), element("pre", {}, log)),
  );
}

function foldTable(table, rows) {
  const columns = FOLD_COLUMNS.filter((name) => rows.some((row) => table.value(row, name) !== null)).map((name) => table.byName.get(name));
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...columns.map((column) => element("th", { class: column.type, scope: "col" }, heading(column.name))))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...columns.map((column) =>
      element("td", { class: column.type }, show(column.values[row], column))))))));
}

function facts(table, row) {
  const shown = ["cv_auc", "cv_auc_sd", "training_seconds", "machines"].filter((name) => table.value(row, name) !== null);
  const pairs = shown.map((name) => [heading(name), show(table.value(row, name), table.byName.get(name))]);
  return [...pairs, ["outcomes", outcomesText(table, row)]];
}

// Of a large run not every evaluation is on the page.
function lacking(configurations, row, evaluations, rows) {
  if (row === undefined) return null;
  const counted = OUTCOMES.reduce((sum, name) => sum + (configurations.value(row, name) ?? 0), 0);
  const here = rows.filter((index) => evaluations.value(index, "stage") === "cv").length;
  if (here >= counted) return null;
  return element("p", {}, `Of this configuration's ${counted} evaluations the page holds ${here}; runner query has them all.`);
}

function openConfiguration(task, system, id) {
  const [configurations, evaluations] = [tables.get("configurations"), tables.get("evaluations")];
  const same = (table) => table.rows((row) =>
    table.value(row, "configuration_id") === id && table.value(row, "task") === task && table.value(row, "system") === system);
  const [row] = same(configurations);
  const rows = same(evaluations).sort((one, other) => ["stage", "repeat", "fold"].reduce(
    (found, name) => found || compare(evaluations.value(one, name), evaluations.value(other, name)), 0));
  // How far a run is may be newer than the tables.
  if (row === undefined && !rows.length) return;
  const json = row === undefined ? evaluations.value(rows[0], "configuration") : configurations.value(row, "configuration");
  const selected = row !== undefined && configurations.value(row, "selected");
  dialog.replaceChildren(
    element("header", {},
      element("div", {},
        element("p", { class: "kind" }, `${task}${selected ? ", selected" : ""}`),
        element("h2", { id: "drill-title" }, `${system} #${id}`)),
      element("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×")),
    element("p", { class: "parameters" }, configurationText(json)),
    row === undefined ? null : element("dl", { class: "facts" }, ...facts(configurations, row).map(([word, text]) =>
      element("div", {}, element("dt", {}, word), element("dd", {}, text)))),
    element("h3", {}, "Evaluations"),
    lacking(configurations, row, evaluations, rows),
    rows.length ? foldTable(evaluations, rows) : null,
    ...rows.map((index) => evaluationDetails(evaluations, index)),
  );
  hideTip();
  dialog.showModal();
  dialog.scrollTop = 0;
}

dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
