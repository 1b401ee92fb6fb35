//! What everything comes down to.

use serde::{Deserialize, Serialize};

/// Whether something may be done. Of several, the strictest counts.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may.
    Allow,
    /// Only if somebody says so. Where nobody can be asked, it may not.
    #[default]
    Ask,
    /// It may not.
    Forbid,
}

impl Decision {
    /// The decision where nobody can be asked.
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
