// The page's data: tables with columns decoded to arrays, as runner.report.page.columns packs them.

const content = JSON.parse(document.getElementById("data").textContent);

function decode(column, rows) {
  if ("c" in column) return new Array(rows).fill(column.c);
  if ("d" in column) return column.v.map((place) => (place < 0 ? null : column.d[place]));
  if (!("f" in column)) return column.v;
  const bytes = Uint8Array.from(atob(column.f), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: rows }, (_, row) => {
    const value = view.getFloat64(8 * row, true);
    return Number.isNaN(value) ? null : value;
  });
}

class Table {
  constructor(document) {
    this.id = document.id;
    this.title = document.title;
    this.length = document.rows;
    this.columns = document.columns.map((column) => ({
      name: column.name,
      type: column.type,
      values: decode(column, document.rows),
    }));
    this.byName = new Map(this.columns.map((column) => [column.name, column]));
  }

  has(name) {
    return this.byName.has(name);
  }

  value(row, name) {
    const column = this.byName.get(name);
    return column ? column.values[row] : null;
  }

  rows(test) {
    const found = [];
    for (let row = 0; row < this.length; row += 1) if (test(row)) found.push(row);
    return found;
  }
}

const tables = new Map(content.tables.map((document) => [document.id, new Table(document)]));
const OUTCOMES = ["ok", "timeout", "memory", "crash", "error", "infra", "missing"];

// Column names of the CSV files, shorter for people.
const HEADINGS = {
  configuration_id: "#", cv_auc: "CV AUC", cv_auc_sd: "± sd", test_auc: "test AUC", external_auc: "external AUC",
  total_training_seconds: "total s", average_training_seconds: "average s", training_seconds: "training s", refit_seconds: "refit s",
  fit_seconds: "fit s", predict_seconds: "predict s", wall_seconds: "wall s", cpu_seconds: "CPU s", peak_mib: "peak MiB",
};

function heading(name) {
  return HEADINGS[name] ?? name.replaceAll("_", " ");
}

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

// Numbers as people read them; exports have them in full.
function show(value, column) {
  if (value === null || value === undefined) return "–";
  if (column.type === "flag") return value ? "yes" : "no";
  if (column.type === "count") return /(^|_)id$|seed/.test(column.name) ? String(value) : WHOLE.format(value);
  if (column.type !== "number") return String(value);
  if (/auc|score|capacity/.test(column.name) && Math.abs(value) <= 1) return value.toFixed(4);
  return showNumber(value);
}

function showNumber(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return String(value);
  if (size >= 100) return (size >= 1000 ? WHOLE : TENTHS).format(value);
  return size >= 0.001 ? value.toPrecision(3) : value.toExponential(1);
}

// Folds and tasks share their configurations' texts.
const configurationTexts = new Map();

function configurationText(json) {
  if (!configurationTexts.has(json)) configurationTexts.set(json, parametersOf(json));
  return configurationTexts.get(json);
}

function parametersOf(json) {
  try {
    const pairs = Object.entries(JSON.parse(json)).map(([name, value]) =>
      `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`);
    return pairs.join(" ") || "no parameters";
  } catch {
    return json ?? "–";
  }
}

// The outcomes that a row of summary or configurations counts, such as "4 ok, 1 timeout".
function outcomesText(table, row) {
  const counts = OUTCOMES.map((name) => [table.value(row, name), name]).filter(([count]) => count);
  return counts.map(([count, name]) => `${count} ${name}`).join(", ") || "none";
}
