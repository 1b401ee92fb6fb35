//! The `tool_search` tool: finds tools that are not declared, and declares them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use pi_agent::{AgentTool, FnTool, ToolError, ToolOutput};
use pi_base::text;
use pi_protocol::Effects;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::create::BuiltinExtension;
use crate::extension::{
    CallableTool, Exposure, Extension, ExtensionApi, ExtensionContext, LoadReason, Reply,
    ToolRegistration, ToolWait,
};
use crate::session::AgentSession;
pub use crate::tool_index::{Found, ToolIndex};

/// Name of the tool.
pub const TOOL_SEARCH: &str = "tool_search";

/// Path of the extension.
const PATH: &str = "builtin:tool-search";

/// Tools that a search loads unless the model asks for another number, and at most.
const DEFAULT_LIMIT: usize = 8;
const MAX_LIMIT: usize = 32;

/// Characters of a description in the result.
const SHOWN: usize = 300;

const DESCRIPTION: &str = "Find tools that are not declared to you yet, such as tools of MCP \
    servers, and load them. Describe what the tool should do in a few keywords, or give its name. \
    Tools that fit are declared from your next call on.";

#[derive(Deserialize, JsonSchema)]
struct Parameters {
    /// What the tool should do, in a few keywords, or its name.
    query: String,
    /// Maximum number of tools to load; 8 unless given.
    limit: Option<f64>,
}

/// Returns the built-in extension that adds the tool. It becomes active when a tool is registered
/// that the model reaches through it.
pub fn builtin() -> BuiltinExtension {
    BuiltinExtension::new(PATH, |_| Arc::new(ToolSearch::default()))
}

#[derive(Default)]
struct ToolSearch {
    context: Arc<OnceLock<ExtensionContext>>,
}

impl Extension for ToolSearch {
    fn path(&self) -> &str {
        PATH
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, _reason: LoadReason) -> Reply<'a, ()> {
        Box::pin(async move {
            // An extension of the user replaces the tool.
            if !api.registry().has_tool(TOOL_SEARCH) {
                let tool = tool(Arc::clone(&self.context));
                let registration =
                    ToolRegistration::new(tool).exposure(Exposure::ModelOnly).inactive();
                api.register_tool(registration.internal())?;
            }
            Ok(())
        })
    }

    fn bind(&self, context: &ExtensionContext) {
        // Each session has an instance of its own.
        let _ = self.context.set(context.clone());
    }
}

fn tool(context: Arc<OnceLock<ExtensionContext>>) -> Arc<dyn AgentTool> {
    let tool = FnTool::typed(TOOL_SEARCH, DESCRIPTION, move |given: Parameters, _| {
        let session = context.get().and_then(ExtensionContext::session);
        async move {
            let session = session.ok_or_else(|| ToolError::new("The session has ended."))?;
            let limit = check(&given)?;
            session.wait_for_tools(ToolWait::All).await;
            Ok(load(&session, &given.query, limit))
        }
    });
    let tool = tool
        .label("tool search")
        .prompt_snippet("Find tools that are not declared yet, and load them")
        .effects(|_| Effects::none());
    Arc::new(tool)
}

/// Returns the number of tools to load at most.
fn check(given: &Parameters) -> Result<usize, ToolError> {
    if given.query.trim().is_empty() {
        return Err(ToolError::new("The query is empty. Give keywords, or the name of a tool."));
    }
    match given.limit {
        None => Ok(DEFAULT_LIMIT),
        // Checked to be a small whole number.
        Some(limit) if limit >= 1.0 && limit.fract() == 0.0 => Ok((limit as usize).min(MAX_LIMIT)),
        Some(limit) => {
            Err(ToolError::new(format!("limit is {limit}, not a whole number above 0.")))
        }
    }
}

/// Searches, and declares what was found from the next request on.
fn load(session: &AgentSession, query: &str, limit: usize) -> ToolOutput {
    let active = session.active_tools();
    let names: BTreeSet<&str> =
        active.iter().map(|tool| tool.declaration().name.as_str()).collect();
    let mut callable: BTreeMap<String, CallableTool> =
        session.callable().into_iter().map(|one| (one.name().to_owned(), one)).collect();
    callable.retain(|name, _| !names.contains(name.as_str()));
    let index = session.tool_index();
    let found = index.search(query, limit, |name| callable.contains_key(name));
    if found.tools.is_empty() {
        let text = nothing(session, query, &found.nearest);
        return ToolOutput::text(text).with_details(json!({ "loaded": [] }));
    }
    let mut text = String::new();
    let count = found.tools.len();
    let tools = if count == 1 { "tool. It is" } else { "tools. They are" };
    // Writing to a string cannot fail.
    let _ = write!(text, "Loaded {count} {tools} available from your next call:");
    for name in &found.tools {
        let description = callable.get(name).map_or("", |one| &one.tool.declaration().description);
        let _ = write!(text, "\n- {name}: {}", one_line(description));
    }
    session.activate_tools(&found.tools);
    let details = json!({ "loaded": found.tools });
    ToolOutput::text(text).with_details(details)
}

/// Says that no tool fits, and what there is instead.
fn nothing(session: &AgentSession, query: &str, nearest: &[String]) -> String {
    let active = session.active_tools();
    let is_active = |name: &str| active.iter().any(|tool| tool.declaration().name == name);
    let loaded = session.tool_index().search(query, 1, is_active);
    if let Some(name) = loaded.tools.first() {
        return format!("No further tool fits. {name} is declared to you already.");
    }
    match nearest {
        [] => "No tool fits, and nothing was loaded. Try other keywords.".to_owned(),
        nearest => format!(
            "No tool fits, and nothing was loaded. The nearest names are: {}. Search for one of \
             these names to load it.",
            nearest.join(", ")
        ),
    }
}

/// Returns the first paragraph of a description in one line of bounded length.
fn one_line(description: &str) -> String {
    let first = description.split("\n\n").next().unwrap_or_default();
    text::cut(&text::one_line(first), SHOWN).into_owned()
}
