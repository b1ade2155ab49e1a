// A page of a run that goes on: how far it is, and how the page takes in what was written since.
//
// A page from a disk can't fetch, so it reloads itself, never while somebody is reading a
// drill-down or is about to do something, and comes back as it was left.

const NAME = `runner report ${location.pathname}`;
const LEAST_WAIT = 1000;
const MOST_WAIT = 60000;
const SILENT_PAGES = 4;
const FEW_PAIRS = 12;
const ACTIVE = ["pointerdown", "keydown", "input", "wheel", "touchmove", "scroll"];
// What of the page comes back as it was left: each has a name, save() and restore(saved).
const kept = [];

const live = content.live ?? null;
if (live) tables.set("live", new Table(live.table));

function remembered() {
  try {
    const [navigation] = performance.getEntriesByType("navigation");
    const saved = navigation?.type === "reload" ? sessionStorage.getItem(NAME) : null;
    sessionStorage.removeItem(NAME);
    return JSON.parse(saved);
  } catch {
    return null;
  }
}

const before = remembered();
// When this page's writing was first seen, by the clock of whoever looks.
const seen = live && before?.made === live.made ? before.seen : Date.now();
const paused = { yes: before?.paused ?? false };

function save() {
  const views = Object.fromEntries(kept.map((view) => [view.name, view.save()]));
  const focus = document.activeElement?.dataset?.keep ?? null;
  const saved = { made: live.made, seen, paused: paused.yes, focus, views, place: place() };
  try {
    sessionStorage.setItem(NAME, JSON.stringify(saved));
  } catch {
    // Without storage the page reloads as new.
  }
}

// Where the page is scrolled to, told by what is in its middle: what is above may have grown meanwhile.
function place() {
  const marks = [...document.querySelectorAll("[id]")].filter((node) => node.closest("main") && !node.closest("svg"));
  const above = marks.filter((node) => node.getBoundingClientRect().top <= window.innerHeight / 2 && node.offsetParent);
  const last = above.at(-1);
  if (!last || !window.scrollY) return { top: window.scrollY };
  return { id: last.id, down: last.getBoundingClientRect().top };
}

function restore() {
  if (!before) return;
  for (const view of kept) if (view.name in before.views) view.restore(before.views[view.name]);
  if (before.focus) document.querySelector(`[data-keep="${CSS.escape(before.focus)}"]`)?.focus({ preventScroll: true });
  const node = before.place.id && document.getElementById(before.place.id);
  const top = node ? node.getBoundingClientRect().top + window.scrollY - before.place.down : before.place.top;
  if (top) window.scrollTo({ top, behavior: "instant" });
  if (!live) history.scrollRestoration = "auto";
}

function ago(seconds) {
  for (const [size, unit] of [[86400, "days"], [3600, "h"], [60, "min"]]) {
    if (seconds >= 1.5 * size) return `${Math.round(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.round(seconds))} s`;
}

function clock(seconds) {
  const then = new Date(seconds * 1000);
  const today = then.toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat("en-GB", today ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" }).format(then);
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function howFar() {
  const percent = Math.floor((100 * live.done) / Math.max(live.planned, 1));
  const outcomes = Object.entries(live.outcomes).map(([name, count]) => `${WHOLE.format(count)} ${name}`).join(", ");
  return `${WHOLE.format(live.done)} of ${WHOLE.format(live.planned)} evaluations, ${percent}\u00a0%${outcomes ? `: ${outcomes}` : ""}`;
}

function whenDone(now) {
  if (live.end === null) return sentence(live.basis);
  return `About ${ago(live.end - now)} left, until ${clock(live.end)}; ${live.basis}.`;
}

function freshness(now) {
  const last = live.last === null ? "no evaluation has ended yet" : `the last evaluation ended ${ago(now - live.last)} ago`;
  const tablesAt = live.made - live.tables_made > 1 ? `, tables and charts at ${clock(live.tables_made)}` : "";
  return sentence(`${last}; page written at ${clock(live.made)}${tablesAt}`);
}

// What becomes of the page, in words.
function outlook(now) {
  if (live.again === null) return "The watch was ended before the run: what is here is as of then.";
  if (now - seen / 1000 > Math.max(30, SILENT_PAGES * live.again)) {
    return `No new page for ${ago(now - seen / 1000)}: the watch may have been stopped. runner report --watch goes on with it.`;
  }
  return paused.yes ? "Paused: the page stays as it is." : "The page reloads itself.";
}

// The strip that says how far the run is; on the page that follows the last of them, that it has ended.
function strip() {
  if (!live) return before ? element("p", { class: "live ended", id: "live", role: "status" }, "The run has ended; this is its whole report.") : null;
  const [far, when, fresh, next] = ["told-far", "", "", ""].map((name) => element("p", { class: name }));
  const text = (node, words) => { if (node.textContent !== words) node.textContent = words; };
  const button = element("button", { type: "button", "data-keep": "pause", onclick: () => { paused.yes = !paused.yes; tell(); } });
  const tell = () => {
    // Of a page that nobody rewrites all is as of then.
    const now = live.again === null ? live.made : Date.now() / 1000;
    [[far, howFar()], [when, whenDone(now)], [fresh, freshness(now)], [next, outlook(now)]].forEach(([node, words]) => text(node, words));
    text(button, paused.yes ? "Go on" : "Pause");
  };
  tell();
  setInterval(tell, 1000);
  const view = new TableView(tables.get("live"), { names: telling(tables.get("live"), LIVE_COLUMNS), open: open(tables.get("live")), shown: FEW_PAIRS });
  return element("div", { class: "live", id: "live", "data-done": live.done },
    element("progress", { max: Math.max(live.planned, 1), value: live.done, "aria-label": "Evaluations done" }),
    far, when, fresh,
    live.again === null ? next : element("div", { class: "tools" }, button, next),
    view.node);
}

let active = 0;

// Whether a reload now would take something out of the reader's hands.
function busy() {
  const quiet = document.activeElement?.matches("select, input") ? 5000 : 1500;
  return paused.yes || document.hidden || dialog.open || !tip.hidden || Date.now() - active < quiet
    || !window.getSelection().isCollapsed;
}

// A page that takes long to build is reloaded more seldom, as is one that nobody has rewritten.
function keepUp() {
  if (!live || live.again === null) return;
  for (const kind of ACTIVE) addEventListener(kind, () => { active = Date.now(); }, { capture: true, passive: true });
  addEventListener("pagehide", save);
  // The browser would scroll to where things were.
  history.scrollRestoration = "manual";
  const stale = Date.now() - seen;
  const wait = Math.max(LEAST_WAIT, 1000 * live.again, 10 * performance.now(), Math.min(stale / 2, MOST_WAIT));
  const due = Date.now() + wait;
  setInterval(() => { if (Date.now() >= due && !busy()) location.reload(); }, 250);
}
