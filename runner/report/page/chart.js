// Charts as SVG: points, steps, cells and ranks, from the descriptions of runner.report.page.charts.

// Okabe and Ito's colours; shapes tell the series apart without colour.
const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#56b4e9", "#8a6d3b", "#7f7f7f"];
const SHAPES = [
  (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  (r) => `M${-0.9 * r} ${-0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`,
  (r) => `M0 ${-1.15 * r}L${1.1 * r} ${0.85 * r}H${-1.1 * r}Z`,
  (r) => `M0 ${-1.25 * r}L${1.15 * r} 0L0 ${1.25 * r}L${-1.15 * r} 0Z`,
  (r) => `M0 ${1.15 * r}L${1.1 * r} ${-0.85 * r}H${-1.1 * r}Z`,
  (r) => `M${-0.4 * r} ${-1.2 * r}h${0.8 * r}v${0.8 * r}h${0.8 * r}v${0.8 * r}h${-0.8 * r}v${0.8 * r}h${-0.8 * r}v${-0.8 * r}h${-0.8 * r}v${-0.8 * r}h${0.8 * r}Z`,
  (r) => `M${-0.85 * r} ${-1.1 * r}L${1.15 * r} 0L${-0.85 * r} ${1.1 * r}Z`,
];
const REGIMES = { low: "#1a7837", middle: "#7fbf7b", high: "#ffed8a", outside: "#d6604d" };
const CHART_STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #333333; }
  .grid { stroke: #e6e6e6; } .frame { stroke: #bbbbbb; fill: none; }
  .title { font-size: 15px; font-weight: 600; } .panel-title { font-weight: 600; } .about, .tick { fill: #666666; }
  .label { font-weight: 600; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; }
  .rank { stroke: #333333; } .line { fill: none; stroke-width: 2; } .rule { stroke: #777777; stroke-width: 1.3; }
  .small { opacity: 0.5; } .empty { fill: #eeeeee; } .on-pale { fill: #111111; } .on-dark { fill: #ffffff; }
`;
const MOST_OVERLAP = 60;
const LEAST_CELL = 44;
const ROOM = { left: 64, right: 16, top: 30, bottom: 46 };

// A system looks the same in every chart; platforms have looks of their own.
const systems = [...new Set(content.charts.filter((chart) => chart.series && !chart.steps).flatMap((chart) => chart.series))].sort();
const look = (chart, series) => (chart.steps ? series : systems.indexOf(chart.series[series]));
const hue = (chart, series) => HUES[look(chart, series) % HUES.length];
const shape = (chart, series, size) => SHAPES[look(chart, series) % SHAPES.length](size);

function bandSlant(chart, width) {
  return chart.x.scale === "band" ? slant(chart.x.names.map(withoutRows), width / chart.x.names.length) : 0;
}

function axes(chart, x, y, width, height) {
  const parts = [];
  for (const tick of y.ticks) {
    parts.push(svg("line", { class: "grid", x1: 0, x2: width, y1: y.at(tick), y2: y.at(tick) }));
    parts.push(svg("text", { class: "tick", x: -6, y: y.at(tick) + 4, "text-anchor": "end" }, y.text(tick)));
  }
  const down = bandSlant(chart, width);
  for (const tick of x.ticks) {
    const edge = tick.edge ?? tick.at;
    parts.push(svg("line", { class: "grid", x1: edge, x2: edge, y1: 0, y2: height }));
    const text = !tick.room ? tick.text : down ? shortened(withoutRows(tick.text), 18) : shortened(tick.text, Math.floor(tick.room / 7));
    const spot = down
      ? { transform: `translate(${tick.at + 4} ${height + 14}) rotate(-${SLANT})`, "text-anchor": "end" }
      : { x: tick.at, y: height + 16, "text-anchor": "middle" };
    parts.push(svg("text", { class: "tick", ...spot }, text));
  }
  if (y.below) parts.push(svg("text", { class: "tick", x: width - 5, y: height - 9, "text-anchor": "end" }, `on this edge: ${y.below} lower`));
  parts.push(svg("rect", { class: "frame", width, height }));
  parts.push(svg("text", { x: width / 2, y: height + 36 + down, "text-anchor": "middle" }, chart.x.title));
  parts.push(svg("text", { transform: `translate(-51 ${height / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.y.title));
  return parts;
}

// Above its point where nothing is written there yet, else on the next free side; null in a crowd,
// where it would be unreadable and the tooltip tells.
function placeLabel(taken, x, y, text, width) {
  const long = 7 * text.length;
  const sides = [[0, -11], [0, 20], [long / 2 + 10, 4], [-long / 2 - 10, 4], [0, -24], [0, 33]];
  const overlap = (box) => taken.reduce((sum, other) =>
    sum + Math.max(0, Math.min(box.x + box.w, other.x + other.w) - Math.max(box.x, other.x))
      * Math.max(0, Math.min(box.y + box.h, other.y + other.h) - Math.max(box.y, other.y)), 0)
    + 12 * Math.max(0, -box.x, box.x + box.w - width);
  const boxes = sides.map(([dx, dy]) => ({ x: x + dx - long / 2, y: y + dy - 11, w: long, h: 13 }));
  const best = boxes.reduce((one, other) => (overlap(other) < overlap(one) ? other : one));
  if (overlap(best) > MOST_OVERLAP) return null;
  taken.push(best);
  return { x: best.x + long / 2, y: best.y + 11 };
}

// What a line and its name take of a panel: a label on it could hardly be read.
function lineBoxes(line, y, width) {
  const long = 6 * line.label.length + 6;
  return [{ x: 0, y: y - 0.5, w: width, h: 1 }, { x: width - long, y: y - 15, w: long, h: 12 }];
}

function pointsPanel(chart, panel, points, width, height) {
  const x = xScale(chart, points, width);
  const y = yScale(chart, panel, height);
  const group = svg("g", {}, ...axes(chart, x, y, width, height));
  if (panel.title) group.append(svg("text", { class: "panel-title", y: -10 }, panel.title));
  for (const line of panel.lines ?? []) {
    group.append(svg("line", { class: "rule", x1: 0, x2: width, y1: y.at(line.y), y2: y.at(line.y), "stroke-dasharray": line.dash || null }));
    group.append(svg("text", { class: "tick", x: width - 4, y: y.at(line.y) - 4, "text-anchor": "end" }, line.label));
  }
  if (chart.steps) group.append(...stepLines(chart, panel, x, y));
  const isLarge = (point) => Boolean(point.label || point.large);
  const large = panel.points.filter(isLarge);
  const named = large.filter((point) => point.label);
  const taken = [
    ...large.map((point) => ({ x: x.at(point) - 6, y: y.at(point.y) - 6, w: 12, h: 12 })),
    ...(panel.lines ?? []).flatMap((line) => lineBoxes(line, y.at(line.y), width)),
  ];
  for (const point of [...panel.points.filter((one) => !isLarge(one)), ...large]) {
    const big = isLarge(point) || !large.length;
    const size = width < 450 && chart.x.scale === "band" ? 4.5 : 6;
    const mark = svg("path", {
      class: big ? "mark" : "mark small", d: shape(chart, point.s, big ? size : 3.5), fill: hue(chart, point.s),
      transform: `translate(${x.at(point).toFixed(1)} ${y.at(point.y).toFixed(1)})`, tabindex: big ? 0 : null,
    });
    group.append(withTip(mark, () => pointText(chart, point), opener(chart, point)));
  }
  for (const point of named) {
    const spot = placeLabel(taken, x.at(point), y.at(point.y), point.label, width);
    if (spot) group.append(svg("text", { class: "label", x: spot.x, y: spot.y, "text-anchor": "middle" }, point.label));
  }
  return group;
}

function stepLines(chart, panel, x, y) {
  return chart.series.map((_, series) => {
    const own = panel.points.filter((point) => point.s === series);
    if (!own.length) return null;
    const path = own.map((point, place) => (place ? `H${x.at(point)}V${y.at(point.y)}` : `M${x.at(point)} ${y.at(point.y)}`));
    return svg("path", {
      class: "line", stroke: hue(chart, series), d: `${path.join("")}H${x.value(chart.x.domain[1])}`,
      "stroke-dasharray": series ? `6 ${1 + 2 * series}` : null,
    });
  }).filter(Boolean);
}

function sourceRow(chart, point) {
  if (point.row !== undefined) return [tables.get(chart.table), point.row];
  const summary = tables.get("summary");
  if (!summary || !point.pair) return [null, null];
  const [task, system] = point.pair;
  const [row] = summary.rows((index) => summary.value(index, "task") === task && summary.value(index, "system") === system);
  return row === undefined ? [null, null] : [summary, row];
}

// What a tooltip says: the system, its configuration and its outcomes, then the numbers.
function pointText(chart, point) {
  const [table, row] = sourceRow(chart, point);
  const lines = [point.pair ? `${point.pair[1]} on ${point.pair[0]}` : chart.series[point.s]];
  if (table) {
    lines[0] = `${table.value(row, "system")} on ${table.value(row, "task")}`;
    const json = table.value(row, "configuration");
    if (json !== null) lines.push(`#${table.value(row, "configuration_id")} ${configurationText(json)}`);
    lines.push(`outcomes: ${outcomesText(table, row)}`);
  }
  if (point.text) return [...lines, ...point.text];
  if (chart.x.scale === "log") lines.push(`${chart.x.title}: ${showNumber(point.x)}`);
  lines.push(`${chart.y.title}: ${point.y.toFixed(4)}`);
  return lines;
}

function opener(chart, point) {
  const [table, row] = sourceRow(chart, point);
  if (!table || table.value(row, "configuration_id") === null) return null;
  return () => openConfiguration(table.value(row, "task"), table.value(row, "system"), table.value(row, "configuration_id"));
}

function legend(chart, width) {
  const group = svg("g");
  let [x, y] = [0, 0];
  chart.series.forEach((name, series) => {
    const long = 26 + 7 * name.length;
    if (x && x + long > width) [x, y] = [0, y + 20];
    group.append(
      svg("path", { d: shape(chart, series, 5), fill: hue(chart, series), transform: `translate(${x + 7} ${y})` }),
      svg("text", { x: x + 17, y: y + 4 }, name),
    );
    x += long;
  });
  return { group, height: y + 24 };
}

// Breaks a sentence into lines of some letters.
function wrapped(text, letters) {
  const lines = [];
  for (const word of text.split(" ").filter(Boolean)) {
    if (lines.length && `${lines.at(-1)} ${word}`.length <= letters) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines;
}

function headed(chart, width) {
  const group = svg("g", {}, svg("text", { class: "title", y: 16 }, chart.title));
  const lines = wrapped(chart.about ?? "", Math.floor(width / 6.6));
  lines.forEach((line, place) => group.append(svg("text", { class: "about", y: 38 + 16 * place }, line)));
  return { group, height: 34 + 16 * lines.length };
}

function drawPoints(chart, width) {
  const most = chart.x.scale === "band" ? 1 : Math.max(1, Math.min(3, chart.panels.length, Math.floor(width / 330)));
  const each = width / most;
  const height = most === 1 && width > 700 ? 320 : 230;
  const inner = each - ROOM.left - ROOM.right;
  const points = chart.panels.flatMap((panel) => panel.points);
  const head = headed(chart, width);
  const key = legend(chart, width);
  key.group.setAttribute("transform", `translate(0 ${head.height + 6})`);
  const top = head.height + key.height;
  const above = chart.panels.some((panel) => panel.title) ? ROOM.top : 8;
  const panels = chart.panels.map((panel, place) => {
    const group = pointsPanel(chart, panel, points, inner, height);
    const down = top + above + Math.floor(place / most) * (height + above + ROOM.bottom);
    group.setAttribute("transform", `translate(${(place % most) * each + ROOM.left} ${down})`);
    return group;
  });
  const total = top + Math.ceil(panels.length / most) * (height + above + ROOM.bottom) + bandSlant(chart, inner) + 4;
  return picture(chart, width, total, head.group, key.group, ...panels);
}

// As many columns side by side as can be read; the others below.
function drawCells(chart, width) {
  const head = headed(chart, width);
  const left = Math.min(0.3 * width, 12 + 7.5 * Math.max(...chart.rows.map((name) => name.length)));
  const most = Math.max(1, Math.floor((width - left) / LEAST_CELL));
  const blocks = Math.ceil(chart.columns.length / most);
  const each = Math.ceil(chart.columns.length / blocks);
  const [wide, high] = [Math.min(96, (width - left - 24) / each), 30];
  const room = 22 + slant(chart.columns, wide);
  const tall = room + chart.rows.length * high + 14;
  const parts = [];
  for (let block = 0; block < blocks; block += 1) {
    const top = head.height + block * tall + room;
    const columns = chart.columns.slice(block * each, (block + 1) * each);
    parts.push(...columnNames(columns, left, top, wide, room > 22));
    parts.push(...chart.rows.map((name, place) => svg("text", { x: left - 8, y: top + place * high + 20, "text-anchor": "end" }, name)));
    for (const cell of chart.cells) {
      const place = cell.x - block * each;
      if (place >= 0 && place < each) parts.push(drawCell(chart, cell, left + place * wide, top + cell.y * high, wide, high));
    }
  }
  return picture(chart, width, head.height + blocks * tall, head.group, ...parts);
}

function columnNames(names, left, top, wide, aslant) {
  return names.map((name, place) => {
    const x = left + (place + 0.5) * wide;
    return aslant
      ? svg("text", { transform: `translate(${x} ${top - 6}) rotate(-${SLANT})` }, shortened(name, 18))
      : svg("text", { x, y: top - 8, "text-anchor": "middle" }, name);
  });
}

function drawCell(chart, cell, x, y, width, height) {
  const text = cell.value === null ? "n/a" : cell.value.toFixed(width >= LEAST_CELL || cell.value < 10 ? 2 : 1);
  const colour = { x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: 2 };
  const box = cell.regime
    ? svg("rect", { ...colour, fill: REGIMES[cell.regime] })
    : svg("rect", { ...colour, class: "empty" });
  const ink = cell.regime === "low" ? "on-dark" : cell.regime ? "on-pale" : "tick";
  const group = svg("g", { class: "mark", tabindex: 0 }, box,
    svg("text", { class: ink, x: x + width / 2, y: y + 20, "text-anchor": "middle" }, text));
  const numbers = cell.value === null ? ["no rank"] : [`capacity: ${cell.value.toFixed(4)} %`, `regime: ${cell.regime}`];
  const point = { pair: cell.pair, text: numbers };
  return withTip(group, () => pointText(chart, point), opener(chart, point));
}

function picture(chart, width, height, ...parts) {
  return svg("svg", { viewBox: `0 0 ${Math.round(width)} ${Math.round(height)}`, role: "group", "aria-label": chart.title }, ...parts);
}

class ChartView {
  constructor(chart) {
    this.chart = chart;
    this.holder = element("div", { class: "picture" });
    const button = (style, action) => element("button",
      { type: "button", "data-export": style, onclick: () => action(chart.id, this.holder.firstElementChild) }, style.toUpperCase());
    this.node = element("figure", { class: "chart", id: chart.id, "data-chart": chart.id },
      this.holder, element("div", { class: "tools" }, button("svg", exportSvg), button("png", exportPng)));
    new ResizeObserver(() => this.draw()).observe(this.holder);
  }

  draw() {
    const width = Math.floor(this.holder.clientWidth);
    if (!width || width === this.width) return;
    this.width = width;
    const draw = this.chart.ranks ? drawRanks : this.chart.cells ? drawCells : drawPoints;
    this.holder.replaceChildren(draw(this.chart, width));
  }
}
