// What a box says, and the size of that.

const SIZE = { node: 40, chip: 26, title: 28, pad: 14, gapX: 18, gapY: 30, lane: 12, widest: 200, narrowest: 72 };
const FONT = 7.25; // pixels of a character of the monospaced face at the size of a node's first line
const SMALL = 6.1;

function captionOf(box) {
  if (box.caption) return box.caption;
  box.caption = CAPTIONS[box.kind in CAPTIONS ? box.kind : "group"](box);
  return box.caption;
}

const CAPTIONS = {
  eqn: (box) => {
    const { eqn, func } = box;
    const trips = eqn.regions.map((r) => r.trips).find((t) => t !== 1);
    const often = eqn.regions.length && trips !== undefined ? (trips === null ? " \u00d7 n" : ` \u00d7 ${trips}`) : "";
    const first = eqn.regions.length ? eqn.op + often : `${eqn.op}${literals(eqn)}`;
    const name = bare(resultText(func, eqn));
    return { first, second: eqn.results.length ? `${name}  ${typesText(eqn)}` : "" };
  },
  param: (box) => ({ first: bare(operandText(box.func, box.value)), second: typeOf(box.value) }),
  return: () => ({ first: "return", second: "" }),
  function: (box) => ({ first: box.label || box.func.name, second: "" }),
  copy: (box) => ({ first: `${box.copy + 1} of ${box.parent.group.copies.length}`, second: "" }),
  alike: (box) => ({
    first: `${box.group.copies.length} \u00d7 ${box.group.t || "alike"}`,
    second: countText(box, " in all"),
  }),
  group: (box) => ({ first: box.group.t, second: countText(box, "") }),
};

// Without the signs by which the text of the IR tells values.
function bare(text) {
  return text.replaceAll("%", "");
}

function literals(eqn) {
  const found = eqn.operands.filter((x) => x < 0).map((x) => TEXTS[-1 - x]);
  const text = found.map((literal) => literal.replace(/:.*/, "")).join(" ");
  return found.length && text.length < 9 ? ` ${text}` : "";
}

function countText(box, more) {
  if (box.kind === "parameters") return "";
  const ids = box.tokens.filter((t) => t >= 0 && t < box.func.eqns.length).map((t) => box.func.eqns[t]);
  const total = sumOf(ids, box.forest.state);
  const work = total.flops ? ` \u00b7 ${compact(total.flops, "flop")}` : "";
  return `${plural(total.count, "equation")}${more}${work}`;
}

// The size of a box that is no container now, and the least of one that is.
function ownSize(box) {
  const { first, second } = captionOf(box);
  const fold = box.folds ? 18 : 0;
  const wide = Math.max(first.length * FONT + fold, second.length * SMALL) + 26;
  const chip = box.kind === "return" || (box.kind === "param" && !second);
  return {
    w: Math.min(SIZE.widest, Math.max(chip ? 56 : SIZE.narrowest, wide)),
    h: chip ? SIZE.chip : SIZE.node,
  };
}
