//! The filters of the tree.

use pi_session::EntryKind;

use super::nodes::Node;

/// Selection of the shown entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// Messages and summaries.
    Default,
    NoTools,
    UserOnly,
    LabeledOnly,
    /// Settings, too.
    All,
}

/// All filters with their names in settings and their labels, in the order of the cycle.
const FILTERS: [(Filter, &str, &str); 5] = [
    (Filter::Default, "default", ""),
    (Filter::NoTools, "no-tools", " [no-tools]"),
    (Filter::UserOnly, "user-only", " [user]"),
    (Filter::LabeledOnly, "labeled-only", " [labeled]"),
    (Filter::All, "all", " [all]"),
];

impl Filter {
    /// Returns the filter that a setting names; the default for other names.
    pub(super) fn named(name: &str) -> Self {
        let found = FILTERS.iter().find(|(_, known, _)| *known == name);
        found.map_or(Self::Default, |(filter, _, _)| *filter)
    }

    /// Returns the text behind the position.
    pub(super) fn label(self) -> &'static str {
        FILTERS.iter().find(|(filter, _, _)| *filter == self).map_or("", |(_, _, label)| label)
    }

    /// Returns the filter some steps further in the cycle.
    pub(super) fn cycled(self, steps: usize) -> Self {
        let at = FILTERS.iter().position(|(filter, _, _)| *filter == self).unwrap_or(0);
        FILTERS[(at + steps) % FILTERS.len()].0
    }

    /// Returns the filter before this one in the cycle.
    pub(super) fn previous(self) -> Self {
        self.cycled(FILTERS.len() - 1)
    }

    /// Returns true if an entry is shown. Answers without text are only shown where the session is.
    pub(super) fn shows(self, node: &Node) -> bool {
        if node.is_silent && !node.is_leaf {
            return false;
        }
        match self {
            Self::All => true,
            Self::Default => !is_setting(node.kind),
            Self::NoTools => !is_setting(node.kind) && node.kind != EntryKind::ToolResult,
            Self::UserOnly => node.kind == EntryKind::User,
            Self::LabeledOnly => node.label.is_some(),
        }
    }
}

fn is_setting(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Setting | EntryKind::ModelChange | EntryKind::ThinkingLevelChange)
}
