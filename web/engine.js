// The command as a module: `run` calls `occbench` with the words of a command line and returns what it prints.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// What the module may ask of a system (WASI): it has no variables of an environment and no open folders, and all else fails.
const ok = 0;
const badDescriptor = 8;
const notSupported = 52;

function systemOf(module, memory) {
  const system = {};
  for (const { module: space, name } of WebAssembly.Module.imports(module)) {
    system[space] ??= {};
    system[space][name] = () => (name.startsWith("fd_") ? badDescriptor : notSupported);
  }
  return Object.assign(system, {
    wasi_snapshot_preview1: {
      ...system.wasi_snapshot_preview1,
      environ_get: () => ok,
      environ_sizes_get(count, bytes) {
        for (const place of [count, bytes]) new DataView(memory()).setUint32(place, 0, true);
        return ok;
      },
    },
  });
}

/** @param {BufferSource | WebAssembly.Module} code  occbench.wasm */
export async function startEngine(code) {
  const module = code instanceof WebAssembly.Module ? code : await WebAssembly.compile(code);
  const { exports } = await WebAssembly.instantiate(
    module,
    systemOf(module, () => exports.memory.buffer),
  );
  exports._initialize();

  const given = (text) => {
    const bytes = encoder.encode(text.replaceAll("\0", "\ufffd"));
    const place = exports.occbench_allocate(bytes.length + 1);
    const memory = new Uint8Array(exports.memory.buffer);
    memory.set(bytes, place);
    memory[place + bytes.length] = 0;
    return place;
  };
  const answer = () => {
    const begin = exports.occbench_answer();
    const memory = new Uint8Array(exports.memory.buffer);
    return decoder.decode(memory.subarray(begin, memory.indexOf(0, begin)));
  };

  return {
    module,
    /** What the command prints. Throws an Error with its message where it refuses. @param {string[]} words */
    run(words) {
      const line = given(words.map((word) => word.replaceAll("\n", " ")).join("\n"));
      const status = exports.occbench_run(line);
      exports.occbench_free(line);
      if (status !== 0) throw new Error(answer().trim().replace(/^occbench: /, ""));
      return answer();
    },
    /** A file that later commands can name. */
    file(name, text) {
      const places = [given(name), given(text)];
      exports.occbench_file(...places);
      places.forEach(exports.occbench_free);
    },
  };
}
