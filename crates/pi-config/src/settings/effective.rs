//! Effective settings: the value from the files or the default, within its limits.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_agent::{Limits, QueueMode, RepetitionLimits, SteeringDelivery};
use pi_protocol::{ThinkingLevel, Transport};
use pi_session::compaction::{BranchSummarySettings, CompactionSettings};
use pi_tools::{ChangedFilePolicy, ExecutorSpec, checkpoint, toolset};

use super::choices::ProjectTrustDefault;
use super::guard::Profile;
use super::number::Timeout;
use super::retry::RetrySettings;
use super::{CompactionOverride, Settings};
use crate::tool_change::ToolChange;

/// Retries and time limits of single requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderRetry {
    /// Time limit of a request; `None` for no limit as long as data arrives.
    pub timeout: Option<Duration>,
    /// Maximum number of retries.
    pub max_retries: u32,
    /// Longest pause that a server may request; `None` for no limit.
    pub max_retry_delay: Option<Duration>,
}

/// Returns the names of the tools that are active by default.
pub fn default_tools() -> Vec<String> {
    let active = toolset::BUILTIN_TOOLS.iter().filter(|tool| tool.active_by_default);
    active.map(|tool| tool.name.to_owned()).collect()
}

impl Settings {
    /// Returns the default thinking level.
    pub fn default_thinking_level(&self) -> ThinkingLevel {
        self.default_thinking_level.unwrap_or(ThinkingLevel::Medium)
    }

    /// Returns the token budgets of thinking levels.
    pub fn thinking_budgets(&self) -> pi_protocol::ThinkingBudgets {
        let budgets = self.thinking_budgets.clone().unwrap_or_default();
        pi_protocol::ThinkingBudgets {
            minimal: budgets.minimal,
            low: budgets.low,
            medium: budgets.medium,
            high: budgets.high,
        }
    }

    /// Returns the number of steering messages that are delivered at once.
    pub fn steering_mode(&self) -> QueueMode {
        self.steering_mode.unwrap_or_default()
    }

    /// Returns the number of follow-up messages that are delivered at once.
    pub fn follow_up_mode(&self) -> QueueMode {
        self.follow_up_mode.unwrap_or_default()
    }

    /// Returns the time at which steering messages are delivered.
    pub fn steering_delivery(&self) -> SteeringDelivery {
        self.steering_delivery.unwrap_or_default()
    }

    /// Returns the trust in projects about which the user has not decided.
    pub fn default_project_trust(&self) -> ProjectTrustDefault {
        self.default_project_trust.unwrap_or_default()
    }

    /// Returns the names of the active tools; `None` if the settings do not name any.
    pub fn default_tools(&self) -> Option<Vec<String>> {
        let entries = self.default_tools.as_ref()?;
        let names = entries.iter().filter(|entry| ToolChange::parse(entry).is_none());
        let mut tools: Vec<String> = names.cloned().collect();
        // An empty list is not a modification: it asks for no tools.
        if tools.is_empty() && !entries.is_empty() {
            tools = default_tools();
        }
        for change in ToolChange::parse_all(entries) {
            change.apply(&mut tools);
        }
        Some(tools)
    }

    /// Returns the treatment of files that changed since the model read them.
    pub fn changed_files(&self) -> ChangedFilePolicy {
        self.changed_files.unwrap_or_default()
    }

    /// Returns the machine or container in which tools work.
    pub fn executor(&self) -> ExecutorSpec {
        self.executor.clone().unwrap_or_default().0
    }

    /// Returns the limits of a run.
    pub fn limits(&self) -> Limits {
        self.limits.clone().unwrap_or_default().limits(self.is_unattended())
    }

    /// Returns the repetitions at which a run ends. By default, a user who watches the run ends it.
    pub fn repetition(&self, is_watched: bool) -> RepetitionLimits {
        let is_watched = is_watched && !self.is_unattended();
        self.limits.clone().unwrap_or_default().repetition(is_watched)
    }

    /// Returns true for the profile of runs without supervision.
    pub fn is_unattended(&self) -> bool {
        self.profile() == Profile::Unattended
    }

    /// Returns the safety profile.
    pub fn profile(&self) -> Profile {
        self.guard.as_ref().and_then(|guard| guard.profile).unwrap_or_default()
    }

    /// Returns the compaction settings of a model, given as provider and id.
    pub fn compaction(&self, model: Option<(&str, &str)>) -> CompactionSettings {
        let mut settings = CompactionSettings::default();
        let Some(group) = &self.compaction else { return settings };
        let special = model.and_then(|(provider, id)| {
            group.model_overrides.as_ref()?.get(&format!("{provider}/{id}"))
        });
        if let Some(enabled) = group.enabled {
            settings.enabled = enabled;
        }
        let reserve = special.and_then(|special| special.reserve_tokens);
        if let Some(tokens) = reserve.or(group.reserve_tokens) {
            settings.reserve_tokens = tokens;
        }
        let keep = special.and_then(|special| special.keep_recent_tokens);
        if let Some(tokens) = keep.or(group.keep_recent_tokens) {
            settings.keep_recent_tokens = tokens;
        }
        settings
    }

    /// Returns the compaction settings of single models, by `provider/id`.
    pub fn compaction_overrides(&self) -> BTreeMap<String, CompactionOverride> {
        let overrides = self.compaction.as_ref().and_then(|group| group.model_overrides.clone());
        overrides.unwrap_or_default()
    }

    /// Returns the settings of branch summaries.
    pub fn branch_summary(&self) -> BranchSummarySettings {
        let mut settings = BranchSummarySettings::default();
        if let Some(tokens) = self.branch_summary.as_ref().and_then(|group| group.reserve_tokens) {
            settings.reserve_tokens = tokens;
        }
        settings
    }

    /// Returns the limits of checkpoints, or `None` if they are disabled.
    pub fn checkpoints(&self) -> Option<checkpoint::Limits> {
        let group = self.checkpoints.clone().unwrap_or_default();
        let mut limits = checkpoint::Limits::default();
        if let Some(megabytes) = group.max_size_mb {
            limits.store_bytes = megabytes.saturating_mul(1024 * 1024);
        }
        if let Some(days) = group.max_age_days {
            limits.age = Duration::from_secs(days.saturating_mul(24 * 60 * 60));
        }
        group.enabled.unwrap_or(true).then_some(limits)
    }

    /// Returns true if images are resized to the limits of the model.
    pub fn auto_resize_images(&self) -> bool {
        self.images.as_ref().and_then(|group| group.auto_resize).unwrap_or(true)
    }

    /// Returns true if no images are sent to models.
    pub fn block_images(&self) -> bool {
        self.images.as_ref().and_then(|group| group.block_images).unwrap_or(false)
    }

    /// Returns the retries of failed turns.
    pub fn retry(&self) -> RetrySettings {
        let group = self.retry.clone().unwrap_or_default();
        let default = RetrySettings::default();
        RetrySettings {
            enabled: group.enabled.unwrap_or(default.enabled),
            max_retries: group.max_retries.map_or(default.max_retries, saturate),
            base_delay_ms: group.base_delay_ms.unwrap_or(default.base_delay_ms),
            max_delay_ms: group.max_agent_delay_ms.unwrap_or(default.max_delay_ms),
        }
    }

    /// Returns the retries of single requests.
    pub fn provider_retry(&self) -> ProviderRetry {
        let group = self.retry.clone().unwrap_or_default().provider.unwrap_or_default();
        ProviderRetry {
            timeout: group.timeout_ms.map(Duration::from_millis),
            max_retries: group.max_retries.map_or(0, saturate),
            max_retry_delay: Timeout(group.max_retry_delay_ms.unwrap_or(60_000)).duration(),
        }
    }

    /// Returns the time without data after which a connection counts as dead; `None` for no limit.
    pub fn http_idle_timeout(&self) -> Option<Duration> {
        self.http_idle_timeout_ms.unwrap_or(Timeout(300_000)).duration()
    }

    /// Returns the connection to providers that offer WebSockets.
    pub fn transport(&self) -> Transport {
        self.transport.unwrap_or_default()
    }

    /// Returns the time within which a WebSocket must be open; `None` for no limit.
    pub fn websocket_connect_timeout(&self) -> Option<Duration> {
        self.websocket_connect_timeout_ms.unwrap_or(Timeout(15_000)).duration()
    }

    /// Returns true if a menu of commands offers each skill.
    pub fn enable_skill_commands(&self) -> bool {
        self.enable_skill_commands.unwrap_or(true)
    }
}

/// Returns the number, or the largest that fits.
pub(super) fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
