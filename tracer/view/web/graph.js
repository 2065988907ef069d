// The pane of the graph: what a box looks like, folding, choosing, zooming.

const FIRST = { most: 36, sides: 60 }; // boxes that are seen at first

class Graph {
  constructor(app) {
    this.app = app;
    this.pane = element("div", "graph-scroll");
    this.pane.tabIndex = 0;
    this.painter = new Painter(this.pane);
    this.opened = new Map(); // program -> keys of open boxes
    this.pane.addEventListener("click", (event) => this.clicked(event));
    this.pane.addEventListener("dblclick", (event) => this.toggleAt(event));
    this.pane.addEventListener("mouseover", (event) => this.hovered(event));
    this.pane.addEventListener("mouseleave", () => this.app.hover(null));
    this.pane.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
  }

  load(program, state) {
    const known = this.opened.get(program) || { open: new Set(), shown: new Map(), fresh: true };
    this.opened.set(program, known);
    this.forest = new Forest(state, known.open, known.shown);
    if (known.fresh) this.forest.openFew(FIRST.most, FIRST.sides);
    this.largest = Math.max(1, ...state.order.map((id) => METRICS.bytes.of(EQUATIONS[id]) * state.homes.get(id).times));
    this.lay();
    if (known.fresh) this.fit();
    known.fresh = false;
  }

  lay() {
    place(this.forest.root);
    this.forest.root.x = this.forest.root.y = 12;
    this.seen = new Map();
    this.noteSeen(this.forest.root);
    this.painter.show(this.forest.root, (box) => this.dress(box));
    this.remark();
  }

  // Which box stands for each equation on screen: its own, or a folded one around it.
  noteSeen(box) {
    if (box.kind === "eqn" && box.isOpen) this.seen.set(box.eqn.id, box);
    if (box.isOpen) {
      if (box.kind === "alike") for (const id of equationsIn(box)) this.seen.set(id, box);
      box.children.forEach((child) => this.noteSeen(child));
    } else if (box.kind !== "param" && box.kind !== "return") {
      for (const id of equationsIn(box)) this.seen.set(id, box);
    }
  }

  // -- what boxes look like ------------------------------------------------------------------------
  dress(box) {
    if (box.isOpen) return this.dressOpen(box);
    const { first, second } = captionOf(box);
    const made = element("div");
    const kind = box.kind === "eqn" ? box.eqn.side : box.kind;
    made.dataset.base = `node ${box.kind === "eqn" ? "is-equation" : "is-group"} kind-${kind}${box.folds ? " folds" : ""}`;
    const head = element("div", "first");
    if (box.folds) head.append(this.handle(box, "\u25b8", "Unfold"));
    head.append(element("span", "word", first));
    made.append(head);
    if (second) made.append(element("div", "second", second));
    made.title = box.kind === "eqn" ? equationText(box.func, box.eqn) : first;
    if (box.kind === "eqn") {
      const times = this.forest.state.homes.get(box.eqn.id)?.times ?? 1;
      const share = (METRICS.bytes.of(box.eqn) * times) / this.largest;
      if (share > 0.02) made.append(this.heat(share));
    }
    return made;
  }

  heat(share) {
    const bar = element("div", "node-heat");
    bar.style.width = `${Math.max(3, share * 100)}%`;
    return bar;
  }

  dressOpen(box) {
    if (!hasTitle(box)) return null;
    const made = element("div");
    made.dataset.base = `frame-title kind-${box.kind}`;
    if (box.folds) made.append(this.handle(box, "\u25be", "Fold"));
    made.append(element("span", "word", captionOf(box).first));
    if (box.kind === "eqn") made.append(element("span", "second", captionOf(box).second));
    if (box.kind === "alike") made.append(this.stepper(box));
    made.title = captionOf(box).first;
    return made;
  }

  handle(box, sign, title) {
    return button("handle", sign, title, (event) => {
      event.stopPropagation();
      this.toggle(box);
    });
  }

  stepper(box) {
    const count = box.group.copies.length;
    const now = this.forest.shown.get(box.key) || 0;
    const step = (by) => () => {
      this.forest.shown.set(box.key, (now + by + count) % count);
      box.made = null;
      this.lay();
    };
    const made = element("span", "stepper");
    made.append(button("", "\u2039", "The one before", step(-1)));
    made.append(element("span", "", `${now + 1} of ${count}`), button("", "\u203a", "The next one", step(1)));
    return made;
  }

  // -- folding -------------------------------------------------------------------------------------
  toggle(box) {
    if (!box.folds) return;
    const before = absolute(box);
    if (!this.forest.open.delete(box.key)) this.forest.open.add(box.key);
    this.lay();
    const after = absolute(box);
    this.pane.scrollLeft += (after.x - before.x) * this.painter.scale;
    this.pane.scrollTop += (after.y - before.y) * this.painter.scale;
  }

  foldAll() {
    this.forest.open.clear();
    this.forest.openFew(1);
    this.lay();
    this.pane.scrollTo(0, 0);
  }

  unfoldAll() {
    this.forest.openAll();
    this.lay();
    const first = this.seen.get(this.app.chosen.eqn ?? this.app.state.order[0]);
    if (first) this.centre(first);
  }

  reveal(id) {
    const way = this.forest.wayTo(id, true);
    if (!way) return;
    this.lay();
    const box = this.seen.get(id);
    if (box) this.centre(box);
  }

  centre(box) {
    const { x, y } = absolute(box);
    const { scale } = this.painter;
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = this.pane;
    const [left, top] = [x * scale, y * scale];
    const room = 40;
    const out = left < scrollLeft + room || top < scrollTop + room;
    if (!out && left + box.w * scale < scrollLeft + clientWidth - room && top + 40 < scrollTop + clientHeight - room) return;
    this.pane.scrollTo(left - clientWidth / 2 + (box.w * scale) / 2, top - clientHeight / 2 + 20);
  }

  // -- choosing ------------------------------------------------------------------------------------
  boxAt(event) {
    for (let at = event.target; at && at !== this.pane; at = at.parentElement) if (at.box) return at.box;
    return null;
  }

  clicked(event) {
    const box = this.boxAt(event);
    if (String(getSelection()) && box) return;
    if (!box) this.app.choose({});
    else if (box.kind === "eqn") this.app.choose({ eqn: box.eqn.id }, false);
    else if (box.folds && !box.isOpen) this.toggle(box);
    else if (box.kind === "param") this.app.choose({ value: box.value, func: box.func }, false);
  }

  toggleAt(event) {
    const box = this.boxAt(event);
    if (box && box.folds && box.kind === "eqn") this.toggle(box);
  }

  hovered(event) {
    const box = this.boxAt(event);
    this.app.hover(box && box.kind === "eqn" ? box.eqn.id : null);
  }

  remark() {
    const marks = new Map();
    const put = (ids, name) => {
      for (const id of ids) {
        const box = this.seen.get(id);
        if (box) marks.set(box, `${marks.get(box) || ""} ${box.kind === "eqn" && box.eqn.id === id ? name : `holds-${name}`}`);
      }
    };
    const row = this.forest.state.row;
    put(row.added || [], "added");
    put(row.altered || [], "altered");
    const relatives = this.app.relatives();
    for (const [name, ids] of Object.entries(relatives)) put(ids, name);
    this.painter.mark(marks);
  }

  // -- zooming -------------------------------------------------------------------------------------
  wheeled(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }

  zoom(by, x = this.pane.clientWidth / 2, y = this.pane.clientHeight / 2) {
    this.zoomTo(this.painter.scale * by, x, y);
  }

  zoomTo(wanted, x = 0, y = 0) {
    const before = this.painter.scale;
    this.painter.scale = Math.min(2, Math.max(0.15, wanted));
    const ratio = this.painter.scale / before;
    const [left, top] = [(this.pane.scrollLeft + x) * ratio - x, (this.pane.scrollTop + y) * ratio - y];
    this.painter.resize();
    this.pane.scrollTo(left, top);
  }

  fit() {
    const room = this.pane.clientWidth - 24;
    this.zoomTo(Math.min(1, Math.max(0.7, room / this.forest.root.w)));
    const spare = this.forest.root.w * this.painter.scale - room;
    this.pane.scrollTo(this.forest.root.group.k === "sides" ? 0 : Math.max(0, spare / 2), 0);
  }
}

// All equations in a box, those in regions too.
function equationsIn(box) {
  if (box.every) return box.every;
  const found = [];
  const visit = (func, tokens) => {
    for (const token of tokens) {
      if (token < 0 || token >= func.eqns.length) continue;
      found.push(func.eqns[token]);
      for (const region of EQUATIONS[func.eqns[token]].regions) {
        const inner = Func.get(region.func);
        visit(inner, inner.eqns.keys());
      }
    }
  };
  visit(box.func, box.tokens);
  box.every = found;
  return found;
}
