// The buttons above the outline, and the initialization.

const themes = ["system", "light", "dark"];
const stored = () => {
  try {
    return localStorage.getItem("pi-export-theme");
  } catch {
    return null;
  }
};
const setTheme = (theme, button) => {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.textContent = `Theme: ${theme}`;
  button.dataset.theme = theme;
};
const themeButton = $('[data-do="theme"]', side);
setTheme(themes.includes(stored()) ? stored() : "system", themeButton);
const actions = {
  previous: () => goToMatch(current < 0 ? -1 : current - 1),
  next: () => goToMatch(current + 1),
  theme: (button) => {
    const theme = themes[(themes.indexOf(button.dataset.theme) + 1) % themes.length];
    setTheme(theme, button);
    try {
      localStorage.setItem("pi-export-theme", theme);
    } catch {
      // Without storage, the theme lasts until the page is closed.
    }
  },
  tools: (button) => {
    withTools = !withTools;
    button.setAttribute("aria-pressed", withTools);
    chosen = -1;
    listRows();
  },
  expand: (button) => {
    const open = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", open);
    for (const details of main.querySelectorAll("details")) {
      details.open = open;
    }
  },
  menu: (button) => {
    const open = document.body.classList.toggle("menu-open");
    button.setAttribute("aria-expanded", open);
    if (open) drawRows();
  },
};
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-do]");
  if (button) actions[button.dataset.do]?.(button);
});

document.body.classList.add("scripted");
side.hidden = false;
menu.hidden = false;
listRows();
show(home);
addEventListener("resize", () => requestAnimationFrame(drawRows));
selectHash();
