// The table of pairs of a score run: columns come as JSON, the texts in packs (gzip, base64) that
// are unpacked when a pair is opened or words are searched. Fragments were escaped when the page
// was made; everything else enters the page as text.
(() => {
  "use strict";

  const data = JSON.parse(document.getElementById("pairs").textContent);
  const form = document.getElementById("filters");
  const article = document.getElementById("pair");
  const content = document.getElementById("pair-content");
  const number = new Intl.NumberFormat("en");
  const plain = (name) => name.replaceAll("_", " ");

  // --- packs ---------------------------------------------------------------------------------

  const packs = new Map();
  let words = null;

  async function unpack(place) {
    const element = document.querySelector(`script[data-pack="${place}"]`);
    const bytes = Uint8Array.from(atob(element.textContent.trim()), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function pack(place) {
    if (!packs.has(place)) packs.set(place, unpack(place));
    return packs.get(place);
  }

  async function fragment(row) {
    const found = await pack(Math.floor(row / data.packed));
    return found[row % data.packed];
  }

  // The words of both reports of each pair, in lower case, for the search.
  const signs = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'" };

  function wordsOf(html) {
    const texts = [...html.matchAll(/<div class="text">([^]*?)<\/div>/g)].map((found) => found[1]);
    const bare = texts.join("\n").replace(/<sup[^>]*>[^]*?<\/sup>/g, "").replace(/<[^>]*>/g, "");
    return bare.replace(/&(?:amp|lt|gt|#34|#39);/g, (sign) => signs[sign]).toLowerCase();
  }

  async function readWords() {
    const read = new Array(data.ids.length).fill("");
    for (let first = 0; first < data.shown; first += data.packed) {
      const fragments = await unpack(first / data.packed);
      fragments.forEach((html, at) => { read[first + at] = wordsOf(html); });
    }
    return read;
  }

  // --- table ---------------------------------------------------------------------------------

  const rank = (row) => {
    const worst = data.severity[row].findIndex((count) => count > 0);
    return worst < 0 ? data.severities.length : worst;
  };
  const rows = data.ids.map((id, n) => ({
    n,
    id,
    system: data.systems[data.system[n]],
    organ: data.organs[data.organ[n]],
    rank: rank(n),
    errors: data.severity[n].reduce((sum, count) => sum + count, 0),
    kinds: data.kind[n].map((kind) => plain(data.kinds[kind])).join(", "),
    missing: data.missing[n],
    ...Object.fromEntries(data.metrics.map((_, m) => [`v${m}`, data.values[m][n]])),
  }));

  function text(value) {
    const cell = document.createElement("span");
    cell.textContent = value;
    cell.title = value;
    return cell;
  }

  function severity(cell) {
    const name = data.severities[cell.getValue()];
    const shown = text(name || "none");
    shown.className = name ? `severity ${name}` : "dim";
    return shown;
  }

  function value(cell, { digits }) {
    const score = cell.getValue();
    const shown = text(score === null ? "none" : score.toFixed(digits));
    if (score === null) shown.className = "dim";
    return shown;
  }

  const textColumn = (title, field, more) => ({ title, minWidth: fitting(data[`${field}s`] || [], title), field, formatter: (cell) => text(cell.getValue()), ...more });
  const ruler = document.createElement("canvas").getContext("2d");
  function fitting(names, title) {
    const width = (words, weight, more) => {
      ruler.font = `${weight} 14.4px ${getComputedStyle(document.body).fontFamily}`;
      return more + ruler.measureText(words).width;
    };
    const widest = names.reduce((wide, name) => Math.max(wide, Math.min(170, width(name, 400, 24))), 76);
    return Math.ceil(Math.max(widest, width(title, 700, 38)));
  }
  const columns = [
    textColumn("id", "id", { widthGrow: 1 }),
    ...(data.systems.length > 1 ? [textColumn("system", "system")] : []),
    ...(data.organs.some(Boolean) ? [textColumn("organ", "organ")] : []),
    ...(data.kinds.length ? [
      { title: "worst error", field: "rank", formatter: severity, sorter: "number", width: 128 },
      { title: "errors", field: "errors", hozAlign: "right", headerHozAlign: "right", sorter: "number", width: 88 },
      textColumn("kinds of errors", "kinds", { widthGrow: 2 }),
    ] : []),
    ...data.metrics.map((name, m) => ({
      title: name, field: `v${m}`, formatter: value, hozAlign: "right", headerHozAlign: "right", sorter: "number",
      sorterParams: { alignEmptyValues: "bottom" }, formatterParams: { digits: data.digits[m] },
      width: fitting([], name),
    })),
    ...(data.missing.some(Boolean) ? [textColumn("missing", "missing", { formatter: (cell) => text(plain(cell.getValue())) })] : []),
  ];

  // The worst pairs come first; sorting them here and not there makes every filter faster.
  const table = new Tabulator("#table", {
    data: [...rows].sort((one, other) => one.rank - other.rank || other.errors - one.errors || one.n - other.n),
    index: "n",
    columns,
    layout: "fitColumns",
    height: Math.min(440, 46 + 36 * rows.length),
    rowHeight: 36,
    selectableRows: 1,
    columnDefaults: { headerTooltip: true, resizable: false },
    placeholder: "No pair fits these filters.",
  });
  const element = document.getElementById("table");

  // A grid of row groups: the part that scrolls can be focused, so it must be one of them.
  function describe() {
    element.setAttribute("aria-label", element.dataset.label);
    element.removeAttribute("aria-owns");
    element.querySelector(".tabulator-tableholder").setAttribute("role", "rowgroup");
    element.querySelector(".tabulator-table").setAttribute("role", "presentation");
  }

  // --- filters -------------------------------------------------------------------------------

  const chosen = (name) => (form.elements[name] ? form.elements[name].value : "");

  function wanted() {
    const search = chosen("search").trim().toLowerCase();
    const system = chosen("system"), organ = chosen("organ"), missing = chosen("missing");
    const worst = data.severities.indexOf(chosen("severity")), clean = chosen("severity") === "none";
    const kind = data.kinds.indexOf(chosen("kind"));
    const metric = data.metrics.indexOf(chosen("metric"));
    const from = parseFloat(chosen("from")), to = parseFloat(chosen("to"));
    return (row) => {
      const { n } = row;
      if (system && row.system !== system) return false;
      if (organ && (organ === "none" ? row.organ : row.organ !== organ)) return false;
      if (missing && (missing === "only") !== Boolean(row.missing)) return false;
      if (worst >= 0 && !data.severity[n][worst]) return false;
      if (clean && (row.errors || row.missing)) return false;
      if (kind >= 0 && !data.kind[n].includes(kind)) return false;
      const score = data.values[metric][n];
      if (!Number.isNaN(from) && (score === null || score < from)) return false;
      if (!Number.isNaN(to) && (score === null || score > to)) return false;
      return !search || row.id.toLowerCase().includes(search) || Boolean(words && words[n].includes(search));
    };
  }

  function count() {
    const shown = table.getDataCount("active");
    const busy = reading !== null && words === null && chosen("search").trim() ? ", still reading the texts" : "";
    document.getElementById("count").textContent = (
      shown === rows.length ? `${number.format(shown)} pairs` : `${number.format(shown)} of ${number.format(rows.length)} pairs`
    ) + busy;
  }

  function filter() {
    const began = performance.now();
    table.setFilter(wanted());
    count();
    element.dataset.filtered = (performance.now() - began).toFixed(1);
  }

  // The texts are read once, from when the search is entered; until then ids are searched.
  let reading = null;

  async function prepare() {
    if (reading !== null || !data.shown) return;
    reading = readWords();
    words = await reading;
    filter();
  }

  function search() {
    prepare();
    filter();
  }

  let waiting = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(event.target.name === "search" ? search : filter, event.target.type === "search" ? 150 : 0);
  });
  form.elements.search.addEventListener("focus", prepare);
  form.addEventListener("reset", () => setTimeout(filter, 0));
  form.addEventListener("submit", (event) => event.preventDefault());

  document.addEventListener("click", (event) => {
    const link = event.target.closest("button.link");
    if (!link) return;
    form.reset();
    for (const name of ["system", "severity", "kind"]) {
      if (link.dataset[name] && form.elements[name]) form.elements[name].value = link.dataset[name];
    }
    filter();
    document.getElementById("pairs-heading").scrollIntoView();
    element.querySelector(".tabulator-tableholder").focus({ preventScroll: true });
  });

  // --- one pair ------------------------------------------------------------------------------

  let open = -1;

  async function show(n, jump = true) {
    open = n;
    table.deselectRow();
    table.selectRow(n);
    const row = rows[n];
    const name = data.systems.length > 1 ? `${row.id}, ${row.system}` : row.id;
    document.getElementById("pair-name").textContent = row.organ ? `${name} (${row.organ})` : name;
    if (n >= data.shown) content.textContent = "There was no room for this pair on the page.";
    else content.innerHTML = await fragment(n);
    article.hidden = false;
    article.dataset.shown = String(n);
    history.replaceState(null, "", `#pair-${n + 1}`);
    if (jump) article.scrollIntoView();
  }

  function follow() {
    const asked = /^#pair-(\d+)$/.exec(location.hash);
    if (asked && Number(asked[1]) <= rows.length) show(Number(asked[1]) - 1);
  }

  function step(by, jump = true) {
    const order = table.getRows("active").map((row) => row.getIndex());
    if (!order.length) return;
    const at = order.indexOf(open);
    const next = order[at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + by))];
    show(next, jump);
    table.scrollToRow(next, "nearest", false).catch(() => {});
  }

  document.getElementById("previous").addEventListener("click", () => step(-1));
  document.getElementById("next").addEventListener("click", () => step(1));
  table.on("rowClick", (_, row) => show(row.getIndex()));

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    const inTable = event.target.closest("#table");
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (inTable && event.key === "ArrowDown") step(1, false);
    else if (inTable && event.key === "ArrowUp") step(-1, false);
    else if (inTable && event.key === "Enter" && !event.target.closest(".tabulator-col") && open >= 0) article.focus();
    else if (event.key === "/") form.elements.search.focus();
    else return;
    event.preventDefault();
  });

  table.on("tableBuilt", () => {
    form.hidden = false;
    describe();
    filter();
    follow();
    addEventListener("hashchange", follow);
  });
})();
