// Boxes that fold: a function's equations in the groups that were made of them, regions inside their equations.

class Box {
  constructor(kind, parent, key, parts) {
    this.kind = kind; // eqn, param, return, function, or the kind of a group
    this.parent = parent;
    this.key = key;
    this.depth = parent ? parent.depth + 1 : 0;
    this.x = this.y = this.w = this.h = 0; // relative to the parent
    Object.assign(this, parts);
  }

  get folds() {
    return this.kind !== "param" && this.kind !== "return" && this.kind !== "function" && this.kind !== "copy" && !(this.kind === "eqn" && !this.eqn.regions.length);
  }

  get isOpen() {
    return this.kind === "function" || this.kind === "copy" || (this.folds && this.forest.open.has(this.key));
  }

  get children() {
    if (!this.made) this.made = this.forest.childrenOf(this);
    return this.made;
  }

  // Equations in a group, those of regions not among them.
  get tokens() {
    if (this.token !== undefined) return [this.token];
    if (!this.leaves) this.leaves = tokensIn(this.group);
    return this.leaves;
  }
}

const SIDES = { forward: 1, adjoint: 1, tangent: 1 };

function tokensIn(group) {
  return (group.copies || group.c).flatMap((child) => (typeof child === "number" ? [child] : tokensIn(child)));
}

// All boxes of one state, and which are open; the same boxes are open in the next state.
class Forest {
  constructor(state, open, shown) {
    this.state = state;
    this.open = open;
    this.shown = shown; // key of an alike box -> which copy is shown
    this.root = this.functionBox(null, state.root, "", "");
  }

  functionBox(parent, func, label, key) {
    return new Box("function", parent, key, { forest: this, func, group: func.groups, label, layout: func.groups });
  }

  childrenOf(box) {
    if (box.kind === "eqn") {
      return box.eqn.regions.map((r) => this.functionBox(box, Func.get(r.func), r.label, `${box.key}/${r.label}`));
    }
    if (box.kind === "alike") return [this.copyBox(box)];
    const counts = new Map();
    return box.group.c.map((child) => this.childBox(box, child, counts));
  }

  copyBox(box) {
    const n = Math.min(this.shown.get(box.key) || 0, box.group.copies.length - 1);
    const group = box.group.copies[n];
    return new Box("copy", box, `${box.key}/copy`, { forest: this, func: box.func, group, copy: n, flipped: box.flipped });
  }

  childBox(parent, child, counts) {
    const func = parent.func;
    const flipped = parent.flipped || false;
    const numbered = (name) => {
      counts.set(name, (counts.get(name) ?? -1) + 1);
      return `${parent.key}/${name}#${counts.get(name)}`;
    };
    if (typeof child !== "number") {
      const at = { forest: this, func, group: child, flipped: child.k === "adjoint" ? true : flipped };
      return new Box(child.k, parent, numbered(`${child.k} ${child.t}`), at);
    }
    if (child < 0) {
      return new Box("param", parent, numbered("param"), { forest: this, func, token: child, value: func.params[-1 - child], flipped });
    }
    if (child === func.eqns.length) {
      return new Box("return", parent, numbered("return"), { forest: this, func, token: child, flipped });
    }
    const eqn = EQUATIONS[func.eqns[child]];
    return new Box("eqn", parent, numbered(`${eqn.op}@${eqn.placeNumber}`), { forest: this, func, token: child, eqn, flipped });
  }

  // The boxes from the root to an equation; `reveal` opens them.
  wayTo(id, reveal = false) {
    const home = this.state.homes.get(id);
    if (!home) return null;
    let box = this.root;
    if (home.outer !== null) {
      const way = this.wayTo(home.outer, reveal);
      const outer = way[way.length - 1];
      if (reveal) this.open.add(outer.key);
      box = outer.children.find((child) => child.label === home.label && child.func === home.func) || outer.children[0];
    }
    const way = [box];
    while (!(box.kind === "eqn" && box.token === home.token)) {
      if (box.kind === "alike") this.showCopy(box, home.token, reveal);
      const next = box.children.find((child) => child.tokens.includes(home.token));
      if (!next) break;
      if (reveal && next.kind !== "eqn" && next.folds) this.open.add(next.key);
      way.push(next);
      box = next;
    }
    return way;
  }

  showCopy(box, token, reveal) {
    const n = box.group.copies.findIndex((copy) => tokensIn(copy).includes(token));
    if (n >= 0 && reveal && n !== (this.shown.get(box.key) || 0)) {
      this.shown.set(box.key, n);
      box.made = null;
    }
  }

  // Open boxes from the root as long as there is room on a screen; what is open already stays.
  openFew(most, sides = most) {
    const queue = [this.root];
    let visible = 0;
    while (queue.length) {
      const box = queue.shift();
      if (!box.isOpen) {
        const more = box.folds ? childCount(box) : 0;
        if (!more || visible + more > (box.kind in SIDES ? sides : most)) continue;
        this.open.add(box.key);
      }
      visible += box.children.length;
      queue.push(...box.children);
    }
  }

  openAll() {
    const queue = [this.root];
    while (queue.length) {
      const box = queue.pop();
      if (box.folds) this.open.add(box.key);
      if (box.isOpen) queue.push(...box.children);
    }
  }
}

function childCount(box) {
  if (box.kind === "eqn") return box.eqn.regions.reduce((n, r) => n + DATA.funcs[r.func].groups.c.length, 0);
  return box.group.copies ? box.group.copies[0].c.length : box.group.c.length;
}
