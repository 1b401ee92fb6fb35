//! The rows of the settings screen, as a table: the order is that of the screen.

use pi_coding_agent::config::SettingsStore;
use pi_tui::list::Setting;
use serde_json::Value;

/// A row.
pub(super) struct Row {
    /// The key in the file, with dots.
    pub(super) key: &'static str,
    label: &'static str,
    description: &'static str,
    values: Values,
    /// The value that is shown if the settings know none.
    default: &'static str,
}

/// The values of a row.
enum Values {
    /// Words that stand in the file as they are shown.
    Words(&'static [&'static str]),
    /// Words on the screen, and what stands in the file.
    Named(&'static [(&'static str, &'static str)]),
    /// Values that a submenu selects.
    Submenu,
}

const fn row(
    label: &'static str,
    key: &'static str,
    values: &'static [&'static str],
    description: &'static str,
) -> Row {
    Row { key, label, description, values: Values::Words(values), default: "false" }
}

const fn flag(label: &'static str, key: &'static str, description: &'static str) -> Row {
    row(label, key, &["true", "false"], description)
}

const fn named(
    label: &'static str,
    key: &'static str,
    values: &'static [(&'static str, &'static str)],
    description: &'static str,
) -> Row {
    Row { key, label, description, values: Values::Named(values), default: "" }
}

const fn submenu(label: &'static str, key: &'static str, description: &'static str) -> Row {
    Row { key, label, description, values: Values::Submenu, default: "configure" }
}

impl Row {
    const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }
}

/// Rows that are shown only in terminals with images.
const IMAGES: [&str; 2] = ["terminal.showImages", "terminal.imageWidthCells"];

/// All rows.
pub(super) const ROWS: &[Row] = &[
    flag(
        "Auto-compact",
        "compaction.enabled",
        "Summarizes the history when the context is nearly full.",
    ),
    flag("Show images", "terminal.showImages", "Draws images in the terminal."),
    row(
        "Image width",
        "terminal.imageWidthCells",
        &["60", "80", "120"],
        "Columns that an image may take.",
    ),
    flag(
        "Auto-resize images",
        "images.autoResize",
        "Makes large images smaller before they are sent. Used by the next session.",
    ),
    flag("Block images", "images.blockImages", "Sends no images to the model."),
    flag(
        "Skill commands",
        "enableSkillCommands",
        "Offers every skill as a command in the menu. Used after /reload.",
    ),
    flag(
        "Show hardware cursor",
        "showHardwareCursor",
        "Shows the cursor of the terminal instead of a drawn one. Input methods need it.",
    ),
    row(
        "Editor padding",
        "editorPaddingX",
        &["0", "1", "2", "3"],
        "Columns left and right of the text in the editor.",
    ),
    row("Output padding", "outputPad", &["0", "1"], "Columns left and right of the conversation."),
    row(
        "Autocomplete max items",
        "autocompleteMaxVisible",
        &["3", "5", "7", "10", "15", "20"],
        "Rows of the menu of completions.",
    ),
    flag(
        "Clear on shrink",
        "terminal.clearOnShrink",
        "No effect in this version: what shrinks is always cleared.",
    ),
    flag(
        "Terminal progress",
        "terminal.showTerminalProgress",
        "Shows in the tab or the task bar of the terminal that pi works.",
    ),
    row(
        "Steering mode",
        "steeringMode",
        &["one-at-a-time", "all"],
        "Messages that you send while the model works: one per answer, or all of them at once.",
    ),
    row(
        "Follow-up mode",
        "followUpMode",
        &["one-at-a-time", "all"],
        "Messages that wait until the model is done: one per answer, or all of them at once.",
    ),
    row(
        "Transport",
        "transport",
        &["sse", "websocket", "websocket-cached", "auto"],
        "Connection to OpenAI Codex. auto and websocket-cached send only what is new; all other \
         providers use server-sent events.",
    )
    .default("auto"),
    row(
        "Session share destination",
        "sessionShareDestination",
        &["auto", "gist", "radius"],
        "No effect in this version.",
    )
    .default("auto"),
    named(
        "HTTP idle timeout",
        "httpIdleTimeoutMs",
        &[
            ("30 sec", "30000"),
            ("1 min", "60000"),
            ("2 min", "120000"),
            ("5 min", "300000"),
            ("disabled", "0"),
        ],
        "Time without any data after which a request has failed. Used by the next session.",
    ),
    row(
        "Cache warming",
        "cacheWarming",
        &["off", "streaming", "idle"],
        "Keeps the provider's prompt cache alive: never, while tools run, or also between prompts.",
    )
    .default("streaming"),
    flag("Hide thinking", "hideThinkingBlock", "Shows one line in place of the model's thinking."),
    row(
        "Mermaid diagrams",
        "markdown.mermaid",
        &["off", "final", "streaming"],
        "Draws diagrams: never, when the answer is complete, or while it arrives.",
    ),
    flag(
        "Cache miss notices",
        "showCacheMissNotices",
        "Shows a line if the provider's prompt cache missed, with the reason.",
    ),
    flag(
        "Collapse changelog",
        "collapseChangelog",
        "Shows one line about an update instead of all changes.",
    ),
    row(
        "Quiet startup",
        "quietStartup",
        &["true", "header", "false"],
        "Leaves out what is printed at the start; `header` leaves the header.",
    ),
    flag(
        "Install telemetry",
        "enableInstallTelemetry",
        "No effect: this program reports nothing to anyone.",
    )
    .default("true"),
    named(
        "Default project trust",
        "defaultProjectTrust",
        &[("Ask", "ask"), ("Always trust", "always"), ("Never trust", "never")],
        "Trust in projects about which you have not decided.",
    ),
    row(
        "Double-escape action",
        "doubleEscapeAction",
        &["tree", "fork", "none"],
        "What pressing escape twice in an empty editor opens.",
    ),
    row(
        "Tree filter mode",
        "treeFilterMode",
        &["default", "no-tools", "user-only", "labeled-only", "all"],
        "Entries that the session tree shows at first.",
    ),
    submenu("Warnings", "warnings", "Warnings that can be switched off."),
    submenu(
        "Default thinking level per model",
        "modelThinkingLevels",
        "Thinking levels that single models begin with.",
    )
    .default("none"),
    row(
        "TUI mode",
        "tuiMode",
        &["regular", "fullscreen"],
        "Writes into the terminal's scrollback, or takes the whole screen and scrolls itself.",
    ),
    row(
        "Fullscreen exit output",
        "fullscreenExitOutput",
        &["transcript", "resume-hint"],
        "What the full screen leaves in the terminal: the conversation, or how to resume it.",
    ),
    row(
        "Fullscreen scrollbar",
        "fullscreenScrollbar",
        &["auto", "always", "hidden"],
        "Shows the scroll bar after scrolling, always, or never.",
    ),
    flag(
        "Fullscreen copy on select",
        "fullscreenCopyOnSelect",
        "Copies text as soon as it is selected with the mouse.",
    ),
    row(
        "Fullscreen wheel scrolling",
        "fullscreenWheelScrollLines",
        &["auto", "1", "2", "3", "5", "10"],
        "Lines per step of the mouse wheel; `auto` is faster while the wheel turns fast.",
    ),
    submenu("Theme", "theme", "Colors of the screen."),
    flag("Vim mode", "vimMode", "Edits prompts with the keys of vim."),
    row(
        "Notifications",
        "notifications",
        &["off", "bell", "desktop"],
        "Tells you when pi waits for you and another window is in front.",
    ),
    flag(
        "Mouse",
        "terminal.mouse",
        "Uses the mouse in the full screen. Without it, the terminal selects text itself.",
    ),
    flag(
        "Accessible output",
        "accessible",
        "Writes lines once and in order, for screen readers. Used at the next start.",
    ),
];

/// Returns the path of a key.
pub(super) fn path(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// Returns the rows with their present values.
pub(super) fn settings(store: &SettingsStore, has_images: bool) -> Vec<Setting> {
    let rows = ROWS.iter().filter(|row| has_images || !IMAGES.contains(&row.key));
    rows.map(|row| {
        let value = store.value(&path(row.key)).map(|(value, _)| value);
        Setting {
            id: row.key.to_owned(),
            label: row.label.to_owned(),
            description: row.description.to_owned(),
            value: row.shown(value.as_ref()),
            values: match row.values {
                Values::Words(words) => words.iter().map(|word| (*word).to_owned()).collect(),
                Values::Named(names) => names.iter().map(|(name, _)| (*name).to_owned()).collect(),
                Values::Submenu => Vec::new(),
            },
        }
    })
    .collect()
}

impl Row {
    /// Returns a value as it is shown.
    fn shown(&self, value: Option<&Value>) -> String {
        let Some(value) = value else { return self.default.to_owned() };
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match (&self.values, self.key) {
            (Values::Named(names), _) => {
                let name = names.iter().find(|(_, stored)| *stored == text);
                name.map_or(text, |(name, _)| (*name).to_owned())
            }
            (Values::Submenu, "theme") => text,
            (Values::Submenu, "modelThinkingLevels") => levels(value),
            (Values::Submenu, _) => self.default.to_owned(),
            _ => text,
        }
    }

    /// Returns the value for the file.
    fn stored(&self, shown: &str) -> Value {
        let text = match self.values {
            Values::Named(names) => {
                names.iter().find(|(name, _)| *name == shown).map_or(shown, |(_, stored)| stored)
            }
            _ => shown,
        };
        serde_json::from_str(text).unwrap_or_else(|_| text.into())
    }
}

/// Returns the value of the row of levels per model.
pub(super) fn levels(value: &Value) -> String {
    match value.as_object().map_or(0, |levels| levels.len()) {
        0 => "none".to_owned(),
        1 => "1 model".to_owned(),
        count => format!("{count} models"),
    }
}

/// Returns the value for the file of what a row shows.
pub(super) fn stored(key: &str, shown: &str) -> Value {
    ROWS.iter().find(|row| row.key == key).map_or(Value::Null, |row| row.stored(shown))
}
