//! Results that are lists of lines: how many are wanted, how many are shown, and what is said
//! about the rest.

use pi_agent::ToolOutput;
use serde_json::{Map, Value};

use crate::truncate::{MAX_BYTES, format_size, head};

/// Lines are counted by the caller already. This is "no limit" as the TypeScript pi writes it.
const ANY_LINES: usize = 9_007_199_254_740_991;

/// How many results are wanted. Models write numbers of any kind; at least one is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(f64);

impl Limit {
    pub(crate) fn new(asked: Option<f64>, default: f64) -> Self {
        Self(asked.unwrap_or(default).max(1.0))
    }

    /// The most results to show.
    pub(crate) fn count(self) -> usize {
        self.0.ceil() as usize
    }

    /// As it is named in `details`.
    pub(crate) fn value(self) -> Value {
        if self.0.fract() == 0.0 { Value::from(self.0 as u64) } else { Value::from(self.0) }
    }

    /// What to say when it was reached.
    pub(crate) fn notice(self, what: &str) -> String {
        format!("{} {what} limit reached. Use limit={} for more", self.0, self.0 * 2.0)
    }
}

/// A result in the making: lines, and remarks that follow them.
#[derive(Debug)]
pub(crate) struct Listing {
    text: String,
    notices: Vec<String>,
    details: Map<String, Value>,
}

impl Listing {
    /// A list of lines; `nothing` is what an empty one says.
    pub(crate) fn new(lines: &[String], nothing: &str) -> Self {
        let text = if lines.is_empty() { nothing.to_owned() } else { lines.join("\n") };
        Self { text, notices: Vec::new(), details: Map::new() }
    }

    /// A remark for the model, and the same for programs.
    pub(crate) fn remark(&mut self, notice: impl Into<String>, key: &str, value: Value) {
        self.notices.push(notice.into());
        self.details.insert(key.to_owned(), value);
    }

    /// Cuts the lines to the bytes that may be shown.
    pub(crate) fn limit_bytes(&mut self) {
        let cut = head(&self.text, ANY_LINES, MAX_BYTES);
        if cut.truncated {
            self.text.clone_from(&cut.content);
            let notice = format!("{} limit reached", format_size(MAX_BYTES));
            self.remark(notice, "truncation", serde_json::to_value(cut).unwrap_or_default());
        }
    }

    /// What went unread is said, so that an empty result is not taken for proof.
    pub(crate) fn unread(&mut self, count: usize) {
        if count > 0 {
            self.notices.push(format!("{count} files or directories could not be read"));
        }
    }

    /// The result.
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
    fn any_number_is_a_limit() {
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
    fn what_could_not_be_read_is_said() {
        let mut listing = Listing::new(&[], "Nothing");
        listing.unread(0);
        listing.unread(2);
        let output = listing.finish();
        let text = output.content[0].as_text();
        assert_eq!(text, Some("Nothing\n\n[2 files or directories could not be read]"));
    }
}
