//! The pull request of a run in its report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pull request of a run, or the reason why there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Publication {
    /// The state.
    pub state: PublicationState,
    /// Page of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Name of the new branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Branch that the pull request is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Id of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The state of a publication.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PublicationState {
    /// The pull request was created.
    Created,
    /// An open pull request of the branch was there already.
    Found,
    /// The run changed nothing, so there is nothing to review.
    NoChanges,
    /// The publication failed, and can be repeated.
    #[default]
    Failed,
}

impl Publication {
    /// Returns true if the publication failed, and can be repeated.
    pub fn has_failed(&self) -> bool {
        self.state == PublicationState::Failed
    }
}

impl std::fmt::Display for Publication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        match self.state {
            PublicationState::Created => write!(f, "pull request: {}", text(&self.url)),
            PublicationState::Found => write!(f, "pull request, open before: {}", text(&self.url)),
            PublicationState::NoChanges => f.write_str("no pull request: nothing was changed"),
            PublicationState::Failed => write!(f, "no pull request: {}", text(&self.error)),
        }
    }
}
