//! Kinds of logins.

/// The kind of a login.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginMethod {
    /// A browser on this machine, which returns to a port of this process.
    #[default]
    Browser,
    /// A browser anywhere: the user pastes the code, or the address to which the browser was sent.
    Paste,
    /// A code that the user enters on any device.
    Device,
}
