//! The settings of the pull request of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pull request that shows the changes of a run whose checks passed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PublishPlan {
    /// Pushes the changes as one commit on a new branch, and creates a pull request (GitHub) or
    /// merge request (GitLab).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pull_request: bool,
    /// Branch that the pull request is for; by default the branch at the start of the run, else the
    /// default branch of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Name of the new branch; `pi/NAME-RUN` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Title; by default the name of the task or the first line of its goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Creates a draft.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    /// Labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Name of the git remote; `origin` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Address of the API of the server, such as `https://git.example.com/api/v4`. It is known for
    /// github.com, gitlab.com and the server of a CI job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
}

impl PublishPlan {
    /// Returns true if no field is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the plan with the fields that `other` sets.
    #[must_use]
    pub fn overlaid(&self, other: &Self) -> Self {
        let one = |ours: &Option<String>, other: &Option<String>| {
            other.as_ref().or(ours.as_ref()).cloned()
        };
        Self {
            pull_request: self.pull_request || other.pull_request,
            base: one(&self.base, &other.base),
            branch: one(&self.branch, &other.branch),
            title: one(&self.title, &other.title),
            draft: self.draft || other.draft,
            labels: if other.labels.is_empty() { &self.labels } else { &other.labels }.clone(),
            remote: one(&self.remote, &other.remote),
            api: one(&self.api, &other.api),
        }
    }
}
