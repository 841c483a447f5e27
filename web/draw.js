// Pictures of answers. Text goes in as text, never as markup.

const svgSpace = "http://www.w3.org/2000/svg";

/** An element with attributes and children; a name that SVG has is one of SVG. */
export function make(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "path", "circle", "line", "text", "title", "polygon"].includes(name);
  const element = svg ? document.createElementNS(svgSpace, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value != null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child != null));
  return element;
}

const thousands = new Intl.NumberFormat("en-US"); // made once: it takes longer than what it formats
export const grouped = (number) => thousands.format(Number(number));
export const percent = (number) => `${Number(number.toFixed(2))} %`;

/** The SM as a floor plan: places for warps and blocks, the register file, shared memory beside L1 cache. Neighbouring blocks have different shades. */
export function floorPlan(theory, limits) {
  const width = 640;
  const blocks = theory.blocks_per_sm;
  const warpsOfBlock = Math.ceil(theory.block_threads / 32);
  const lastThreads = theory.block_threads - 32 * (warpsOfBlock - 1);
  const svg = make("svg", { viewBox: `0 -8 ${width} 316`, class: "plan", role: "img", "aria-label": planInWords(theory, limits) });
  const label = (y, name, value) =>
    svg.append(make("text", { x: 0, y, class: "name" }, name), make("text", { x: width, y, class: "value" }, value));
  const shade = (block) => (block % 2 ? "block odd" : "block even");

  label(14, "Warps", `${theory.warps_per_sm} of ${limits.max_warps_per_sm}`);
  const rows = 4;
  const cell = (width * rows) / limits.max_warps_per_sm;
  for (let place = 0; place < limits.max_warps_per_sm; ++place) {
    const [x, y] = [Math.floor(place / rows) * cell, 22 + (place % rows) * 22];
    svg.append(make("rect", { x: x + 1, y, width: cell - 2, height: 19, class: "idle" }));
    if (place >= blocks * warpsOfBlock) continue;
    const threads = place % warpsOfBlock === warpsOfBlock - 1 ? lastThreads : 32;
    const block = Math.floor(place / warpsOfBlock);
    svg.append(make("rect", { x: x + 1, y, width: ((cell - 2) * threads) / 32, height: 19, class: shade(block) }));
  }

  label(130, "Blocks", `${blocks} of ${limits.max_blocks_per_sm}`);
  const slot = width / limits.max_blocks_per_sm;
  for (let place = 0; place < limits.max_blocks_per_sm; ++place) {
    const kind = place < blocks ? shade(place) : "idle";
    svg.append(make("rect", { x: place * slot + 1, y: 138, width: slot - 2, height: 19, class: kind }));
  }

  const bar = (y, name, each, all, unit, whole = all) => {
    label(y, name, each == null ? "not given" : `${grouped(blocks * each)} of ${grouped(all)}${unit}`);
    svg.append(make("rect", { x: 0, y: y + 8, width: (width * all) / whole, height: 24, class: "idle" }));
    for (let block = 0; each > 0 && block < blocks; ++block) {
      const part = (width * each) / whole;
      svg.append(make("rect", { x: block * part, y: y + 8, width: Math.max(part - 1, 0.5), height: 24, class: shade(block) }));
    }
  };
  bar(184, "Registers", theory.registers_per_block, limits.registers_per_sm, "");
  const shared = theory.shared_bytes_per_sm;
  const l1 = l1Bytes(theory, limits);
  bar(250, "Shared memory", theory.shared_bytes_per_block, shared, " B", shared + l1);
  if (l1 > 0) {
    const x = (width * shared) / (shared + l1);
    svg.append(make("rect", { x, y: 258, width: width - x, height: 24, class: "l1" }));
    label(302, "", l1Words(theory, l1));
  }
  return svg;
}

/** Of the cache that shared memory is a part of, what is not shared memory; 0 where it has a store of its own. */
const l1Bytes = (theory, limits) => Math.max(0, limits.unified_data_cache_bytes - theory.shared_bytes_per_sm);

// Without a carveout theory has the most shared memory, and the driver may configure less.
const l1Words = (theory, bytes) => `L1 cache: ${theory.carveout_pct == null ? "at least " : ""}${grouped(bytes)} B`;

function planInWords(theory, limits) {
  const { blocks_per_sm: blocks, warps_per_sm: warps } = theory;
  const l1 = l1Bytes(theory, limits);
  return `An SM holds ${blocks} blocks and ${warps} of ${limits.max_warps_per_sm} warps; idle: ${theory.idle_threads} threads.${l1 > 0 ? ` ${l1Words(theory, l1)}.` : ""}`;
}

/** One of the three curves. Calls `onMove` with a value of its axis as the point is dragged. */
export function curve(title, unit, points, cliffs, onMove) {
  const [width, height, left, bottom, top] = [300, 190, 42, 28, 12];
  const last = points.at(-1).value || 1;
  const x = (value) => left + (value / last) * (width - left - 12);
  const y = (pct) => height - bottom - (pct / 100) * (height - bottom - top);
  const at = points.find((point) => point.current);
  const here = at ? `${grouped(at.value)} ${unit}: ${percent(at.theoretical_pct)}` : "";
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Theoretical occupancy by ${title}. ${here}` });
  for (const pct of [0, 25, 50, 75, 100]) {
    svg.append(make("line", { x1: left, x2: width - 12, y1: y(pct), y2: y(pct), class: "grid" }));
    svg.append(make("text", { x: left - 12, y: y(pct) + 4, class: "value" }, pct));
  }
  let path = "";
  points.forEach((point, place) => {
    // A step of registers or shared memory ends at its last value; block sizes are points.
    path += `${place ? "L" : "M"}${x(point.value).toFixed(1)},${y(point.theoretical_pct).toFixed(1)}`;
  });
  svg.append(make("path", { d: path, class: "curve" }));
  for (const cliff of cliffs) {
    const [cx, cy] = [x(cliff.to), y(cliff.theoretical_pct)];
    svg.append(make("polygon", { points: `${cx},${cy - 6} ${cx + 5},${cy} ${cx},${cy + 6} ${cx - 5},${cy}`, class: "cliff" },
      make("title", {}, `${cliff.change}: ${percent(cliff.theoretical_pct)}`)));
  }
  if (at) svg.append(make("circle", { cx: x(at.value), cy: y(at.theoretical_pct), r: 7, class: "point" }));
  svg.append(make("text", { x: left, y: height - 6, class: "name" }, "0"));
  svg.append(make("text", { x: width - 12, y: height - 6, class: "value" }, `${grouped(last)} ${unit}`));

  const move = (event) => {
    const box = svg.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * width - left) / (width - left - 12);
    const wanted = Math.min(Math.max(share, 0), 1) * last;
    onMove(points.reduce((near, point) => (Math.abs(point.value - wanted) < Math.abs(near.value - wanted) ? point : near)).value);
  };
  return { svg, move };
}

const lanesShown = 96;

/** The launch on a canvas: SMs from top to bottom with their blocks as bars, and below them the warps of the device. */
export function timeline(canvas, run, theory) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const style = getComputedStyle(canvas);
  const color = (name) => style.getPropertyValue(name).trim();
  const perSm = Math.max(1, theory.blocks_per_sm);
  const shown = Math.max(1, Math.min(run.sm_count, Math.floor(lanesShown / perSm)));
  const barsHeight = 300;
  const chartHeight = 90;
  const height = barsHeight + 12 + chartHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const end = Math.max(run.cycles_active_max, run.timeline.step_cycles * run.timeline.warps.length, 1);
  const x = (cycles) => (cycles / end) * width;

  // SMs evenly over all of them; a block lies in the first lane that is free.
  const row = new Map();
  for (let place = 0; place < shown; ++place) row.set(Math.floor((place * run.sm_count) / shown), place);
  const smHeight = barsHeight / shown;
  const gap = smHeight > 6 ? 2 : smHeight > 3 ? 1 : 0;
  const laneHeight = (smHeight - gap) / perSm;
  const free = new Map();
  pen.fillStyle = color("--idle");
  for (const place of row.values()) pen.fillRect(0, place * smHeight, width, smHeight - gap);
  for (const [sm, begin, until] of run.blocks.filter(([sm]) => row.has(sm)).sort((a, b) => a[1] - b[1])) {
    if (!free.has(sm)) free.set(sm, Array.from({ length: perSm }, () => ({ until: 0, blocks: 0 })));
    const lanes = free.get(sm);
    let lane = lanes.findIndex((each) => each.until <= begin);
    if (lane < 0) lane = lanes.reduce((best, each, at) => (each.until < lanes[best].until ? at : best), 0);
    pen.fillStyle = color(lanes[lane].blocks % 2 ? "--odd" : "--even");
    pen.fillRect(x(begin), row.get(sm) * smHeight + lane * laneHeight, Math.max(0.5, x(until) - x(begin) - 0.5), Math.max(0.5, laneHeight - (laneHeight > 3 ? 0.6 : 0)));
    lanes[lane] = { until, blocks: lanes[lane].blocks + 1 };
  }

  const most = run.sm_count * run.warps_per_sm;
  const base = height - 1;
  const y = (warps) => base - (warps / most) * (chartHeight - 12);
  pen.fillStyle = color("--even");
  pen.beginPath();
  pen.moveTo(0, base);
  run.timeline.warps.forEach((warps, step) => {
    pen.lineTo(x(step * run.timeline.step_cycles), y(warps));
    pen.lineTo(x((step + 1) * run.timeline.step_cycles), y(warps));
  });
  pen.lineTo(x(run.timeline.warps.length * run.timeline.step_cycles), base);
  pen.fill();
  pen.strokeStyle = color("--ink");
  pen.setLineDash([4, 4]);
  const theoretical = y((most * theory.theoretical_pct) / 100);
  pen.beginPath();
  pen.moveTo(0, theoretical);
  pen.lineTo(width, theoretical);
  pen.stroke();
  return { shown, end };
}
