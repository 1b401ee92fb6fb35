//! `settings.json`, typed.
//!
//! Every field is optional, since a file contains only what differs from the defaults; the
//! effective values are in `settings/effective.rs`. Only keys that have an effect are typed. All
//! other keys, known or unknown, stay in the file untouched.

mod catalog;
mod choices;
mod codemode;
mod defaults;
mod effective;
mod executor;
mod guard;
mod keys;
mod layer;
mod limits;
mod number;
mod retry;
mod screen;
mod store;

use std::collections::BTreeMap;

use pi_agent::{QueueMode, SteeringDelivery};
use pi_protocol::{ThinkingLevel, Transport};
use pi_tools::ChangedFilePolicy;
use pi_web::oauth::Service;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::guardrails::Guardrail;
use crate::hooks::HooksGroup;
pub use catalog::{Setting, SettingsCatalog, check_setting};
pub use choices::{CacheWarmingMode, PackageSource, ProjectTrustDefault};
use codemode::CodemodeGroup;
pub use codemode::{CodemodeMode, CodemodeSettings};
pub use effective::default_tools;
pub use executor::ExecutorSetting;
pub use guard::{
    ApprovalPolicy, GuardSettings, InvalidValue, LimitSettings, NetworkSetting, NetworkSwitch,
    Profile, RequiredLevel, ReviewerSettings, SandboxMode,
};
pub use keys::{KEYS, SettingKey, settings_schema};
use limits::LimitsGroup;
use number::Timeout;
pub use retry::RetrySettings;
pub use screen::{
    DoubleEscape, ExitOutput, ImageProtocol, MermaidMode, Notifications, QuietStartup,
    ScreenSettings, ScrollbarMode, TreeFilter, TuiMode,
};
pub use store::{SettingsChanges, SettingsScope, SettingsStore};

/// The settings of a file, or of several files combined.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(title = "pi settings")]
#[non_exhaustive]
pub struct Settings {
    /// Location of the JSON Schema of this file, for editors.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,

    /// Provider of the default model.
    pub default_provider: Option<String>,
    /// Id of the default model.
    pub default_model: Option<String>,
    /// Default thinking level.
    #[schemars(with = "Option<choices::ThinkingLevelName>")]
    pub default_thinking_level: Option<ThinkingLevel>,
    /// Thinking levels of single models, by `provider/id`.
    #[schemars(with = "Option<BTreeMap<String, choices::ThinkingLevelName>>")]
    pub model_thinking_levels: Option<BTreeMap<String, ThinkingLevel>>,
    /// Models that continue a run if a model is overloaded, out of quota or down, in order; by
    /// `provider/id`, id, or the beginning of `provider/id` with `*`. Each may name a thinking level
    /// after a colon.
    pub model_fallbacks: Option<BTreeMap<String, Vec<String>>>,
    /// Token budgets of thinking levels.
    pub(crate) thinking_budgets: Option<ThinkingBudgets>,
    /// Patterns of the models to cycle through.
    pub enabled_models: Option<Vec<String>>,
    /// Keeps prompt caches alive while a run works (`streaming`), also between runs (`idle`), or
    /// not at all (`off`). Only in the user's file.
    pub cache_warming: Option<CacheWarmingMode>,

    /// Accounts to use, by provider: `{"openai": "work"}` uses the entry `openai@work` of
    /// `auth.json`. The name `default` is the entry without an account.
    pub accounts: Option<BTreeMap<String, String>>,
    /// Services for signing in, by name: additions to the built-in ones and changes to them. Only
    /// in the user's file, since a service receives tokens.
    pub oauth: Option<BTreeMap<String, Service>>,

    /// Number of steering messages that are delivered at once.
    #[serde(deserialize_with = "choices::queue_mode")]
    #[schemars(with = "Option<choices::QueueModeName>")]
    pub steering_mode: Option<QueueMode>,
    /// Number of follow-up messages that are delivered at once.
    #[serde(deserialize_with = "choices::queue_mode")]
    #[schemars(with = "Option<choices::QueueModeName>")]
    pub follow_up_mode: Option<QueueMode>,
    /// Time at which a steering message reaches a model that called several tools. With
    /// `afterTool`, calls that have not begun are skipped.
    #[serde(deserialize_with = "choices::steering_delivery")]
    #[schemars(with = "Option<choices::SteeringDeliveryName>")]
    pub steering_delivery: Option<SteeringDelivery>,
    /// Trust in projects about which the user has not decided. Only in the user's file.
    pub default_project_trust: Option<ProjectTrustDefault>,

    /// Active tools at the start: names, or `+name` and `-name` to change the default list.
    pub default_tools: Option<Vec<String>>,
    /// Treatment of files that changed since the model read them: `warn` writes them and adds a
    /// note to the result, `refuse` makes the model read them again.
    #[serde(deserialize_with = "choices::changed_files")]
    #[schemars(with = "Option<choices::ChangedFilesName>")]
    pub changed_files: Option<ChangedFilePolicy>,
    /// Scripts that call tools; see `pi help codemode`.
    pub(crate) codemode: Option<CodemodeGroup>,
    /// Machine or container in which tools work: `local`, `ssh:HOST[:DIR]`, `docker:NAME` or
    /// `podman:NAME`. Only in the user's file.
    pub executor: Option<ExecutorSetting>,

    /// Restrictions on tools and commands. Only in the user's file.
    pub guard: Option<GuardSettings>,

    /// Bounds at which a run ends. Only in the user's file.
    pub(crate) limits: Option<LimitsGroup>,

    /// Commands that run at events of a session, by event. They read a JSON object on stdin and can
    /// decide; see `pi help hooks`. Hooks of all files run.
    pub hooks: Option<HooksGroup>,

    /// Checks of prompts, answers, tool calls and tool results; see `pi help hooks`. Guardrails of
    /// all files apply.
    pub guardrails: Option<Vec<Guardrail>>,

    /// Checkpoints of the working directory, which `pi undo` restores. Only in the user's file.
    pub(crate) checkpoints: Option<CheckpointsGroup>,

    /// Directory of session files. In a project's file, this applies before the project is
    /// trusted.
    pub session_dir: Option<String>,
    /// Compaction of full contexts.
    pub(crate) compaction: Option<CompactionGroup>,
    /// Summaries of abandoned branches.
    pub(crate) branch_summary: Option<BranchSummaryGroup>,
    /// Images for models.
    pub(crate) images: Option<ImagesGroup>,

    /// Connection to providers that offer WebSockets (`openai-codex`). All others use server-sent
    /// events.
    #[serde(deserialize_with = "choices::transport")]
    #[schemars(with = "Option<choices::TransportName>")]
    pub transport: Option<Transport>,
    /// Milliseconds within which a WebSocket must be open, before server-sent events are used
    /// instead; 0 or "disabled" for no limit.
    pub(crate) websocket_connect_timeout_ms: Option<Timeout>,
    /// Proxy for requests to providers: `http://HOST:PORT`. The variables `HTTPS_PROXY` and
    /// `HTTP_PROXY` take precedence; `NO_PROXY` lists exceptions. Only in the user's file.
    pub http_proxy: Option<String>,
    /// Milliseconds without data after which a connection counts as dead; 0 or "disabled" for no
    /// limit.
    pub(crate) http_idle_timeout_ms: Option<Timeout>,
    /// URL from which `pi models update` loads newer model records; `{provider}` stands for the id
    /// of a provider. Only in the user's file.
    pub models_url: Option<String>,
    /// Retries of failed requests.
    pub(crate) retry: Option<RetryGroup>,

    /// Shell that runs commands.
    pub shell_path: Option<String>,
    /// Shell code that is inserted before each command.
    pub shell_command_prefix: Option<String>,

    /// Command and arguments that are used as npm: npm, pnpm or bun. Default: packages are
    /// installed without npm.
    pub npm_command: Option<Vec<String>>,
    /// Packages of resources.
    #[schemars(with = "Option<Vec<choices::PackageSource>>")]
    pub packages: Option<Vec<PackageSource>>,
    /// Extension files and directories.
    pub extensions: Option<Vec<String>>,
    /// Skill files and directories.
    pub skills: Option<Vec<String>>,
    /// Prompt template files and directories.
    pub prompts: Option<Vec<String>>,
    /// Offers each skill in the menu of commands. A typed `/skill:name` works in any case.
    pub enable_skill_commands: Option<bool>,

    /// The keys of the screen.
    #[serde(flatten)]
    pub(crate) screen: screen::ScreenKeys,
}

/// Token budgets of thinking levels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ThinkingBudgets {
    /// Budget of `minimal`.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) minimal: Option<u64>,
    /// Budget of `low`.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) low: Option<u64>,
    /// Budget of `medium`.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) medium: Option<u64>,
    /// Budget of `high` and above.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) high: Option<u64>,
}

/// The group `compaction`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CompactionGroup {
    /// Enables automatic compaction.
    pub(crate) enabled: Option<bool>,
    /// Tokens that stay free.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) reserve_tokens: Option<u64>,
    /// Tokens of recent history that are kept.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) keep_recent_tokens: Option<u64>,
    /// Overrides for single models, by `provider/id`.
    pub(crate) model_overrides: Option<BTreeMap<String, CompactionOverride>>,
}

/// Compaction settings of one model.
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

/// The group `checkpoints`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CheckpointsGroup {
    /// Takes checkpoints before and after runs that change files. Default: true.
    pub(crate) enabled: Option<bool>,
    /// Maximum size of the checkpoints of all sessions, in megabytes of 2^20 bytes. Those of the
    /// sessions that were not used for the longest time are removed first. Default: 2048.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) max_size_mb: Option<u64>,
    /// Days after which the checkpoints of an unused session are removed. Default: 30.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) max_age_days: Option<u64>,
}

/// The group `branchSummary`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BranchSummaryGroup {
    /// Tokens that stay free for the prompt and the summary.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) reserve_tokens: Option<u64>,
    /// Leaves a branch without a summary and without asking.
    pub(crate) skip_prompt: Option<bool>,
}

/// The group `images`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ImagesGroup {
    /// Resizes images to the limits of the model.
    pub(crate) auto_resize: Option<bool>,
    /// Sends no images to models.
    pub(crate) block_images: Option<bool>,
}

/// The group `retry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RetryGroup {
    /// Enables retries of failed turns.
    pub(crate) enabled: Option<bool>,
    /// Maximum number of retries.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) max_retries: Option<u64>,
    /// First pause in milliseconds; each following pause is twice as long.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) base_delay_ms: Option<u64>,
    /// Longest pause in milliseconds.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) max_agent_delay_ms: Option<u64>,
    /// Retries of single requests.
    pub(crate) provider: Option<ProviderRetryGroup>,
}

/// The group `retry.provider`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ProviderRetryGroup {
    /// Time limit of a request in milliseconds.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) timeout_ms: Option<u64>,
    /// Maximum number of retries.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) max_retries: Option<u64>,
    /// Longest pause in milliseconds that a server may request; 0 for no limit.
    #[serde(deserialize_with = "number::whole")]
    pub(crate) max_retry_delay_ms: Option<u64>,
}
