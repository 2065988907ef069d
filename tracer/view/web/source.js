// The user's source, with what each line costs.

const LONGEST_INDENT = 200;
const TOGETHER = 60; // lines that the browser lays out together, when they come near the screen
const HEIGHT = 19.8; // pixels of a line

function blockOf(rows) {
  const made = element("div", "block", null, ...rows);
  made.style.containIntrinsicSize = `auto 500px auto ${rows.length * HEIGHT}px`;
  return made;
}

// Lines in runs without a gap.
function blocksOf(lines) {
  const blocks = [];
  let before = null;
  for (const line of lines) {
    if (before === null || line[0] !== before + 1) blocks.push([]);
    blocks[blocks.length - 1].push(line);
    before = line[0];
  }
  return blocks;
}

class SourcePane {
  constructor(app) {
    this.app = app;
    this.metric = "bytes";
    this.rows = new Map(); // line -> its element
    this.tabs = element("div", "choice");
    this.list = element("div", "source-list");
    this.pane = element("section", "pane source-pane");
    this.pane.append(element("div", "pane-head", null, element("h2", "", "Source"), this.tabs), this.list);
    this.list.addEventListener("click", (event) => this.clicked(event));
    this.build();
  }

  build() {
    DATA.files.forEach((file, f) => {
      if (!file.lines.length) return;
      const head = element("div", "file-name", file.name);
      head.title = file.path;
      this.list.append(head);
      blocksOf(file.lines).forEach((lines, n) => {
        if (n) this.list.append(element("div", "gap", "\u22ef"));
        const filled = lines.filter(([, text]) => text.trim());
        const indent = Math.min(...filled.map(([, text]) => text.length - text.trimStart().length), LONGEST_INDENT);
        const rows = lines.map(([number, text, kinds]) => this.line(lineKey(f, number), number, text, kinds, indent));
        for (let k = 0; k < rows.length; k += TOGETHER) this.list.append(blockOf(rows.slice(k, k + TOGETHER)));
      });
    });
  }

  line(key, number, text, kinds, indent) {
    const row = element("div", "line");
    row.key = key;
    const code = element("code");
    let at = indent;
    for (const [start, stop, kind] of kinds) {
      code.append(text.slice(at, start), element("span", `t-${kind}`, text.slice(Math.max(start, at), stop)));
      at = stop;
    }
    code.append(text.slice(at));
    const gutter = element("span", "gutter");
    gutter.append(element("span", "number", String(number)), element("span", "amount"), element("span", "heat", null, element("i")));
    row.append(gutter, code);
    this.rows.set(key, row);
    return row;
  }

  // Show what lines cost in a state.
  load(state, program) {
    this.totals = lineTotals(state, program);
    this.tabs.replaceChildren();
    const given = Object.keys(METRICS).filter((m) => m === "flops" || m === "bytes" || [...this.totals.values()].some((t) => t[m] > 0));
    if (!given.includes(this.metric)) this.metric = "bytes";
    for (const metric of given) {
      const choice = button("", METRICS[metric].title, METRICS[metric].hint, () => {
        this.metric = metric;
        this.load(state, program);
      });
      choice.setAttribute("aria-pressed", String(metric === this.metric));
      this.tabs.append(choice);
    }
    const most = Math.max(...[...this.totals.values()].map((t) => t[this.metric]), 1e-12);
    for (const [key, row] of this.rows) this.fill(row, this.totals.get(key), most);
  }

  fill(row, total, most) {
    const [, amount, heat] = row.firstChild.children;
    const bar = heat.firstChild;
    row.classList.toggle("live", Boolean(total));
    const value = total ? total[this.metric] : 0;
    bar.style.width = value ? `${Math.max(4, (100 * value) / most)}%` : "0";
    bar.style.opacity = String(0.35 + 0.65 * Math.sqrt(value / most));
    amount.textContent = value ? (total.sure || this.metric === "kept" ? "" : "\u2265") + metricText(this.metric, value) : "";
    row.title = total ? this.told(total) : "";
  }

  told(total) {
    const least = total.sure ? "" : "at least ";
    const parts = [plural(total.count, "equation"), `${least}${compact(total.flops, "flop")}`, `${least}${compact(total.bytes, "B")} read and written`];
    if (total.kept) parts.push(`${compact(total.kept, "B")} kept for the way back`);
    if (total.time) parts.push(`${seconds(total.time)} measured`);
    return parts.join("\n");
  }

  clicked(event) {
    const row = event.target.closest(".line");
    if (row && !String(getSelection())) this.app.choose({ line: row.key });
  }

  mark(lines, name, scroll) {
    this.list.querySelectorAll(`.${name}`).forEach((row) => row.classList.remove(name));
    for (const key of lines) this.rows.get(key)?.classList.add(name);
    const first = scroll && lines.length ? this.rows.get(lines[0]) : null;
    if (first) first.scrollIntoView({ block: "nearest" });
  }
}
