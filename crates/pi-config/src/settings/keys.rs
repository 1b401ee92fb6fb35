//! The keys of `settings.json`, as a table.

use serde_json::{Value, json};

use super::Settings;
use crate::file_schema::file_schema;

/// A key of `settings.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingKey {
    /// Name of the key in the file.
    pub name: &'static str,
    /// The key is ignored in a project's file.
    pub user_only: bool,
    /// Description of a key that has no effect in this version. It is kept in the file for other
    /// programs and later versions.
    pub idle: Option<&'static str>,
}

const fn key(name: &'static str) -> SettingKey {
    SettingKey { name, user_only: false, idle: None }
}

const fn idle(name: &'static str, description: &'static str) -> SettingKey {
    SettingKey { name, user_only: false, idle: Some(description) }
}

const fn user_only(key: SettingKey) -> SettingKey {
    SettingKey { user_only: true, ..key }
}

/// All keys. The entry of a group applies to everything in it.
pub const KEYS: &[SettingKey] = &[
    key("$schema"),
    key("defaultProvider"),
    key("defaultModel"),
    key("defaultThinkingLevel"),
    key("modelThinkingLevels"),
    key("modelFallbacks"),
    key("thinkingBudgets"),
    key("enabledModels"),
    key("hideThinkingBlock"),
    key("showCacheMissNotices"),
    user_only(key("cacheWarming")),
    key("accounts"),
    user_only(key("oauth")),
    key("steeringMode"),
    key("followUpMode"),
    key("steeringDelivery"),
    user_only(key("externalEditor")),
    user_only(key("shareCommand")),
    key("doubleEscapeAction"),
    key("treeFilterMode"),
    user_only(key("defaultProjectTrust")),
    key("defaultTools"),
    key("changedFiles"),
    user_only(key("executor")),
    key("codemode"),
    user_only(key("guard")),
    user_only(key("limits")),
    key("hooks"),
    key("guardrails"),
    user_only(key("checkpoints")),
    key("sessionDir"),
    idle("sessionShareDestination", "Destination of shared sessions: auto, gist or radius."),
    key("compaction"),
    key("branchSummary"),
    key("theme"),
    key("quietStartup"),
    key("tuiMode"),
    key("fullscreenExitOutput"),
    key("fullscreenScrollbar"),
    key("fullscreenCopyOnSelect"),
    key("fullscreenWheelScrollLines"),
    key("editorPaddingX"),
    key("outputPad"),
    key("autocompleteMaxVisible"),
    key("showHardwareCursor"),
    key("terminal"),
    key("images"),
    key("markdown"),
    key("transport"),
    user_only(key("httpProxy")),
    user_only(key("modelsUrl")),
    key("httpIdleTimeoutMs"),
    key("websocketConnectTimeoutMs"),
    key("retry"),
    key("shellPath"),
    key("shellCommandPrefix"),
    key("npmCommand"),
    user_only(idle("selfUpdateCommand", "Command that updates the program.")),
    key("packages"),
    key("extensions"),
    key("skills"),
    key("prompts"),
    key("themes"),
    key("enableSkillCommands"),
    key("collapseChangelog"),
    idle("enableInstallTelemetry", "Reports installations."),
    idle("enableAnalytics", "Reports usage."),
    idle("warnings", "Warnings that can be disabled."),
    key("lastChangelogVersion"),
    key("vimMode"),
    key("notifications"),
    key("accessible"),
    idle("extensionChangelogVersions", "Versions of packages whose changes were shown last."),
    idle("trackingId", "Id of the installation in usage reports."),
    user_only(idle("deviceId", "Id of the installation for providers.")),
];

/// Returns the schema of the file. Keys without effect are in it, so that editors know them.
pub fn settings_schema() -> Value {
    let mut schema = file_schema::<Settings>("pi settings");
    let Some(properties) = schema["properties"].as_object_mut() else { return schema };
    for key in KEYS {
        if let Some(description) = key.idle {
            let description = format!("{description} Without effect in this version.");
            properties.insert(key.name.to_owned(), json!({ "description": description }));
        }
    }
    schema
}
