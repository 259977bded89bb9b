// What a reader may ask of a page: a ruler over charts of time, tables sorted and filtered, charts as files.
// It makes all of its controls, so a page lacks nothing without it, and writes text, never markup.

// A table is sorted and filtered from this many rows on: fewer are seen at a glance.
const ROWS_MIN = 21;
// How long the ruler rests, in ms, before its values are read aloud: a key that is held down passes many.
const RESTS_MS = 500;
// The dots of a picture for each px of the page, so that it is sharp in print.
const DOTS = 2;
const UNITS = {
  s: [["s", 1]],
  share: [["%", 0.01]],
  bytes: [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024], ["B", 1]],
  ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]],
};
const SIZES = new Map([...Object.values(UNITS).flat(), ["min", 6e10], ["h", 3.6e12], ["k", 1e3], ["M", 1e6], ["G", 1e9]]);

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const put = (element, attributes) => {
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  return element;
};
const drawn = (tag, attributes) => put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
const made = (tag, properties, ...inside) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
};
const panelOf = (svg) => svg.parentElement.querySelector(".panel b")?.textContent ?? "";
const titleOf = (figure) => figure.querySelector("h3").textContent;

// What is drawn, as values.

function axis(span) {
  const [low, high, kind, unit] = span.split(" ");
  return { low: +low, high: +high, isLog: kind === "log", unit };
}

function valueAt({ low, high, isLog, unit }, share) {
  const value = isLog ? low * (high / low) ** share : low + (high - low) * share;
  return unit === "q" ? 1 - 1 / value : value;
}

// A drawing is exact to about a four-thousandth of its axis: digits beyond that say nothing.
function rounded(value, { low, high, isLog }, digits) {
  if (isLog) return +value.toPrecision(digits);
  const step = 10 ** Math.ceil(Math.log10((high - low) / 4e3));
  return +(Math.round(value / step) * step).toPrecision(9);
}

function worded(value, on) {
  const exact = rounded(value, on, 3);
  const units = UNITS[on.unit] ?? [["", 1]];
  const [name, size] = units.find((each) => Math.abs(exact) >= each[1]) ?? units.at(-1);
  return (+(exact / size).toPrecision(3)).toLocaleString("en") + (name && "\u202f" + name);
}

// Each mark: its name, from where to where it reaches on both axes, and what it says.
function marks(svg) {
  const x = axis(svg.dataset.x);
  const y = svg.dataset.y && axis(svg.dataset.y);
  const frame = y ? svg.querySelector("svg") : svg;
  const up = (px) => y && valueAt(y, 1 - px / frame.getAttribute("height"));
  const found = [];
  for (const path of all("svg[viewBox] > path", frame)) {
    const name = path.textContent || titleOf(svg.closest("figure"));
    const shape = path.getAttribute("d");
    const points = [...shape.matchAll(/([\d.e-]+) ([\d.e-]+)/g)];
    // A band is its upper line, and its lower one backwards.
    const lower = shape.endsWith("Z") ? points.splice(points.length / 2).reverse() : points;
    points.forEach(([, across, px], i) => {
      const from = valueAt(x, across / path.parentElement.viewBox.baseVal.width);
      found.push({ name, from, to: from, low: up(lower[i][2]), high: up(px) });
    });
  }
  for (const title of all(":not([viewBox] > *) > title", frame)) {
    const mark = title.parentElement;
    const at = mark.closest("[x1], [cx], [x]");
    const of = (...names) => parseFloat(names.map((name) => at.getAttribute(name)).find(Boolean) ?? 0);
    const left = of("x1", "cx", "x");
    const top = of("y1", "cy", "y");
    // An arrow stands for a value beyond the axis; a stretch of the whole height has no ends on the other axis.
    const isBeyond = mark.tagName === "text";
    const isWhole = of("height") >= frame.getAttribute("height");
    const names = y ? [] : all(":scope > text:not([x])", mark.closest("g") ?? mark);
    found.push({
      name: names.map((each) => each.textContent).join(" "),
      from: isBeyond ? NaN : valueAt(x, left / 100),
      to: isBeyond ? NaN : valueAt(x, (of("x2") || left + of("width")) / 100),
      low: isWhole ? NaN : up(top + of("height")),
      high: isWhole ? NaN : up(top),
      says: title.textContent,
    });
  }
  return { x, y, found };
}

// The ruler: a slider that keys move, and that follows the pointer.

const nearest = (values, to) =>
  values.reduce((best, each, i) => (Math.abs(each - to) < Math.abs(values[best] - to) ? i : best), 0);

function ruler(figure, svgs) {
  const read = svgs.map(marks);
  const found = read.flatMap((each) => each.found);
  const points = found.filter(({ from, to }) => from === to);
  const middles = (points[0] ? points : found).map(({ from, to }) => (from + to) / 2);
  const times = [...new Set(middles)].sort((a, b) => a - b);
  if (!times[1]) return [];
  const line = { class: "ruler", y2: "100%", visibility: "hidden" };
  const lines = svgs.map((svg) => svg.querySelector("svg").appendChild(drawn("line", line)));
  const shown = made("span", { className: "values" });
  const heard = made("output", { className: "spoken" });
  const slider = made("input", { type: "range", max: times.length - 1, value: 0, ariaLabel: `Ruler over ${titleOf(figure)}` });
  let rests;
  slider.oninput = () => {
    const time = times[slider.value];
    const values = read.flatMap(({ x, y, found }, i) => {
      const at = `${(100 * (time - x.low)) / (x.high - x.low)}%`;
      put(lines[i], { x1: at, x2: at, visibility: "visible" });
      return valuesAt(time, found, y).map((each) => (svgs[1] ? `${panelOf(svgs[i])}: ${each}` : each));
    });
    slider.ariaValueText = worded(time, read[0].x);
    shown.replaceChildren(made("b", {}, slider.ariaValueText), ` ${values.join(" · ")}`);
    clearTimeout(rests);
    rests = setTimeout(() => heard.replaceChildren(shown.textContent), RESTS_MS);
  };
  svgs.forEach((svg, i) => {
    svg.parentElement.onpointermove = ({ clientX }) => {
      const { left, width } = svg.getBoundingClientRect();
      const share = (clientX - left - svg.querySelector("svg").getAttribute("x")) / width;
      slider.value = nearest(times, valueAt(read[i].x, share));
      slider.oninput();
    };
  });
  return [slider, shown, heard];
}

// What each line has next to a time, unless it is interrupted there, and what says something of a stretch.
function valuesAt(time, found, y) {
  const lines = Map.groupBy(found.filter((each) => !each.says), (each) => each.name);
  const values = [...lines].flatMap(([name, points]) => {
    const { from, low, high } = points[nearest(points.map((each) => each.from), time)];
    const apart = Math.min(...points.slice(1).map((each, i) => Math.abs(each.from - points[i].from)));
    if (Math.abs(from - time) > 0.6 * apart) return [];
    return `${name} ${low < high ? `${worded(low, y)} to ` : ""}${worded(high, y)}`;
  });
  const stretches = found.filter(({ says, from, to }) => says && from < to && from <= time && time <= to);
  return [...values, ...stretches.map((each) => each.says)];
}

// Charts as files.

function save(download, content, type) {
  made("a", { download, href: URL.createObjectURL(new Blob([content], { type })) }).click();
}

// The chart as it stands on the page, on white: its colours are attributes, which only the page replaces.
function picture(figure) {
  const { x, width: wide } = figure.getBoundingClientRect();
  const y = figure.querySelector("h3").getBoundingClientRect().y;
  const [width, height] = [wide + 16, figure.querySelector(".panels").getBoundingClientRect().bottom - y + 16];
  const root = drawn("svg", { width, height, viewBox: `-8 -8 ${width} ${height}`, "font-family": "sans-serif", "font-size": 12 });
  root.append(drawn("rect", { x: -8, y: -8, width, height, fill: "#fff" }));
  for (const svg of all(".panels svg[role=img], .keys svg", figure)) {
    const box = svg.getBoundingClientRect();
    const place = { x: box.x - x, y: box.y - y, width: box.width, height: box.height };
    const copy = root.appendChild(put(svg.cloneNode(true), { ...place, style: "", class: "" }));
    const shown = all("*", svg);
    all("*", copy).forEach((each, i) => {
      if (shown[i].matches(".ruler") || getComputedStyle(shown[i]).display === "none") each.remove();
    });
  }
  for (const each of all("h3, .keys > span, .panel > b", figure)) {
    const words = document.createRange();
    words.selectNodeContents(each.lastChild);
    const box = words.getBoundingClientRect();
    const weight = each.matches("span") ? 400 : 700;
    root.append(drawn("text", { x: box.x - x, y: box.y - y + 13, "font-weight": weight }));
    root.lastChild.append(words);
  }
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

function savePng(name, { text, width, height }) {
  const image = new Image();
  image.onload = () => {
    const canvas = made("canvas", { width: width * DOTS, height: height * DOTS });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name, blob));
  };
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
}

function csv(figure) {
  const rows = [["panel", "name", "x", "x_to", "x_unit", "y", "y_to", "y_unit", "says"]];
  for (const svg of all("svg[data-x]", figure)) {
    const { x, y, found } = marks(svg);
    for (const { name, from, to, low, high, says } of found) {
      const cell = (on, value) => (on && !isNaN(value) ? rounded(value, on, says ? 3 : 4) : "");
      const cells = (on, ...values) => [...values.map((value) => cell(on, value)), on?.unit];
      rows.push([panelOf(svg), name, ...cells(x, from, to), ...cells(y, low, high), says]);
    }
  }
  // A spreadsheet computes what begins with one of these signs, unless it is a number, and a server may have
  // chosen the name.
  const sign = /^(?=\s*[-=+@＝＋－＠])/;
  const cell = (value = "") => `"${(isNaN(value) ? value.replace(sign, "'") : `${value}`).replaceAll('"', '""')}"`;
  return rows.map((row) => `${row.map(cell)}\r\n`).join("");
}

for (const figure of all("figure.chart:has(svg[data-x])")) {
  const stem = figure.id.replace("chart-", "");
  const kinds = {
    SVG: () => save(`${stem}.svg`, picture(figure).text, "image/svg+xml"),
    PNG: () => savePng(`${stem}.png`, picture(figure)),
    CSV: () => save(`${stem}.csv`, csv(figure), "text/csv"),
  };
  const buttons = Object.keys(kinds).map((kind) =>
    made("button", { onclick: kinds[kind], ariaLabel: `Save ${titleOf(figure)} as ${kind}` }, kind));
  figure.append(made("div", { className: "tools" }, ...ruler(figure, all("svg.time", figure)), ...buttons));
}

// Tables. How they are sorted and filtered stands behind an & in the address, so that a link shows the same.

const place = () => location.hash.slice(1).split("&")[0];
const state = () => new URLSearchParams(location.hash.replace(/^[^&]*/, ""));
const restoring = [];

// A number with its unit becomes one to sort by, as 2 s is more than 9 ms. Other text has none.
function sortable(text) {
  const [, number, unit, more, less] = text.match(
    /^(?:(?:at \w+|below|above)\s)?[<>≥≤~\s]*([-−]?[\d,.]*\d)\s*([a-zµA-Z]*)(?:\s(\d+)\s(min|s)\b)?/) ?? [];
  const size = (each) => SIZES.get(each) ?? 1;
  return number && number.replaceAll(",", "").replace("−", "-") * size(unit) + (more ?? 0) * size(less);
}

function arrange(table, name) {
  const body = table.tBodies[0];
  const columns = [...table.tHead.rows[0].cells];
  // What stands below a row, over its whole width, goes with it.
  const rows = [];
  for (const each of body.rows) each.matches(".sentence") ? rows.at(-1).push(each) : rows.push([each]);
  if (rows.length < ROWS_MIN || body.querySelector("[rowspan]")) return;
  const count = made("span", { role: "status" });
  const search = made("input", { type: "search", placeholder: "Filter", ariaLabel: "Filter these rows" });
  // The number of a column, negative where the largest comes first; 0: as they came.
  let by = 0;
  const show = () => {
    const at = Math.abs(by) - 1;
    const keyed = rows.map((row) => [row[0].cells[at]?.textContent.trim(), row]);
    if (by) {
      keyed.sort(([a], [b]) => {
        const [one, other] = [sortable(a), sortable(b)];
        // What is no number, such as a dash for a value that is not known, stays last.
        if (isNaN(one) || isNaN(other)) return isNaN(one) - isNaN(other) || by * a.localeCompare(b, "en", { numeric: true });
        return by * (one - other);
      });
    }
    const words = search.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const [, row] of keyed) {
      const text = row.map((each) => each.textContent).join(" ").toLowerCase();
      const isShown = words.every((word) => text.includes(word));
      for (const each of row) each.hidden = !isShown;
      shown += isShown;
      body.append(...row);
    }
    columns.forEach((each, i) => (each.ariaSort = i !== at ? null : by > 0 ? "ascending" : "descending"));
    count.textContent = shown < rows.length ? `${shown} of ${rows.length}` : "";
  };
  const change = () => {
    show();
    const now = state();
    by || search.value ? now.set(name, `${by}:${search.value}`) : now.delete(name);
    history.replaceState(null, "", `#${place()}${now.size ? `&${now}` : ""}`);
  };
  columns.forEach((column, i) => {
    const onclick = () => change((by = by === i + 1 ? -by : i + 1));
    if (column.textContent.trim()) column.append(made("button", { onclick }, ...column.childNodes));
  });
  search.oninput = change;
  table.parentElement.before(made("div", { className: "tools filter" }, search, count));
  restoring.push(() => {
    const [, wanted, words] = state().get(name)?.match(/^(-?\d+):(.*)$/) ?? [];
    if (wanted !== "0" && !columns[Math.abs(wanted) - 1]) return;
    [by, search.value] = [+wanted, words];
    show();
    for (let fold = table; (fold = fold.parentElement.closest("details")); ) fold.open = true;
  });
}

const numbers = {};
for (const table of all(".scroll > table")) {
  const section = table.closest("section[id]")?.id ?? "table";
  numbers[section] = (numbers[section] ?? 0) + 1;
  arrange(table, numbers[section] > 1 ? `${section}-${numbers[section]}` : section);
}
const restore = () => {
  if (!location.hash.includes("&")) return;
  for (const each of restoring) each();
  document.getElementById(place())?.scrollIntoView();
};
addEventListener("hashchange", restore);
restore();
