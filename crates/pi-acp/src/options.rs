//! Decisions of a program about the clients that it serves.

/// Decisions of a program about the clients that it serves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Version of the program.
    pub version: String,
    /// Profile that clients cannot go below.
    pub least_profile: Option<String>,
    /// Files are read and written through clients that offer it.
    pub client_files: bool,
    /// Commands run in terminals of clients that offer it.
    pub client_terminal: bool,
    /// Arguments, after those of this program, with which it signs in on a terminal.
    pub sign_in_arguments: Vec<String>,
    /// What the user can do without credentials.
    pub sign_in_hint: String,
}
