//! The conversation with the user during a login, independent of terminal and screen.

use std::time::Duration;

use pi_protocol::HookFuture;

/// The way to the user during a login. A terminal, the screen, JSON lines and extensions implement
/// it.
pub trait Interaction: Send + Sync {
    /// Shows progress. Must return at once.
    fn show(&self, event: LoginEvent);

    /// Asks the user and waits for the answer. The future is dropped if the answer is no longer
    /// needed, for example since the browser came back first.
    fn ask(&self, prompt: Prompt) -> HookFuture<Result<String, Cancelled>>;
}

/// The user ended the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the login was cancelled")]
pub struct Cancelled;

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The question.
    pub message: String,
    /// The kind of answer.
    pub kind: PromptKind,
}

/// The kind of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptKind {
    /// A line of text.
    Text {
        /// The answer if the user enters nothing.
        default: Option<String>,
    },
    /// A line that must not be shown.
    Secret,
    /// A choice of several values; the answer is the value.
    Select {
        /// Values and labels.
        choices: Vec<(String, String)>,
    },
    /// The code, or the address of the page to which the browser was sent.
    ManualCode,
}

/// Progress of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginEvent {
    /// A remark.
    Info(String),
    /// The address to open in a browser.
    AuthorizeUrl(String),
    /// The code to enter at an address.
    DeviceCode {
        /// The code.
        user_code: String,
        /// The address.
        verification_url: String,
        /// The address that contains the code.
        complete_url: Option<String>,
        /// The time in which the code must be entered.
        expires_in: Duration,
    },
    /// A step that takes time.
    Progress(String),
}
