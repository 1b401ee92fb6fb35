// The script of the page, first part: the visible branch, and navigation to an entry.
//
// The parts of the conversation are in the page before the script runs. The script hides and shows
// them, and uses their content as text only. The files are one script, in the order of html.rs.

const $ = (selector, from = document) => from.querySelector(selector);
const make = (name, className, text) => {
  const element = document.createElement(name);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

const main = $("body > main");
const side = $("body > .side");
const menu = $("body > .menu");
const articles = [...main.querySelectorAll("article")];
const indexOf = new Map(articles.map((article, index) => [article, index]));
const data = JSON.parse($('body > script[type="application/json"]').textContent);
const count = articles.length;
const parents = data.units.map((unit) => unit[0]);
const kinds = data.units.map((unit) => unit[1]);
const texts = data.units.map((unit) => unit[2]);
const labels = data.units.map((unit) => unit[3]);

// ---- The tree

const roots = [];
const children = new Array(count);
for (let index = 0; index < count; index++) {
  const parent = parents[index];
  if (parent < 0) roots.push(index);
  else (children[parent] ||= []).push(index);
}
const siblings = (index) => (parents[index] < 0 ? roots : children[parents[index]]);
// Parents come before their children, so one pass is enough.
const indents = new Int32Array(count);
for (let index = 0; index < count; index++) {
  const above = parents[index] < 0 ? 0 : indents[parents[index]];
  indents[index] = above + (siblings(index).length > 1 ? 1 : 0);
}
const newest = (index) => {
  while (children[index]) index = children[index].at(-1);
  return index;
};
// The name of a branch: that of its first entry which is not a note, since notes look alike.
const nameOf = (index) => {
  let at = index;
  while ((kinds[at] === "note" || kinds[at] === "system") && children[at]?.length === 1) {
    at = children[at][0];
  }
  return texts[at] || "…";
};
const pathTo = (leaf) => {
  const on = new Uint8Array(count);
  for (let at = leaf; at >= 0; at = parents[at]) on[at] = 1;
  return on;
};

const home = data.leaf >= 0 ? data.leaf : count > 0 ? newest(roots.at(-1)) : -1;
const onHome = pathTo(home);
let on = Uint8Array.from(articles, (article) => (article.hidden ? 0 : 1));

// Shows the path to a leaf.
const show = (leaf) => {
  const wanted = pathTo(leaf);
  const sections = [];
  for (let index = 0; index < count; index++) {
    if (wanted[index] !== on[index]) articles[index].hidden = !wanted[index];
    // A section takes up space even if nothing in it is visible.
    const section = articles[index].parentElement;
    if (section !== sections.at(-1)?.[0]) sections.push([section, false]);
    if (wanted[index]) sections.at(-1)[1] = true;
  }
  for (const [section, seen] of sections) {
    if (section.hidden === seen) section.hidden = !seen;
  }
  on = wanted;
  markForks();
  drawRows();
  paintMatches();
};

// ---- Forks: entries with several branches

const FORK_LIMIT = 12;
const forks = new Map();
const fork = (above, below) => {
  const nav = make("nav", "fork");
  nav.setAttribute("aria-label", "Branches from here");
  nav.append(make("span", "", `${below.length} branches`));
  for (const index of below.slice(-FORK_LIMIT)) {
    const link = make("a", "", nameOf(index));
    link.href = `#${encodeURIComponent(articles[index].id)}`;
    link.title = nameOf(index);
    link.dataset.unit = index;
    nav.append(link);
  }
  (above < 0 ? $(".head", main) : articles[above]).after(nav);
  return nav;
};
const markForks = () => {
  for (let index = -1; index < count; index++) {
    const below = index < 0 ? roots : children[index];
    if (!below || below.length < 2) continue;
    const seen = index < 0 || on[index] === 1;
    if (seen && !forks.has(index)) forks.set(index, fork(index, below));
    const nav = forks.get(index);
    if (!nav) continue;
    nav.hidden = !seen;
    for (const link of nav.querySelectorAll("a")) {
      if (on[link.dataset.unit]) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
};

// ---- Navigation to an entry

let here = null;
// Time until which scrolling is caused by the script and not by the reader.
let scrollingUntil = 0;
const reveal = (element) => {
  for (let at = element; at && at !== main; at = at.parentElement) {
    if (at.localName === "details") at.open = true;
  }
};
// Elements above get their real height while they scroll by, so scroll twice.
const bring = (element, block) => {
  scrollingUntil = performance.now() + 500;
  element.scrollIntoView({ block });
  requestAnimationFrame(() => element.scrollIntoView({ block }));
};
const showUnit = (index) => {
  if (!on[index]) show(onHome[index] ? home : newest(index));
};
const select = (id) => {
  const element = $(`[id="${CSS.escape(id)}"]`, main);
  const article = element?.closest("article");
  if (!article) return;
  const index = indexOf.get(article);
  showUnit(index);
  here?.classList.remove("here");
  here = element;
  here.classList.add("here");
  reveal(element);
  bring(element, "start");
  choose(index);
};
const selectHash = () => {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // Not encoded by this page: use it unchanged.
  }
  if (id) select(id);
};
addEventListener("hashchange", selectHash);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link) return;
  if (link.classList.contains("anchor")) copy(link);
  document.body.classList.remove("menu-open");
  menu.setAttribute("aria-expanded", "false");
  // A second click on the same link does not change the hash.
  if (link.hash === location.hash) selectHash();
});
const copy = (link) => {
  navigator.clipboard?.writeText(link.href).then(
    () => {
      link.classList.add("copied");
      setTimeout(() => link.classList.remove("copied"), 1500);
    },
    () => {},
  );
};
