//! The program that runs the screen: what only it can do, and what only it knows.
//!
//! The screen neither prints, nor reads the environment, nor knows the command line.

use std::sync::Arc;

use pi_coding_agent::session::PromptError;
use pi_guard::secrets::Secrets;
use pi_packages::PackageError;
use pi_tui::terminal::Guard;

/// Functions of the program around the screen.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Records that a screen is drawn on the terminal.
    pub screen_opened: fn(DrawnScreen),
    /// Records that the screen lends the terminal to another program, or takes it back.
    pub terminal_lent: fn(bool),
    /// Records that no screen is drawn any more.
    pub screen_closed: fn(),
    /// Restores a terminal if the program crashes.
    pub restore_after_crash: fn(Guard),
    /// Writes the last lines to the terminal, after the screen gave it back.
    pub print: fn(&str),
    /// Returns the secrets of the process, to redact them.
    pub secrets: fn() -> &'static Secrets,
    /// Returns what the user can do about a prompt that was not accepted.
    pub prompt_hint: fn(&PromptError) -> Option<String>,
    /// Returns a page of the documentation in Markdown, by its name.
    pub help_topic: fn(&str) -> Option<&'static str>,
    /// Returns the names of all pages of the documentation.
    pub help_topics: fn() -> Vec<&'static str>,
    /// Returns what the user can do about a package that could not be changed.
    pub package_hint: fn(&PackageError) -> Option<String>,
}

/// A screen that is drawn on the terminal.
#[derive(Clone)]
#[non_exhaustive]
pub struct DrawnScreen {
    /// Writes bytes between two frames.
    pub send: Arc<dyn Fn(Vec<u8>) + Send + Sync>,
    /// Returns columns and rows.
    pub size: Arc<dyn Fn() -> (u16, u16) + Send + Sync>,
}

pi_protocol::debug_fields!(DrawnScreen);

/// Options of the screen, which take precedence over settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScreenOptions {
    /// The mode: `regular` or `fullscreen`.
    pub mode: Option<String>,
    /// Name of the theme.
    pub theme: Option<String>,
    /// Files and directories with themes.
    pub themes: Vec<String>,
    /// Uses no other themes than those of `themes`.
    pub no_theme_discovery: bool,
    /// Directory for all sessions, as it was given.
    pub session_directory: Option<String>,
    /// Asks which session to resume.
    pub resume: bool,
    /// Shows details from the start.
    pub is_verbose: bool,
}

/// Reasons why the screen does not start. `E` is the error of the creation of the agent.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError<E> {
    /// Signals cannot be received.
    Signals(std::io::Error),
    /// The terminal cannot be used.
    Terminal(std::io::Error),
    /// The agent cannot be created.
    Agent(E),
}
