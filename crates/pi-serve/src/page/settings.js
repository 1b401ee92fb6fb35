// Settings of this browser and, with the right for it, the tokens of the server.

import { get, logout, may, me, part, request } from "./api.js";
import { attempt, button, confirmDialog, h, openDialog, replace, toast } from "./dom.js";
import { ago, dateTime } from "./format.js";
import { setNotifications, setTheme, theme, wantsNotifications } from "./theme.js";

const RIGHTS = {
  view: "View: read sessions",
  drive: "Drive: also write prompts",
  approve: "Approve: also answer approvals",
  admin: "Admin: everything",
};

export const settingsScreen = (root, { onTitle, onSignedOut }) => {
  onTitle("Settings");
  const tokens = h("section", { class: "settings-section", hidden: true });
  replace(
    root,
    h("div", { class: "screen narrow" }, h("h1", { text: "Settings" }), appearance(), notifications(), tokens, about(onSignedOut)),
  );
  if (may("admin") && !me.session) loadTokens(tokens);
  return () => {};
};

const appearance = () => {
  const names = { system: "System", light: "Light", dark: "Dark" };
  const group = h("div", { class: "tabs", role: "radiogroup", "aria-label": "Theme" });
  const draw = () =>
    replace(
      group,
      Object.entries(names).map(([value, name]) =>
        h("label", { class: "tab" }, h("input", { type: "radio", name: "theme", value, checked: theme() === value, onchange: () => setTheme(value) }), h("span", { text: name })),
      ),
    );
  draw();
  return h("section", { class: "settings-section" }, h("h2", { text: "Theme" }), group);
};

const notifications = () => {
  if (!("Notification" in window) || !isSecureContext) return null;
  const state = h("p", { class: "hint" });
  const toggle = h("input", { type: "checkbox", id: "notify" });
  const draw = () => {
    toggle.checked = wantsNotifications() && Notification.permission === "granted";
    toggle.disabled = Notification.permission === "denied";
    state.textContent =
      Notification.permission === "denied" ? "This browser forbids notifications of this page. Change it in the settings of the browser." : "A notification when an agent needs you or has finished, while this page is in the background.";
  };
  toggle.addEventListener("change", async () => {
    if (toggle.checked && Notification.permission === "default") await Notification.requestPermission();
    setNotifications(toggle.checked && Notification.permission === "granted");
    draw();
  });
  draw();
  return h("section", { class: "settings-section" }, h("h2", { text: "Notifications" }), h("label", { class: "switch", for: "notify" }, toggle, h("span", { text: "Notify me" })), state);
};

const about = (onSignedOut) => {
  const out = async () => {
    await attempt(async () => {
      await logout();
      onSignedOut();
    });
  };
  return h(
    "section",
    { class: "settings-section" },
    h("h2", { text: "This browser" }),
    h("dl", { class: "facts" }, fact("Token", me.name), fact("Right", RIGHTS[me.right] ?? me.right), me.expires && fact("Signed in until", dateTime(me.expires)), fact("Server", `pi ${me.version ?? ""}`), me.startedAt && fact("Running since", dateTime(me.startedAt))),
    button("Sign out", out),
  );
};

const fact = (name, value) => h("div", {}, h("dt", { text: name }), h("dd", { text: value ?? "" }));

// ---- Tokens

const loadTokens = async (place) => {
  const answer = await attempt(() => get("tokens"));
  if (!answer) return;
  place.hidden = false;
  const row = (token) =>
    h(
      "li",
      { class: "token" },
      h(
        "span",
        { class: "token-facts" },
        h("strong", { text: token.name }),
        h("span", { text: [RIGHTS[token.right]?.split(":")[0] ?? token.right, token.session && "one session", token.expires ? `until ${dateTime(token.expires)}` : "no expiry", lastUse(token)].filter(Boolean).join(" · ") }),
      ),
      button("Revoke", () => revoke(token, place), { class: "button danger" }),
    );
  replace(
    place,
    h("h2", { text: "Tokens" }),
    h("p", { class: "hint", text: "Each device or program has a token of its own, which can be revoked." }),
    h("ul", { class: "tokens" }, answer.tokens.map(row)),
    button("New token", () => create(place), { class: "button" }),
  );
};

const lastUse = ({ lastUsed }) => {
  if (!lastUsed) return "not used";
  const time = ago(lastUsed);
  if (time === "now") return "used just now";
  return /^\d+-/.test(time) ? `used on ${time}` : `used ${time} ago`;
};

const revoke = async (token, place) => {
  if (!(await confirmDialog("Revoke the token?", `Devices that use “${token.name}” are signed out at once.`, "Revoke"))) return;
  await attempt(() => request("DELETE", `tokens/${part(token.name)}`));
  await loadTokens(place);
};

// A field for the time that a token is valid.
const life = (id, value, more = {}) => {
  const times = { "2h": "2 hours", "1d": "1 day", "7d": "7 days", "30d": "30 days", ...more };
  const field = h("select", { class: "field", id }, Object.entries(times).map(([time, text]) => h("option", { value: time, text })));
  field.value = value;
  return field;
};

// Makes a link with which one session can be viewed, and nothing else.
export const shareSession = (session) => {
  const lasting = life("share-for", "2h");
  const submit = async () => {
    const name = `view-${Date.now().toString(36)}`;
    const made = await attempt(() => request("POST", "tokens", { name, right: "view", session, for: lasting.value }));
    if (!made) return;
    dialog.close();
    show(made, `Anyone with this link can view the session until it expires or you revoke “${name}” in the settings.`);
  };
  const dialog = openDialog("Link for viewing", [
    h("p", { text: "The link shows this session, as it grows, and nothing else. It cannot be used to write or to answer." }),
    h("label", { class: "labeled", for: "share-for" }, "Valid for", lasting),
    h("div", { class: "row end" }, h("button", { type: "button", class: "button primary", onclick: submit }, "Create")),
  ]);
};

const create = (place) => {
  const name = h("input", { type: "text", class: "field", id: "token-name", maxlength: "60", placeholder: "phone" });
  const right = h("select", { class: "field", id: "token-right" }, Object.entries(RIGHTS).map(([value, text]) => h("option", { value, text })));
  const lasting = life("token-for", "30d", { "": "No expiry" });
  right.value = "approve";
  const submit = async () => {
    if (!name.value.trim()) return name.focus();
    const body = { name: name.value.trim(), right: right.value, ...(lasting.value ? { for: lasting.value } : {}) };
    const made = await attempt(() => request("POST", "tokens", body));
    if (!made) return undefined;
    dialog.close();
    show(made);
    return loadTokens(place);
  };
  const dialog = openDialog("New token", [
    h("label", { class: "labeled", for: "token-name" }, "Name", name),
    h("label", { class: "labeled", for: "token-right" }, "Right", right),
    h("label", { class: "labeled", for: "token-for" }, "Valid for", lasting),
    h("div", { class: "row end" }, button("Create", submit, { class: "button primary" })),
  ]);
  return undefined;
};

const show = (made, text = "Open this address on the device. It is not shown again.") => {
  const address = made.url ?? made.token;
  const field = h("input", { type: "text", class: "field", readonly: true, value: address, "aria-label": "Address with the token", onfocus: () => field.select() });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(address);
      toast("Copied.");
    } catch {
      field.select();
    }
  };
  openDialog("The address is shown once", [h("p", { text }), field, h("div", { class: "row end" }, button("Copy", copy, { class: "button primary" }))]);
};
