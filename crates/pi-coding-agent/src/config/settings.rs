//! `settings.json`, typed.
//!
//! Everything is optional, since a file names only what differs; what counts in the end is in
//! `settings/effective.rs`. Keys that are not here stay in the file untouched.

mod choices;
mod effective;
mod guard;
mod keys;
mod layer;
mod number;
mod store;

use std::collections::BTreeMap;

use pi_protocol::ThinkingLevel;
use schemars::JsonSchema;
use serde::Deserialize;

pub use choices::{
    CacheWarming, CodemodeMode, Detection, DoubleEscapeAction, ExitOutput, ImageProtocol,
    MermaidMode, PackageSource, ProjectTrustDefault, QueueDelivery, QuietStartup, Scrollbar,
    ShareDestination, TerminalImages, Transport, TreeFilter, TuiMode, WheelLines,
};
pub use effective::{DEFAULT_TOOLS, ProviderRetry, Retry};
pub use guard::{
    ApprovalPolicy, GuardSettings, InvalidValue, NetworkSetting, NetworkSwitch, Profile,
    RequiredLevel, ReviewerSettings, SandboxMode,
};
pub use keys::{KEYS, SettingKey};
pub use number::Timeout;
pub use store::{Changes, SettingsScope, SettingsStore};

/// What a settings file may say.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(title = "pi settings")]
pub struct Settings {
    /// Where editors find the schema of this file.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,

    /// The provider of the model to start with.
    pub default_provider: Option<String>,
    /// The model to start with.
    pub default_model: Option<String>,
    /// How much models think unless told otherwise.
    #[schemars(with = "Option<choices::ThinkingLevelName>")]
    pub default_thinking_level: Option<ThinkingLevel>,
    /// How much one model thinks, by `provider/id`.
    #[schemars(with = "Option<BTreeMap<String, choices::ThinkingLevelName>>")]
    pub model_thinking_levels: Option<BTreeMap<String, ThinkingLevel>>,
    /// Tokens for thinking, by level.
    pub thinking_budgets: Option<ThinkingBudgets>,
    /// Patterns of the models to choose from.
    pub enabled_models: Option<Vec<String>>,
    /// Do not show what the model thinks.
    pub hide_thinking_block: Option<bool>,
    /// Tell when a prompt cache was missed.
    pub show_cache_miss_notices: Option<bool>,
    /// When to keep prompt caches alive. Only in the user's file.
    pub cache_warming: Option<CacheWarming>,

    /// How many steering messages are delivered at a time.
    pub steering_mode: Option<QueueDelivery>,
    /// How many follow-up messages are delivered at a time.
    pub follow_up_mode: Option<QueueDelivery>,
    /// The editor for long prompts.
    pub external_editor: Option<String>,
    /// What pressing escape twice does.
    pub double_escape_action: Option<DoubleEscapeAction>,
    /// What the tree of a session shows at first.
    pub tree_filter_mode: Option<TreeFilter>,
    /// Whether projects nobody decided about are trusted. Only in the user's file.
    pub default_project_trust: Option<ProjectTrustDefault>,

    /// The tools at the start: names, or `+name` and `-name` to change the usual ones.
    pub default_tools: Option<Vec<String>>,
    /// Tools called from scripts.
    pub codemode: Option<Codemode>,

    /// What may be done, and what holds it. Only in the user's file.
    pub guard: Option<GuardSettings>,

    /// Where sessions are kept. In a project's file it counts before the project is trusted.
    pub session_dir: Option<String>,
    /// Where shared sessions go.
    pub session_share_destination: Option<ShareDestination>,
    /// Making room in the context.
    pub compaction: Option<Compaction>,
    /// Summaries of branches that were left.
    pub branch_summary: Option<BranchSummary>,

    /// The colours.
    pub theme: Option<String>,
    /// Start without words.
    pub quiet_startup: Option<QuietStartup>,
    /// The whole screen, or the terminal's own scrolling.
    pub tui_mode: Option<TuiMode>,
    /// What is left on the terminal afterwards.
    pub fullscreen_exit_output: Option<ExitOutput>,
    /// When to show a scroll bar.
    pub fullscreen_scrollbar: Option<Scrollbar>,
    /// Copy what is selected.
    pub fullscreen_copy_on_select: Option<bool>,
    /// Lines per step of the wheel.
    pub fullscreen_wheel_scroll_lines: Option<WheelLines>,
    /// Space beside the editor, 0 to 3.
    #[serde(deserialize_with = "number::whole")]
    pub editor_padding_x: Option<u64>,
    /// Space beside the transcript, 0 or 1.
    #[serde(deserialize_with = "number::whole")]
    pub output_pad: Option<u64>,
    /// Completions shown at once, 3 to 20.
    #[serde(deserialize_with = "number::whole")]
    pub autocomplete_max_visible: Option<u64>,
    /// Show the terminal's own cursor.
    pub show_hardware_cursor: Option<bool>,
    /// What the terminal can do.
    pub terminal: Option<Terminal>,
    /// Pictures for models.
    pub images: Option<Images>,
    /// How answers are drawn.
    pub markdown: Option<Markdown>,

    /// How to talk to providers that offer a choice.
    pub transport: Option<Transport>,
    /// A proxy for everything. Only in the user's file.
    pub http_proxy: Option<String>,
    /// Silence after which a connection counts as dead, in milliseconds; 0 or "disabled": never.
    pub http_idle_timeout_ms: Option<Timeout>,
    /// The same for opening a WebSocket.
    pub websocket_connect_timeout_ms: Option<Timeout>,
    /// Trying again.
    pub retry: Option<RetrySettings>,

    /// The shell that runs commands.
    pub shell_path: Option<String>,
    /// Runs before each command.
    pub shell_command_prefix: Option<String>,
    /// The command that stands for `npm`.
    pub npm_command: Option<Vec<String>>,
    /// The command that updates the program. Only in the user's file.
    pub self_update_command: Option<Vec<String>>,

    /// Packages of resources.
    pub packages: Option<Vec<PackageSource>>,
    /// Extension files and directories.
    pub extensions: Option<Vec<String>>,
    /// Skill files and directories.
    pub skills: Option<Vec<String>>,
    /// Prompt template files and directories.
    pub prompts: Option<Vec<String>>,
    /// Theme files and directories.
    pub themes: Option<Vec<String>>,
    /// Offer each skill as a command.
    pub enable_skill_commands: Option<bool>,

    /// Show news in short.
    pub collapse_changelog: Option<bool>,
    /// Report installations.
    pub enable_install_telemetry: Option<bool>,
    /// Report use.
    pub enable_analytics: Option<bool>,
    /// Warnings that can be turned off.
    pub warnings: Option<Warnings>,

    /// The news that were shown last. Managed by the program.
    pub last_changelog_version: Option<String>,
    /// The same for packages. Managed by the program.
    pub extension_changelog_versions: Option<BTreeMap<String, String>>,
    /// Names the installation in reports of use. Managed by the program.
    pub tracking_id: Option<String>,
    /// Names the installation to providers that ask. Managed by the program.
    pub device_id: Option<String>,
}

/// Tokens for thinking, by level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThinkingBudgets {
    /// For `minimal`.
    #[serde(deserialize_with = "number::whole")]
    pub minimal: Option<u64>,
    /// For `low`.
    #[serde(deserialize_with = "number::whole")]
    pub low: Option<u64>,
    /// For `medium`.
    #[serde(deserialize_with = "number::whole")]
    pub medium: Option<u64>,
    /// For `high` and above.
    #[serde(deserialize_with = "number::whole")]
    pub high: Option<u64>,
}

/// Tools called from scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Codemode {
    /// Beside direct calls, or instead of them.
    pub mode: Option<CodemodeMode>,
    /// Tokens for the declarations of tools.
    #[serde(deserialize_with = "number::whole")]
    pub inline_budget: Option<u64>,
}

/// Making room in the context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Compaction {
    /// Without being asked.
    pub enabled: Option<bool>,
    /// Tokens that stay free.
    #[serde(deserialize_with = "number::whole")]
    pub reserve_tokens: Option<u64>,
    /// Tokens of recent history that are kept.
    #[serde(deserialize_with = "number::whole")]
    pub keep_recent_tokens: Option<u64>,
    /// Other numbers for one model, by `provider/id`.
    pub model_overrides: Option<BTreeMap<String, CompactionOverride>>,
}

/// Numbers for one model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionOverride {
    /// Tokens that stay free.
    #[serde(deserialize_with = "number::whole")]
    pub reserve_tokens: Option<u64>,
    /// Tokens of recent history that are kept.
    #[serde(deserialize_with = "number::whole")]
    pub keep_recent_tokens: Option<u64>,
}

/// Summaries of branches that were left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummary {
    /// Tokens left for prompt and summary.
    #[serde(deserialize_with = "number::whole")]
    pub reserve_tokens: Option<u64>,
    /// Leave without a summary and without being asked.
    pub skip_prompt: Option<bool>,
}

/// What the terminal can do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Terminal {
    /// Show pictures.
    pub show_images: Option<bool>,
    /// How wide, in cells.
    pub image_width_cells: Option<f64>,
    /// Clear rows that became empty.
    pub clear_on_shrink: Option<bool>,
    /// Show progress in the terminal's tab.
    pub show_terminal_progress: Option<bool>,
    /// Links.
    pub hyperlinks: Option<Detection>,
    /// How pictures are sent.
    pub images: Option<TerminalImages>,
    /// All colours.
    pub true_color: Option<Detection>,
}

/// Pictures for models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Images {
    /// Make them fit.
    pub auto_resize: Option<bool>,
    /// Send none.
    pub block_images: Option<bool>,
}

/// How answers are drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Markdown {
    /// Before each line of code.
    pub code_block_indent: Option<String>,
    /// When to draw diagrams.
    pub mermaid: Option<MermaidMode>,
}

/// Trying again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RetrySettings {
    /// Try a failed turn again.
    pub enabled: Option<bool>,
    /// How often.
    #[serde(deserialize_with = "number::whole")]
    pub max_retries: Option<u64>,
    /// The first pause, in milliseconds; each next one is twice as long.
    #[serde(deserialize_with = "number::whole")]
    pub base_delay_ms: Option<u64>,
    /// The longest pause.
    #[serde(deserialize_with = "number::whole")]
    pub max_agent_delay_ms: Option<u64>,
    /// Trying a single request again.
    pub provider: Option<ProviderRetrySettings>,
}

/// Trying a single request again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderRetrySettings {
    /// How long a request may take, in milliseconds.
    #[serde(deserialize_with = "number::whole")]
    pub timeout_ms: Option<u64>,
    /// How often.
    #[serde(deserialize_with = "number::whole")]
    pub max_retries: Option<u64>,
    /// The longest pause that a server may ask for; 0: any.
    #[serde(deserialize_with = "number::whole")]
    pub max_retry_delay_ms: Option<u64>,
}

/// Warnings that can be turned off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Warnings {
    /// A subscription that may cost extra.
    pub anthropic_extra_usage: Option<bool>,
}
