//! What of the user's settings matters to a session.

use pi_agent::QueueMode;
use pi_protocol::ThinkingLevel;
use pi_session::compaction::{BranchSummarySettings, CompactionSettings};

use super::AgentSession;

/// How often and how patiently failed requests are made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySettings {
    /// At all.
    pub enabled: bool,
    /// Tries after the first.
    pub max_retries: u32,
    /// The first pause in milliseconds; each one after is twice as long.
    pub base_delay_ms: u64,
    /// No pause is longer.
    pub max_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay_ms: 2_000, max_delay_ms: 60_000 }
    }
}

/// What of the user's settings matters to a session.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
    /// Failed requests.
    pub retry: RetrySettings,
    /// Full contexts.
    pub compaction: CompactionSettings,
    /// The same for single models, by `provider/id`: tokens to reserve, tokens to keep.
    pub compaction_overrides: Vec<(String, Option<u64>, Option<u64>)>,
    /// Branches that are left.
    pub branch_summary: BranchSummarySettings,
    /// How steering messages are taken.
    pub steering_mode: QueueMode,
    /// How follow-ups are taken.
    pub follow_up_mode: QueueMode,
    /// Models are shown no images.
    pub block_images: bool,
    /// The thinking level of models that have none of their own.
    pub default_thinking_level: Option<ThinkingLevel>,
    /// The thinking levels of models, by `provider/id`.
    pub model_thinking_levels: Vec<(String, ThinkingLevel)>,
}

/// A setting that was changed through the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingChange {
    /// `steeringMode`.
    SteeringMode(QueueMode),
    /// `followUpMode`.
    FollowUpMode(QueueMode),
    /// `compaction.enabled`.
    AutoCompaction(bool),
    /// `retry.enabled`.
    AutoRetry(bool),
    /// `defaultProvider` and `defaultModel`.
    DefaultModel {
        /// The provider's id.
        provider: String,
        /// The model's id.
        id: String,
    },
    /// `defaultThinkingLevel`.
    DefaultThinkingLevel(ThinkingLevel),
}

impl SessionSettings {
    /// When and how much to compact for a model.
    pub(super) fn compaction_for(&self, provider: &str, id: &str) -> CompactionSettings {
        let mut settings = self.compaction.clone();
        let name = format!("{provider}/{id}");
        if let Some((_, reserve, keep)) =
            self.compaction_overrides.iter().find(|(model, ..)| *model == name)
        {
            settings.reserve_tokens = reserve.unwrap_or(settings.reserve_tokens);
            settings.keep_recent_tokens = keep.unwrap_or(settings.keep_recent_tokens);
        }
        settings
    }
}

impl AgentSession {
    /// The settings in force.
    pub fn settings(&self) -> SessionSettings {
        self.state().settings.clone()
    }

    /// Changes a setting, here and in the user's file.
    pub fn change_setting(&self, change: &SettingChange) {
        {
            let mut state = self.state();
            let settings = &mut state.settings;
            match change {
                SettingChange::SteeringMode(mode) => settings.steering_mode = *mode,
                SettingChange::FollowUpMode(mode) => settings.follow_up_mode = *mode,
                SettingChange::AutoCompaction(enabled) => settings.compaction.enabled = *enabled,
                SettingChange::AutoRetry(enabled) => settings.retry.enabled = *enabled,
                SettingChange::DefaultThinkingLevel(level) => {
                    settings.default_thinking_level = Some(*level);
                }
                SettingChange::DefaultModel { .. } => {}
            }
        }
        self.apply_settings();
        if let Some(save) = &self.0.save_setting {
            save(change);
        }
    }

    pub(super) fn apply_settings(&self) {
        let settings = self.settings();
        self.0.agent.set_queue_modes(settings.steering_mode, settings.follow_up_mode);
    }
}
