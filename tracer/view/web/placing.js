// Where boxes stand. Layers and the order within them come with the page; here follow coordinates, from the sizes that
// boxes have as they are folded now. Each layer is moved towards the means of its neighbours as far as the order and
// the room between boxes allow: the least squares by pooling adjacent violators (Barlow et al., Statistical inference
// under order restrictions, 1972).

const ROUNDS = 14;
const STRAIGHT = 6; // how much more a lane wishes to go on straight than a box does

function place(box) {
  box.lanes = null;
  if (!box.isOpen) {
    Object.assign(box, ownSize(box));
    return;
  }
  box.children.forEach(place);
  if (box.kind === "eqn") placeBeside(box);
  else if (box.kind === "alike") placeBeside(box);
  else if (box.group.k === "sides") placeSides(box);
  else placeLayers(box);
  const least = ownSize(box);
  box.w = Math.max(box.w, least.w);
}

function hasTitle(box) {
  return box.parent !== null && box.kind !== "copy" && !(box.kind === "function" && box.parent.eqn.regions.length === 1);
}

function insets(box) {
  const bare = box.parent !== null && !hasTitle(box);
  return { top: hasTitle(box) ? SIZE.title : bare ? 6 : SIZE.pad, side: bare ? 4 : SIZE.pad };
}

// Regions of an equation, next to each other.
function placeBeside(box) {
  const { top, side } = insets(box);
  let x = side;
  let low = 0;
  for (const child of box.children) {
    child.x = x;
    child.y = top;
    x += child.w + SIZE.gapX;
    low = Math.max(low, child.h);
  }
  box.w = x - SIZE.gapX + side;
  box.h = top + low + side;
}

// What the user wrote on the left, downwards; its adjoint on the right, upwards; parameters and results above.
function placeSides(box) {
  const { top, side } = insets(box);
  const isSide = (child) => child.kind in SIDES;
  const sides = box.children.filter(isSide);
  const heads = box.children.filter((child) => !isSide(child));
  let x = side;
  let high = 0;
  heads.forEach((child) => {
    child.x = x;
    child.y = top;
    x += child.w + SIZE.gapX;
    high = Math.max(high, child.h);
  });
  const right = x;
  const start = top + high + SIZE.gapY;
  const tall = Math.max(...sides.map((child) => child.h));
  x = side;
  sides.forEach((child) => {
    child.x = x;
    child.y = start + tall - child.h;
    x += child.w + SIZE.gapX * 2;
  });
  box.w = Math.max(x - SIZE.gapX * 2, right - SIZE.gapX) + side;
  box.h = start + tall + side;
  const last = heads.find((child) => child.kind === "return");
  if (last) last.x = Math.max(last.x, box.w - side - last.w);
}

function placeLayers(box) {
  const { top, side } = insets(box);
  const children = box.children;
  const items = box.group.l.map((layer) => layer.map((n) => laneOrBox(n, children)));
  link(box, items);
  solve(items);
  let y = top;
  const rows = box.flipped ? [...items].reverse() : items;
  for (const row of rows) {
    const tall = Math.max(...row.map((item) => item.h), 0);
    for (const item of row) item.y = y + (tall - item.h) / 2;
    y += tall + gapAfter(row);
  }
  const left = Math.min(...items.flat().map((item) => item.x - item.w / 2));
  let right = 0;
  box.lanes = new Map();
  for (const item of items.flat()) {
    const x = item.x - item.w / 2 - left + side;
    right = Math.max(right, x + item.w);
    if (item.box) Object.assign(item.box, { x, y: item.y });
    else add(box.lanes, item.edge, { x: x + item.w / 2, y: item.y });
  }
  box.w = right + side;
  box.h = y - gapAfter(rows[rows.length - 1] || []) + side;
}

function gapAfter(row) {
  return SIZE.gapY + Math.min(18, Math.max(0, row.length - 4) * 2);
}

function laneOrBox(n, children) {
  if (n < 0) return { edge: -1 - n, w: SIZE.lane, h: 0, x: 0, y: 0, up: [], down: [] };
  return { box: children[n], n, w: children[n].w, h: children[n].h, x: 0, y: 0, up: [], down: [] };
}

// Join the items of neighbouring layers that an edge passes.
function link(box, items) {
  const at = new Map();
  const lanes = new Map();
  items.forEach((layer) => layer.forEach((item) => (item.box ? at.set(item.n, item) : add(lanes, item.edge, item))));
  box.group.e.forEach(([a, b], e) => {
    const way = [at.get(a), ...(lanes.get(e) || []), at.get(b)];
    for (let k = 1; k < way.length; k += 1) {
      way[k - 1].down.push(way[k]);
      way[k].up.push(way[k - 1]);
    }
  });
}

function solve(items) {
  for (const layer of items) pack(layer, (item, k) => (k ? layer[k - 1].x + distance(layer[k - 1], item) : 0));
  for (let round = 0; round < ROUNDS; round += 1) {
    const down = round % 2 === 0;
    const order = down ? items : [...items].reverse();
    for (const layer of order) {
      const wish = layer.map((item) => {
        const near = down ? item.up : item.down;
        return near.length ? near.reduce((sum, x) => sum + x.x, 0) / near.length : item.x;
      });
      towards(layer, wish);
    }
  }
}

function pack(layer, at) {
  layer.forEach((item, k) => {
    item.x = at(item, k);
  });
}

function distance(a, b) {
  return (a.w + b.w) / 2 + (a.box && b.box ? SIZE.gapX : SIZE.lane);
}

// The x nearest to what is wished for that keep the order and the distances.
function towards(layer, wish) {
  let offset = 0;
  const blocks = [];
  layer.forEach((item, k) => {
    if (k) offset += distance(layer[k - 1], item);
    item.offset = offset;
    const weight = item.box ? 1 : STRAIGHT;
    let block = { sum: weight * (wish[k] - offset), count: weight, from: k };
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].count >= block.sum / block.count) {
      const before = blocks.pop();
      block = { sum: before.sum + block.sum, count: before.count + block.count, from: before.from };
    }
    blocks.push(block);
  });
  blocks.forEach((block, b) => {
    const end = b + 1 < blocks.length ? blocks[b + 1].from : layer.length;
    for (let k = block.from; k < end; k += 1) layer[k].x = block.sum / block.count + layer[k].offset;
  });
}
