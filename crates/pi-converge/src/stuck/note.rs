//! The text about a repetition, for the agent and for the reason of the outcome.

use super::{StuckEvidence, StuckSignal};

/// Returns the note to the agent.
pub(super) fn text(evidence: &StuckEvidence) -> String {
    let what = evidence.what.join("\n");
    let advice = match evidence.signal {
        StuckSignal::IdenticalCalls => {
            "Do not repeat the call: nothing has changed. Use what you know already, or try \
             something else. To wait for something, put `sleep` into the command."
        }
        StuckSignal::SameError => {
            "Do not try the same again. Read the error, find its cause, and choose another way."
        }
        StuckSignal::OscillatingEdits => {
            "Do not switch between the same contents. Decide which content is right, and why, \
             before the next edit."
        }
        StuckSignal::NoProgress => {
            "Change something, or gather information that you do not have yet. If the work is \
             done, say so and stop. To wait for something, put `sleep` into the command."
        }
        StuckSignal::SameFailure => {
            "The last changes had no effect on the failure. Find its cause before the next change."
        }
    };
    format!("{} The run ends soon if this continues.\n\n{what}\n\n{advice}", sentence(evidence))
}

/// Returns the repetition as a sentence.
pub(crate) fn sentence(evidence: &StuckEvidence) -> String {
    let count = evidence.count;
    match evidence.signal {
        StuckSignal::IdenticalCalls => {
            format!("The same tool call was made {count} times with the same result.")
        }
        StuckSignal::SameError => format!("Tool calls failed {count} times with the same error."),
        StuckSignal::OscillatingEdits => {
            format!("A file returned to an earlier content {count} times.")
        }
        StuckSignal::NoProgress => {
            format!("{count} turns brought neither a new file content nor a new result.")
        }
        StuckSignal::SameFailure => format!("The checks failed {count} times in the same way."),
    }
}

impl StuckSignal {
    /// Returns the name of the limit in the contract.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::IdenticalCalls => "identical_calls",
            Self::SameError => "same_error",
            Self::OscillatingEdits => "oscillating_edits",
            Self::NoProgress => "turns_without_progress",
            Self::SameFailure => "same_failure",
        }
    }
}

/// Returns at most this many bytes of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}…", text.get(..end).unwrap_or_default())
}
