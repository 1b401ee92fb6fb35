//! Encodes tool declarations and decides their placement in the request.
//!
//! Some endpoints allow the list of tools to change without losing the cached prompt. In order of
//! preference: `additional_tools` items anywhere in the input; a synthetic tool search whose result
//! is the new tool (additions only); or one list at the top that is rewritten.

use std::collections::HashMap;

use pi_protocol::{Declarations, Message, PlacedTools, SystemMessage, Tool, ToolPlacement};
use serde_json::{Value, json};

use super::compat::Compat;
use crate::wire::EncodeError;
use crate::wire::ids::short_hash;
use crate::wire::strict;

const INCREMENTAL_NOTICE: &str = "This is an incremental tools update. Previously declared tools \
     remain available unless explicitly marked unavailable. A tool declared again here is available \
     again, and its latest definition replaces the earlier one.";
const REMOVAL_NOTICE: &str = "The following tools are no longer available. Do not call them:";

/// Encodes one declaration.
fn declare(tool: &Tool, compat: &Compat) -> Result<Value, EncodeError> {
    let Tool { name, description, parameters, .. } = tool;
    if compat.grammar_tools
        && let Some((format, _)) = strict::grammar(tool)
    {
        return Ok(json!({
            "type": "custom", "name": name, "description": description, "format": format,
        }));
    }
    let strict = strict::strict_parameters(tool, compat.strict_tools)?;
    let is_strict = strict.is_some();
    let mut declaration = json!({
        "type": "function",
        "name": name,
        "description": description,
        "parameters": strict.as_ref().unwrap_or(parameters),
    });
    if compat.strict_tools {
        let loose = if compat.null_strict { Value::Null } else { json!(false) };
        declaration["strict"] = if is_strict { json!(true) } else { loose };
    }
    Ok(declaration)
}

fn declare_all(tools: &[Tool], compat: &Compat) -> Result<Vec<Value>, EncodeError> {
    tools.iter().map(|tool| declare(tool, compat)).collect()
}

/// Returns the name of the only argument of every grammar tool that was ever declared, by the name
/// of the tool. A call of a tool that was removed is still sent in its original form.
pub(super) fn grammar_arguments(messages: &[Message]) -> HashMap<String, String> {
    let declared = messages.iter().flat_map(|message| match message {
        Message::System(system) => system.tools_added.as_slice(),
        _ => &[],
    });
    let mut arguments = HashMap::new();
    for tool in declared {
        match strict::grammar(tool) {
            Some((_, argument)) => arguments.insert(tool.name.clone(), argument.to_owned()),
            None => arguments.remove(&tool.name),
        };
    }
    arguments
}

/// The placement of tool declarations.
#[derive(Debug)]
pub(super) struct ToolPlan {
    placement: Placement,
    /// Ordinal of the first system message whose tools are declared in place.
    first_in_place: usize,
    /// True if a tool has been declared in place.
    declared: bool,
    /// Names of the tools that were removed in place and not declared again.
    unavailable: Vec<String>,
}

#[derive(Debug)]
enum Placement {
    Top,
    AdditionalTools,
    ToolSearch,
}

/// The declarations of the tools of one system message.
#[derive(Debug, Default)]
pub(super) struct ToolUpdate {
    /// Items before the text of the message.
    pub(super) items: Vec<Value>,
    /// An addition to the text of the message.
    pub(super) notice: Option<String>,
}

impl ToolPlan {
    /// Decides the placement of the tools of `messages`; also returns the list at the top.
    pub(super) fn new(
        messages: &[Message],
        compat: &Compat,
    ) -> Result<(Self, Vec<Value>), EncodeError> {
        let (placement, placed) = if compat.additional_tools {
            (Placement::AdditionalTools, PlacedTools::default())
        } else if compat.tool_search {
            (Placement::ToolSearch, Declarations::place_tools(messages, ToolPlacement::Additions))
        } else {
            (Placement::Top, Declarations::place_tools(messages, ToolPlacement::TopLevel))
        };
        // Counted in system messages, since other messages may still be dropped or added.
        let is_system = |message: &&Message| matches!(message, Message::System(_));
        let first_in_place = messages.iter().take(placed.in_place_from).filter(is_system).count();
        let plan = Self { placement, first_in_place, declared: false, unavailable: Vec::new() };
        Ok((plan, declare_all(&placed.top_level, compat)?))
    }

    /// Encodes the declarations of the system message at `index` of the conversation, the
    /// `ordinal`-th of its kind.
    pub(super) fn update(
        &mut self,
        system: &SystemMessage,
        (ordinal, index): (usize, usize),
        compat: &Compat,
    ) -> Result<ToolUpdate, EncodeError> {
        if ordinal < self.first_in_place {
            return Ok(ToolUpdate::default());
        }
        match self.placement {
            Placement::Top => Ok(ToolUpdate::default()),
            Placement::AdditionalTools => self.additional_tools(system, compat),
            Placement::ToolSearch => tool_search(&system.tools_added, index, compat),
        }
    }

    fn additional_tools(
        &mut self,
        system: &SystemMessage,
        compat: &Compat,
    ) -> Result<ToolUpdate, EncodeError> {
        let added = &system.tools_added;
        let is_added = |name: &str| added.iter().any(|tool| tool.name == name);
        self.unavailable.retain(|name| !is_added(name));
        let mut update = ToolUpdate::default();
        if !added.is_empty() {
            if self.declared {
                let notice = self.incremental_notice();
                update.items.push(json!({"role": compat.system_role(), "content": notice}));
            }
            self.declared = true;
            update.items.push(json!({
                "type": "additional_tools",
                "role": "developer",
                "tools": declare_all(added, compat)?,
            }));
        }
        let removed: Vec<&str> = system
            .tools_removed
            .iter()
            .map(|tool| tool.name.as_str())
            .filter(|name| !is_added(name))
            .collect();
        if !removed.is_empty() {
            update.notice = Some(format!("{REMOVAL_NOTICE}\n- {}", removed.join("\n- ")));
        }
        for name in removed {
            if !self.unavailable.iter().any(|gone| gone == name) {
                self.unavailable.push(name.to_owned());
            }
        }
        Ok(update)
    }

    fn incremental_notice(&self) -> String {
        if self.unavailable.is_empty() {
            INCREMENTAL_NOTICE.to_owned()
        } else {
            let unavailable = self.unavailable.join(", ");
            format!("{INCREMENTAL_NOTICE}\nStill unavailable: {unavailable}.")
        }
    }
}

/// Encodes a synthetic tool search whose result is the new tools.
fn tool_search(added: &[Tool], index: usize, compat: &Compat) -> Result<ToolUpdate, EncodeError> {
    if added.is_empty() {
        return Ok(ToolUpdate::default());
    }
    let names: Vec<&str> = added.iter().map(|tool| tool.name.as_str()).collect();
    // The id is stable for a given conversation; otherwise the prompt cache would be lost.
    let hash = short_hash(&format!("system:{index}:{}", names.join(",")));
    let call_id = format!("pi_tool_load_{hash}");
    let mut tools = declare_all(added, compat)?;
    for tool in &mut tools {
        tool["defer_loading"] = json!(true);
    }
    let call = json!({
        "type": "tool_search_call", "call_id": call_id, "execution": "client",
        "status": "completed",
        "arguments": {"query": names.join(" "), "limit": names.len()},
    });
    let output = json!({
        "type": "tool_search_output", "call_id": call_id, "execution": "client",
        "status": "completed", "tools": tools,
    });
    Ok(ToolUpdate { items: vec![call, output], notice: None })
}
