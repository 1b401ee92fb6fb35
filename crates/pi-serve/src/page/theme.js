// The theme, and other choices that belong to this browser and not to the server.

const read = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};

// Storage may be full or forbidden; the page works without it.
const write = (name, value) => {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Nothing is lost but the convenience.
  }
};

export const stored = { read, write };

const THEMES = ["system", "light", "dark"];

export const theme = () => {
  const value = read("pi-theme");
  return THEMES.includes(value) ? value : "system";
};

export const setTheme = (value) => {
  write("pi-theme", value === "system" ? null : value);
  applyTheme();
};

export const applyTheme = () => {
  const value = theme();
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
};

export const wantsNotifications = () => read("pi-notify") === "on";
export const setNotifications = (on) => write("pi-notify", on ? "on" : null);
