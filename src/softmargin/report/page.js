"use strict";
// Every number is read from the JSON above; text from the data only ever becomes textContent.
const R = JSON.parse(document.getElementById("numbers").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function shape(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function tag(parent, name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  parent.append(node);
  return node;
}

// A frame of 40..320 by 260..10 with labelled axes; returns the two scales.
function frame(svg, xs, ys, caption) {
  const x = (v) => 40 + 280 * (v - xs[0]) / (xs[1] - xs[0] || 1), y = (v) => 260 - 250 * (v - ys[0]) / (ys[1] - ys[0] || 1);
  for (const t of [0, 0.25, 0.5, 0.75, 1]) {
    const a = xs[0] + t * (xs[1] - xs[0]), b = ys[0] + t * (ys[1] - ys[0]);
    shape(svg, "line", { class: "grid", x1: x(a), x2: x(a), y1: 10, y2: 260 });
    shape(svg, "line", { class: "grid", x1: 40, x2: 320, y1: y(b), y2: y(b) });
    shape(svg, "text", { x: x(a), y: 275, "text-anchor": "middle" }, short(a));
    shape(svg, "text", { x: 34, y: y(b) + 4, "text-anchor": "end" }, short(b));
  }
  shape(svg, "text", { x: 180, y: 294, "text-anchor": "middle" }, caption);
  return [x, y];
}

const short = (v) => Math.abs(v) >= 1e4 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(1) : String(+v.toPrecision(3));
const line = (points) => points.map((p) => p.map((v) => v.toFixed(2)).join(",")).join(" ");

function drawReliability() {
  const svg = $("reliability-plot"), r = R.reliability, [x, y] = frame(svg, [0, 1], [0, 1], "probability stated");
  shape(svg, "line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) });
  const c = r.curve;
  shape(svg, "polygon", { class: "area", points: line([...c.map((g) => [x(g.stated), y(g.high)]), ...c.toReversed().map((g) => [x(g.stated), y(g.low)])]) });
  shape(svg, "polyline", { class: "curve", points: line(c.map((g) => [x(g.stated), y(g.share)])) });
  for (const g of r.groups) {
    shape(svg, "line", { class: "band", x1: x(g.stated), x2: x(g.stated), y1: y(g.low), y2: y(g.high) });
    const dot = shape(svg, "circle", { class: "dot", r: 4, cx: x(g.stated), cy: y(g.share) });
    shape(dot, "title", {}, `${g.stated.toFixed(2)} stated, ${g.share.toFixed(2)} happened, ${g.rows} rows`);
  }
}

function thresholds() {
  const T = R.thresholds, n = T.positive + T.negative;
  const show = () => {
    const i = +$("slider").value, tp = T.true_positive[i], fp = T.false_positive[i], fn = T.positive - tp;
    $("at").textContent = T.grid[i].toFixed(3);
    $("tp").textContent = tp; $("fp").textContent = fp; $("fn").textContent = fn; $("tn").textContent = T.negative - fp;
    $("cost").textContent = ((+$("ratio").value * fn + fp) / n).toFixed(4);
  };
  $("slider").value = T.grid.indexOf(0.5);
  $("slider").addEventListener("input", show);
  $("ratio").addEventListener("input", show);
  $("best").addEventListener("click", () => {
    const cost = T.grid.map((_, i) => +$("ratio").value * (T.positive - T.true_positive[i]) + T.false_positive[i]);
    $("slider").value = cost.indexOf(Math.min(...cost));
    show();
  });
  show();
}

// The exact solution of a path at t: affine between breakpoints.
function solution(path, t) {
  const K = path.knots;
  let low = 0, high = K.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (K[middle] <= t) low = middle; else high = middle - 1;
  }
  const share = Math.min(Math.max((t - K[low]) / (K[low + 1] - K[low]), 0), 1), [b0, b1] = path.intercept[low];
  return { coef: path.coef[low].map((c, j) => c + share * (path.coef[low + 1][j] - c)), intercept: b0 + share * (b1 - b0) };
}

const score = (s, row) => row.reduce((sum, v, j) => sum + v * s.coef[j], s.intercept);

// The share of class weights at which a row is called positive, from its affine scores between breakpoints.
function weightProbability(path, row) {
  let share = 0;
  for (let i = 0; i + 1 < path.knots.length; i++) {
    const width = path.knots[i + 1] - path.knots[i];
    const a = row.reduce((sum, v, j) => sum + v * path.coef[i][j], path.intercept[i][0]);
    const b = row.reduce((sum, v, j) => sum + v * path.coef[i + 1][j], path.intercept[i][1]);
    share += width * (a > 0 && b > 0 ? 1 : a <= 0 && b <= 0 ? 0 : Math.max(a, b) / Math.abs(b - a));
  }
  return share;
}

const PATH_WORDS = { weight: "mistakes on the first class weigh", cost: "cost C of a violated margin:", balance: "balance v:" };

// Positions 0..1000 of the slider: logarithmic in the cost, even in the others.
function pathValue(name, position) {
  const K = R.paths.paths[name].knots, last = K[K.length - 1];
  return name === "cost" ? last * Math.pow(10, 5 * (position / 1000 - 1)) : K[0] + (last - K[0]) * position / 1000;
}

function paths() {
  const D = R.paths;
  const show = () => {
    const name = $("path-name").value, path = D.paths[name], t = pathValue(name, +$("path-slider").value), s = solution(path, t);
    $("path-words").textContent = PATH_WORDS[name];
    $("path-at").textContent = t.toPrecision(6);
    const most = Math.max(...s.coef.map(Math.abs), 1e-12);
    $("path-coef").replaceChildren();
    s.coef.forEach((c, j) => {
      const tr = tag($("path-coef"), "tr");
      tag(tr, "th", D.columns[j]).scope = "row";
      tag(tr, "td", c.toFixed(6), "n");
      const bar = tag(tag(tr, "td"), "div", "", c < 0 ? "bar minus" : "bar");
      bar.parentNode.style.width = "40%";
      bar.style.width = 100 * Math.abs(c) / most + "%";
    });
    const tr = tag($("path-coef"), "tr");
    tag(tr, "th", "intercept").scope = "row";
    tag(tr, "td", s.intercept.toFixed(6), "n");
    const called = D.rows.map((row) => score(s, row) > 0), count = (test) => called.filter(test).length;
    $("path-tp").textContent = count((c, i) => c && D.positive[i]); $("path-fp").textContent = count((c, i) => c && !D.positive[i]);
    $("path-fn").textContent = count((c, i) => !c && D.positive[i]); $("path-tn").textContent = count((c, i) => !c && !D.positive[i]);
    drawBoundary(s);
  };
  const probability = () => {
    const row = D.rows[Math.min(Math.max(Math.round(+$("path-row").value), 0), D.rows.length - 1)];
    $("path-probability").textContent = weightProbability(D.paths.weight, row).toFixed(4);
  };
  $("path-name").addEventListener("input", show);
  $("path-slider").addEventListener("input", show);
  if ($("path-row")) { $("path-row").addEventListener("input", probability); probability(); }
  show();
}

// Rows in the two leading columns; the line is where the score of a row that is average in the others changes sign.
function drawBoundary(s) {
  const D = R.paths, svg = $("path-plot"), two = D.columns.length > 1;
  svg.replaceChildren();
  const range = (j) => { const v = D.rows.map((row) => row[j]); return [Math.min(...v), Math.max(...v)]; };
  const xs = range(0), ys = two ? range(1) : [-1, 1], [x, y] = frame(svg, xs, ys, D.columns[0].slice(0, 40));
  if (two) shape(svg, "text", { x: 44, y: 22 }, D.columns[1].slice(0, 40));
  D.rows.forEach((row, i) => {
    const cx = x(row[0]), cy = y(two ? row[1] : 0);
    if (D.positive[i]) shape(svg, "circle", { class: "dot", r: 2.5, cx, cy });
    else shape(svg, "rect", { class: "dot b", x: cx - 2.2, y: cy - 2.2, width: 4.4, height: 4.4 });
  });
  const [a, b] = [s.coef[0], two ? s.coef[1] : 0], ends = [];
  for (const u of xs) if (b !== 0) ends.push([u, -(s.intercept + a * u) / b]);
  for (const v of ys) if (a !== 0) ends.push([-(s.intercept + b * v) / a, v]);
  const seen = ends.filter(([u, v]) => u >= xs[0] - 1e-9 && u <= xs[1] + 1e-9 && v >= ys[0] - 1e-9 && v <= ys[1] + 1e-9);
  if (seen.length > 1) {
    const [p, q] = [seen[0], seen.reduce((far, e) => Math.hypot(e[0] - seen[0][0], e[1] - seen[0][1]) > Math.hypot(far[0] - seen[0][0], far[1] - seen[0][1]) ? e : far)];
    shape(svg, "line", { class: "edge", x1: x(p[0]), y1: y(p[1]), x2: x(q[0]), y2: y(q[1]) });
  }
}

// Decisions are keyed by row; the file has the columns that `softmargin fit --decisions` reads.
function review() {
  const chosen = new Map(), body = document.querySelector("#suspect-table tbody"), heads = document.querySelectorAll("#suspect-table th[data-key]");
  let key = "trust", up = true;
  const order = (a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) * (up ? 1 : -1);
  const tell = () => { $("decided").textContent = [...chosen.values()].filter(Boolean).length + " decided"; };
  const draw = () => {
    const wanted = $("filter").value.toLowerCase();
    body.replaceChildren();
    for (const s of R.labels.suspects.filter((s) => Object.values(s).join(" ").toLowerCase().includes(wanted)).sort(order)) {
      const tr = tag(body, "tr", undefined, s.doubted ? "doubted" : "");
      tag(tr, "td", s.row, "n"); tag(tr, "td", s.given); tag(tr, "td", s.suggested);
      tag(tr, "td", s.trust.toFixed(4), "n"); tag(tr, "td", s.stated.toFixed(4), "n");
      const select = tag(tag(tr, "td"), "select");
      select.setAttribute("aria-label", "decision for row " + s.row);
      for (const word of ["", "keep", "relabel", "drop"]) select.add(new Option(word || "–", word, false, (chosen.get(s.row) ?? "") === word));
      select.addEventListener("change", () => { chosen.set(s.row, select.value); tell(); });
      tag(tr, "td", (s.conflict ? "equal to a row with another label; " : "") + s.values);
    }
    heads.forEach((h) => h.setAttribute("aria-sort", h.dataset.key === key ? (up ? "ascending" : "descending") : "none"));
  };
  heads.forEach((h) => h.querySelector("button").addEventListener("click", () => { up = key === h.dataset.key ? !up : true; key = h.dataset.key; draw(); }));
  $("filter").addEventListener("input", draw);
  $("relabel-marked").addEventListener("click", () => { for (const s of R.labels.suspects) if (s.doubted) chosen.set(s.row, "relabel"); draw(); tell(); });
  const quote = (v) => '"' + String(v).replaceAll('"', '""') + '"';
  const csv = () => "row,decision,label\n" + R.labels.suspects.filter((s) => chosen.get(s.row)).map((s) => [s.row, chosen.get(s.row), chosen.get(s.row) === "relabel" ? quote(s.suggested) : ""].join(",") + "\n").join("");
  $("download").addEventListener("click", () => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    a.download = "decisions.csv";
    a.click();
  });
  draw();
  tell();
}

function dependence() {
  const box = $("dependence"), k = R.data.n_classes;
  const show = () => {
    const of = k === 2 ? 1 : +$("dependence-class").value;
    box.replaceChildren();
    for (const c of R.dependence) {
      const figure = tag(box, "figure");
      tag(figure, "figcaption", c.name);
      if (c.kind === "number") {
        const svg = shape(figure, "svg", { viewBox: "0 0 340 300", role: "img", "aria-label": "mean probability by " + c.name });
        const p = c.probability.map((v) => v[of]), [x, y] = frame(svg, [Math.min(...c.at), Math.max(...c.at)], [0, 1], c.name.slice(0, 40));
        shape(svg, "polyline", { class: "curve", points: line(c.at.map((v, i) => [x(v), y(p[i])])) });
        c.at.forEach((v, i) => shape(shape(svg, "circle", { class: "dot", r: 3, cx: x(v), cy: y(p[i]) }), "title", {}, `${short(v)}: ${p[i].toFixed(3)}`));
      } else {
        const table = tag(figure, "table");
        c.at.forEach((v, i) => {
          const tr = tag(table, "tr");
          tag(tr, "th", v === "" ? "missing" : v).scope = "row";
          tag(tr, "td", c.probability[i][of].toFixed(3), "n");
          const cell = tag(tr, "td");
          cell.style.width = "7rem";
          tag(cell, "div", "", "bar").style.width = 100 * c.probability[i][of] + "%";
        });
      }
    }
  };
  if (k > 2) $("dependence-class").addEventListener("input", show);
  show();
}

// The effects of one value of a column on the score of every class: between knots a straight line, beyond them flat.
function effectOf(column, value) {
  const E = column.effects, other = E[E.length - 1];
  if (column.kind === "category") return E[column.levels.indexOf(value)] ?? other;
  const v = value === null || value === "" ? NaN : +value, K = column.knots;
  if (Number.isNaN(v)) return other;
  if (v <= K[0]) return E[0];
  for (let i = 0; i + 1 < K.length; i++)
    if (v <= K[i + 1]) return E[i].map((e, c) => e + (v - K[i]) / (K[i + 1] - K[i]) * (E[i + 1][c] - e));
  return E[K.length - 1];
}

function read(values) {
  const effects = R.reading.columns.map((column, j) => effectOf(column, values[j]));
  const scores = R.reading.base.map((b, c) => effects.reduce((sum, e) => sum + e[c], b)), top = Math.max(...scores);
  const powers = scores.map((s) => Math.exp(s - top)), total = powers.reduce((a, b) => a + b, 0);
  return { effects, probability: powers.map((p) => p / total) };
}

function reading() {
  const columns = R.reading.columns, inputs = columns.map((column) => {
    const label = tag($("fields"), "label", column.name);
    if (column.kind === "category") {
      const select = tag(label, "select");
      for (const level of [...column.levels, ""]) select.add(new Option(level === "" ? "other or missing" : level, level));
      return select;
    }
    const input = tag(label, "input");
    input.type = "number"; input.step = "any"; input.placeholder = "missing";
    input.title = `from ${short(column.knots[0])} to ${short(column.knots[column.knots.length - 1])}`;
    return input;
  });
  let own = null;
  const show = () => {
    const told = read(inputs.map((input) => input.value)), of = +$("reading-class").value, box = $("reading-numbers");
    box.replaceChildren();
    R.data.classes.forEach((name, c) => {
      const span = tag(box, "span", name);
      tag(span, "b", told.probability[c].toFixed(3));
      if (own) tag(span, "small", "model itself: " + own[c].toFixed(3));
    });
    const lines = columns.map((column, j) => [column.name, told.effects[j][of]]).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])), most = Math.max(...lines.map((l) => Math.abs(l[1])), 1e-12);
    $("reading-effects").replaceChildren();
    for (const [name, effect] of lines) {
      const tr = tag($("reading-effects"), "tr");
      tag(tr, "th", name).scope = "row";
      tag(tr, "td", (effect > 0 ? "+" : "") + effect.toFixed(3), "n");
      const cell = tag(tr, "td");
      cell.style.width = "55%";
      tag(cell, "div", "", effect < 0 ? "bar minus" : "bar").style.width = 100 * Math.abs(effect) / most + "%";
    }
  };
  const begin = () => {
    const e = R.reading.examples[+$("example").value];
    own = e.probability;
    inputs.forEach((input, j) => {
      const v = e.values[j];
      input.value = v === null ? "" : columns[j].kind === "category" && !columns[j].levels.includes(v) ? "" : v;
    });
    show();
  };
  inputs.forEach((input) => input.addEventListener("input", () => { own = null; show(); }));
  $("example").addEventListener("input", begin);
  $("reading-class").value = R.data.n_classes === 2 ? 1 : 0;
  $("reading-class").addEventListener("input", show);
  begin();
}

drawReliability();
if (R.thresholds) thresholds();
if (R.paths) paths();
if (R.labels && R.labels.suspects.length) review();
if (R.dependence.length) dependence();
if (R.reading) reading();
