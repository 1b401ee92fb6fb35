//! Questions: the decisions of a session in which extensions take part, as data.
//!
//! [`Question`] and [`Answer`] are what a host of another language sends and receives. [`Ask`] is
//! one row of the merge table: the type of a question, the type of its answer, the rule that
//! combines the answers of several extensions, and what a failure means. The rows are in
//! `questions`; a new question is a row there and one line in the list below.

use std::time::Duration;

use pi_agent::OutputChange;
use serde_json::{Value, json};

use super::questions::{
    BeforeAgentStart, BeforeCompact, BeforeFork, BeforePrompt, BeforeProviderHeaders,
    BeforeProviderRequest, BeforeSettle, BeforeSwitch, BeforeTree, Boundary, CacheWarming,
    CacheWarmingAction, Compaction, Context, ContextMessages, ContextWithSystem,
    DiscoveredResources, Headers, Input, InputAction, MessageEnd, Payload, ProjectTrust,
    PromptDecision, ReplacedMessage, ResourcesDiscover, RunStart, SwitchDecision, ToolCall,
    ToolDecision, ToolResult, TreeDecision, TrustDecision, TurnEnd, UserBash, UserBashHandling,
};

/// A question type with its answer type and merge rule.
pub trait Ask: Clone + Send + Sync + Sized + 'static {
    /// The combined answer of all extensions. The default changes nothing.
    type Answer: Default + Send + 'static;

    /// Name and identity of the question.
    const KIND: QuestionKind;

    /// Consequence of an extension that fails, panics or does not answer in time.
    const ON_FAILURE: OnFailure = OnFailure::Report;

    /// Limit on the time that one extension may take.
    const TIME_LIMIT: TimeLimit = TimeLimit::Standard;

    /// Adds the answer of one extension to the combined answer. May change the question, so that
    /// the next extension sees what the ones before it decided.
    fn merge(&mut self, combined: &mut Self::Answer, answer: Self::Answer) -> Flow;

    /// Returns the JSON payload under which extensions of the TypeScript pi know the question.
    fn payload(&self) -> Value;

    /// Wraps the question.
    fn into_question(self) -> Question;

    /// Unwraps a question of this type.
    fn from_question(question: Question) -> Option<Self>;

    /// Wraps an answer.
    fn into_answer(answer: Self::Answer) -> Answer;

    /// Unwraps an answer of this type; `None` if the extension has no opinion.
    fn from_answer(answer: Answer) -> Result<Option<Self::Answer>, MismatchedAnswer>;
}

/// Continuation of a question after one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flow {
    /// The next extension is asked.
    Next,
    /// The decision is made.
    Stop,
    /// The answer is invalid: it is reported and the next extension is asked.
    Invalid(String),
}

/// Consequence of a failing extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The failure is reported and the next extension is asked.
    Report,
    /// The failure is the decision: what was asked about does not happen.
    Stop,
}

/// Limit on the time that one extension may take to answer. Time in which a dialog waits for the
/// user does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// The limit of the session.
    Standard,
    /// No limit: the question carries a token that the user can cancel.
    Unlimited,
}

/// The limit of [`TimeLimit::Standard`].
pub const STANDARD_TIME_LIMIT: Duration = Duration::from_secs(60);

/// An extension answered another question than the one it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer belongs to {answered}, not to {asked}")]
pub struct MismatchedAnswer {
    /// Name of the question that was asked.
    pub asked: &'static str,
    /// Name of the question that the answer belongs to.
    pub answered: &'static str,
}

macro_rules! questions {
    ($($variant:ident($answer:ty) = $name:literal,)*) => {
        /// A decision in which extensions take part.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        #[allow(missing_docs)] // Each variant wraps the type of the same name.
        pub enum Question {
            $($variant($variant),)*
        }

        /// The answer of one extension to a [`Question`].
        #[derive(Debug)]
        #[non_exhaustive]
        #[allow(missing_docs)] // Each variant belongs to the question of the same name.
        pub enum Answer {
            /// The extension has no opinion.
            NoOpinion,
            $($variant($answer),)*
        }

        /// The identity of a [`Question`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[allow(missing_docs)] // Each variant belongs to the question of the same name.
        pub enum QuestionKind {
            $($variant,)*
        }

        impl QuestionKind {
            /// All questions.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name under which extensions know the question.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl Question {
            /// Returns the identity of the question.
            pub fn kind(&self) -> QuestionKind {
                match self {
                    $(Self::$variant(_) => QuestionKind::$variant,)*
                }
            }

            /// Returns the JSON payload under which extensions of the TypeScript pi know the
            /// question, `type` included.
            pub fn payload(&self) -> Value {
                let payload = match self {
                    $(Self::$variant(question) => question.payload(),)*
                };
                with_type(self.kind().name(), payload)
            }
        }

        impl Answer {
            fn name(&self) -> &'static str {
                match self {
                    Self::NoOpinion => "no question",
                    $(Self::$variant(_) => $name,)*
                }
            }
        }

        $(impl From<$variant> for Question {
            fn from(question: $variant) -> Self {
                Self::$variant(question)
            }
        })*
    };
}

/// The parts of [`Ask`] that only name variants.
macro_rules! wrapping {
    ($variant:ident) => {
        const KIND: $crate::extension::QuestionKind = $crate::extension::QuestionKind::$variant;

        fn into_question(self) -> $crate::extension::Question {
            $crate::extension::Question::$variant(self)
        }

        fn from_question(question: $crate::extension::Question) -> Option<Self> {
            match question {
                $crate::extension::Question::$variant(question) => Some(question),
                _ => None,
            }
        }

        fn into_answer(answer: Self::Answer) -> $crate::extension::Answer {
            $crate::extension::Answer::$variant(answer)
        }

        fn from_answer(
            answer: $crate::extension::Answer,
        ) -> Result<Option<Self::Answer>, $crate::extension::MismatchedAnswer> {
            match answer {
                $crate::extension::Answer::NoOpinion => Ok(None),
                $crate::extension::Answer::$variant(answer) => Ok(Some(answer)),
                other => Err(other.mismatch(Self::KIND)),
            }
        }
    };
}
pub(super) use wrapping;

questions! {
    ProjectTrust(TrustDecision) = "project_trust",
    ResourcesDiscover(DiscoveredResources) = "resources_discover",
    BeforeSwitch(SwitchDecision) = "session_before_switch",
    BeforeFork(SwitchDecision) = "session_before_fork",
    BeforeCompact(Compaction) = "session_before_compact",
    BeforeTree(TreeDecision) = "session_before_tree",
    Context(ContextMessages) = "context",
    ContextWithSystem(ContextMessages) = "context_with_system",
    BeforeProviderHeaders(Headers) = "before_provider_headers",
    BeforeProviderRequest(Payload) = "before_provider_request",
    CacheWarming(CacheWarmingAction) = "cache_warming_decision",
    BeforeAgentStart(RunStart) = "before_agent_start",
    TurnEnd(Boundary) = "turn_end",
    BeforeSettle(Boundary) = "agent_before_settle",
    MessageEnd(ReplacedMessage) = "message_end",
    ToolCall(ToolDecision) = "tool_call",
    ToolResult(OutputChange) = "tool_result",
    UserBash(UserBashHandling) = "user_bash",
    Input(InputAction) = "input",
    BeforePrompt(PromptDecision) = "before_prompt",
}

impl Answer {
    pub(super) fn mismatch(&self, asked: QuestionKind) -> MismatchedAnswer {
        MismatchedAnswer { asked: asked.name(), answered: self.name() }
    }
}

fn with_type(name: &str, mut payload: Value) -> Value {
    if !payload.is_object() {
        payload = json!({});
    }
    payload["type"] = name.into();
    payload
}
