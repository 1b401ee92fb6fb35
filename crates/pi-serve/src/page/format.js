// Times, counts and amounts as text. Pure: nothing here touches the page.

const two = (number) => String(number).padStart(2, "0");

export const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;

export const ago = (time, now = Date.now()) => {
  const then = new Date(time).getTime();
  if (!Number.isFinite(then)) return "";
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 45) return "now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h`;
  if (seconds < 7 * 86400) return `${Math.round(seconds / 86400)} d`;
  const date = new Date(then);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
};

export const dateTime = (time) => {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
};

export const count = (number) => {
  if (!Number.isFinite(number)) return "0";
  if (number < 1000) return String(Math.round(number));
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e4 ? 1 : 0)}k`;
  return `${(number / 1e6).toFixed(1)}M`;
};

export const cost = (dollars) => {
  if (!Number.isFinite(dollars) || dollars === 0) return "$0";
  return dollars < 0.01 ? "<$0.01" : `$${dollars.toFixed(2)}`;
};

export const duration = (milliseconds) => {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
};

// The last part of a directory: the name of a project.
export const baseName = (path) => path.split(/[\\/]/).filter(Boolean).pop() || path;

export const plural = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
