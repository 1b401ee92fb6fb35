//! What the settings come to: the value from the files, or the default, within its bounds.

use std::time::Duration;

use pi_agent::QueueMode;
use pi_protocol::ThinkingLevel;
use pi_session::compaction::{BranchSummarySettings, CompactionSettings};

use super::choices::{
    CacheWarming, CodemodeMode, DoubleEscapeAction, ExitOutput, MermaidMode, ProjectTrustDefault,
    QuietStartup, Scrollbar, ShareDestination, Transport, TreeFilter, TuiMode, WheelLines,
};
use super::number::Timeout;
use super::{Settings, Terminal};
use crate::create::ToolChange;

/// The tools at the start, unless the settings say otherwise.
pub const DEFAULT_TOOLS: [&str; 4] = ["read", "bash", "edit", "write"];

/// Trying a failed turn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// At all.
    pub enabled: bool,
    /// How often.
    pub max_retries: u64,
    /// The first pause; each next one is twice as long.
    pub base_delay: Duration,
    /// The longest pause.
    pub max_delay: Duration,
}

/// Trying a single request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderRetry {
    /// How long a request may take; without one, as long as it says something.
    pub timeout: Option<Duration>,
    /// How often.
    pub max_retries: u64,
    /// The longest pause that a server may ask for.
    pub max_retry_delay: Option<Duration>,
}

/// Accessors for keys with a fixed default.
macro_rules! defaults {
    ($($(#[$doc:meta])* $name:ident $(. $inner:ident)? as $accessor:ident: $type:ty = $default:expr;)*) => {
        impl Settings {
            $($(#[$doc])* pub fn $accessor(&self) -> $type {
                defaults!(@ self, $name $($inner)?).unwrap_or($default)
            })*
        }
    };
    (@ $self:ident, $name:ident) => { $self.$name };
    (@ $self:ident, $name:ident $inner:ident) => { $self.$name.as_ref().and_then(|group| group.$inner) };
}

defaults! {
    /// How much models think.
    default_thinking_level as default_thinking_level: ThinkingLevel = ThinkingLevel::Medium;
    /// Do not show what the model thinks.
    hide_thinking_block as hide_thinking_block: bool = false;
    /// Tell when a prompt cache was missed.
    show_cache_miss_notices as show_cache_miss_notices: bool = false;
    /// When to keep prompt caches alive.
    cache_warming as cache_warming: CacheWarming = CacheWarming::Streaming;
    /// What pressing escape twice does.
    double_escape_action as double_escape_action: DoubleEscapeAction = DoubleEscapeAction::Tree;
    /// What the tree of a session shows at first.
    tree_filter_mode as tree_filter_mode: TreeFilter = TreeFilter::Default;
    /// Whether projects nobody decided about are trusted.
    default_project_trust as default_project_trust: ProjectTrustDefault = ProjectTrustDefault::Ask;
    /// How scripts and direct calls share the tools.
    codemode.mode as codemode_mode: CodemodeMode = CodemodeMode::On;
    /// Tokens for the declarations of tools.
    codemode.inline_budget as codemode_inline_budget: u64 = 3000;
    /// Where shared sessions go.
    session_share_destination as session_share_destination: ShareDestination = ShareDestination::Auto;
    /// Leave a branch without a summary and without being asked.
    branch_summary.skip_prompt as branch_summary_skip_prompt: bool = false;
    /// What is not shown at the start.
    quiet_startup as quiet_startup: QuietStartup = QuietStartup::All(false);
    /// How the screen is used.
    tui_mode as tui_mode: TuiMode = TuiMode::Fullscreen;
    /// What is left on the terminal afterwards.
    fullscreen_exit_output as fullscreen_exit_output: ExitOutput = ExitOutput::Transcript;
    /// When a scroll bar is shown.
    fullscreen_scrollbar as fullscreen_scrollbar: Scrollbar = Scrollbar::Auto;
    /// Copy what is selected.
    fullscreen_copy_on_select as fullscreen_copy_on_select: bool = true;
    /// Show the terminal's own cursor.
    show_hardware_cursor as show_hardware_cursor: bool = false;
    /// Show pictures.
    terminal.show_images as show_images: bool = true;
    /// Clear rows that became empty.
    terminal.clear_on_shrink as clear_on_shrink: bool = false;
    /// Show progress in the terminal's tab.
    terminal.show_terminal_progress as show_terminal_progress: bool = false;
    /// Make pictures fit the model.
    images.auto_resize as auto_resize_images: bool = true;
    /// Send no pictures.
    images.block_images as block_images: bool = false;
    /// When diagrams are drawn.
    markdown.mermaid as mermaid: MermaidMode = MermaidMode::Streaming;
    /// How to talk to providers that offer a choice.
    transport as transport: Transport = Transport::Auto;
    /// Offer each skill as a command.
    enable_skill_commands as enable_skill_commands: bool = true;
    /// Show news in short.
    collapse_changelog as collapse_changelog: bool = false;
    /// Report installations.
    enable_install_telemetry as enable_install_telemetry: bool = true;
    /// Report use.
    enable_analytics as enable_analytics: bool = false;
    /// Warn about a subscription that may cost extra.
    warnings.anthropic_extra_usage as warn_anthropic_extra_usage: bool = true;
}

impl Settings {
    /// How much a model thinks, if the settings name it.
    pub fn model_thinking_level(&self, provider: &str, model: &str) -> Option<ThinkingLevel> {
        self.model_thinking_levels.as_ref()?.get(&format!("{provider}/{model}")).copied()
    }

    /// Tokens for thinking, by level.
    pub fn thinking_budgets(&self) -> pi_protocol::ThinkingBudgets {
        let budgets = self.thinking_budgets.clone().unwrap_or_default();
        pi_protocol::ThinkingBudgets {
            minimal: budgets.minimal,
            low: budgets.low,
            medium: budgets.medium,
            high: budgets.high,
        }
    }

    /// How many steering messages are delivered at a time.
    pub fn steering_mode(&self) -> QueueMode {
        self.steering_mode.unwrap_or_default().into()
    }

    /// How many follow-up messages are delivered at a time.
    pub fn follow_up_mode(&self) -> QueueMode {
        self.follow_up_mode.unwrap_or_default().into()
    }

    /// The tools at the start, if the settings say anything about them.
    pub fn default_tools(&self) -> Option<Vec<String>> {
        let entries = self.default_tools.as_ref()?;
        let names = entries.iter().filter(|entry| ToolChange::parse(entry).is_none());
        let mut tools: Vec<String> = names.cloned().collect();
        // An empty list is not a modification: it asks for no tools.
        if tools.is_empty() && !entries.is_empty() {
            tools = DEFAULT_TOOLS.map(str::to_owned).to_vec();
        }
        for change in ToolChange::parse_all(entries) {
            change.apply(&mut tools);
        }
        Some(tools)
    }

    /// When and how much to compact, for a model given as provider and id.
    pub fn compaction(&self, model: Option<(&str, &str)>) -> CompactionSettings {
        let default = CompactionSettings::default();
        let Some(settings) = &self.compaction else { return default };
        let special = model.and_then(|(provider, id)| {
            settings.model_overrides.as_ref()?.get(&format!("{provider}/{id}"))
        });
        let number = |special: Option<u64>, general: Option<u64>, default: u64| {
            special.or(general).unwrap_or(default)
        };
        CompactionSettings {
            enabled: settings.enabled.unwrap_or(default.enabled),
            reserve_tokens: number(
                special.and_then(|special| special.reserve_tokens),
                settings.reserve_tokens,
                default.reserve_tokens,
            ),
            keep_recent_tokens: number(
                special.and_then(|special| special.keep_recent_tokens),
                settings.keep_recent_tokens,
                default.keep_recent_tokens,
            ),
        }
    }

    /// How branches are summarised.
    pub fn branch_summary(&self) -> BranchSummarySettings {
        let default = BranchSummarySettings::default();
        let reserve = self.branch_summary.as_ref().and_then(|settings| settings.reserve_tokens);
        BranchSummarySettings { reserve_tokens: reserve.unwrap_or(default.reserve_tokens) }
    }

    /// Trying a failed turn again.
    pub fn retry(&self) -> Retry {
        let settings = self.retry.clone().unwrap_or_default();
        Retry {
            enabled: settings.enabled.unwrap_or(true),
            max_retries: settings.max_retries.unwrap_or(3),
            base_delay: Duration::from_millis(settings.base_delay_ms.unwrap_or(2000)),
            max_delay: Duration::from_millis(settings.max_agent_delay_ms.unwrap_or(60_000)),
        }
    }

    /// Trying a single request again.
    pub fn provider_retry(&self) -> ProviderRetry {
        let settings = self.retry.clone().unwrap_or_default().provider.unwrap_or_default();
        ProviderRetry {
            timeout: settings.timeout_ms.map(Duration::from_millis),
            max_retries: settings.max_retries.unwrap_or(0),
            max_retry_delay: Timeout(settings.max_retry_delay_ms.unwrap_or(60_000)).duration(),
        }
    }

    /// Silence after which a connection counts as dead.
    pub fn http_idle_timeout(&self) -> Option<Duration> {
        self.http_idle_timeout_ms.unwrap_or(Timeout(300_000)).duration()
    }

    /// How long opening a WebSocket may take.
    pub fn websocket_connect_timeout(&self) -> Option<Duration> {
        self.websocket_connect_timeout_ms.unwrap_or(Timeout(15_000)).duration()
    }

    /// The colours.
    pub fn theme(&self) -> &str {
        self.theme.as_deref().unwrap_or("system")
    }

    /// Lines per step of the wheel; `None`: as many as the terminal deserves.
    pub fn wheel_scroll_lines(&self) -> Option<u64> {
        match self.fullscreen_wheel_scroll_lines? {
            WheelLines::Lines(lines) => Some(lines.clamp(1.0, 100.0) as u64),
            WheelLines::Auto(_) => None,
        }
    }

    /// Space beside the editor.
    pub fn editor_padding_x(&self) -> u64 {
        self.editor_padding_x.unwrap_or(0).min(3)
    }

    /// Space beside the transcript.
    pub fn output_pad(&self) -> u64 {
        self.output_pad.unwrap_or(1).min(1)
    }

    /// Completions shown at once.
    pub fn autocomplete_max_visible(&self) -> u64 {
        self.autocomplete_max_visible.unwrap_or(5).clamp(3, 20)
    }

    /// How wide pictures are, in cells.
    pub fn image_width_cells(&self) -> u64 {
        let wanted = |terminal: &Terminal| terminal.image_width_cells;
        self.terminal.as_ref().and_then(wanted).unwrap_or(60.0).max(1.0) as u64
    }

    /// What comes before each line of code.
    pub fn code_block_indent(&self) -> &str {
        self.markdown.as_ref().and_then(|m| m.code_block_indent.as_deref()).unwrap_or("  ")
    }
}
