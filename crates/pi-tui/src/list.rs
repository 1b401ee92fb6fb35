//! Lists to choose from, and the marks of work in progress.
//!
//! A list is state and functions: keys come in as [`Key`](crate::input::Key)s and go out as events,
//! and the lines are computed from the state. The owner decides what an event means.

pub mod filter;
pub mod loader;
pub mod select;
pub mod selection;
pub mod settings;

pub use filter::FilterList;
pub use select::{Item, SelectList};
pub use selection::{Selection, window};
pub use settings::{Setting, SettingsEvent, SettingsList};

/// The meaning of a key for a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListEvent {
    /// The key has no meaning here.
    Ignored,
    /// The list was shown differently: another row is selected, or other rows match.
    Moved,
    /// The selected row was chosen.
    Confirmed,
    /// The list was closed without a choice.
    Cancelled,
}
