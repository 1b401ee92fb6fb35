// The one WebSocket of the page: commands with answers, items of the attached sessions, and the
// time as of which all of this is true.
//
// A connection that is silent for 25 seconds is dead, whatever the system says about it. After
// every reconnect each attachment continues behind the last entry that it has.

import { loadMe } from "./api.js";

const SILENCE = 25_000;
const LONGEST_PAUSE = 15_000;

class LinkError extends Error {}

export const link = Object.assign(new EventTarget(), {
  // "connecting", "live", "lost" or "signed-out".
  state: "connecting",
  // Time of the last frame.
  asOf: null,
});

let socket = null;
let serverId = null;
let nextId = 1;
let failures = 0;
let retry = 0;
let wanted = false;
const pending = new Map();
const attachments = new Map();

const tell = (name, detail) => link.dispatchEvent(new CustomEvent(name, { detail }));

const setState = (state) => {
  if (link.state === state) return;
  link.state = state;
  tell("state", state);
};

const fail = (reason) => {
  for (const { reject } of pending.values()) reject(new LinkError(reason));
  pending.clear();
};

const address = () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/rpc`;

export const connect = () => {
  wanted = true;
  clearTimeout(retry);
  if (socket) return;
  if (link.state !== "live") setState(failures === 0 ? "connecting" : "lost");
  const opened = new WebSocket(address());
  socket = opened;
  // A server that accepts and stays silent is as good as none.
  opened.heard = Date.now();
  opened.addEventListener("open", () => {
    if (socket !== opened) return;
    failures = 0;
    heard();
    setState("live");
    for (const attachment of attachments.values()) attach(attachment);
    // The frames that follow say when the lists have to be read again.
    send({ type: "watch_lists" }).catch(() => {});
    tell("connected");
  });
  opened.addEventListener("message", (event) => {
    if (socket !== opened) return;
    heard();
    let frame;
    try {
      frame = JSON.parse(event.data);
    } catch {
      return;
    }
    receive(frame);
  });
  opened.addEventListener("close", () => drop(opened));
};

const heard = () => {
  socket.heard = Date.now();
  link.asOf = new Date();
  tell("as-of");
};

// Gives a connection up and plans the next one.
const drop = (dropped) => {
  if (socket !== dropped) return;
  socket = null;
  dropped.close();
  fail("The connection was lost before the answer came.");
  if (!wanted) return;
  setState("lost");
  failures += 1;
  const pause = Math.min(LONGEST_PAUSE, 300 * 2 ** Math.min(failures, 6));
  retry = setTimeout(reconnect, pause * (0.7 + Math.random() * 0.6));
};

// Asks first whether the cookie is still good: a refused upgrade gives no reason.
const reconnect = async () => {
  if (socket || !wanted) return;
  try {
    await loadMe();
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      wanted = false;
      setState("signed-out");
      return;
    }
    failures += 1;
    retry = setTimeout(reconnect, Math.min(LONGEST_PAUSE, 300 * 2 ** Math.min(failures, 6)));
    return;
  }
  connect();
};

export const disconnect = () => {
  wanted = false;
  clearTimeout(retry);
  const open = socket;
  socket = null;
  open?.close();
  fail("Signed out.");
};

const watch = () => {
  if (socket && Date.now() - socket.heard > SILENCE) drop(socket);
};
setInterval(watch, 1000);

// After sleep or a change of the network the old connection may be dead without a sign.
const wake = () => {
  if (!wanted || document.visibilityState === "hidden") return;
  if (!socket) {
    clearTimeout(retry);
    reconnect();
    return;
  }
  if (socket.readyState !== WebSocket.OPEN) return;
  const asked = socket;
  const before = asked.heard;
  asked.send(JSON.stringify({ type: "heartbeat" }));
  setTimeout(() => {
    if (asked.heard === before) drop(asked);
  }, 4000);
};
document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
addEventListener("pageshow", (event) => event.persisted && wake());

const receive = (frame) => {
  if (frame.type === "response") {
    const waiting = pending.get(frame.id);
    if (!waiting) {
      if (!frame.success) tell("refused", frame);
      return;
    }
    pending.delete(frame.id);
    if (frame.success) waiting.resolve({ sessionId: frame.sessionId, ...frame.data });
    else waiting.reject(new LinkError(frame.error || "The command failed."));
    return;
  }
  if (frame.type === "heartbeat") {
    if (serverId && frame.serverId && frame.serverId !== serverId) tell("restarted");
    serverId = frame.serverId ?? serverId;
    return;
  }
  tell("frame", frame);
  const attachment = attachments.get(frame.sessionId);
  if (attachment && !attachment.waiting) attachment.onItem(frame);
  else if (attachment) attachment.early.push(frame);
};

// Sends a command and returns a promise of its data, with the id of the session it led to.
export const send = (command) =>
  new Promise((resolve, reject) => {
    if (!socket || socket.readyState !== WebSocket.OPEN) {
      reject(new LinkError("There is no connection to the server."));
      return;
    }
    const id = `p${nextId++}`;
    pending.set(id, { resolve, reject });
    socket.send(JSON.stringify({ id, ...command }));
  });

// Sends a message that has no answer, such as the answer to a question.
export const post = (message) => {
  if (!socket || socket.readyState !== WebSocket.OPEN) throw new LinkError("There is no connection to the server.");
  socket.send(JSON.stringify(message));
};

const attach = async (attachment) => {
  const { sessionId } = attachment;
  // Items may overtake the answer; they wait for it.
  attachment.waiting = true;
  attachment.early = [];
  const since = attachment.since();
  try {
    const data = await send({ type: "attach", sessionId, view: "html", approvals: attachment.approvals, ...(attachment.feed === false ? { feed: false } : {}), ...(since >= 0 ? { since } : {}) });
    if (attachments.get(sessionId) !== attachment) return;
    attachment.waiting = false;
    attachment.onAttached(data);
    for (const frame of attachment.early.splice(0)) attachment.onItem(frame);
  } catch (error) {
    attachment.waiting = false;
    // A lost connection attaches again by itself.
    if (socket?.readyState === WebSocket.OPEN) attachment.onFailed(error);
  }
};

export const isAttached = (sessionId) => attachments.has(sessionId);

// Attaches to a session, now and after every reconnect. `since` returns the last sequence number
// that the page has, -1 without one. Returns the function that ends it.
export const attachTo = (attachment) => {
  attachments.set(attachment.sessionId, attachment);
  if (socket?.readyState === WebSocket.OPEN) attach(attachment);
  return () => {
    if (attachments.get(attachment.sessionId) !== attachment) return;
    attachments.delete(attachment.sessionId);
    if (socket?.readyState === WebSocket.OPEN) send({ type: "detach", sessionId: attachment.sessionId }).catch(() => {});
  };
};
