// Mean ranks on an axis, with bars over those that don't differ: Demsar's diagram.

const RANK_ROW = 24;

function drawRanks(chart, width) {
  const head = headed(chart, width);
  const count = chart.ranks.length;
  const letters = Math.max(...chart.ranks.map((one) => one.name.length)) + 6;
  const side = Math.min(0.36 * width, 20 + 7.2 * letters);
  const at = (rank) => side + ((rank - 1) / (count - 1)) * (width - 2 * side);
  const top = head.height + 64;
  const line = (x, y, x2, y2, thick = 1) => svg("line", { class: "rank", x1: x, y1: y, x2, y2, "stroke-width": thick });
  const parts = [line(at(1), top, at(count), top, 1.5)];
  for (let tick = 1; tick <= count; tick += 1) {
    parts.push(line(at(tick), top - 6, at(tick), top), svg("text", { class: "tick", x: at(tick), y: top - 12, "text-anchor": "middle" }, String(tick)));
  }
  const end = Math.min(1 + chart.difference, count);
  const more = end < 1 + chart.difference ? ", beyond this axis" : "";
  parts.push(line(at(1), top - 32, at(end), top - 32, 2),
    svg("text", { class: "tick", x: at(1), y: top - 40 }, `critical difference ${chart.difference.toFixed(2)}${more}`));
  chart.groups.forEach(([first, last], place) => {
    const y = top + 10 + 11 * place;
    parts.push(line(at(chart.ranks[first].rank) - 3, y, at(chart.ranks[last].rank) + 3, y, 5));
  });
  const left = Math.ceil(count / 2);
  const below = top + 22 + 11 * chart.groups.length;
  chart.ranks.forEach((one, place) => {
    // The outermost name is the uppermost, so that no two lines cross.
    const onLeft = place < left;
    const y = below + RANK_ROW * (onLeft ? place : count - 1 - place);
    const x = at(one.rank);
    const edge = onLeft ? side - 14 : width - side + 14;
    const mark = svg("g", { class: "mark", tabindex: 0 }, line(x, top, x, y), line(x, y, edge, y),
      svg("text", { x: edge + (onLeft ? -5 : 5), y: y + 4, "text-anchor": onLeft ? "end" : "start" },
        onLeft ? `${one.name}  ${one.rank.toFixed(2)}` : `${one.rank.toFixed(2)}  ${one.name}`));
    parts.push(withTip(mark, () => [one.name, `mean rank: ${one.rank.toFixed(4)}`], null));
  });
  return picture(chart, width, below + RANK_ROW * left, head.group, ...parts);
}
