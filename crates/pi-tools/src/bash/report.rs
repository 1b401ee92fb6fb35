//! Results of commands for the model and for programs.

use std::path::Path;
use std::time::Duration;

use pi_agent::{ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::spill::{Incomplete, Spilled};
use crate::executor::Aftermath;
use crate::output::Output;
use crate::truncate::{MAX_BYTES, TruncatedBy, Truncation, format_size};

/// The end of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CommandEnd {
    /// The command ended by itself, with a code if it is known.
    Exited(Option<i32>),
    /// The end was not observed because of this error.
    Lost(String),
    /// The run was aborted.
    Aborted,
    /// The command exceeded this timeout.
    TimedOut(Duration),
}

/// Everything that is known after a command.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) output: &'a Output,
    pub(super) spilled: Spilled,
    pub(super) end: CommandEnd,
    pub(super) elapsed: Duration,
    pub(super) aftermath: Aftermath,
}

impl Report<'_> {
    /// Creates the result of the tool.
    pub(super) fn into_result(self) -> Result<ToolOutput, ToolError> {
        let cut = self.output.tail();
        let details = details(&cut, self.spilled.path.as_deref());
        let mut text =
            if cut.truncated { cut.content.clone() + &self.notice(&cut) } else { cut.content };
        let status = match &self.end {
            CommandEnd::Exited(Some(0)) => None,
            CommandEnd::Exited(Some(code)) => Some(format!("Command exited with code {code}")),
            CommandEnd::Exited(None) => Some("Command terminated without an exit code".to_owned()),
            CommandEnd::Lost(error) => {
                Some(format!("Command terminated without an exit code: {error}"))
            }
            CommandEnd::Aborted => Some("Command aborted".to_owned()),
            CommandEnd::TimedOut(limit) => {
                Some(format!("Command timed out after {} seconds", limit.as_secs_f64()))
            }
        };
        let by_itself = matches!(self.end, CommandEnd::Exited(_) | CommandEnd::Lost(_));
        if text.is_empty() && by_itself {
            text.push_str("(no output)");
        }
        if let Some(status) = &status {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text = format!("{text}{gap}{status}");
        }
        text = with_notes(text, &self.aftermath.notes);
        if !by_itself {
            return Err(ToolError::new(text));
        }
        Ok(ToolOutput::text(text)
            .with_details(details)
            .with_structured_content(self.structured())
            .with_is_error(status.is_some() || self.aftermath.is_dangerous))
    }

    /// Returns the notice about omitted output and the file that has all of it.
    fn notice(&self, cut: &Truncation) -> String {
        let total = cut.total_lines;
        let shown = if cut.last_line_partial {
            let (shown, line) = (format_size(cut.output_bytes), self.output.last_line());
            format!("last {shown} of line {total} (line is {})", format_size(line))
        } else {
            let by = match cut.truncated_by {
                Some(TruncatedBy::Bytes) => format!(" ({} limit)", format_size(MAX_BYTES)),
                _ => String::new(),
            };
            format!("lines {}-{total} of {total}{by}", total + 1 - cut.output_lines)
        };
        let kept = match (&self.spilled.path, &self.spilled.incomplete) {
            (_, Some(Incomplete::Failed(error))) => {
                format!(". The full output could not be saved: {error}")
            }
            (Some(path), Some(Incomplete::Limit(limit))) => {
                let limit = format_size(usize::try_from(*limit).unwrap_or(usize::MAX));
                format!(". First {limit} of the output: {}", path.display())
            }
            (Some(path), None) => format!(". Full output: {}", path.display()),
            (None, _) => String::new(),
        };
        format!("\n\n[Showing {shown}{kept}]")
    }

    fn structured(&self) -> Value {
        let (output, truncated) = self.output.both_ends();
        let mut fields = Map::new();
        fields.insert("output".to_owned(), output.into());
        fields.insert("truncated".to_owned(), truncated.into());
        if truncated && let Some(path) = &self.spilled.path {
            fields.insert("full_output_path".to_owned(), path.to_string_lossy().into());
        }
        let code = if let CommandEnd::Exited(code) = self.end { code } else { None };
        fields.insert("exit_code".to_owned(), code.into());
        let tenths = (self.elapsed.as_secs_f64() * 10.0).round() / 10.0;
        fields.insert("wall_time_seconds".to_owned(), tenths.into());
        Value::Object(fields)
    }
}

/// Adds notes to the text of a result.
pub(super) fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        text = format!("{text}{gap}[{note}]");
    }
    text
}

/// Returns `details` for programs: the truncation and the file with the full output.
pub(super) fn details(cut: &Truncation, path: Option<&Path>) -> Option<Value> {
    if !cut.truncated {
        return None;
    }
    let mut details = json!({ "truncation": cut });
    if let (Some(path), Some(details)) = (path, details.as_object_mut()) {
        details.insert("fullOutputPath".to_owned(), path.to_string_lossy().into());
    }
    Some(details)
}
