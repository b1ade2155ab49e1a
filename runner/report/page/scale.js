// Where values stand on a chart, which of them its axes name, and how names fit.

const SLANT = 35;

function niceTicks(low, high, count, whole) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  if (whole) step = Math.max(1, Math.round(step));
  const ticks = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + 1e-9 * step; place += 1) {
    ticks.push(Number((place * step).toPrecision(12)));
  }
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  const wide = Math.log10(high / low) > 2.5;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of wide ? [1] : [1, 2, 5]) ticks.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  const inside = ticks.filter((tick) => tick >= low && tick <= high);
  const step = Math.ceil(inside.length / 6);
  return inside.filter((_, place) => place % step === 0);
}

function xScale(chart, points, width) {
  if (chart.x.scale === "band") {
    const band = width / chart.x.names.length;
    const slot = (band * 0.8) / Math.max(chart.series.length, 1);
    return {
      at: (point) => (point.x + 0.1) * band + (point.s + 0.5) * slot,
      ticks: chart.x.names.map((name, place) => ({ at: (place + 0.5) * band, text: name, room: band, edge: place * band })),
    };
  }
  const values = points.map((point) => point.x);
  if (chart.x.scale === "log") {
    const low = Math.min(...values) / 1.6;
    const high = Math.max(...values) * 1.9;
    const at = (value) => (Math.log(value / low) / Math.log(high / low)) * width;
    return { at: (point) => at(point.x), ticks: logTicks(low, high).map((tick) => ({ at: at(tick), text: String(tick) })) };
  }
  const [low, high] = chart.x.domain;
  const at = (value) => ((value - low) / (high - low)) * width;
  return { at: (point) => at(point.x), value: at, ticks: niceTicks(low, high, 5).map((tick) => ({ at: at(tick), text: String(tick) })) };
}

// From where on most values are, where a few far lower ones would press them together.
function zoomed(panel, low, high) {
  const values = panel.points.map((point) => point.y).sort((one, other) => one - other);
  const named = panel.points.filter((point) => point.label).map((point) => point.y);
  const most = Math.min(values[Math.floor(values.length / 10)], ...named);
  return most - low > 1.5 * (high - most) ? most : low;
}

function yScale(chart, panel, height) {
  const values = [...panel.points.map((point) => point.y), ...(panel.lines ?? []).map((line) => line.y)];
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (chart.y.zoom) low = zoomed(panel, low, high);
  const room = Math.max(0.12 * (high - low), chart.y.whole ? 0.6 : 0.002);
  low = chart.y.whole ? 0 : low - room;
  // No AUC is above 1.
  high = high <= 1 && !chart.y.whole ? Math.min(high + room, 1 + room / 4) : high + room;
  const at = (value) => height - ((Math.max(value, low) - low) / (high - low)) * height;
  const ticks = niceTicks(low, high, 7, chart.y.whole);
  const digits = Math.max(...ticks.map((tick) => (String(tick).split(".")[1] ?? "").length));
  return { at, ticks, text: (tick) => tick.toFixed(digits), below: panel.points.filter((point) => point.y < low).length };
}

// How much height names need that are wider than their room and so are written aslant; 0 if none is.
function slant(names, room) {
  const most = Math.max(...names.map((name) => name.length));
  return 7 * most <= room - 2 ? 0 : 8 + 7 * Math.min(most, 18) * Math.sin((SLANT * Math.PI) / 180);
}

const withoutRows = (name) => name.replace(/ \([\d,]+\)$/, "");

// A task's name; its rows are the first to go.
function shortened(text, letters) {
  if (text.length <= letters) return text;
  const name = withoutRows(text);
  return name.length <= letters ? name : `${name.slice(0, letters - 1)}…`;
}
