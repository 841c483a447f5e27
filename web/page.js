import { startEngine } from "./engine.js";
import { parseCsv } from "./csv.js";
import { asText, calcWords, defaults, fields, fromHash, fromRow, isLaunch, predictWords, toHash } from "./state.js";
import { curve, floorPlan, grouped, make, percent, timeline } from "./draw.js";

const $ = (id) => document.getElementById(id);
const list = (engine, ...words) => JSON.parse(engine.run([...words, "--format=json"]));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

const sliders = [
  // field, label, range of the slider, its step
  ["block", "Threads per block", 32, 1024, 32],
  ["registers", "Registers per thread", 1, 255, 1],
  ["static", "Static shared memory, B", 0, 49152, 256],
  ["dynamic", "Dynamic shared memory, B", 0, 232448, 256],
  ["carveout", "Shared-memory carveout, %", 0, 100, 1],
  ["cluster", "Blocks per cluster", 1, 16, 1],
  ["grid", "Blocks in the grid", 1, 8448, 1],
];

const shapes = {
  "Equal blocks": "equal:AMOUNT",
  "Blocks from half to one and a half": "uniform:AMOUNT:0.5:1.5:seed=1",
  "Few long blocks (lognormal)": "lognormal:AMOUNT:0.75:seed=1",
  "One block in ten takes 8 times as long": "bimodal:AMOUNT:0.1:8:seed=1",
  "The last block takes 4 times as long": "last:AMOUNT:1:4",
  "Uneven warps in each block": "warp/uniform:AMOUNT:0.5:1.5:seed=1",
};

let engine;
let worker;
let gpus = [];
let limits = [];
let state = fromHash(location.hash);
let measured = null; // the row that the launch is of
let theory = null;
let run = null; // the last simulation of which a picture is shown
let better = null;
let form = "command";
let newAddress; // the timer after which the address is that of the launch

// --- the worker: one question at a time, and only about the launch that is shown ---

const waiting = new Map(); // by kind
let launchNumber = 0; // of the launch that is shown
let busy = null;

function ask(kind, words, then) {
  waiting.delete(kind); // the order is that of asking
  waiting.set(kind, { words, then, launch: launchNumber });
  askNext();
}

function askNext() {
  if (busy || waiting.size === 0) return;
  const [kind, question] = waiting.entries().next().value;
  waiting.delete(kind);
  busy = question;
  worker.postMessage(question.words);
}

function answered({ data: { answer, refused } }) {
  const { then, launch } = busy;
  busy = null;
  if (launch === launchNumber) {
    if (refused === undefined) then(answer);
    else showNoPrediction(refused);
  }
  askNext();
}

// --- the form ---

function buildForm() {
  for (const [name, label, least, most, step] of sliders) {
    const range = make("input", { type: "range", id: `${name}-range`, min: least, max: most, step, "aria-label": `${label}: slider` });
    const number = make("input", { id: name, inputmode: "numeric", placeholder: name === "carveout" ? "default" : null });
    range.addEventListener("input", () => change({ [name]: range.value }));
    $("sliders").append(make("label", { for: name }, label), make("div", { class: "pair" }, range, number));
  }
  $("shape").append(...Object.keys(shapes).map((shape) => make("option", {}, shape)), make("option", {}, "Other"));
  $("shape").addEventListener("change", () => {
    const amount = /:(\d+(?:\.\d+)?(?:us)?)/.exec(state.work)?.[1] ?? "200000";
    const shape = shapes[$("shape").value];
    if (shape) change({ work: shape.replace("AMOUNT", amount) });
  });
  for (const { name } of fields) $(name)?.addEventListener("input", () => change({ [name]: $(name).value.trim() }));
  $("gpus").append(...gpus.map((gpu) => make("option", { value: gpu.name }, `${gpu.driver_name || gpu.name}, ${gpu.compute_capability}`)));
  $("reset").addEventListener("click", () => change({ ...defaults }));
}

function showForm() {
  for (const { name } of fields) {
    const field = $(name);
    if (field && field.value.trim() !== state[name]) field.value = state[name];
  }
  for (const [name] of sliders) $(`${name}-range`).value = state[name] === "" ? 0 : state[name];
  $("any").hidden = state.gpu !== "";
  const amount = /^(warp\/)?\w+:[^:]+/;
  const kind = Object.keys(shapes).find((shape) => shapes[shape].replace(amount, "") === state.work.replace(amount, "") && shapes[shape].split(":")[0] === state.work.split(":")[0]);
  $("shape").value = kind ?? "Other";
}

function change(values, row = null) {
  Object.assign(state, values);
  measured = row;
  if (!row) showLesson(null);
  clearTimeout(newAddress); // once a drag pauses: browsers limit how often a page changes its address
  newAddress = setTimeout(() => history.replaceState(null, "", toHash(state) === "#" ? location.pathname + location.search : toHash(state)), 100);
  show();
}

// --- answers ---

function show() {
  delete document.documentElement.dataset.shown;
  ++launchNumber;
  showForm();
  showMeasured();
  try {
    theory = list(engine, ...calcWords(state, "--curves").slice(0, -1));
    $("refused").textContent = theory.cannot_launch ?? "";
  } catch (error) {
    $("refused").textContent = error.message;
    $("answers").classList.add("refused");
    showText();
    return showNoPrediction("this launch is refused");
  }
  $("answers").classList.remove("refused");
  showTheory();
  showText();
  if (!isLaunch(state)) return showNoPrediction("");
  if (theory.blocks_per_sm === 0) return showNoPrediction("this launch is refused");
  for (const id of ["predicted", "losses"]) $(id).classList.add("stale");
  ask("blocks", predictWords(state, "blocks"), (answer) => {
    run = answer;
    $("predicted").textContent = percent(answer.achieved_pct);
    $("interval").textContent = "one simulation; the interval follows";
    showTimeline();
  });
  ask("predict", predictWords(state, "json"), showPrediction);
}

function showTheory() {
  const of = limits.find((each) => each.compute_capability === theory.compute_capability);
  $("theoretical").textContent = percent(theory.theoretical_pct);
  const limited = theory.limiter.replaceAll("_", " ").replaceAll("+", " and ");
  $("limiter").textContent = `${theory.blocks_per_sm} blocks per SM, limited by ${limited}${theory.assumed ? `; ${theory.assumed}` : ""}`;

  const head = ["resource", "a block asks", "a block gets", "an SM has", "blocks", "left"];
  const asks = theory.static_shared_bytes + theory.dynamic_shared_bytes;
  const rows = [
    ["warps", `${grouped(theory.block_threads)} threads`, `${Math.ceil(theory.block_threads / 32)} warps`, of.max_warps_per_sm, theory.idle_warps],
    ["blocks", "1", "1", of.max_blocks_per_sm, theory.idle_blocks],
    ["registers", theory.registers_per_thread == null ? null : `${theory.registers_per_thread} a thread`, theory.registers_per_block, of.registers_per_sm, theory.idle_registers],
    ["shared_memory", `${grouped(asks)} B`, theory.shared_bytes_per_block, theory.shared_bytes_per_sm, theory.idle_shared_bytes],
  ];
  const text = (value) => (value == null ? "–" : typeof value === "number" ? grouped(value) : value);
  $("resources").replaceChildren(
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows.map(([name, ask, get, has, left]) => {
      const limiting = theory.limiter.split("+").includes(name);
      const blocks = theory[`block_limit_${name}`];
      return make("tr", { class: limiting ? "limits" : null },
        make("th", { scope: "row" }, name.replace("_", " ") + (limiting ? " (limits)" : "")),
        ...[ask, get, has, blocks, left].map((value) => make("td", {}, text(value))));
    })));
  const facts = theory.rules.filter(({ limits }) => limits).map(({ rule }) => rule);
  if (theory.idle_threads > 0) facts.push(`${grouped(theory.idle_threads)} of ${grouped(of.max_threads_per_sm)} places for threads stay empty`);
  if (theory.full_wave_blocks > 0) facts.push(`A full wave is ${grouped(theory.full_wave_blocks)} blocks on ${theory.sm_count} SMs`);
  if (theory.opt_in_bytes != null) facts.push(`The host calls cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ${theory.opt_in_bytes}) first`);
  $("facts").replaceChildren(...facts.map((fact) => make("li", {}, fact)));
  $("plan").replaceChildren(floorPlan(theory, of));
  $("advice").replaceChildren(...theory.what_to_do.map((sentence) => make("li", {}, sentence)));

  const axes = [
    ["block_threads", "threads per block", "threads", "block"],
    ["registers_per_thread", "registers per thread", "registers", "registers"],
    ["shared_bytes_per_block", "shared memory per block", "B", "dynamic"],
  ];
  axes.forEach(([axis, title, unit, field], place) => {
    const points = theory.curves.filter((point) => point.axis === axis);
    const steps = theory.cliffs.filter((step) => step.axis === axis);
    if (points.length === 0) return;
    const { svg, move } = curve(title, unit, points, steps, (value) => {
      change({ [field]: String(field === "dynamic" ? Math.max(0, value - theory.static_shared_bytes) : value) });
    });
    const figure = $("curves").children[place] ?? $("curves").appendChild(make("figure", {}, make("figcaption", {}, title)));
    const old = figure.querySelector("svg");
    if (old) old.replaceWith(svg);
    else figure.append(svg);
    figure.onpointerdown = (event) => {
      figure.setPointerCapture(event.pointerId);
      move(event);
    };
    figure.onpointermove = (event) => event.buttons && figure.hasPointerCapture(event.pointerId) && move(event);
  });
}

function showTimeline() {
  const { shown, end } = timeline($("timeline"), run, theory);
  const sms = shown < run.sm_count ? `${shown} of ${run.sm_count} SMs` : `All ${shown} SMs`;
  $("moments").textContent = `${sms} from top to bottom, their blocks as bars; below, the resident warps of the GPU, and theory as the dashed line. ${grouped(Math.round(end))} cycles from left to right.`;
  $("timeline").setAttribute("aria-label", `${grouped(run.blocks.length)} blocks on ${run.sm_count} SMs over ${grouped(Math.round(end))} cycles`);
}

function showPrediction(answer) {
  for (const id of ["predicted", "losses"]) $(id).classList.remove("stale");
  $("predicted").textContent = percent(answer.predicted_pct);
  const quality = { calibrated_model: "calibrated on this model of GPU", generic: "no such GPU was calibrated: unverified" };
  $("interval").textContent = `${answer.profile_quality === "generic" ? "range" : "90 %"}: ${answer.predicted_low_pct.toFixed(1)} to ${answer.predicted_high_pct.toFixed(1)}; ${quality[answer.profile_quality] ?? answer.profile_quality}`;
  const names = {
    small_grid: "grid smaller than one wave", tail: "partial last wave", between_blocks: "uneven blocks",
    within_block: "uneven warps within a block", overhead: "launch and replacement", contention: "contention",
  };
  const line = (name, points, kind, unit) => {
    const bar = make("i", { class: kind });
    bar.style.width = `${Math.min(100, Math.abs(points))}%`;
    return make("div", { class: "loss" }, make("span", {}, name), bar, make("span", {}, `${points.toFixed(2)} ${unit}`));
  };
  const losses = Object.entries(names).map(([key, name]) => [name, answer[`loss_${key}_points`]]);
  $("losses").replaceChildren(
    line("theoretical", answer.theoretical_pct, "whole", "%"),
    ...losses.filter(([, points]) => Math.abs(points) >= 0.005).map(([name, points]) => line(name, -points, points < 0 ? "gain" : "", "points")),
    line("predicted", answer.predicted_pct, "whole", "%"));
  $("losses").dataset.sum = sum(losses.map(([, points]) => points));
  $("explanation").textContent = answer.explanation;
  better = answer.advice ?? null;
  $("better").textContent = better?.sentence ?? "No other grid is sure to take less time.";
  $("use").hidden = !better;
  document.documentElement.dataset.shown = "prediction";
}

function showNoPrediction(why) {
  waiting.clear();
  for (const id of ["predicted", "losses"]) $(id).classList.remove("stale");
  $("predicted").textContent = "–";
  $("interval").textContent = why || "needs a GPU, a grid and work";
  $("losses").replaceChildren();
  for (const id of ["explanation", "better", "moments"]) $(id).textContent = "";
  $("use").hidden = true;
  run = null;
  $("timeline").width = $("timeline").width; // empties it
  document.documentElement.dataset.shown = "theory";
}

function showMeasured() {
  const value = Number(measured?.achieved_pct);
  const known = measured?.achieved_pct && Number.isFinite(value);
  $("measured").textContent = known ? percent(value) : "–";
  $("source").textContent = known ? `the counter, on ${measured.gpu}` : "of no recorded launch";
}

function showText() {
  $("text").value = asText(form, state, theory);
}

// --- lessons and files ---

function buildLessons() {
  const lessons = JSON.parse($("lesson-rows").textContent);
  lessons.forEach((lesson, place) => {
    const button = make("button", { type: "button", "aria-pressed": "false" }, `${place + 1}. ${lesson.title}`);
    button.addEventListener("click", () => {
      change(fromRow(lesson.row, gpus), lesson.row);
      showLesson(lesson, button);
    });
    $("lessons").append(make("li", {}, button));
  });
}

function showLesson(lesson, button) {
  for (const other of document.querySelectorAll("#lessons button")) other.setAttribute("aria-pressed", String(other === button));
  $("lesson").textContent = lesson?.sentence ?? "";
}

const mostShown = 500;

/** Rows of a file: objects by column. */
function rowsOf(name, text) {
  if (/^\s*[[{]/.test(text)) return kernelsOf(JSON.parse(text));
  const { columns, rows } = parseCsv(text);
  if (!columns.includes("block_threads")) throw new Error(`${name} has no column block_threads: it is no file of launches`);
  return rows.map((cells) => Object.fromEntries(columns.map((column, place) => [column, cells[place] ?? ""])));
}

/** Whether these are three sizes, of no more than `most` together. */
const isShape = (sizes, most) =>
  Array.isArray(sizes) && sizes.length === 3 && sizes.every((size) => Number.isInteger(size) && size >= 1) && product(sizes) <= most;
const product = (sizes) => sizes.reduce((all, size) => all * size, 1);

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The kernels of a trace of torch.profiler, as `occbench trace --import` has them: each configuration once, with the median time
 * of its launches, those first that took most. */
function kernelsOf(trace) {
  const devices = new Map((trace.deviceProperties ?? []).map((device, place) => [device.id ?? place, device]));
  const seen = new Map();
  for (const { cat, name, dur, args } of trace.traceEvents ?? []) {
    if (!/^[kK]ernel$/.test(cat) || !name || !(dur >= 0) || !isShape(args?.block, 1024) || !isShape(args.grid, 2147483647)) continue;
    const registers = args["registers per thread"];
    if (!(registers >= 0 && registers <= 255)) continue;
    const shared = args["shared memory"] ?? 0;
    const key = JSON.stringify([args.device, name, args.block, args.grid, registers, shared]);
    const device = devices.get(args.device ?? 0) ?? {};
    if (!seen.has(key)) {
      const row = {
        case: name, gpu: device.name ?? "", sm_count: device.numSms ?? "",
        compute_capability: device.computeMajor ? `${device.computeMajor}.${device.computeMinor}` : "",
        block_threads: product(args.block), grid_blocks: product(args.grid), registers_per_thread: registers, dynamic_shared_bytes: shared,
      };
      seen.set(key, { row, times: [] });
    }
    seen.get(key).times.push(dur);
  }
  if (seen.size === 0) throw new Error("the trace has no kernels");
  const longest = [...seen.values()].sort((a, b) => sum(b.times) - sum(a.times));
  return longest.map(({ row, times }) => ({ ...row, time_us: String(Number(median(times).toFixed(6))) }));
}

const textOf = (file) =>
  file.name.endsWith(".gz") ? new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text() : file.text();

async function readFile(file) {
  $("launches").replaceChildren();
  try {
    const rows = rowsOf(file.name, await textOf(file));
    const shown = rows.slice(0, mostShown);
    $("read").textContent = `${grouped(rows.length)} ${rows.length === 1 ? "launch" : "launches"} in ${file.name}` + (shown.length < rows.length ? `; the first ${mostShown} are listed` : "");
    const columns = ["case", "block_threads", "grid_blocks", "registers_per_thread", "theoretical_pct", "achieved_pct"];
    $("launches").replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column.replaceAll("_", " "))))),
      make("tbody", {}, ...shown.map((row) => {
        const button = make("button", { type: "button" }, row.case || row.kernel || "a launch");
        button.addEventListener("click", () => change(fromRow(row, gpus), row));
        return make("tr", {}, make("td", {}, button), ...columns.slice(1).map((column) => make("td", {}, String(row[column] ?? ""))));
      }))));
  } catch (error) {
    $("read").textContent = error.message;
  }
}

function listenToFiles() {
  $("file").addEventListener("change", () => $("file").files[0] && readFile($("file").files[0]));
  for (const [event, over] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]]) {
    document.addEventListener(event, (what) => {
      what.preventDefault();
      $("drop").classList.toggle("over", over);
    });
  }
  document.addEventListener("drop", (event) => event.dataTransfer.files[0] && readFile(event.dataTransfer.files[0]));
}

// --- the page ---

async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function begin() {
  engine = await startEngine(await unpacked($("module").textContent.trim()));
  worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" })));
  worker.onmessage = answered;
  worker.postMessage(engine.module);
  gpus = list(engine, "calc", "--gpu=list").reverse();
  limits = list(engine, "calc", "--limits");
  buildForm();
  buildLessons();
  listenToFiles();
  for (const button of document.querySelectorAll("[data-form]")) {
    button.addEventListener("click", async () => {
      form = button.dataset.form;
      showText();
      await navigator.clipboard?.writeText($("text").value).catch(() => {});
      $("copied").textContent = "Copied.";
    });
  }
  $("use").addEventListener("click", () => {
    change({
      block: String(better.block_threads), grid: String(better.grid_blocks), cluster: String(better.cluster_blocks), work: better.work,
    });
  });
  window.addEventListener("hashchange", () => {
    clearTimeout(newAddress);
    state = fromHash(location.hash);
    measured = null;
    show();
  });
  window.addEventListener("resize", () => run && showTimeline());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => run && showTimeline());
  show();
  window.occbenchEngine = engine; // for tests
}

begin().catch((error) => {
  $("refused").textContent = `The page did not start: ${error.message}`;
});
