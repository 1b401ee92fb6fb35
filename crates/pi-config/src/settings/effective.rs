//! Settings that need more than a value and its default.

use std::time::Duration;

use pi_agent::{Limits, RepetitionLimits};
use pi_protocol::ThinkingLevel;
use pi_session::compaction::{BranchSummarySettings, CompactionSettings};
use pi_tools::{ExecutorSpec, checkpoint, toolset};
use serde::de::{Deserialize, Deserializer, Error};

use super::guard::Profile;
use super::{CompactionGroup, Settings, THINKING_LEVEL};
use crate::tool_change::ToolChange;

/// Returns the names of the tools that are active by default.
pub fn default_tools() -> Vec<String> {
    let active = toolset::BUILTIN_TOOLS.iter().filter(|tool| tool.active_by_default);
    active.map(|tool| tool.name.to_owned()).collect()
}

/// Reads the machine or container in which tools work.
pub(super) fn executor<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ExecutorSpec, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

impl Settings {
    /// Returns the default thinking level.
    pub fn default_thinking_level(&self) -> ThinkingLevel {
        self.default_thinking_level.unwrap_or(THINKING_LEVEL)
    }

    /// Returns the token budgets of thinking levels.
    pub fn thinking_budgets(&self) -> pi_protocol::ThinkingBudgets {
        let budgets = &self.thinking_budgets;
        pi_protocol::ThinkingBudgets {
            minimal: budgets.minimal,
            low: budgets.low,
            medium: budgets.medium,
            high: budgets.high,
        }
    }

    /// Returns the names of the active tools; `None` if the settings do not name any.
    pub fn default_tools(&self) -> Option<Vec<String>> {
        self.default_tools.as_ref()?;
        Some(self.tools_from(default_tools()))
    }

    /// Returns the tools of new sessions, where `defaults` are those of a user who names none.
    pub fn tools_from(&self, defaults: Vec<String>) -> Vec<String> {
        let Some(entries) = self.default_tools.as_ref() else { return defaults };
        let names = entries.iter().filter(|entry| ToolChange::parse(entry).is_none());
        let mut tools: Vec<String> = names.cloned().collect();
        // An empty list is not a modification: it asks for no tools.
        if tools.is_empty() && !entries.is_empty() {
            tools = defaults;
        }
        for change in ToolChange::parse_all(entries) {
            change.apply(&mut tools);
        }
        tools
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

    /// Returns the settings of branch summaries.
    pub fn branch_summary(&self) -> BranchSummarySettings {
        BranchSummarySettings { reserve_tokens: self.branch_summary.reserve_tokens }
    }

    /// Returns the limits of checkpoints, or `None` if they are disabled.
    pub fn checkpoints(&self) -> Option<checkpoint::Limits> {
        if !self.checkpoints.enabled {
            return None;
        }
        let mut limits = checkpoint::Limits::default();
        limits.store_bytes = self.checkpoints.max_size_mb.saturating_mul(1024 * 1024);
        let seconds = self.checkpoints.max_age_days.saturating_mul(24 * 60 * 60);
        limits.age = Duration::from_secs(seconds);
        Some(limits)
    }
}

impl CompactionGroup {
    /// Returns the compaction settings of a model.
    pub fn of(&self, provider: &str, id: &str) -> CompactionSettings {
        let special = self.model_overrides.get(&format!("{provider}/{id}"));
        let special = special.cloned().unwrap_or_default();
        CompactionSettings {
            enabled: self.enabled,
            reserve_tokens: special.reserve_tokens.unwrap_or(self.reserve_tokens),
            keep_recent_tokens: special.keep_recent_tokens.unwrap_or(self.keep_recent_tokens),
        }
    }
}
