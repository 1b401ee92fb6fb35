//! A whole output item: what it is, and what it says.

use serde_json::Value;

/// The kinds of items that become content blocks. All others (searches the server made itself,
/// for example) are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// Text for the user.
    Message,
    /// Thinking.
    Reasoning,
    /// A tool call with JSON arguments.
    Function,
    /// A call of a grammar tool: its input is plain text.
    Custom,
}

/// An output item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a>(pub(super) &'a Value);

impl<'a> Item<'a> {
    /// What it is, if it is a content block.
    pub(super) fn kind(self) -> Option<ItemKind> {
        match self.text("type") {
            "message" => Some(ItemKind::Message),
            "reasoning" => Some(ItemKind::Reasoning),
            "function_call" => Some(ItemKind::Function),
            "custom_tool_call" => Some(ItemKind::Custom),
            _ => None,
        }
    }

    /// A text member; empty if there is none.
    pub(super) fn text(self, member: &str) -> &'a str {
        self.0.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text member that says something.
    pub(super) fn some_text(self, member: &str) -> Option<&'a str> {
        Some(self.text(member)).filter(|text| !text.is_empty())
    }

    /// The text of a message: all its parts; a refusal is text, too.
    pub(super) fn message_text(self) -> String {
        self.parts("content")
            .filter_map(|part| part.some_text("text").or(part.some_text("refusal")))
            .collect()
    }

    /// The thinking of a reasoning item: the summary, or else the reasoning itself.
    pub(super) fn thinking(self) -> String {
        let joined = |member| {
            let texts = self.parts(member).filter_map(|part: Item<'a>| part.some_text("text"));
            texts.collect::<Vec<_>>().join("\n\n")
        };
        let summary = joined("summary");
        if summary.is_empty() { joined("content") } else { summary }
    }

    fn parts(self, member: &str) -> impl Iterator<Item = Item<'a>> {
        self.0.get(member).and_then(Value::as_array).into_iter().flatten().map(Item)
    }
}
