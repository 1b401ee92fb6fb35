//! The first difference between a recording and its replay.

use std::fmt;

use pi_base::text::cut;
use schemars::JsonSchema;
use serde::Serialize;

/// Lines of an excerpt.
const LINES: usize = 6;
/// Characters of a line in an excerpt.
const WIDTH: usize = 160;

/// The first difference between a recording and its replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Divergence {
    /// Number of the request at which the difference appears, from 1.
    pub step: u32,
    /// The cause.
    pub cause: Cause,
    /// The part that differs, such as a section of the system prompt.
    pub subject: String,
    /// The recorded text, from the first difference on.
    pub recorded: String,
    /// The text now, from the first difference on.
    pub now: String,
    /// Further differences that may explain this one, such as a changed setting.
    pub notes: Vec<String>,
}

/// The cause of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// A section of the system prompt.
    SystemPrompt,
    /// The declaration of a tool.
    Tool,
    /// A message: a prompt, a feedback, or a tool result that the program words.
    Message,
    /// The model, or its limits.
    Model,
    /// Options of the request.
    Options,
    /// A decision of the guard.
    Policy,
    /// A changed setting.
    Settings,
    /// A call that is not recorded with these arguments.
    Call,
    /// A fact that the recording does not have.
    Observation,
    /// The run is shorter or longer, or ends differently.
    End,
}

impl Cause {
    /// Returns the explanation for users.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::SystemPrompt => "the system prompt changed",
            Self::Tool => "the declaration of a tool changed",
            Self::Message => "a message changed",
            Self::Model => "the model or its limits changed",
            Self::Options => "the options of the request changed",
            Self::Policy => "the policy decides differently",
            Self::Settings => "a setting changed",
            Self::Call => "a tool call is not in the recording",
            Self::Observation => "the run needs a fact that the recording does not have",
            Self::End => "the run ends differently",
        }
    }
}

impl Divergence {
    pub(crate) fn new(
        step: u32,
        cause: Cause,
        subject: impl Into<String>,
        recorded: &str,
        now: &str,
    ) -> Self {
        let (recorded, now) = excerpts(recorded, now);
        Self { step, cause, subject: subject.into(), recorded, now, notes: Vec::new() }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "step {}: {}", self.step, self.subject)?;
        for (name, text) in [("recorded", &self.recorded), ("now", &self.now)] {
            writeln!(f, "  {name}:")?;
            text.lines().try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        write!(f, "  why: {}", self.cause.explanation())?;
        self.notes.iter().try_for_each(|note| write!(f, "\n    {note}"))
    }
}

/// Returns both texts from their first different line on, with the line before it.
fn excerpts(recorded: &str, now: &str) -> (String, String) {
    let same = recorded.lines().zip(now.lines()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(1);
    (excerpt(recorded, from), excerpt(now, from))
}

fn excerpt(text: &str, from: usize) -> String {
    let mut lines = text.lines().skip(from);
    let mut shown: Vec<String> =
        lines.by_ref().take(LINES).map(|line| cut(line, WIDTH).into_owned()).collect();
    if lines.next().is_some() {
        shown.push("…".to_owned());
    }
    if shown.is_empty() {
        return "(nothing)".to_owned();
    }
    shown.join("\n")
}
