//! Approval of the calls of a server's tools.
//!
//! The user decides in the user's file. A project can only make it stricter, since its author is
//! not the one who answers for a call.

use super::table::ToolTable;

/// The way in which calls are approved, from the most lenient to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    /// Calls run without asking, unless a rule of the policy forbids them.
    Allow,
    /// Every call asks, also where the policy would allow it.
    Ask,
    /// Every call is refused.
    Deny,
}

impl Approval {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Returns the name of the value in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The approvals of a file for one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) server: Option<Approval>,
    pub(super) tools: ToolTable<Approval>,
}

impl Layer {
    fn get(&self, tool: &str) -> Option<Approval> {
        self.tools.get(tool).or(self.server)
    }

    /// Returns true if the layer allows calls that the policy would not.
    pub(super) fn allows_anything(&self) -> bool {
        let mut tools = self.tools.entries();
        self.server == Some(Approval::Allow) || tools.any(|(_, value)| value == Approval::Allow)
    }
}

/// The approvals of all files for one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    pub(super) own: Layer,
    /// Restrictions of the project.
    pub(super) project: Layer,
}

impl Approvals {
    /// Returns the approval that calls of a tool need; `None` leaves the decision to the policy.
    /// The stricter file wins.
    pub fn get(&self, tool: &str) -> Option<Approval> {
        self.own.get(tool).max(self.project.get(tool))
    }
}
