//! Questions about what the user types: prompts and shell commands.

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_protocol::{CancelToken, ImageContent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::extension::question::wrapping;
use crate::extension::{Ask, ExtensionError, Flow, OnFailure, TimeLimit};

/// Queue for a prompt that comes during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamingBehavior {
    /// The prompt reaches the model as soon as possible.
    Steer,
    /// The prompt waits for the end of the run.
    FollowUp,
}

/// Result of a shell command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResult {
    /// Output of the command; the end of it if there was much.
    pub output: String,
    /// Exit code; absent if the command was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The command was aborted.
    pub cancelled: bool,
    /// The output is longer than what is here.
    pub truncated: bool,
    /// File with the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// Asks what becomes of a prompt.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Input {
    /// Text of the prompt, as changed by the extensions asked before.
    pub text: String,
    /// Images that go with the text.
    pub images: Vec<ImageContent>,
    /// Origin of the prompt.
    pub source: InputSource,
    /// Queue for the prompt during a run.
    pub streaming_behavior: Option<StreamingBehavior>,
}

/// Origin of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[allow(missing_docs)] // The names say it.
pub enum InputSource {
    #[default]
    Interactive,
    Rpc,
    Extension,
}

/// Decision about a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum InputAction {
    /// The prompt stays as it is.
    #[default]
    Continue,
    /// The prompt is replaced.
    Transform {
        /// The new text.
        text: String,
        /// The new images; `None` keeps the old ones.
        images: Option<Vec<ImageContent>>,
    },
    /// The extension has dealt with the prompt.
    Handled,
}

impl Input {
    pub(crate) fn new(
        text: String,
        images: Vec<ImageContent>,
        source: InputSource,
        streaming_behavior: Option<StreamingBehavior>,
    ) -> Self {
        Self { text, images, source, streaming_behavior }
    }
}

impl Ask for Input {
    type Answer = InputAction;
    wrapping!(Input);

    fn merge(&mut self, combined: &mut InputAction, answer: InputAction) -> Flow {
        match answer {
            InputAction::Continue => Flow::Next,
            InputAction::Transform { text, images } => {
                self.text = text;
                if let Some(images) = images {
                    self.images = images;
                }
                Flow::Next
            }
            InputAction::Handled => {
                *combined = InputAction::Handled;
                Flow::Stop
            }
        }
    }

    fn payload(&self) -> Value {
        let mut payload = json!({ "text": self.text, "source": self.source });
        if !self.images.is_empty() {
            payload["images"] = json!(self.images);
        }
        if let Some(behavior) = self.streaming_behavior {
            payload["streamingBehavior"] = json!(behavior);
        }
        payload
    }
}

/// Asks what becomes of a shell command of the user. A failing extension stops the command.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UserBash {
    /// The command.
    pub command: String,
    /// The model does not see the command.
    pub exclude_from_context: bool,
    /// Working directory of the command.
    pub cwd: PathBuf,
}

impl UserBash {
    pub(crate) fn new(command: &str, exclude_from_context: bool, cwd: PathBuf) -> Self {
        Self { command: command.to_owned(), exclude_from_context, cwd }
    }
}

/// Decision about a shell command of the user.
#[derive(Clone, Default)]
pub enum UserBashHandling {
    /// The session runs the command.
    #[default]
    Default,
    /// The extension has run the command.
    Result(BashResult),
    /// The session runs the command through these operations.
    Operations(Arc<dyn BashOperations>),
}

impl std::fmt::Debug for UserBashHandling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Default => "Default",
            Self::Result(_) => "Result",
            Self::Operations(_) => "Operations",
        })
    }
}

/// Another way to run shell commands, for example on another machine.
pub trait BashOperations: Send + Sync {
    /// Runs a command and sends its output in pieces. Returns the exit code; `None` if the command
    /// was killed. Contract: ends soon after `cancel` is cancelled.
    fn exec(
        &self,
        command: String,
        cwd: PathBuf,
        output: mpsc::Sender<String>,
        cancel: CancelToken,
    ) -> BoxFuture<'_, Result<Option<i32>, ExtensionError>>;
}

impl Ask for UserBash {
    type Answer = UserBashHandling;
    const ON_FAILURE: OnFailure = OnFailure::Stop;
    // The extension may run the command itself, and commands may take long.
    const TIME_LIMIT: TimeLimit = TimeLimit::Unlimited;
    wrapping!(UserBash);

    fn merge(&mut self, combined: &mut UserBashHandling, answer: UserBashHandling) -> Flow {
        match answer {
            UserBashHandling::Default => Flow::Next,
            handled => {
                *combined = handled;
                Flow::Stop
            }
        }
    }

    fn payload(&self) -> Value {
        json!({
            "command": self.command,
            "excludeFromContext": self.exclude_from_context,
            "cwd": self.cwd,
        })
    }
}
