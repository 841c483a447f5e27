"use strict";
(() => {
  const PAGE_ROWS = 50;
  const byId = (id) => document.getElementById(id);

  function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  // Labels leave room for the marks. In a narrow panel legends and axis titles end where the marks do and grow to the left,
  // over the labels of the other axis.
  function configurationAt(width, { axis, axisX, legend, ...others }) {
    const anchor = width < 560 ? "end" : "start";
    const room = anchor === "end" ? width : 0.6 * width;
    const columns = Math.max(1, Math.floor(room / 140));
    return {
      ...others,
      axis: { ...axis, labelLimit: Math.min(Math.max(0.42 * width, 150), 320) },
      axisX: width < 420 ? { ...axisX, titleAnchor: "end", tickCount: 5 } : axisX,
      legend: {
        ...legend, columns, labelLimit: room / columns - 28, layout: { top: { ...legend.layout.top, anchor } },
      },
    };
  }

  // Charts one after the other, so that the first is there soon.
  async function drawCharts() {
    const { configuration, specifications } = JSON.parse(byId("views").textContent);
    const places = [...document.querySelectorAll(".view")];
    for (const [index, place] of places.entries()) {
      try {
        // Expressions are interpreted: the page's policy allows no code that is made from text.
        await vegaEmbed(place.firstElementChild, specifications[index], {
          mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: { theme: "plain" },
          config: configurationAt(place.clientWidth, configuration),
        });
        place.style.minHeight = "";
      } catch (error) {
        place.replaceWith(element("p", { className: "failed", textContent: `This chart could not be drawn: ${error.message}` }));
        console.error(error);
      }
      if (index === 0) performance.mark("first chart");
      await new Promise((resolve) => setTimeout(resolve));
    }
    document.documentElement.dataset.charts = "drawn";
  }

  async function unpackRows() {
    const text = atob(byId("packed-rows").textContent);
    const bytes = Uint8Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  // A column of text is `names` and for each row the `index` of its name, or null; one of numbers is `values`.
  const cell = (column, row) => {
    if (column.values) return column.values[row];
    const index = column.index[row];
    return index === null ? null : column.names[index];
  };

  const COMPARISONS = {
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
    "=": (a, b) => a === b, "!=": (a, b) => a !== b,
  };

  function comparison(table, word) {
    const parts = /^(\w+)(<=|>=|!=|<|>|=)(.+)$/.exec(word);
    const column = parts && table.columns.find((one) => one.name === parts[1]);
    if (!column) return null;
    const compare = COMPARISONS[parts[2]];
    if (column.values) {
      const number = Number(parts[3]);
      return (row) => column.values[row] !== null && compare(column.values[row], number);
    }
    const kept = column.names.map((name) => compare(name.toLowerCase(), parts[3]));
    return (row) => column.index[row] !== null && kept[column.index[row]];
  }

  function containing(table, word) {
    const columns = table.columns.filter((column) => !column.values)
      .map((column) => ({ index: column.index, kept: column.names.map((name) => name.toLowerCase().includes(word)) }))
      .filter(({ kept }) => kept.includes(true));
    return (row) => columns.some(({ index, kept }) => index[row] !== null && kept[index[row]]);
  }

  function filtered(table, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = words.map((word) => comparison(table, word) ?? containing(table, word));
    const rows = [];
    for (let row = 0; row < table.rows; ++row) if (tests.every((test) => test(row))) rows.push(row);
    return rows;
  }

  // What was not measured comes last, whichever way the rows are sorted.
  function sorted(rows, column, descending) {
    const rank = column.values ?? (() => {
      const order = column.names.map((_, index) => index).sort((a, b) => column.names[a].localeCompare(column.names[b]));
      const ranks = new Map(order.map((index, place) => [index, place]));
      return column.index.map((index) => (index === null ? null : ranks.get(index)));
    })();
    const sign = descending ? -1 : 1;
    return rows.sort((a, b) => {
      if (rank[a] === null || rank[b] === null) return (rank[a] === null) - (rank[b] === null) || a - b;
      return sign * (rank[a] - rank[b]) || a - b;
    });
  }

  const written = (value) => {
    if (typeof value !== "number") return value ?? "";
    return Math.abs(value) < 1e9 ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : value.toExponential(4);
  };

  function showTable(table) {
    const state = { sort: null, descending: false, page: 0, rows: filtered(table, "") };
    const head = element("tr");
    byId("rows").tHead.append(head);

    function showHead() {
      head.replaceChildren(...table.columns.filter((column) => column.shown).map((column) => {
        const button = element("button", { type: "button", title: column.meaning, textContent: column.name });
        if (column.unit) button.append(element("small", { textContent: column.unit }));
        button.addEventListener("click", () => sortBy(column));
        const place = element("th", { scope: "col" }, button);
        place.dataset.column = column.name;
        place.setAttribute("aria-sort", state.sort !== column ? "none" : state.descending ? "descending" : "ascending");
        return place;
      }));
    }

    function showRows() {
      const shown = table.columns.filter((column) => column.shown);
      const first = state.page * PAGE_ROWS;
      byId("rows").tBodies[0].replaceChildren(...state.rows.slice(first, first + PAGE_ROWS).map((row) =>
        element("tr", {}, ...shown.map((column) => {
          const content = { textContent: written(cell(column, row)) };
          if (column.name === "case") return element("th", { scope: "row", ...content });
          return element("td", { className: column.values ? "number" : "", ...content });
        }))));
      const last = Math.min(first + PAGE_ROWS, state.rows.length);
      const count = (number) => number.toLocaleString("en");
      byId("count").textContent = state.rows.length === 0 ? `None of ${count(table.rows)} rows`
        : `Rows ${count(first + 1)} to ${count(last)} of ${count(state.rows.length)}`
          + (state.rows.length < table.rows ? `, of ${count(table.rows)} in all` : "");
      byId("previous").disabled = state.page === 0;
      byId("next").disabled = last >= state.rows.length;
    }

    function choose() {
      state.rows = filtered(table, byId("filter").value);
      if (state.sort) sorted(state.rows, state.sort, state.descending);
      state.page = 0;
      showRows();
    }

    function sortBy(column) {
      state.descending = state.sort === column && !state.descending;
      state.sort = column;
      showHead();
      choose();
      head.querySelector(`th[data-column="${CSS.escape(column.name)}"] button`).focus();
    }

    function turn(pages) {
      state.page += pages;
      showRows();
    }

    let waiting;
    byId("filter").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(choose, 150);
    });
    byId("previous").addEventListener("click", () => turn(-1));
    byId("next").addEventListener("click", () => turn(1));
    byId("columns").querySelector("ul").append(...table.columns.map((column) => {
      const box = element("input", { type: "checkbox", checked: column.shown });
      box.addEventListener("change", () => {
        column.shown = box.checked;
        showHead();
        showRows();
      });
      const meaning = column.meaning + (column.unit ? ` [${column.unit}]` : "");
      return element("li", {}, element("label", {}, box, " ", element("code", { textContent: column.name }), ` ${meaning}`));
    }));
    showHead();
    showRows();
    document.documentElement.dataset.rows = "shown";
  }

  (async () => {
    await drawCharts();
    try {
      showTable(await unpackRows());
    } catch (error) {
      byId("count").textContent = `The rows could not be unpacked: ${error.message}`;
      console.error(error);
    }
  })();
})();
