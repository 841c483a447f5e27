// The engine in a worker: what simulates would hold up the page. A message is {id, words}, or {code} first of all.

import { startEngine } from "./engine.js";

let engine;
onmessage = async ({ data }) => {
  if (data.code) {
    engine = startEngine(data.code);
    return;
  }
  try {
    postMessage({ id: data.id, answer: JSON.parse((await engine).run(data.words)) });
  } catch (error) {
    postMessage({ id: data.id, refused: error.message });
  }
};
