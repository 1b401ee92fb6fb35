//! The decision about an action.

use serde::{Deserialize, Serialize};

/// The decision about an action. Of several decisions, the strictest (greatest) counts.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The action is allowed.
    Allow,
    /// The action needs approval. Without a way to get it, the action is forbidden.
    #[default]
    Ask,
    /// The action is forbidden.
    Forbid,
}

impl Decision {
    /// Returns the decision if no approval can be given.
    #[must_use]
    pub fn unattended(self) -> Self {
        if self == Self::Ask { Self::Forbid } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_is_the_greatest() {
        assert!(Decision::Forbid > Decision::Ask && Decision::Ask > Decision::Allow);
        assert_eq!(Decision::Ask.unattended(), Decision::Forbid);
        assert_eq!(Decision::Allow.unattended(), Decision::Allow);
    }
}
