// What equations cost, summed over lines and over boxes.

const METRICS = {
  flops: { title: "Work", unit: "flop", of: (eqn) => eqn.flops, hint: "floating point operations" },
  bytes: { title: "Traffic", unit: "B", of: (eqn) => eqn.read + eqn.written, hint: "bytes read and written, without fusion" },
  kept: { title: "Kept", unit: "B", of: () => 0, hint: "bytes that reverse mode keeps for its way back" },
  time: { title: "Time", unit: "s", of: () => 0, hint: "measured seconds of one call" },
};

// line -> {flops, bytes, kept, time, count, sure}
function lineTotals(state, program) {
  const lines = new Map();
  const line = (key) => {
    if (!lines.has(key)) lines.set(key, { flops: 0, bytes: 0, kept: 0, time: 0, count: 0, sure: true });
    return lines.get(key);
  };
  for (const [id, home] of state.homes) {
    const eqn = EQUATIONS[id];
    if (!eqn.place) continue;
    const total = line(eqn.lineKey);
    total.count += 1;
    total.flops += eqn.flops * home.times;
    total.bytes += (eqn.read + eqn.written) * home.times;
    total.sure = total.sure && home.sure && Boolean(eqn.known);
  }
  for (const [, place, size] of program.kept) {
    if (place >= 0) line(lineKey(DATA.places[place][0], DATA.places[place][1])).kept += size;
  }
  for (const [file, number, time] of program.times || []) line(lineKey(file, number)).time += time;
  return lines;
}

function sumOf(ids, state) {
  const total = { flops: 0, bytes: 0, count: ids.length };
  for (const id of ids) {
    const eqn = EQUATIONS[id];
    const times = state.homes.get(id)?.times ?? 1;
    total.flops += eqn.flops * times;
    total.bytes += (eqn.read + eqn.written) * times;
  }
  return total;
}

function metricText(metric, amount) {
  return metric === "time" ? seconds(amount) : compact(amount, METRICS[metric].unit);
}
