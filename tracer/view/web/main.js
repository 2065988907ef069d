// The page: what is shown, what is chosen, and the parts that show it.

class App {
  constructor() {
    this.chosen = {};
    this.tab = "chosen";
    this.states = new Map();
    this.help = helpDialog();
    this.search = new Search(this);
    this.source = new SourcePane(this);
    this.passes = new PassBar(this);
    this.graph = new Graph(this);
    this.build();
    const asked = DATA.programs.map((p) => p.asked !== false).lastIndexOf(true);
    this.showProgram(asked < 0 ? DATA.programs.length - 1 : asked);
    listenToKeys(this);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.graph.painter.soon());
  }

  build() {
    const head = element("header", "head");
    const title = element("h1", "", DATA.title);
    title.title = DATA.title;
    this.programTabs = element("div", "choice programs");
    DATA.programs.forEach((program, n) => this.programTabs.append(button("", program.name, "", () => this.showProgram(n))));
    this.programTabs.hidden = DATA.programs.length < 2;
    const tools = element("div", "tools");
    tools.append(button("tool", "\u25d0", "Light or dark (t)", () => this.turnTheme()), button("tool", "?", "Keys (?)", () => this.help.showModal()));
    head.append(title, this.programTabs, this.search.box, tools);
    this.drawerTabs = element("div", "choice");
    this.drawerBody = element("div", "drawer-body");
    const drawer = element("section", "pane drawer");
    drawer.append(element("div", "pane-head", null, this.drawerTabs), this.drawerBody);
    this.passes.zooms.append(
      button("tool", "\u2212", "Zoom out (-)", () => this.graph.zoom(1 / 1.2)),
      button("tool", "+", "Zoom in (+)", () => this.graph.zoom(1.2)),
      button("tool", "fit", "Zoom to fit (0)", () => this.graph.fit()),
      button("tool", "fold all", "Fold all (c)", () => this.graph.foldAll()),
      button("tool", "unfold all", "Unfold all (e)", () => this.graph.unfoldAll()),
    );
    const graph = element("section", "pane graph-pane", null, this.passes.bar, element("div", "graph-hold", null, this.graph.pane));
    document.body.append(head, splitPanes(this.source.pane, graph, drawer), this.help);
  }

  // -- what is shown -------------------------------------------------------------------------------
  showProgram(n) {
    this.program = DATA.programs[n];
    [...this.programTabs.children].forEach((tab, k) => tab.setAttribute("aria-pressed", String(k === n)));
    this.passes.load(this.program);
    this.chosen = {};
    this.showState(this.program.states.length - 1);
  }

  showState(n) {
    const { states } = this.program;
    this.at = Math.min(states.length - 1, Math.max(0, n));
    let known = this.at;
    while (states[known].func === undefined) known -= 1;
    const row = states[known];
    this.row = states[this.at];
    if (!this.states.has(row)) this.states.set(row, new State(row));
    this.state = this.states.get(row);
    this.state.row = this.row;
    if (this.chosen.eqn !== undefined && !this.state.homes.has(this.chosen.eqn)) this.chosen = {};
    this.passes.show(this.at);
    this.source.load(this.state, this.program);
    this.graph.load(this.program, this.state);
    this.choose(this.chosen, false);
  }

  turnTheme() {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    this.graph.painter.soon();
  }

  // -- what is chosen ------------------------------------------------------------------------------
  // chosen: {eqn} or {line} or {value, func}; go: whether the graph goes there.
  choose(chosen, go = true) {
    this.chosen = chosen;
    const first = chosen.eqn ?? (chosen.line && (this.state.byLine.get(chosen.line) || [])[0]);
    if (go && first !== undefined) this.graph.reveal(first);
    this.graph.remark();
    const line = chosen.line || (chosen.eqn !== undefined ? EQUATIONS[chosen.eqn].lineKey : null);
    this.source.mark(line ? [line] : [], "chosen", true);
    if (chosen.eqn !== undefined || chosen.line || chosen.value !== undefined) this.tab = "chosen";
    this.showDrawer();
  }

  hover(id) {
    const line = id === null || id === undefined ? null : EQUATIONS[id].lineKey;
    this.source.mark(line ? [line] : [], "hovered", false);
  }

  // The equations that have to do with what is chosen, by how.
  relatives() {
    const { eqn, line, value, func } = this.chosen;
    if (eqn !== undefined && this.state.homes.has(eqn)) {
      return { chosen: [eqn], operand: this.state.operands(eqn), reader: this.state.readers(eqn), adjoint: this.state.adjoints(eqn) };
    }
    if (line) return { chosen: this.state.byLine.get(line) || [] };
    if (value !== undefined) {
      const token = func.maker.get(value);
      return { reader: func.uses.filter(([t, r]) => t === token && r < func.eqns.length).map(([, r]) => func.eqns[r]) };
    }
    return {};
  }

  step(by) {
    const { order } = this.state;
    const at = this.chosen.eqn === undefined ? (by > 0 ? -1 : 0) : order.indexOf(this.chosen.eqn);
    this.choose({ eqn: order[(at + by + order.length) % order.length] });
  }

  toggleChosen() {
    const box = this.graph.seen.get(this.chosen.eqn);
    if (box) this.graph.toggle(box);
  }

  // -- the drawer ----------------------------------------------------------------------------------
  showDrawer() {
    const tabs = { chosen: "Chosen", changes: "Changes", traces: "Traces", times: "Times" };
    this.drawerTabs.replaceChildren();
    for (const [name, title] of Object.entries(tabs)) {
      const tab = button("", title, "", () => {
        this.tab = name;
        this.showDrawer();
      });
      tab.setAttribute("aria-pressed", String(name === this.tab));
      this.drawerTabs.append(tab);
    }
    this.drawerBody.replaceChildren(this.drawerContent());
    this.drawerBody.scrollTop = 0;
  }

  drawerContent() {
    if (this.tab === "changes") return changeList(this, this.row);
    if (this.tab === "traces") return traceTree(this);
    if (this.tab === "times") return timeline(this);
    if (this.chosen.eqn !== undefined) return equationDetail(this, this.chosen.eqn);
    if (this.chosen.line) return lineDetail(this, this.chosen.line);
    if (this.chosen.value !== undefined) return parameterDetail(this, this.chosen);
    return this.overview();
  }

  overview() {
    const made = element("div", "detail");
    const total = sumOf(this.state.order, this.state);
    const kept = this.program.kept.reduce((sum, [, , size]) => sum + size, 0);
    made.append(element("h3", "first-heading", this.program.name));
    made.append(facts([
      ["equations", String(total.count)],
      ["work", compact(total.flops, "flop")],
      ["traffic", compact(total.bytes, "B")],
      ["kept", kept ? `${compact(kept, "B")} for the way back` : null],
    ]));
    made.append(element("h3", "", "Dearest lines"));
    const lines = [...this.source.totals].filter(([, sum]) => sum.bytes).sort(([, a], [, b]) => b.bytes - a.bytes).slice(0, 8);
    for (const [key, sum] of lines) {
      const place = key.split(":").map(Number);
      const row = button("row", null, lineText(place) || "", () => this.choose({ line: key }));
      row.append(element("span", "row-op", lineText(place) || placeText(place)), element("span", "row-place", compact(sum.bytes, "B")));
      made.append(row);
    }
    made.append(element("p", "quiet", "Click a box or a line. Press ? for keys."));
    return made;
  }

  equationRow(id) {
    const eqn = EQUATIONS[id];
    const home = this.state.homes.get(id);
    const made = button("row", null, home ? equationText(home.func, eqn) : eqn.op, () => this.choose({ eqn: id }));
    const name = home && eqn.results.length ? `${resultText(home.func, eqn)} = ` : "";
    made.append(element("span", "row-op", `${name}${eqn.op}`), element("span", "row-type", typesText(eqn)), element("span", "row-place", `${eqn.mark ? `${eqn.mark} ` : ""}${shortPlace(eqn.place)}`));
    return made;
  }
}

const APP = new App();
document.documentElement.dataset.ready = "true";
