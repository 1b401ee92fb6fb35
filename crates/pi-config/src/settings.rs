//! `settings.json`: one table with a row for each setting.
//!
//! A row has the key, the type, the default and the description (`settings/keys.rs`). A file
//! contains only what differs from the defaults. Keys that are not in the table stay in the file
//! untouched.

mod catalog;
mod effective;
mod guard;
mod keys;
mod layer;
mod limits;
mod number;
mod packages;
mod screen;
mod store;
mod words;

use std::collections::BTreeMap;

use pi_agent::{QueueMode, SteeringDelivery};
use pi_protocol::{ThinkingLevel, Transport};
use pi_session::compaction::{BranchSummarySettings, CompactionSettings};
use pi_tools::{ChangedFilePolicy, ExecutorSpec};
use pi_web::oauth::Service;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::guardrails::Guardrail;
use crate::hooks::HooksGroup;
pub use catalog::{Setting, SettingsCatalog, check_setting};
pub use effective::default_tools;
pub use guard::{
    ApprovalPolicy, GuardSettings, LimitSettings, NetworkSetting, NetworkSwitch, Profile,
    RequiredLevel, ReviewerSettings, SandboxMode,
};
use keys::settings;
pub use keys::{SettingKey, SettingLabel, keys, settings_schema};
pub use limits::LimitsGroup;
pub use number::Timeout;
pub use packages::PackageSource;
pub use screen::{MarkdownSettings, ScreenSettings, TerminalSettings};
pub use store::{SettingsChanges, SettingsScope, SettingsStore};
pub use words::{
    AutoWord, CacheWarmingMode, CodemodeMode, DoubleEscape, ExitOutput, FlagOrAuto, HeaderWord,
    ImageChoice, ImageProtocol, InvalidValue, MermaidMode, Notifications, ProjectTrustDefault,
    QuietStartup, ScrollbarMode, TreeFilter, TuiMode, WheelLines,
};

/// The thinking level of models for which the settings name none.
const THINKING_LEVEL: ThinkingLevel = ThinkingLevel::Medium;

settings! {
    /// The settings in force: those of a file, or of several files combined, and defaults.
    pub struct Settings {
        /// Location of the JSON Schema of this file, for editors.
        "$schema" schema: Option<String> = None;

        /// Provider of the default model.
        "defaultProvider" default_provider: Option<String> = None;
        /// Id of the default model.
        "defaultModel" default_model: Option<String> = None;
        /// Default thinking level.
        #[schemars(schema_with = "thinking_level", extend("default" = THINKING_LEVEL))]
        "defaultThinkingLevel" default_thinking_level: Option<ThinkingLevel> = None;
        /// Thinking levels that single models begin with.
        ///
        /// By `provider/id`.
        #[schemars(schema_with = "thinking_levels")]
        "modelThinkingLevels" model_thinking_levels: Option<BTreeMap<String, ThinkingLevel>> = None,
            label(29, "Default thinking level per model");
        /// Models that continue a run if a model is overloaded, out of quota or down, in order; by
        /// `provider/id`, id, or the beginning of `provider/id` with `*`. Each may name a thinking
        /// level after a colon.
        "modelFallbacks" model_fallbacks: Option<BTreeMap<String, Vec<String>>> = None;
        /// Token budgets of thinking levels.
        "thinkingBudgets" thinking_budgets: ThinkingBudgets = ThinkingBudgets::default(),
            group(ThinkingBudgets::KEYS);
        /// Patterns of the models to cycle through.
        "enabledModels" enabled_models: Option<Vec<String>> = None;
        /// Keeps the provider's prompt cache alive: never, while tools run, or also between prompts.
        "cacheWarming" cache_warming: CacheWarmingMode = CacheWarmingMode::Streaming,
            user_only(), label(18, "Cache warming");

        /// Accounts to use, by provider: `{"openai": "work"}` uses the entry `openai@work` of
        /// `auth.json`. The name `default` is the entry without an account.
        "accounts" accounts: Option<BTreeMap<String, String>> = None;
        /// Services for signing in, by name: additions to the built-in ones and changes to them.
        /// A service receives tokens.
        "oauth" oauth: Option<BTreeMap<String, Service>> = None, user_only();

        /// Messages that you send while the model works: one per answer, or all of them at once.
        "steeringMode" steering_mode: QueueMode = QueueMode::OneAtATime,
            label(13, "Steering mode");
        /// Messages that wait until the model is done: one per answer, or all of them at once.
        "followUpMode" follow_up_mode: QueueMode = QueueMode::OneAtATime,
            label(14, "Follow-up mode");
        /// Time at which a steering message reaches a model that called several tools. With
        /// `afterTool`, calls that have not begun are skipped.
        "steeringDelivery" steering_delivery: SteeringDelivery = SteeringDelivery::AfterTurn;
        /// Trust in projects about which you have not decided.
        "defaultProjectTrust" default_project_trust: ProjectTrustDefault = ProjectTrustDefault::Ask,
            user_only(), label(25, "Default project trust"),
            values(&["Ask=ask", "Always trust=always", "Never trust=never"]);

        /// Active tools at the start: names, or `+name` and `-name` to change the default list.
        #[schemars(extend("default" = default_tools()))]
        "defaultTools" default_tools: Option<Vec<String>> = None;
        /// Treatment of files that changed since the model read them: `warn` writes them and adds a
        /// note to the result, `refuse` makes the model read them again.
        "changedFiles" changed_files: ChangedFilePolicy = ChangedFilePolicy::Note;
        /// Scripts that call tools; see `pi help codemode`.
        "codemode" codemode: CodemodeSettings = CodemodeSettings::default(),
            group(CodemodeSettings::KEYS);
        /// Machine or container in which tools work: `local`, `ssh:HOST[:DIR]`, `docker:NAME` or
        /// `podman:NAME`.
        #[serde(deserialize_with = "effective::executor")]
        #[schemars(with = "String", extend("default" = "local"))]
        #[schemars(regex(pattern = r"^(local|(ssh|docker|podman):[^-\s].*)$"))]
        "executor" executor: ExecutorSpec = ExecutorSpec::Local, user_only(), strict();

        /// Restrictions on tools and commands.
        "guard" guard: Option<GuardSettings> = None, user_only(), strict();
        /// Bounds at which a run ends.
        "limits" limits: Option<LimitsGroup> = None, user_only(), strict();
        /// Commands that run at events of a session, by event. They read a JSON object on stdin and
        /// can decide; see `pi help topic:hooks`. Hooks of all files run.
        "hooks" hooks: Option<HooksGroup> = None, strict();
        /// Checks of prompts, answers, tool calls and tool results; see `pi help topic:hooks`. Guardrails
        /// of all files apply.
        "guardrails" guardrails: Option<Vec<Guardrail>> = None, strict();
        /// Checkpoints of the working directory, which `pi undo` restores.
        "checkpoints" checkpoints: CheckpointSettings = CheckpointSettings::default(),
            user_only(), group(CheckpointSettings::KEYS);

        /// Directory of session files. In a project's file, this applies before the project is
        /// trusted.
        "sessionDir" session_dir: Option<String> = None;
        /// Compaction of full contexts.
        "compaction" compaction: CompactionGroup = CompactionGroup::default(),
            group(CompactionGroup::KEYS);
        /// Summaries of abandoned branches.
        "branchSummary" branch_summary: BranchSummaryGroup = BranchSummaryGroup::default(),
            group(BranchSummaryGroup::KEYS);
        /// Images for models.
        "images" images: ImageSettings = ImageSettings::default(), group(ImageSettings::KEYS);

        /// Connection to OpenAI Codex. auto and websocket-cached send only what is new; all other
        /// providers use server-sent events.
        #[schemars(schema_with = "transport")]
        "transport" transport: Transport = Transport::Auto, label(15, "Transport");
        /// Milliseconds within which a WebSocket must be open, before server-sent events are used
        /// instead; 0 or "disabled" for no limit.
        "websocketConnectTimeoutMs" websocket_connect_timeout: Timeout = Timeout(15_000);
        /// Proxy for requests to providers: `http://HOST:PORT`. The variables `HTTPS_PROXY` and
        /// `HTTP_PROXY` take precedence; `NO_PROXY` lists exceptions.
        "httpProxy" http_proxy: Option<String> = None, user_only();
        /// Time without any data after which a request has failed. Used by the next session.
        ///
        /// In milliseconds; 0 or "disabled" for no limit.
        "httpIdleTimeoutMs" http_idle_timeout: Timeout = Timeout(300_000),
            label(17, "HTTP idle timeout"),
            values(&["30 sec=30000", "1 min=60000", "2 min=120000", "5 min=300000", "disabled=0"]);
        /// URL from which `pi models update` loads newer model records; `{provider}` stands for the
        /// id of a provider.
        "modelsUrl" models_url: Option<String> = None, user_only();
        /// Retries of failed requests.
        "retry" retry: RetrySettings = RetrySettings::default(), group(RetrySettings::KEYS);

        /// Shell that runs commands.
        "shellPath" shell_path: Option<String> = None;
        /// Shell code that is inserted before each command.
        "shellCommandPrefix" shell_command_prefix: Option<String> = None;

        /// Command and arguments that are used as npm: npm, pnpm or bun. By default, packages are
        /// installed without npm.
        "npmCommand" npm_command: Option<Vec<String>> = None;
        /// Packages of resources.
        "packages" packages: Option<Vec<PackageSource>> = None;
        /// Extension files and directories.
        "extensions" extensions: Option<Vec<String>> = None;
        /// Skill files and directories.
        "skills" skills: Option<Vec<String>> = None;
        /// Prompt template files and directories.
        "prompts" prompts: Option<Vec<String>> = None;
        /// Offers every skill as a command in the menu. Used after /reload.
        ///
        /// A typed `/skill:name` works in any case.
        "enableSkillCommands" enable_skill_commands: bool = true, label(6, "Skill commands");
    }
    /// The settings of the screen. They stand beside the others in the file.
    flatten screen: ScreenSettings;
}

settings! {
    /// Token budgets of thinking levels.
    pub struct ThinkingBudgets {
        /// Budget of `minimal`.
        #[serde(deserialize_with = "number::optional")]
        "minimal" minimal: Option<u64> = None;
        /// Budget of `low`.
        #[serde(deserialize_with = "number::optional")]
        "low" low: Option<u64> = None;
        /// Budget of `medium`.
        #[serde(deserialize_with = "number::optional")]
        "medium" medium: Option<u64> = None;
        /// Budget of `high` and above.
        #[serde(deserialize_with = "number::optional")]
        "high" high: Option<u64> = None;
    }
}

settings! {
    /// Scripts that call tools.
    #[derive(Copy)]
    pub struct CodemodeSettings {
        /// Whether other tools stay declared while `codemode` is active (`on`), or are only reached
        /// through scripts (`only`).
        "mode" mode: CodemodeMode = CodemodeMode::On;
        /// Tokens that the description of `codemode` may spend on declarations of other tools.
        "inlineBudget" inline_budget: u64 = 3_000;
    }
}

settings! {
    /// Compaction of full contexts.
    pub struct CompactionGroup {
        /// Summarizes the history when the context is nearly full.
        "enabled" enabled: bool = CompactionSettings::default().enabled, label(1, "Auto-compact");
        /// Tokens that stay free.
        #[serde(deserialize_with = "number::whole")]
        "reserveTokens" reserve_tokens: u64 = CompactionSettings::default().reserve_tokens;
        /// Tokens of recent history that are kept.
        #[serde(deserialize_with = "number::whole")]
        "keepRecentTokens" keep_recent_tokens: u64 =
            CompactionSettings::default().keep_recent_tokens;
        /// Overrides for single models, by `provider/id`.
        "modelOverrides" model_overrides: BTreeMap<String, CompactionOverride> = BTreeMap::new();
    }
}

/// Compaction settings of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionOverride {
    /// Tokens that stay free.
    #[serde(deserialize_with = "number::optional")]
    pub reserve_tokens: Option<u64>,
    /// Tokens of recent history that are kept.
    #[serde(deserialize_with = "number::optional")]
    pub keep_recent_tokens: Option<u64>,
}

settings! {
    /// Checkpoints of the working directory.
    pub struct CheckpointSettings {
        /// Takes checkpoints before and after runs that change files.
        "enabled" enabled: bool = true;
        /// Maximum size of the checkpoints of all sessions, in megabytes of 2^20 bytes. Those of the
        /// sessions that were not used for the longest time are removed first.
        #[serde(deserialize_with = "number::whole")]
        "maxSizeMb" max_size_mb: u64 = 2048;
        /// Days after which the checkpoints of an unused session are removed.
        #[serde(deserialize_with = "number::whole")]
        "maxAgeDays" max_age_days: u64 = 30;
    }
}

settings! {
    /// Summaries of abandoned branches.
    pub struct BranchSummaryGroup {
        /// Tokens that stay free for the prompt and the summary.
        #[serde(deserialize_with = "number::whole")]
        "reserveTokens" reserve_tokens: u64 = BranchSummarySettings::default().reserve_tokens;
        /// Leaves a branch without a summary and without asking.
        "skipPrompt" skip_prompt: bool = false;
    }
}

settings! {
    /// Images for models.
    pub struct ImageSettings {
        /// Makes large images smaller before they are sent. Used by the next session.
        "autoResize" auto_resize: bool = true, label(4, "Auto-resize images");
        /// Sends no images to the model.
        "blockImages" block_images: bool = false, label(5, "Block images");
    }
}

settings! {
    /// Retries of failed turns.
    pub struct RetrySettings {
        /// Enables retries of failed turns.
        "enabled" enabled: bool = true;
        /// Maximum number of retries.
        #[serde(deserialize_with = "number::count")]
        "maxRetries" max_retries: u32 = 3;
        /// First pause in milliseconds; each following pause is twice as long.
        #[serde(deserialize_with = "number::whole")]
        "baseDelayMs" base_delay_ms: u64 = 2_000;
        /// Longest pause in milliseconds.
        #[serde(deserialize_with = "number::whole")]
        "maxAgentDelayMs" max_delay_ms: u64 = 60_000;
        /// Retries of single requests.
        "provider" provider: ProviderRetry = ProviderRetry::default(), group(ProviderRetry::KEYS);
    }
}

settings! {
    /// Retries of single requests.
    pub struct ProviderRetry {
        /// Time limit of a request in milliseconds.
        #[serde(deserialize_with = "number::optional")]
        "timeoutMs" timeout_ms: Option<u64> = None;
        /// Maximum number of retries.
        #[serde(deserialize_with = "number::count")]
        "maxRetries" max_retries: u32 = 0;
        /// Longest pause in milliseconds that a server may request; 0 for no limit.
        #[serde(deserialize_with = "number::whole")]
        "maxRetryDelayMs" max_retry_delay_ms: u64 = 60_000;
    }
}

fn thinking_level(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ThinkingLevel::ALL })
}

fn thinking_levels(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": thinking_level(generator) })
}

fn transport(_: &mut SchemaGenerator) -> Schema {
    use Transport::{Auto, Sse, Websocket, WebsocketCached};
    json_schema!({ "enum": [Auto, Sse, Websocket, WebsocketCached] })
}
