// The tables of the page as objects: equations, functions, and the states of programs.

const DATA = JSON.parse(document.getElementById("data").textContent);
const TEXTS = DATA.texts;

class Equation {
  constructor(id, [op, attrs, operands, results, place, mark, regions, cost]) {
    this.id = id;
    this.op = TEXTS[op];
    this.attrs = TEXTS[attrs];
    this.operands = operands;
    this.results = results;
    this.place = place < 0 ? null : DATA.places[place];
    this.placeNumber = place;
    this.mark = TEXTS[mark];
    this.regions = regions.map(([label, func, trips]) => ({ label: TEXTS[label], func, trips }));
    [this.flops, this.read, this.written, this.known] = cost;
  }

  get side() {
    return { "": "forward", vjp: "adjoint", jvp: "tangent" }[this.mark] || "forward";
  }

  get lineKey() {
    return this.place ? lineKey(this.place[0], this.place[1]) : null;
  }
}

const EQUATIONS = DATA.eqns.map((row, id) => new Equation(id, row));

function typeOf(value) {
  return TEXTS[DATA.values[value][0]];
}

function lineKey(file, line) {
  return `${file}:${line}`;
}

function placeText(place) {
  if (!place) return "of no line";
  return DATA.files.length === 1 ? `line ${place[1]}` : `${DATA.files[place[0]].name}:${place[1]}`;
}

function shortPlace(place) {
  if (!place) return "";
  return DATA.files.length === 1 ? `:${place[1]}` : placeText(place);
}

// A function, with who makes and who reads each of its values; made when first asked for.
class Func {
  constructor(id) {
    Object.assign(this, DATA.funcs[id]);
    this.id = id;
    this.maker = new Map(); // value -> token: the number of an equation here, or -1 - n for parameter n
    this.params.forEach((value, n) => this.maker.set(value, -1 - n));
    this.eqns.forEach((e, n) => EQUATIONS[e].results.forEach((value) => this.maker.set(value, n)));
    this.uses = []; // [token that makes, token that reads, value]
    const use = (value, reader) => {
      if (value >= 0 && this.maker.has(value)) this.uses.push([this.maker.get(value), reader, value]);
    };
    this.eqns.forEach((e, n) => EQUATIONS[e].operands.forEach((value) => use(value, n)));
    this.results.forEach((value) => use(value, this.eqns.length));
  }

  static known = new Map();

  static get(id) {
    if (!Func.known.has(id)) Func.known.set(id, new Func(id));
    return Func.known.get(id);
  }
}

// One state of a program: where each of its equations stands, and how often it runs.
class State {
  constructor(row) {
    this.row = row;
    this.root = Func.get(row.func);
    this.homes = new Map(); // equation -> {func, token, outer: the equation whose region this is, label, times, sure}
    this.byPlace = new Map(); // number of a place -> equations
    this.byLine = new Map();
    this.order = [];
    this.at = new Map(); // equation -> its number in that order
    this.visit(this.root, null, "", 1, true);
  }

  visit(func, outer, label, times, sure) {
    func.eqns.forEach((id, token) => {
      const eqn = EQUATIONS[id];
      const known = this.homes.get(id);
      if (known) {
        known.times += times;
      } else {
        this.homes.set(id, { func, token, outer, label, times, sure });
        this.at.set(id, this.order.length);
        this.order.push(id);
        add(this.byPlace, eqn.placeNumber, id);
        if (eqn.place) add(this.byLine, eqn.lineKey, id);
      }
      for (const region of eqn.regions) {
        const trips = region.trips === null ? 1 : region.trips;
        this.visit(Func.get(region.func), id, region.label, times * trips, sure && region.trips !== null);
      }
    });
  }

  // The equations derived from an equation, or those that it is derived from: of one place in the source. Where that has
  // run several times, the last run is the first that the adjoint comes to.
  adjoints(id) {
    const eqn = EQUATIONS[id];
    if (eqn.placeNumber < 0) return [];
    const all = this.byPlace.get(eqn.placeNumber);
    const own = runsOf(all.filter((x) => (EQUATIONS[x].mark === "") === (eqn.mark === "")), this.at);
    const others = runsOf(all.filter((x) => (EQUATIONS[x].mark === "") !== (eqn.mark === "")), this.at);
    const [few, many] = own.length < others.length ? [own, others] : [others, own];
    if (!few.length || many.length % few.length) return others.flat();
    const share = many.length / few.length;
    const n = own.findIndex((run) => run.includes(id));
    const back = EQUATIONS[(eqn.mark === "" ? others : own)[0][0]].mark === "vjp";
    const turned = (k, count) => (back ? count - 1 - k : k);
    if (own === few) {
      const first = turned(n, few.length) * share;
      return others.slice(first, first + share).flat();
    }
    return others[turned(Math.floor(n / share), few.length)];
  }

  operands(id) {
    const home = this.homes.get(id);
    const found = EQUATIONS[id].operands.filter((v) => v >= 0 && home.func.maker.get(v) >= 0);
    return [...new Set(found.map((v) => home.func.eqns[home.func.maker.get(v)]))];
  }

  readers(id) {
    const home = this.homes.get(id);
    const found = home.func.uses.filter(([made, reader]) => made === home.token && reader < home.func.eqns.length);
    return [...new Set(found.map(([, reader]) => home.func.eqns[reader]))];
  }
}

// Equations in runs that follow each other in the program.
function runsOf(ids, at) {
  const runs = [];
  for (const id of ids) {
    const last = runs[runs.length - 1];
    if (last && at.get(id) === at.get(last[last.length - 1]) + 1) last.push(id);
    else runs.push([id]);
  }
  return runs;
}

function add(map, key, item) {
  if (map.has(key)) map.get(key).push(item);
  else map.set(key, [item]);
}
