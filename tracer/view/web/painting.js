// What is seen of the graph: boxes as elements, those on screen alone; frames of open boxes and edges on a canvas below.

const MARGIN = 200; // pixels around the screen in which boxes are kept

class Painter {
  constructor(pane) {
    this.pane = pane;
    this.canvas = element("canvas", "edges");
    this.room = element("div", "room");
    this.nodes = element("div", "nodes");
    this.room.append(this.nodes);
    pane.append(this.canvas, this.room);
    this.elements = new Map();
    this.boxes = [];
    this.wires = [];
    this.scale = 1;
    this.marks = new Map(); // box -> classes
    this.pending = false;
    pane.addEventListener("scroll", () => this.soon());
    new ResizeObserver(() => this.soon()).observe(pane);
  }

  // All boxes that are seen at all, with their places, after a layout of `root`.
  show(root, dress) {
    this.boxes = [];
    const visit = (box, x, y) => {
      const at = { box, x: x + box.x, y: y + box.y };
      this.boxes.push(at);
      if (box.isOpen) box.children.forEach((child) => visit(child, at.x, at.y));
    };
    visit(root, 0, 0);
    this.root = root;
    this.wires = wiresOf(root).map((wire) => Object.assign(wire, bounds(wire.points)));
    this.dress = dress;
    this.elements.forEach((made) => made.remove());
    this.elements.clear();
    this.resize();
  }

  resize() {
    this.room.style.width = `${this.root.w * this.scale + 40}px`;
    this.room.style.height = `${this.root.h * this.scale + 40}px`;
    this.nodes.style.transform = `scale(${this.scale})`;
    this.soon();
  }

  mark(marks) {
    this.marks = marks;
    this.elements.forEach((made, box) => this.classes(made, box));
    this.soon();
  }

  soon() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.pane;
    const view = {
      left: (scrollLeft - MARGIN) / this.scale,
      top: (scrollTop - MARGIN) / this.scale,
      right: (scrollLeft + clientWidth + MARGIN) / this.scale,
      bottom: (scrollTop + clientHeight + MARGIN) / this.scale,
    };
    const inside = (x, y, w, h) => x < view.right && x + w > view.left && y < view.bottom && y + h > view.top;
    const seen = this.boxes.filter(({ box, x, y }) => inside(x, y, box.w, box.h));
    const kept = new Set(seen.map(({ box }) => box));
    for (const [box, made] of this.elements) {
      if (!kept.has(box)) {
        made.remove();
        this.elements.delete(box);
      }
    }
    for (const at of seen) if (!this.elements.has(at.box)) this.raise(at);
    this.draw(seen.filter(({ box }) => box.isOpen), (wire) => inside(wire.left, wire.top, wire.right - wire.left, wire.bottom - wire.top));
  }

  raise({ box, x, y }) {
    const made = this.dress(box);
    if (!made) return;
    made.style.left = `${x}px`;
    made.style.top = `${y}px`;
    made.style.width = `${box.w}px`;
    if (!box.isOpen) made.style.height = `${box.h}px`;
    made.box = box;
    this.classes(made, box);
    this.elements.set(box, made);
    this.nodes.append(made);
  }

  classes(made, box) {
    made.className = `${made.dataset.base} ${this.marks.get(box) || ""}`;
  }

  draw(frames, isSeen) {
    const { clientWidth: w, clientHeight: h, scrollLeft, scrollTop } = this.pane;
    const sharp = window.devicePixelRatio || 1;
    if (this.canvas.width !== w * sharp || this.canvas.height !== h * sharp) {
      this.canvas.width = w * sharp;
      this.canvas.height = h * sharp;
      this.canvas.style.width = `${w}px`;
      this.canvas.style.height = `${h}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const known = {};
    const colour = (name) => (known[name] ??= style.getPropertyValue(`--${name}`).trim());
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const scale = this.scale * sharp;
    pen.setTransform(scale, 0, 0, scale, -scrollLeft * sharp, -scrollTop * sharp);
    frames.forEach(({ box, x, y }) => this.frame(pen, box, x, y, colour));
    const lit = [];
    pen.lineWidth = 1;
    for (const wire of this.wires.filter(isSeen)) {
      const mark = this.wireMark(wire);
      if (mark) lit.push([wire, mark]);
      else {
        pen.strokeStyle = colour(wire.quiet ? "wire-quiet" : wire.points.sideways ? "wire-across" : "wire");
        curve(pen, wire.points);
      }
    }
    pen.lineWidth = 1.8;
    for (const [wire, mark] of lit) {
      pen.strokeStyle = pen.fillStyle = colour(mark);
      curve(pen, wire.points);
      arrow(pen, wire.points);
    }
  }

  frame(pen, box, x, y, colour) {
    if (box.parent === null || box.kind === "copy") return;
    if (box.kind === "function" && !hasTitle(box)) return;
    pen.beginPath();
    pen.roundRect(x + 0.5, y + 0.5, box.w - 1, box.h - 1, 8);
    pen.fillStyle = colour(`frame-${box.kind in SIDES ? box.kind : "plain"}`);
    pen.fill();
    pen.strokeStyle = colour("frame-line");
    pen.lineWidth = 1;
    pen.stroke();
  }

  wireMark(wire) {
    const [a, b] = [this.marks.get(wire.a) || "", this.marks.get(wire.b) || ""];
    if (a.includes("chosen")) return "reader";
    if (b.includes("chosen")) return "operand";
    return "";
  }
}

function bounds(points) {
  const xs = points.map((p) => p.x);
  const ys = points.map((p) => p.y);
  return { left: Math.min(...xs), right: Math.max(...xs) + 1, top: Math.min(...ys), bottom: Math.max(...ys) + 1 };
}

function curve(pen, points) {
  pen.beginPath();
  pen.moveTo(points[0].x, points[0].y);
  for (let k = 1; k < points.length; k += 1) {
    const [p, q] = [points[k - 1], points[k]];
    if (points.sideways) pen.bezierCurveTo((p.x + q.x) / 2, p.y, (p.x + q.x) / 2, q.y, q.x, q.y);
    else pen.bezierCurveTo(p.x, (p.y + q.y) / 2, q.x, (p.y + q.y) / 2, q.x, q.y);
  }
  pen.stroke();
}

function arrow(pen, points) {
  const [p, q] = [points[points.length - 2], points[points.length - 1]];
  const turn = points.sideways ? (q.x > p.x ? 0 : Math.PI) : q.y > p.y ? Math.PI / 2 : -Math.PI / 2;
  pen.save();
  pen.translate(q.x, q.y);
  pen.rotate(turn);
  pen.beginPath();
  pen.moveTo(0, 0);
  pen.lineTo(-7, 3.5);
  pen.lineTo(-7, -3.5);
  pen.fill();
  pen.restore();
}
