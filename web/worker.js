// The engine in a worker: what simulates would hold up the page. The first message is the module, each
// other one the words of a command; it is answered by {answer} or {refused}.

import { startEngine } from "./engine.js";

let engine;
onmessage = async ({ data }) => {
  if (!engine) {
    engine = startEngine(data);
    return;
  }
  try {
    postMessage({ answer: JSON.parse((await engine).run(data)) });
  } catch (error) {
    postMessage({ refused: error.message });
  }
};
