//! Results that are lists of lines, with limits and notices about omitted lines.

use pi_agent::ToolOutput;
use serde_json::{Map, Value};

use crate::truncate::{MAX_BYTES, format_size, head};

/// No limit, as the TypeScript pi writes it in `details`. The caller has already counted the lines.
const ANY_LINES: usize = 9_007_199_254_740_991;

/// The number of results that a call asks for. Models write any number; the minimum is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(f64);

impl Limit {
    pub(crate) fn new(asked: Option<f64>, default: f64) -> Self {
        Self(asked.unwrap_or(default).max(1.0))
    }

    /// Returns the maximum number of results.
    pub(crate) fn count(self) -> usize {
        self.0.ceil() as usize
    }

    /// Returns the limit as a value for `details`.
    pub(crate) fn value(self) -> Value {
        if self.0.fract() == 0.0 { Value::from(self.0 as u64) } else { Value::from(self.0) }
    }

    /// Returns the notice for a limit that was reached.
    pub(crate) fn notice(self, what: &str) -> String {
        format!("{} {what} limit reached. Use limit={} for more", self.0, self.0 * 2.0)
    }
}

/// A list of lines and the notices that follow it.
#[derive(Debug)]
pub(crate) struct Listing {
    text: String,
    notices: Vec<String>,
    details: Map<String, Value>,
}

impl Listing {
    /// A list of lines, or the text `nothing` if the list is empty.
    pub(crate) fn new(lines: &[String], nothing: &str) -> Self {
        let text = if lines.is_empty() { nothing.to_owned() } else { lines.join("\n") };
        Self { text, notices: Vec::new(), details: Map::new() }
    }

    /// Adds a notice for the model and the same fact for programs.
    pub(crate) fn remark(&mut self, notice: impl Into<String>, key: &str, value: Value) {
        self.notices.push(notice.into());
        self.details.insert(key.to_owned(), value);
    }

    /// Truncates the lines to the maximum size of a result.
    pub(crate) fn limit_bytes(&mut self) {
        let cut = head(&self.text, ANY_LINES, MAX_BYTES);
        if cut.truncated {
            self.text.clone_from(&cut.content);
            let notice = format!("{} limit reached", format_size(MAX_BYTES));
            self.remark(notice, "truncation", serde_json::to_value(cut).unwrap_or_default());
        }
    }

    /// Reports files that could not be read, so that an empty result is not taken for proof.
    pub(crate) fn unread(&mut self, count: usize) {
        if count > 0 {
            self.notices.push(format!("{count} files or directories could not be read"));
        }
    }

    /// Assembles the result of the tool.
    pub(crate) fn finish(self) -> ToolOutput {
        let mut text = self.text;
        if !self.notices.is_empty() {
            text.push_str(&format!("\n\n[{}]", self.notices.join(". ")));
        }
        let details = (!self.details.is_empty()).then_some(Value::Object(self.details));
        ToolOutput::text(text).with_details(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_accepted_as_a_limit() {
        let cases =
            [(None, 7, "7"), (Some(0.0), 1, "1"), (Some(-3.0), 1, "1"), (Some(2.5), 3, "2.5")];
        for (asked, count, value) in cases {
            let limit = Limit::new(asked, 7.0);
            assert_eq!((limit.count(), limit.value().to_string().as_str()), (count, value));
        }
        assert_eq!(Limit::new(Some(f64::NAN), 7.0).count(), 1);
        assert_eq!(Limit::new(Some(f64::INFINITY), 7.0).count(), usize::MAX);
    }

    #[test]
    fn unread_files_are_reported() {
        let mut listing = Listing::new(&[], "Nothing");
        listing.unread(0);
        listing.unread(2);
        let output = listing.finish();
        let text = output.content[0].as_text();
        assert_eq!(text, Some("Nothing\n\n[2 files or directories could not be read]"));
    }
}
