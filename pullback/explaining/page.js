"use strict";
// The page of an explanation. Everything shown comes from the JSON block and is put in place as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const byKey = new Map([...data.roots, ...data.operations, ...data.leaves].map((item) => [item.key, item]));
const $ = (selector) => document.querySelector(selector);
const stage = $("#stage"), details = $("#details");

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function show(value) {
  if (typeof value === "string") value = Number(value); // NaN and Infinity travel as text
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "−Inf";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4)) return value.toExponential(4).replace("-", "−");
  return String(Number(value.toPrecision(6))).replace("-", "−");
}

// Nested brackets for an array given flat.
function showArray(values, shape) {
  if (shape.length === 0) return show(values[0]);
  if (shape.length === 1) return "[" + values.map(show).join(", ") + "]";
  const step = values.length / shape[0], parts = [];
  for (let i = 0; i < shape[0]; i++) parts.push(showArray(values.slice(i * step, (i + 1) * step), shape.slice(1)));
  return "[" + parts.join(", ") + "]";
}

// `gram` holds the products of rows below and on the diagonal: enough for the norm of any weighting of rows too long to send.
// --- weights and what they do -------------------------------------------------------------------------------------------

const weights = data.elements.weights.map(Number);
const given = [...weights];

function weighted(leaf) {
  if (leaf.rows) {
    const total = new Array(leaf.rows[0].length).fill(0);
    leaf.rows.forEach((row, k) => row.forEach((value, i) => { if (weights[k] !== 0 || !Number.isFinite(Number(value))) total[i] += weights[k] * Number(value); }));
    return { values: total, norm: Math.hypot(...total) };
  }
  let square = 0;
  leaf.gram.forEach((row, k) => row.forEach((value, l) => { square += (k === l ? 1 : 2) * weights[k] * weights[l] * Number(value); }));
  return { values: null, norm: Math.sqrt(Math.max(square, 0)) };
}

function rowNorm(leaf, k) { return Math.sqrt(Number(leaf.gram[k][k])); }

function resultText(leaf) {
  if (!leaf.gram) return "none";
  const { values, norm } = weighted(leaf);
  return values ? showArray(values, leaf.shape) : "norm " + show(norm);
}

let currentLeaf = data.leaves.find((leaf) => leaf.gram) || null;

function buildWeights() {
  const body = $("#weights-body");
  if (!currentLeaf || !body) return;
  data.elements.labels.forEach((label, k) => {
    const span = Math.max(2, Math.ceil(Math.abs(weights[k]) * 2));
    const input = make("input", { type: "number", step: "any", value: String(weights[k]), "data-weight": k, "aria-label": "weight of " + label });
    const slider = make("input", { type: "range", min: -span, max: span, step: "0.05", value: String(weights[k]), "data-slider": k, "aria-label": "slider for the weight of " + label });
    input.addEventListener("input", () => { if (input.value !== "" && Number.isFinite(Number(input.value))) { weights[k] = Number(input.value); slider.value = input.value; recompute(); } });
    slider.addEventListener("input", () => { weights[k] = Number(slider.value); input.value = slider.value; recompute(); });
    body.append(make("tr", {}, make("td", { class: "mono" }, label), make("td", {}, input, " ", slider), make("td", { class: "mono", "data-row": k }), make("td", { class: "mono", "data-contribution": k }), make("td", {}, make("span", { class: "bar", "data-bar": k }))));
  });
  const choice = $("#leaf-choice");
  data.leaves.filter((leaf) => leaf.gram).forEach((leaf) => choice.append(make("option", { value: leaf.key }, leaf.name)));
  choice.addEventListener("change", () => { currentLeaf = byKey.get(choice.value); recompute(); });
  $("#reset").addEventListener("click", () => setAll((k) => given[k]));
  $("#ones").addEventListener("click", () => setAll(() => 1));
  recompute();
}

function setAll(value) {
  document.querySelectorAll("[data-weight]").forEach((input, k) => { weights[k] = value(k); input.value = weights[k]; });
  document.querySelectorAll("[data-slider]").forEach((input, k) => { input.value = weights[k]; });
  recompute();
}

function recompute() {
  const leaf = currentLeaf;
  const sizes = weights.map((weight, k) => Math.abs(weight) * rowNorm(leaf, k));
  const largest = Math.max(...sizes.filter(Number.isFinite), 1e-300);
  weights.forEach((weight, k) => {
    const row = leaf.rows ? leaf.rows[k].map(Number) : null;
    $(`[data-row="${k}"]`).textContent = row ? showArray(row, leaf.shape) : "norm " + show(rowNorm(leaf, k));
    $(`[data-contribution="${k}"]`).textContent = row ? showArray(row.map((value) => weight * value), leaf.shape) : "norm " + show(sizes[k]);
    $(`[data-bar="${k}"]`).style.width = (Number.isFinite(sizes[k]) ? 120 * sizes[k] / largest : 0) + "px";
  });
  const changed = weights.some((weight, k) => weight !== given[k]);
  $("#total").textContent = resultText(leaf);
  $("#total").classList.toggle("changed", changed);
  $("#total-name").textContent = leaf.name + ".grad" + (changed ? " with these weights" : "");
  document.querySelectorAll("[data-result]").forEach((cell) => {
    cell.textContent = resultText(byKey.get(cell.dataset.result));
    cell.classList.toggle("changed", changed);
  });
}

// --- tables --------------------------------------------------------------------------------------------------------------

const norm = (flow) => (flow ? flow.norm : null);

function numberCell(value) { return make("td", { class: "number" }, value === null ? "–" : show(value)); }

function buildTables() {
  data.operations.forEach((op) => {
    const rules = make("td", {});
    op.arrows.forEach((arrow) => rules.append(make("div", {}, `∂/∂${arrow.input}: `, make("span", { class: "rule" }, arrow.rule), ` → ${nameOf(arrow.target)}`)));
    const place = op.line ? `${op.line.file}:${op.line.number}` : "";
    const row = make("tr", { class: "clickable", "data-item": op.key, tabindex: "0" },
      make("td", { class: "number" }, String(op.number)), make("td", {}, op.title + (op.warnings.length ? " ⚠" : "")),
      make("td", { class: "mono" }, op.variable || ""), make("td", { class: "mono" }, op.module), make("td", { class: "mono", title: op.line ? op.line.code : "" }, place),
      make("td", { class: "mono" }, op.shapes.join(", ")), numberCell(maxNorm(op.incoming)), numberCell(maxNorm(op.arrows.map((arrow) => arrow.flow))), rules);
    $("#operations-body").append(row);
  });
  data.leaves.forEach((leaf) => {
    const result = make("td", { class: "mono" }, "none");
    if (leaf.gram) result.setAttribute("data-result", leaf.key);
    $("#leaves-body").append(make("tr", { class: "clickable", "data-item": leaf.key, tabindex: "0" }, make("td", { class: "mono" }, leaf.name + (leaf.warnings.length ? " ⚠" : "")), make("td", { class: "mono" }, leaf.shapeText), make("td", {}, leaf.dtype), numberCell(norm(leaf.flow)), result));
  });
  document.querySelectorAll("tr[data-item]").forEach((row) => {
    row.addEventListener("click", () => select(row.dataset.item, true));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") select(row.dataset.item, true); });
  });
  document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => sortBy(button)));
}

function maxNorm(flows) {
  const found = flows.filter((flow) => flow).map((flow) => Number(flow.norm));
  return found.length ? (found.some(Number.isNaN) ? NaN : Math.max(...found)) : null;
}

function sortBy(button) {
  const cell = button.closest("th"), body = cell.closest("table").tBodies[0], column = cell.cellIndex;
  const descending = cell.getAttribute("aria-sort") === "ascending";
  cell.parentElement.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const value = (row) => row.cells[column].textContent.replace("−", "-");
  const rows = [...body.rows].sort((a, b) => { const x = value(a), y = value(b), d = Number(x) - Number(y); return (Number.isNaN(d) ? x.localeCompare(y) : d) * (descending ? -1 : 1); });
  body.append(...rows);
}

// --- details -------------------------------------------------------------------------------------------------------------

const nameOf = (key) => { const item = byKey.get(key); return item ? (item.number ? `${item.number} ${item.title}` : item.name) : key; };

function flowText(flow) {
  if (!flow) return "nothing";
  let text = flow.values ? showArray(flow.values, flow.shape) + " · " : "";
  text += `norm ${show(flow.norm)}, range ${show(flow.low)} … ${show(flow.high)}`;
  if (flow.zeros && flow.zeros >= 0.005 * flow.size) text += `, ${Math.round(100 * flow.zeros / flow.size)} % zero`;
  if (flow.nans) text += `, ${flow.nans} NaN`;
  if (flow.infinities) text += `, ${flow.infinities} Inf`;
  return text;
}

function describe(pairs) {
  const list = make("dl");
  for (const [term, value] of pairs) if (value) list.append(make("dt", {}, term), make("dd", {}, value));
  return list;
}

function detailsOf(item) {
  const parts = [];
  if (item.kind === "operation") {
    parts.push(make("h3", {}, `${item.number}  ${item.title}${item.variable ? "  →  " + item.variable : ""}`));
    parts.push(describe([["node", item.node], ["shape", item.shapes.join(", ")], ["module", item.module], ["line", item.line && `${item.line.file}:${item.line.number}`], ["code", item.line && item.line.code && make("code", {}, item.line.code)], ["came in", item.incoming.map(flowText).join("; ")]]));
    item.arrows.forEach((arrow) => parts.push(make("div", {}, make("div", {}, `∂/∂${arrow.input}: `, make("span", { class: "rule" }, arrow.rule)), make("p", { class: "soft" }, "→ ", link(arrow.target), ": " + flowText(arrow.flow)))));
    if (item.constants.length) parts.push(make("p", { class: "soft" }, "No gradient asked for: " + item.constants.join(", ")));
    if (item.saved.length) parts.push(make("p", { class: "soft" }, "Kept for this: " + item.saved.map((saved) => `${saved.name} (${saved.shape}, ${saved.bytes})`).join(", ")));
  } else if (item.kind === "leaf") {
    parts.push(make("h3", {}, item.name));
    parts.push(describe([["shape", item.shapeText], ["dtype", item.dtype], ["gradient", flowText(item.flow)]]));
    if (item.gram) parts.push(make("p", {}, make("button", { onclick: () => { currentLeaf = item; $("#leaf-choice").value = item.key; recompute(); $("#weights").scrollIntoView({ behavior: "smooth" }); } }, "Where it comes from")));
  } else {
    parts.push(make("h3", {}, item.name));
    parts.push(describe([["value", item.value], ["shape", item.shapeText], ["weights", { given: "given as gradient=", implicit: "implicit: a loss with one element has the weight 1", assumed: "assumed: backward() would ask for gradient=" }[item.origin]], ["seed", flowText(item.flow)]]));
  }
  item.warnings.forEach((text) => parts.push(make("ul", { class: "warnings" }, make("li", {}, text))));
  return parts;
}

function link(key) { return make("button", { onclick: () => select(key, true) }, nameOf(key)); }

let selected = null;

function select(key, reveal) {
  const item = byKey.get(key);
  if (!item) return;
  selected = key;
  details.replaceChildren(...detailsOf(item));
  if (reveal && !nodeOf(key)) openView(viewWith(key));
  mark();
  if (reveal) center(nodeOf(key));
}

function nodeOf(key) { return picture.querySelector(`.pb-node[data-key="${CSS.escape(key)}"]:not(.pb-outside)`); }

function mark() {
  document.querySelectorAll(".selected").forEach((element) => element.classList.remove("selected"));
  document.querySelectorAll(".active").forEach((element) => element.classList.remove("active"));
  if (!selected) return;
  document.querySelectorAll(`[data-key="${CSS.escape(selected)}"], tr[data-item="${CSS.escape(selected)}"]`).forEach((element) => element.classList.add("selected"));
  document.querySelectorAll(`[data-source="${CSS.escape(selected)}"], [data-target="${CSS.escape(selected)}"]`).forEach((element) => element.classList.add("active"));
}

// --- pictures: views, pan and zoom -----------------------------------------------------------------------------------------

let picture = null, scale = 1, shiftX = 0, shiftY = 0;
const pictures = new Map([...document.querySelectorAll(".picture")].map((element) => [element.dataset.view, element]));
const trail = [];

function viewWith(key) {
  for (const [name, element] of pictures) if (element.querySelector(`.pb-node[data-key="${CSS.escape(key)}"]:not(.pb-outside)`)) return name;
  return picture.dataset.view;
}

function openView(name) {
  if (!pictures.has(name)) return;
  pictures.forEach((element) => { element.hidden = element.dataset.view !== name; });
  picture = pictures.get(name);
  const choice = $("#view-choice");
  if (choice) choice.value = name;
  if (trail[trail.length - 1] !== name) trail.push(name);
  const back = $("#back");
  if (back) back.disabled = trail.length < 2;
  fit();
  mark();
}

function place() { picture.style.transform = `translate(${shiftX}px, ${shiftY}px) scale(${scale})`; }

function size() { const svg = picture.querySelector("svg"); return [svg.width.baseVal.value, svg.height.baseVal.value]; }

function fit() {
  const [width, height] = size();
  stage.style.height = Math.max(320, Math.min(0.68 * window.innerHeight, 1.3 * height + 40)) + "px";
  const whole = Math.min(stage.clientWidth / width, stage.clientHeight / height, 1.3);
  scale = Math.max(whole, Math.min(0.85, stage.clientWidth / width));
  shiftX = (stage.clientWidth - width * scale) / 2;
  shiftY = Math.max(0, (stage.clientHeight - height * scale) / 2);
  place();
}

function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  const next = Math.min(4, Math.max(0.05, scale * factor));
  shiftX = x - (x - shiftX) * next / scale;
  shiftY = y - (y - shiftY) * next / scale;
  scale = next;
  place();
}

function center(node) {
  if (!node) return;
  const box = node.getBoundingClientRect(), frame = stage.getBoundingClientRect();
  shiftX += frame.left + frame.width / 2 - (box.left + box.width / 2);
  shiftY += frame.top + frame.height / 2 - (box.top + box.height / 2);
  place();
}

function connectStage() {
  let drag = null;
  stage.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false }; });
  stage.addEventListener("pointermove", (event) => {
    if (!drag) return;
    if (!drag.moved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 4) return;
    if (!drag.moved) { drag.moved = true; stage.setPointerCapture(event.pointerId); stage.classList.add("dragging"); }
    shiftX += event.clientX - drag.x; shiftY += event.clientY - drag.y;
    drag.x = event.clientX; drag.y = event.clientY;
    place();
  });
  const end = () => { setTimeout(() => { drag = null; }, 0); stage.classList.remove("dragging"); };
  stage.addEventListener("pointerup", end);
  stage.addEventListener("pointercancel", end);
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  stage.addEventListener("click", (event) => {
    const node = event.target.closest(".pb-node");
    if (node && !(drag && drag.moved)) activate(node);
  });
  stage.addEventListener("keydown", (event) => {
    const node = event.target.closest && event.target.closest(".pb-node");
    const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (node && (event.key === "Enter" || event.key === " ")) activate(node);
    else if (event.key in steps) { shiftX += steps[event.key][0]; shiftY += steps[event.key][1]; place(); }
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else if (event.key === "Backspace") goBack();
    else return;
    event.preventDefault();
  });
  stage.addEventListener("focusin", (event) => {
    const node = event.target.closest(".pb-node");
    if (!node || !node.matches(":focus-visible")) return;
    stage.scrollTo(0, 0);
    const box = node.getBoundingClientRect(), frame = stage.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom || box.left < frame.left || box.right > frame.right) center(node);
  });
}

function activate(node) {
  if (node.dataset.view) openView(node.dataset.view);
  else select(node.dataset.key, node.classList.contains("pb-outside"));
}

function goBack() {
  if (trail.length < 2) return;
  trail.pop();
  openView(trail[trail.length - 1]);
}

// --- search --------------------------------------------------------------------------------------------------------------

function search(text) {
  const wanted = text.trim().toLowerCase();
  let count = 0;
  const matches = new Set();
  byKey.forEach((item, key) => {
    const words = [item.title, item.name, item.node, item.variable, item.module, item.line && item.line.file, item.line && item.line.code];
    if (wanted && words.some((word) => word && word.toLowerCase().includes(wanted))) { matches.add(key); count++; }
  });
  document.querySelectorAll("tr[data-item]").forEach((row) => { row.hidden = wanted !== "" && !matches.has(row.dataset.item); });
  document.querySelectorAll(".pb-node").forEach((node) => node.classList.toggle("found", matches.has(node.dataset.key)));
  $("#found").textContent = wanted ? `${count} found` : "";
  return matches;
}

function connectToolbar() {
  const field = $("#search");
  field.addEventListener("input", () => search(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { const first = search(field.value).values().next().value; if (first) select(first, true); }
    if (event.key === "Escape") { field.value = ""; search(""); }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) { event.preventDefault(); field.focus(); } });
  $("#bigger").addEventListener("click", () => zoom(1.25));
  $("#smaller").addEventListener("click", () => zoom(0.8));
  $("#fit").addEventListener("click", fit);
  const choice = $("#view-choice");
  if (choice) { choice.addEventListener("change", () => openView(choice.value)); $("#back").addEventListener("click", goBack); }
  document.querySelectorAll("[data-warning]").forEach((button) => button.addEventListener("click", () => select(button.dataset.warning, true)));
}

buildTables();
buildWeights();
connectStage();
connectToolbar();
if (pictures.size) { openView(pictures.keys().next().value); window.addEventListener("resize", fit); }
select(data.roots[0].key, false);
