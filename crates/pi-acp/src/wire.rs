//! The two versions of the protocol: version 1, and the draft of version 2.
//!
//! Both have the same methods for the most part. They differ in the names and shapes of what the
//! agent reports, which is all that this module knows.

pub(crate) mod shared;
pub(crate) mod v1;
pub(crate) mod v2;

use serde_json::Value;

use crate::update::{ConfigOption, Permission, Update};

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Version {
    /// Returns the newest version that this agent and a client have in common. A client that asks
    /// for less than the oldest one gets that, and may disconnect.
    pub(crate) fn negotiate(requested: u64) -> Self {
        if requested >= 2 { Self::V2 } else { Self::V1 }
    }

    pub(crate) fn number(self) -> u64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// Returns the values of `update` in the notifications that report it; none if the version
    /// cannot report it.
    pub(crate) fn updates(self, update: Update) -> Vec<Value> {
        match self {
            Self::V1 => v1::updates(update),
            Self::V2 => v2::updates(update),
        }
    }

    /// Returns the parameters of a request for permission.
    pub(crate) fn permission(self, session: &str, permission: Permission) -> Value {
        match self {
            Self::V1 => v1::permission(session, permission),
            Self::V2 => v2::permission(session, permission),
        }
    }

    pub(crate) fn options(self, options: &[ConfigOption]) -> Value {
        let id = match self {
            Self::V1 => "id",
            Self::V2 => "configId",
        };
        options.iter().map(|option| shared::option(id, option)).collect()
    }
}
