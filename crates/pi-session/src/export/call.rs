//! A tool call for readers: one line that describes it, and what its effects say about showing it.

use pi_protocol::{Effects, Extent, ToolCall};
use serde_json::{Map, Value};

use super::escape::one_line;
use crate::EffectsResolver;

/// Number of characters after which a summary is cut.
const LIMIT: usize = 160;

/// A tool call and its effects.
pub(super) struct DescribedCall<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) effects: Effects,
    /// The summary of the tool, or the arguments as JSON, on one line.
    pub(super) summary: String,
}

impl<'a> DescribedCall<'a> {
    pub(super) fn new(call: &'a ToolCall, effects: &EffectsResolver) -> Self {
        let effects = effects.of_call(call);
        let summary = match &effects.summary {
            Some(summary) => one_line(&summary.text, LIMIT),
            None if call.arguments.is_empty() => String::new(),
            None => one_line(&serde_json::to_string(&call.arguments).unwrap_or_default(), LIMIT),
        };
        Self { call, effects, summary }
    }

    /// Returns true if the summary shows every argument, uncut and unchanged.
    pub(super) fn is_summary_complete(&self) -> bool {
        let complete = match &self.effects.summary {
            Some(summary) => summary.complete && !summary.text.contains('\n'),
            None => false,
        };
        self.call.arguments.is_empty() || (complete && !self.summary.ends_with('…'))
    }

    /// Returns the shell script that the call runs.
    pub(super) fn script(&self) -> Option<&str> {
        self.effects.runs.first().map(String::as_str)
    }

    /// Returns the complete new content of the file that the call writes.
    pub(super) fn new_content(&self) -> Option<&str> {
        if self.effects.writes.is_empty() {
            return None;
        }
        text(&self.call.arguments, "content")
    }

    /// Returns the replacements in the file that the call writes, as pairs of old and new text.
    /// They are listed in `edits`; early versions had one pair, among the arguments.
    pub(super) fn replacements(&self) -> Vec<(&str, &str)> {
        if self.effects.writes.is_empty() {
            return Vec::new();
        }
        let arguments = &self.call.arguments;
        let listed = arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
        listed
            .filter_map(Value::as_object)
            .chain(std::iter::once(arguments))
            .filter_map(|edit| Some((text(edit, "oldText")?, text(edit, "newText")?)))
            .collect()
    }

    /// Returns true if the result is the content of a file: the call reads one and does nothing
    /// else.
    pub(super) fn returns_file(&self) -> bool {
        let [file] = self.effects.reads.as_slice() else { return false };
        file.extent == Extent::File && self.effects.is_read_only()
    }

    /// Returns the extension of the file that the call reads or writes; empty if it has none.
    pub(super) fn extension(&self) -> &str {
        let file = self.effects.writes.first().or(self.effects.reads.first());
        let path = file.map_or("", |file| &file.path);
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}
