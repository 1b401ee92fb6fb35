//! The rights of a token, and the identity that a request has by its token.

use jiff::Timestamp;
use pi_protocol::CancelToken;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;

/// The most that a token permits. Each right includes those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Reading sessions and runs.
    View,
    /// Prompts, aborts, models, forks and commands.
    Drive,
    /// Approvals, and answers to dialogs of extensions.
    Approve,
    /// Deletion of sessions, and tokens.
    Admin,
}

impl Right {
    /// All rights, the least first.
    pub const ALL: [Self; 4] = [Self::View, Self::Drive, Self::Approve, Self::Admin];

    /// Returns the word for the right.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Drive => "drive",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }

    /// Finds a right by its word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == word)
    }
}

/// The sender of a request: the token that the request, or the login of its browser, came with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Identity {
    /// Name of the token, for the audit log and for records of answers.
    pub name: String,
    /// The most that the token permits.
    pub right: Right,
    /// The only session that the token reaches; all without one.
    pub session: Option<String>,
    /// Time at which the token, or the login of the browser, ends.
    pub expires: Option<Timestamp>,
    /// Cancelled when the token is revoked.
    pub(crate) revoked: CancelToken,
}

impl Identity {
    /// Returns true if the identity reaches a session.
    pub fn reaches(&self, session: &str) -> bool {
        self.session.as_deref().is_none_or(|own| own == session)
    }

    /// Refuses what the right does not include.
    pub fn require(&self, right: Right) -> Result<(), ApiError> {
        if self.right >= right {
            return Ok(());
        }
        let (name, own) = (&self.name, self.right.as_str());
        let message = match self.right {
            Right::View => {
                format!("the token {name:?} may only view; this needs {}", right.as_str())
            }
            _ => format!("the token {name:?} has the right {own}; this needs {}", right.as_str()),
        };
        Err(ApiError::forbidden("missing_right", message))
    }

    /// Refuses a session that the identity does not reach. The answer is that of a session that does
    /// not exist.
    pub fn require_session(&self, session: &str) -> Result<(), ApiError> {
        if self.reaches(session) { Ok(()) } else { Err(ApiError::no_session(session)) }
    }

    /// Waits until the token is revoked or expires. Open connections end then.
    pub async fn ended(&self) {
        let expired = async {
            let Some(expires) = self.expires else { return std::future::pending().await };
            // Bounded steps: the clock of the machine may be set meanwhile, or sleep.
            const STEP: std::time::Duration = std::time::Duration::from_secs(30);
            loop {
                let left = expires.as_millisecond() - Timestamp::now().as_millisecond();
                let Ok(left @ 1..) = u64::try_from(left) else { return };
                tokio::time::sleep(STEP.min(std::time::Duration::from_millis(left))).await;
            }
        };
        tokio::select! {
            () = self.revoked.cancelled() => {}
            () = expired => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_ordered_and_have_words() {
        for pair in Right::ALL.windows(2) {
            assert!(pair[0] < pair[1]);
        }
        for right in Right::ALL {
            assert_eq!(Right::named(right.as_str()), Some(right));
        }
        assert_eq!(Right::named("root"), None);
    }
}
