// What is asked: the fields of the form, and what is made of them.

export const fields = [
  // name, option of the command, argument of Python, column of a row, default
  ["gpu", "--gpu", "gpu", "gpu", "h200"],
  ["cc", "--cc", "compute_capability", "compute_capability", ""],
  ["sms", "--sm-count", "sm_count", "sm_count", ""],
  ["block", "--block-size", "block_size", "block_threads", "256"],
  ["registers", "--registers", "registers", "registers_per_thread", "32"],
  ["static", "--static-smem", "static_smem", "static_shared_bytes", "0"],
  ["dynamic", "--dynamic-smem", "dynamic_smem", "dynamic_shared_bytes", "0"],
  ["carveout", "--carveout", "carveout", "carveout_pct", ""],
  ["cluster", "--cluster", "cluster", "cluster_blocks", "1"],
  ["grid", "--grid", "grid", "grid_blocks", "1320"],
  ["work", "--work", "work", "work", "equal:200000"],
  ["time", "--time-us", "time_us", "time_us", ""],
].map(([name, option, argument, column, otherwise]) => ({ name, option, argument, column, otherwise }));

const quietAt = { static: "0", dynamic: "0", cluster: "1" }; // what the command takes where it is not told

export const defaults = Object.fromEntries(fields.map((field) => [field.name, field.otherwise]));

/** The fields that are said: a GPU stands for its compute capability and its SMs, and work that is given for the time. */
function said(state, without = []) {
  return fields.filter(({ name }) => {
    if (without.includes(name) || state[name] === "" || state[name] === quietAt[name]) return false;
    if (name === "time") return state.work === "";
    return state.gpu === "" || (name !== "cc" && name !== "sms");
  });
}

const option = (state) => (field) => `${field.option}=${state[field.name]}`;

export const calcWords = (state, ...more) => ["calc", ...said(state, ["work", "time"]).map(option(state)), ...more, "--format=json"];
export const predictWords = (state, format) => ["predict", ...said(state).map(option(state)), `--format=${format}`];

/** Whether a prediction has all that it needs. */
export const isLaunch = (state) => state.grid !== "" && (state.work !== "" || state.time !== "") && (state.gpu !== "" || state.sms !== "");

/** The launch as a command, as Python and as a file of one row that `occbench predict --batch` reads. */
export function asText(form, state, theory) {
  if (form === "command") {
    const quoted = (word) => (/^[\w.:,/=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
    const words = isLaunch(state) ? predictWords(state, "table") : calcWords(state);
    return ["occbench", ...words.slice(0, -1).map(quoted)].join(" ");
  }
  if (form === "python") {
    const literal = (value) => (/^-?\d+$/.test(value) ? value : JSON.stringify(value));
    const call = isLaunch(state) ? "predict" : "calc";
    const given = said(state, call === "calc" ? ["work", "time"] : []);
    const arguments_ = given.map(({ name, argument }) => {
      const text = name === "cc" ? JSON.stringify(state.cc) : literal(state[name]);
      return `${argument}=${text}`;
    });
    return `occbench.${call}(${arguments_.join(", ")})`;
  }
  const cells = { ...theory, work: state.work, time_us: state.work === "" ? state.time : "" };
  const columns = fields.map(({ column }) => column).filter((column) => column !== "gpu" && (cells[column] ?? "") !== "");
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return `${columns.join(",")}\n${columns.map((column) => cell(cells[column])).join(",")}\n`;
}

export function toHash(state) {
  const told = fields.filter(({ name, otherwise }) => state[name] !== otherwise);
  return `#${new URLSearchParams(told.map(({ name }) => [name, state[name]]))}`;
}

export function fromHash(hash) {
  const told = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...defaults };
  for (const { name } of fields) if (told.has(name)) state[name] = told.get(name).slice(0, 200);
  return state;
}

/** The launch of a row, whose columns are those that `occbench columns` lists. */
export function fromRow(row, gpus) {
  const state = { ...defaults, gpu: "", work: "", grid: "" };
  for (const { name, column } of fields) if (row[column]) state[name] = String(row[column]);
  const named = gpus.find((gpu) => gpu.name === row.gpu || gpu.driver_name === row.gpu);
  const fits = named && (!row.sm_count || Number(row.sm_count) === named.sm_count);
  state.gpu = fits ? named.name : "";
  if (fits) state.cc = state.sms = "";
  if (state.work !== "") state.time = "";
  return state;
}
