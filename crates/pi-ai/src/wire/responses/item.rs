//! A complete output item: its kind and its text.

use serde_json::Value;

/// The kinds of items that become content blocks. Other items, such as searches of the server, are
/// left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
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
    /// Returns the kind of the item, if it becomes a content block.
    pub(super) fn kind(self) -> Option<ItemKind> {
        match self.text("type") {
            "message" => Some(ItemKind::Message),
            "reasoning" => Some(ItemKind::Reasoning),
            "function_call" => Some(ItemKind::Function),
            "custom_tool_call" => Some(ItemKind::Custom),
            _ => None,
        }
    }

    /// Returns a text member; empty if there is none.
    pub(super) fn text(self, member: &str) -> &'a str {
        self.0.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a text member that is not empty.
    pub(super) fn some_text(self, member: &str) -> Option<&'a str> {
        Some(self.text(member)).filter(|text| !text.is_empty())
    }

    /// Returns the text of a message: all parts, refusals included.
    pub(super) fn message_text(self) -> String {
        self.parts("content")
            .filter_map(|part| part.some_text("text").or(part.some_text("refusal")))
            .collect()
    }

    /// Returns the thinking of a reasoning item: the summary, or else the reasoning itself.
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
