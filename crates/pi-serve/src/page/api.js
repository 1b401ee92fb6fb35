// Requests to the server: JSON both ways, the cookie of this browser, and its CSRF value.

class ApiError extends Error {
  constructor(status, error) {
    super(error?.hint ? `${error.message} ${error.hint}` : error?.message || `the server answered ${status}`);
    this.status = status;
    this.code = error?.code;
  }
}

// What the server says about this browser: name, right, csrf, version, serverId.
export let me = null;

const RIGHTS = ["view", "drive", "approve", "admin"];

// Returns true if this browser has a right, or a greater one.
export const may = (right) => RIGHTS.indexOf(me?.right) >= RIGHTS.indexOf(right);

const read = async (response) => {
  const text = await response.text();
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
};

export const request = async (method, path, body) => {
  const headers = {};
  if (method !== "GET") {
    headers["content-type"] = "application/json";
    if (me?.csrf) headers["x-pi-csrf"] = me.csrf;
  }
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
    });
  } catch {
    throw new ApiError(0, { message: "The server does not answer." });
  }
  const answer = await read(response);
  if (!response.ok) throw new ApiError(response.status, answer?.error);
  return answer;
};

export const get = (path) => request("GET", path);

// Exchanges a token for a cookie.
export const login = async (token) => {
  await request("POST", "login", { token });
  return loadMe();
};

export const loadMe = async () => {
  me = await get("me");
  return me;
};

export const logout = async () => {
  await request("POST", "logout");
  me = null;
};

// A part of a path, from an id or a name.
export const part = (text) => encodeURIComponent(text);
