// Names of values and the text of equations, as the compiler prints them.

const NAMES = new Map(); // function -> value -> name

function namesOf(func) {
  if (NAMES.has(func.id)) return NAMES.get(func.id);
  const names = new Map();
  const taken = new Set();
  let count = 0;
  const bind = (value) => {
    const hint = DATA.values[value][1];
    let name = hint < 0 ? String(count++) : TEXTS[hint];
    for (let n = 1; hint >= 0 && taken.has(name); n += 1) name = `${TEXTS[hint]}.${n}`;
    taken.add(name);
    names.set(value, name);
  };
  func.params.forEach(bind);
  func.eqns.forEach((e) => EQUATIONS[e].results.forEach(bind));
  NAMES.set(func.id, names);
  return names;
}

function operandText(func, operand) {
  return operand < 0 ? TEXTS[-1 - operand] : `%${namesOf(func).get(operand) ?? "?"}`;
}

function resultText(func, eqn) {
  return eqn.results.map((value) => `%${namesOf(func).get(value)}`).join(", ");
}

function typesText(eqn) {
  return eqn.results.map(typeOf).join(", ");
}

function equationText(func, eqn) {
  const operands = eqn.operands.map((x) => operandText(func, x)).join(", ");
  const left = eqn.results.length ? `${resultText(func, eqn)} = ` : "";
  const types = eqn.results.length ? ` : ${typesText(eqn)}` : "";
  return `${left}${eqn.op}${operands ? ` ${operands}` : ""}${eqn.attrs ? ` ${eqn.attrs}` : ""}${types}`;
}
