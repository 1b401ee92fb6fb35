// Search through all branches, in slices of time; matches are painted, not wrapped in elements.

const MATCH_LIMIT = 3000;
const LIST_LIMIT = 200;
const input = $("input", side);
const output = $("output", side);
const found = $(".found", side);
const painter = typeof Highlight === "function" ? CSS.highlights : undefined;
let query = "";
let hits = []; // Entries with matches: { index, before, here, snippet }
let matches = 0;
let current = -1;
let running = 0;

// Texts whose length changes in lower case are compared unchanged.
const lower = (text) => {
  const small = text.toLowerCase();
  return small.length === text.length ? small : text;
};
const textOf = (index) => {
  let text = "";
  for (const child of articles[index].children) {
    if (child.localName !== "header") text += child.textContent;
  }
  return text;
};
const positions = (text) => {
  const at = [];
  for (let from = text.indexOf(query); from >= 0; from = text.indexOf(query, from + query.length)) {
    at.push(from);
  }
  return at;
};
const rangesIn = (index) => {
  const walker = document.createTreeWalker(articles[index], NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("article > header")) continue;
    nodes.push([text.length, node]);
    text += node.data;
  }
  let at = 0;
  const place = (offset) => {
    while (at + 1 < nodes.length && nodes[at + 1][0] <= offset) at++;
    return [nodes[at][1], offset - nodes[at][0]];
  };
  return positions(lower(text)).map((from) => {
    const range = document.createRange();
    range.setStart(...place(from));
    const [node, offset] = place(from + query.length - 1);
    range.setEnd(node, offset + 1);
    return range;
  });
};

const search = (text) => {
  const run = ++running;
  query = lower(text.trim());
  hits = [];
  matches = 0;
  current = -1;
  painter?.clear();
  if (!query) return report(true);
  const order = [...articles.keys()].sort((a, b) => on[b] - on[a] || a - b);
  let next = 0;
  // In slices, so that typing is not blocked.
  const slice = () => {
    if (run !== running) return;
    const until = performance.now() + 15;
    while (next < count && performance.now() < until) {
      const index = order[next++];
      const whole = textOf(index);
      const at = positions(lower(whole));
      if (at.length === 0) continue;
      const snippet = hits.length < LIST_LIMIT ? excerpt(whole, at[0]) : undefined;
      hits.push({ index, before: matches, here: on[index] === 1, snippet });
      matches += at.length;
    }
    report(next >= count);
    if (next < count) setTimeout(slice);
    else paintMatches();
  };
  slice();
};
const excerpt = (text, at) => [
  text.slice(Math.max(0, at - 30), at),
  text.slice(at, at + query.length),
  text.slice(at + query.length, at + query.length + 90),
];
const report = (done) => {
  const position = current < 0 ? "" : `${current + 1}/`;
  output.textContent = query ? `${position}${matches}${done ? "" : "…"}` : "";
  for (const name of ["previous", "next"]) $(`[data-do="${name}"]`, side).disabled = matches === 0;
  found.hidden = !query;
  if (done) listHits();
};
const listHits = () => {
  const items = [];
  let group = null;
  for (const [number, hit] of hits.slice(0, LIST_LIMIT).entries()) {
    const name = hit.here ? "This branch" : "Other branches";
    if (name !== group) items.push(make("li", "group", name));
    group = name;
    const item = make("li", "");
    const link = make("a", "");
    link.href = `#${encodeURIComponent(articles[hit.index].id)}`;
    link.dataset.hit = number;
    link.append(hit.snippet[0], make("mark", "", hit.snippet[1]), hit.snippet[2]);
    item.append(link);
    items.push(item);
  }
  if (hits.length > LIST_LIMIT) {
    items.push(make("li", "group", `and ${hits.length - LIST_LIMIT} more entries`));
  }
  if (query && hits.length === 0) items.push(make("li", "group", "No matches"));
  found.replaceChildren(...items);
};
const paintMatches = () => {
  if (!painter || !query) return;
  const ranges = [];
  for (const hit of hits) {
    if (ranges.length > MATCH_LIMIT) break;
    if (on[hit.index]) ranges.push(...rangesIn(hit.index));
  }
  painter.set("found", new Highlight(...ranges));
};
const goToMatch = (number) => {
  if (matches === 0) return;
  current = (number + matches) % matches;
  const at = hits.findLastIndex((hit) => hit.before <= current);
  const hit = hits[at];
  showUnit(hit.index);
  const range = rangesIn(hit.index)[current - hit.before];
  if (!range) return;
  const element = range.startContainer.parentElement;
  reveal(element);
  if (painter) {
    const now = new Highlight(range);
    now.priority = 1;
    painter.set("found-now", now);
  }
  bring(element, "center");
  choose(hit.index);
  report(false);
  output.textContent = `${current + 1}/${matches}`;
  for (const link of found.querySelectorAll("a")) {
    if (Number(link.dataset.hit) === at) {
      link.setAttribute("aria-current", "true");
      link.scrollIntoView({ block: "nearest" });
    } else link.removeAttribute("aria-current");
  }
};
let typing = 0;
input.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => search(input.value), 120);
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    if (lower(input.value.trim()) !== query) search(input.value);
    goToMatch(event.shiftKey ? current - 1 : current + 1);
  } else if (event.key === "Escape") {
    input.value = "";
    search("");
  }
});
found.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  event.preventDefault();
  goToMatch(hits[Number(link.dataset.hit)].before);
});
document.addEventListener("keydown", (event) => {
  const typed = event.target.closest?.("input, textarea, [contenteditable]");
  if (event.key !== "/" || typed || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
  input.select();
});
