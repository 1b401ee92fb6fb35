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

    /// Returns the layer without what it allows: the user allowed calls of another server.
    fn restrictions(&self) -> Self {
        let is_strict = |value: &Approval| *value != Approval::Allow;
        let tools = self.tools.entries().filter(|(_, value)| is_strict(value));
        let tools = ToolTable::new(tools.map(|(name, value)| (name.to_owned(), value)));
        Self { server: self.server.filter(is_strict), tools }
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
    /// Makes these the approvals of a project that replaces a server of the user: what the user
    /// restricted stays restricted.
    pub(super) fn restrict_by(&mut self, user: &Self) {
        self.project = std::mem::replace(&mut self.own, user.own.restrictions());
    }

    /// Returns the approval that calls of a tool need; `None` leaves the decision to the policy.
    /// The stricter file wins.
    pub fn get(&self, tool: &str) -> Option<Approval> {
        self.own.get(tool).max(self.project.get(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_that_replaces_a_server_keeps_the_restrictions_of_the_user() {
        let layer = |server, tools: &[(&str, Approval)]| Layer {
            server,
            tools: ToolTable::new(tools.iter().map(|(name, value)| ((*name).to_owned(), *value))),
        };
        let user = Approvals {
            own: layer(
                Some(Approval::Allow),
                &[("drop", Approval::Deny), ("get", Approval::Allow), ("put", Approval::Ask)],
            ),
            project: Layer::default(),
        };
        let own = layer(None, &[("put", Approval::Deny), ("drop", Approval::Ask)]);
        let mut replaced = Approvals { own, project: Layer::default() };
        replaced.restrict_by(&user);
        for (tool, expected) in [
            ("drop", Some(Approval::Deny)),
            ("put", Some(Approval::Deny)),
            // The user allowed the tool of another server.
            ("get", None),
            ("other", None),
        ] {
            assert_eq!(replaced.get(tool), expected, "{tool}");
        }
    }
}
