// Edges between the boxes that are seen: each from who makes a value to who reads it, or to the folded boxes these are in.

const FAN = 8; // edges of one box from which on they are drawn faintly, until the box is chosen

function wiresOf(root) {
  const wires = [];
  const visit = (box) => {
    if (box.kind === "function") wires.push(...wiresWithin(box));
    if (box.isOpen) box.children.forEach(visit);
  };
  visit(root);
  return wires;
}

function wiresWithin(home) {
  const seen = new Map(); // token -> the innermost box that is seen
  const visit = (box) => {
    if (box.kind === "eqn" || box.token !== undefined) seen.set(box.token, box);
    else if (!box.isOpen) box.tokens.forEach((token) => seen.set(token, box));
    else {
      if (box.kind === "alike") tokensIn(box.group).forEach((token) => seen.set(token, box));
      box.children.forEach(visit);
    }
  };
  home.children.forEach(visit);
  const found = new Map();
  for (const [made, read, value] of home.func.uses) {
    const a = seen.get(made);
    const b = seen.get(read);
    if (!a || !b || holds(a, b) || holds(b, a)) continue; // such as a copy that is not shown, of the one that is
    const key = `${a.key}\n${b.key}`;
    if (found.has(key)) found.get(key).values.push(value);
    else found.set(key, { a, b, values: [value], points: wayBetween(a, b) });
  }
  const wires = [...found.values()];
  const many = new Map();
  for (const { a, b } of wires) for (const box of [a, b]) many.set(box, (many.get(box) || 0) + 1);
  for (const wire of wires) wire.quiet = many.get(wire.a) > FAN || (wire.b.kind === "return" && many.get(wire.b) > FAN);
  return wires;
}

function holds(outer, box) {
  for (let at = box; at; at = at.parent) if (at === outer) return true;
  return false;
}

function absolute(box) {
  let x = 0;
  let y = 0;
  for (let at = box; at; at = at.parent) {
    x += at.x;
    y += at.y;
  }
  return { x, y };
}

// The points that an edge passes: along the lanes kept free for it in the box that holds both ends.
function wayBetween(a, b) {
  const up = ancestors(a);
  const down = ancestors(b);
  let level = 0;
  while (up[level] === down[level]) level += 1;
  const outer = up[level - 1];
  const [from, to] = [up[level], down[level]];
  const flipped = outer.flipped || false;
  const corner = absolute(outer);
  if (outer.group && outer.group.k === "sides") return across(a, b);
  const points = [port(a, !flipped)];
  if (from !== a) points.push(edgeOf(from, points[0].x, !flipped));
  const index = outer.lanes ? outer.group.e.findIndex(([i, j]) => outer.children[i] === from && outer.children[j] === to) : -1;
  const lanes = index >= 0 ? outer.lanes.get(index) || [] : [];
  for (const lane of lanes) points.push({ x: corner.x + lane.x, y: corner.y + lane.y });
  const end = port(b, flipped);
  if (to !== b) points.push(edgeOf(to, end.x, flipped));
  points.push(end);
  return points;
}

function ancestors(box) {
  const way = [];
  for (let at = box; at; at = at.parent) way.unshift(at);
  return way;
}

function port(box, below) {
  const { x, y } = absolute(box);
  return { x: x + box.w / 2, y: below ? y + box.h : y };
}

function edgeOf(box, x, below) {
  const at = absolute(box);
  return { x: Math.min(Math.max(x, at.x + 8), at.x + box.w - 8), y: below ? at.y + box.h : at.y };
}

// From one side to the other, sideways; from parameters and to results, from above.
function across(a, b) {
  const [p, q] = [absolute(a), absolute(b)];
  const isHead = (box) => box.kind === "param" || box.kind === "parameters";
  if (isHead(a)) return [{ x: p.x + a.w / 2, y: p.y + a.h }, { x: q.x + b.w / 2, y: q.y }];
  if (b.kind === "return") return [{ x: p.x + a.w / 2, y: p.y }, { x: q.x + b.w / 2, y: q.y + b.h }];
  const right = q.x > p.x;
  const way = [{ x: right ? p.x + a.w : p.x, y: p.y + a.h / 2 }, { x: right ? q.x : q.x + b.w, y: q.y + b.h / 2 }];
  way.sideways = true;
  return way;
}
