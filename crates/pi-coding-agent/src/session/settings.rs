//! Settings of the user that concern a session.

use pi_agent::{Limits, QueueMode, RepetitionLimits, SteeringDelivery};
use pi_config::settings::CacheWarmingMode;
use pi_models::Fallbacks;
use pi_protocol::ThinkingLevel;
use pi_session::compaction::BranchSummarySettings;

use super::{AgentSession, lock};
pub use pi_config::settings::{CompactionGroup, CompactionOverride, RetrySettings};

/// Settings of the user that concern a session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionSettings {
    /// Retries of failed requests.
    pub retry: RetrySettings,
    /// Compaction of full contexts.
    pub compaction: CompactionGroup,
    /// Summaries of branches that are left.
    pub branch_summary: BranchSummarySettings,
    /// Number of steering messages that are delivered at once.
    pub steering_mode: QueueMode,
    /// Number of follow-ups that are delivered at once.
    pub follow_up_mode: QueueMode,
    /// Effect of a steering message on the tool calls that are left in a turn.
    pub steering_delivery: SteeringDelivery,
    /// Bounds at which a run ends.
    pub limits: Limits,
    /// Repetitions at which a run ends.
    pub repetition: RepetitionLimits,
    /// Time during which prompt caches are kept alive.
    pub cache_warming: CacheWarmingMode,
    /// Hides images from models.
    pub block_images: bool,
    /// Thinking level of models that have none of their own.
    pub default_thinking_level: Option<ThinkingLevel>,
    /// Thinking levels of single models, by `provider/id`.
    pub model_thinking_levels: Vec<(String, ThinkingLevel)>,
    /// Successors of models that cannot answer.
    pub fallbacks: Fallbacks,
}

/// A setting that was changed through the session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Returns the thinking level that the settings name for a model.
    pub(super) fn thinking_level_of(&self, provider: &str, id: &str) -> Option<ThinkingLevel> {
        let name = format!("{provider}/{id}");
        let own = self.model_thinking_levels.iter().find(|(model, _)| *model == name);
        own.map(|(_, level)| *level).or(self.default_thinking_level)
    }
}

impl AgentSession {
    /// Returns the settings in force.
    pub fn settings(&self) -> SessionSettings {
        lock(&self.0.settings).clone()
    }

    /// Replaces the settings, for the next turn on.
    pub(crate) fn set_settings(&self, settings: SessionSettings) {
        *lock(&self.0.settings) = settings;
        self.apply_settings();
    }

    /// Changes a setting, here and in the file of the user.
    pub fn change_setting(&self, change: &SettingChange) {
        {
            let mut settings = lock(&self.0.settings);
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
        self.0.agent.set_steering_delivery(settings.steering_delivery);
        self.0.agent.configure(|run| {
            run.repetition = settings.repetition;
        });
    }
}
