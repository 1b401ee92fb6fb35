// The outline of all branches. Only visible rows exist, so its length does not matter.

const ROW = 26;
const tree = $(".tree", side);
const rows = $(".rows", tree);
const minor = new Set(["tools", "note", "system", "unknown"]);
let listed = [];
const rowOf = new Int32Array(count);
// By entry: 1 if its row is the first of its branch.
const begins = new Uint8Array(count);
let chosen = -1;
let withTools = false;
const listRows = () => {
  const keep = (index) =>
    withTools ||
    !minor.has(kinds[index]) ||
    labels[index] ||
    (siblings(index).length > 1 && !children[index]);
  listed = [];
  // By entry: the nearest one at or above it that has a row.
  const near = new Int32Array(count);
  for (let index = 0; index < count; index++) {
    const above = parents[index] < 0 ? -1 : near[parents[index]];
    if (keep(index)) {
      begins[index] = indents[index] > (above < 0 ? 0 : indents[above]) ? 1 : 0;
      near[index] = index;
      rowOf[index] = listed.length;
      listed.push(index);
    } else {
      near[index] = above;
      rowOf[index] = above < 0 ? listed.length : rowOf[above];
    }
  }
  rows.style.height = `${listed.length * ROW}px`;
  drawRows();
};
const drawRows = () => {
  const first = Math.max(0, Math.floor(tree.scrollTop / ROW) - 10);
  const last = Math.min(listed.length, first + Math.ceil(tree.clientHeight / ROW) + 20);
  const focused = rows.contains(document.activeElement) ? chosen : -1;
  const drawn = [];
  for (let at = first; at < last; at++) {
    const index = listed[at];
    const row = make("a", `row ${kinds[index]}${on[index] ? "" : " off"}`);
    row.href = `#${encodeURIComponent(articles[index].id)}`;
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", indents[index] + 1);
    row.setAttribute("aria-selected", at === chosen);
    row.tabIndex = at === Math.max(chosen, 0) ? 0 : -1;
    row.title = texts[index];
    row.dataset.row = at;
    row.style.top = `${at * ROW}px`;
    row.style.paddingLeft = `${14 + Math.min(indents[index], 9) * 14}px`;
    if (begins[index]) row.append(make("span", "fork-mark"));
    if (labels[index]) row.append(make("span", "label", labels[index]));
    row.append(make("span", "words", texts[index] || "…"));
    drawn.push(row);
  }
  rows.replaceChildren(...drawn);
  if (focused >= 0) $(`[data-row="${focused}"]`, rows)?.focus({ preventScroll: true });
};
const chooseRow = (row) => {
  chosen = Math.max(0, Math.min(row, listed.length - 1));
  const top = chosen * ROW;
  if (top < tree.scrollTop || top + 2 * ROW > tree.scrollTop + tree.clientHeight) {
    tree.scrollTop = top - tree.clientHeight / 3;
  }
  drawRows();
};
const choose = (index) => {
  if (rowOf[index] !== chosen) chooseRow(rowOf[index]);
};
tree.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
rows.addEventListener("keydown", (event) => {
  const page = Math.floor(tree.clientHeight / ROW) - 1;
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  let row = chosen + (steps[event.key] ?? NaN);
  if (event.key === "Home") row = 0;
  if (event.key === "End") row = listed.length - 1;
  if (Number.isNaN(row)) return;
  event.preventDefault();
  chooseRow(row);
  $(`[data-row="${chosen}"]`, rows)?.focus({ preventScroll: true });
});
// The outline follows the reader, unless the reader is in the outline.
let following = false;
addEventListener(
  "scroll",
  () => {
    if (following) return;
    following = true;
    requestAnimationFrame(() => {
      following = false;
      if (performance.now() < scrollingUntil) return;
      if (side.contains(document.activeElement) && side.matches(":hover")) return;
      const box = main.getBoundingClientRect();
      const at = document.elementFromPoint(box.left + box.width / 2, 60);
      const article = at?.closest("article");
      if (article) choose(indexOf.get(article));
    });
  },
  { passive: true },
);
