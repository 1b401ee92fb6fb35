//! The keys of `settings.json`, as a table.

/// A key, and what is special about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingKey {
    /// As in the file.
    pub name: &'static str,
    /// Counts only in the user's own file.
    pub global: bool,
    /// Does something. The others are kept for programs that know them, and for later.
    pub acted_on: bool,
}

const fn key(name: &'static str) -> SettingKey {
    SettingKey { name, global: false, acted_on: true }
}

/// Understood and kept, but nothing here acts on it yet.
const fn idle(name: &'static str) -> SettingKey {
    SettingKey { name, global: false, acted_on: false }
}

const fn global(key: SettingKey) -> SettingKey {
    SettingKey { global: true, ..key }
}

/// All keys. Nested ones share what is said about their group.
pub const KEYS: &[SettingKey] = &[
    key("$schema"),
    key("defaultProvider"),
    key("defaultModel"),
    key("defaultThinkingLevel"),
    key("modelThinkingLevels"),
    key("thinkingBudgets"),
    key("enabledModels"),
    idle("hideThinkingBlock"),
    idle("showCacheMissNotices"),
    global(idle("cacheWarming")),
    key("steeringMode"),
    key("followUpMode"),
    idle("externalEditor"),
    idle("doubleEscapeAction"),
    idle("treeFilterMode"),
    global(key("defaultProjectTrust")),
    key("defaultTools"),
    idle("codemode"),
    global(key("guard")),
    key("sessionDir"),
    idle("sessionShareDestination"),
    key("compaction"),
    key("branchSummary"),
    idle("theme"),
    idle("quietStartup"),
    idle("tuiMode"),
    idle("fullscreenExitOutput"),
    idle("fullscreenScrollbar"),
    idle("fullscreenCopyOnSelect"),
    idle("fullscreenWheelScrollLines"),
    idle("editorPaddingX"),
    idle("outputPad"),
    idle("autocompleteMaxVisible"),
    idle("showHardwareCursor"),
    idle("terminal"),
    key("images"),
    idle("markdown"),
    idle("transport"),
    global(idle("httpProxy")),
    key("httpIdleTimeoutMs"),
    idle("websocketConnectTimeoutMs"),
    key("retry"),
    key("shellPath"),
    key("shellCommandPrefix"),
    idle("npmCommand"),
    global(idle("selfUpdateCommand")),
    idle("packages"),
    idle("extensions"),
    key("skills"),
    key("prompts"),
    idle("themes"),
    key("enableSkillCommands"),
    idle("collapseChangelog"),
    idle("enableInstallTelemetry"),
    idle("enableAnalytics"),
    idle("warnings"),
    idle("lastChangelogVersion"),
    idle("extensionChangelogVersions"),
    idle("trackingId"),
    global(idle("deviceId")),
];
