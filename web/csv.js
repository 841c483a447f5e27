// Cells of a file, as RFC 4180 has them: {columns, rows}, each row an array of texts.

export function parseCsv(text) {
  const rows = [];
  let row = [];
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"') {
      for (;;) {
        const end = text.indexOf('"', at + 1);
        if (end < 0) throw new Error(`line ${rows.length + 1}: a quoted cell does not end`);
        cell += text.slice(at + 1, end);
        at = end + 1;
        if (text[at] !== '"') break;
        cell += '"';
      }
    } else {
      const begin = at;
      while (at < text.length && text[at] !== "," && text[at] !== "\n") ++at;
      cell = text.slice(begin, at).replace(/\r$/, "");
    }
    row.push(cell);
    if (text[at] === "\r") ++at;
    if (at >= text.length || text[at] === "\n") {
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
    }
    ++at;
  }
  const columns = rows.shift() ?? [];
  return { columns, rows };
}
