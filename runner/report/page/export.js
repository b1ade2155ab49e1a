// Tables as CSV, charts as SVG and PNG, handed to the reader as downloads.

function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function csvField(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(table, rows) {
  const lines = [table.columns.map((column) => csvField(column.name)).join(",")];
  for (const row of rows) lines.push(table.columns.map((column) => csvField(column.values[row])).join(","));
  return `${lines.join("\n")}\n`;
}

function exportCsv(table, rows) {
  download(`${table.id}.csv`, new Blob([csv(table, rows)], { type: "text/csv" }));
}

// Out of the page a chart has no style sheet: it takes the light one along.
function standalone(picture) {
  const copy = picture.cloneNode(true);
  copy.setAttribute("xmlns", SVG);
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  for (const node of copy.querySelectorAll("[tabindex]")) node.removeAttribute("tabindex");
  copy.prepend(
    svg("style", {}, CHART_STYLE),
    svg("rect", { width, height, fill: "#ffffff" }),
  );
  return new XMLSerializer().serializeToString(copy);
}

function exportSvg(name, picture) {
  download(`${name}.svg`, new Blob([standalone(picture)], { type: "image/svg+xml" }));
}

function exportPng(name, picture) {
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    canvas.toBlob((blob) => download(`${name}.png`, blob), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(picture))}`;
}
