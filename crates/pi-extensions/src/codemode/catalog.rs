//! The tools that a script can find and call, as of its start.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::{CallableTool, Namespace};
use pi_coding_agent::tool_search::ToolIndex;
use pi_config::suggest;
use serde_json::{Map, Value, json};

use super::typescript::{declaration, identifier};

/// Most tools that one search returns, and that an error names.
const MAX_FOUND: usize = 100;
const MAX_SIMILAR: usize = 3;

/// The callable tools with the names by which scripts call them.
#[derive(Debug)]
pub(super) struct Catalog {
    tools: Vec<CallableTool>,
    /// Identifiers of `tools`, in the same order.
    ids: Vec<String>,
    /// Places in `tools`, by identifier and by name.
    places: HashMap<String, usize>,
    index: Arc<ToolIndex>,
}

impl Catalog {
    pub(super) fn new(session: &AgentSession) -> Self {
        let tools = session.callable();
        let ids = identifiers(&tools);
        let places = places(&tools, &ids);
        Self { tools, ids, places, index: session.tool_index() }
    }

    /// Returns the tool with this name or identifier.
    pub(super) fn find(&self, name: &str) -> Option<&CallableTool> {
        self.places.get(name).map(|at| &self.tools[*at])
    }

    /// Returns the tools whose identifiers contain a name or are close to it; `None` if there are
    /// none.
    pub(super) fn similar(&self, name: &str) -> Option<String> {
        let wanted = identifier(name);
        let ids = || self.ids.iter().map(String::as_str);
        // A letter or two are in many names.
        let contains = |id: &&str| wanted.len() > 2 && id.contains(&wanted);
        let mut similar: Vec<&str> = ids().filter(contains).collect();
        if similar.is_empty() {
            similar.extend(suggest::nearest(&wanted, ids()));
        }
        similar.truncate(MAX_SIMILAR);
        let similar: Vec<String> = similar.iter().map(|id| format!("tools.{id}")).collect();
        (!similar.is_empty()).then(|| similar.join(", "))
    }

    /// Returns the names of the tools by identifier.
    pub(super) fn names(&self) -> Value {
        let tools = self.ids.iter().zip(&self.tools);
        tools.map(|(id, tool)| (id.clone(), Value::from(tool.name()))).collect::<Map<_, _>>().into()
    }

    /// Returns all tools with their descriptions.
    pub(super) fn all(&self) -> Value {
        (0..self.tools.len()).map(|at| self.item(at)).collect()
    }

    /// Returns the tools that fit a query, best first; with a namespace, only those of it.
    pub(super) fn search(&self, query: &str, limit: f64, namespace: Option<&str>) -> Value {
        let limit = limit as usize;
        let admits = |name: &str| {
            let is_inside = |tool: &CallableTool, wanted: &str| {
                let namespace = tool.namespace.as_ref();
                namespace.is_some_and(|one| is_named(one, wanted))
            };
            let Some(at) = self.places.get(name) else { return false };
            namespace.is_none_or(|wanted| is_inside(&self.tools[*at], wanted))
        };
        let found = self.index.search(query, limit.min(MAX_FOUND), admits);
        let places = found.tools.iter().filter_map(|name| self.places.get(name));
        places.map(|at| self.item(*at)).collect()
    }

    /// Returns the description and the declaration of a tool.
    pub(super) fn describe(&self, name: &str) -> Option<String> {
        let at = *self.places.get(name)?;
        Some(describe(&self.ids[at], &self.tools[at]))
    }

    /// Returns a namespace with the names of its tools.
    pub(super) fn namespace(&self, name: &str) -> Option<Value> {
        let of = |tool: &&CallableTool| {
            tool.namespace.as_ref().is_some_and(|namespace| is_named(namespace, name))
        };
        let tools: Vec<&CallableTool> = self.tools.iter().filter(of).collect();
        let mut found = tools.iter().filter_map(|tool| tool.namespace.as_ref());
        let first = found.next()?;
        let mut described = json!({ "name": first.name });
        let namespaces = || tools.iter().filter_map(|tool| tool.namespace.as_ref());
        if let Some(text) = namespaces().find_map(|one| one.description.as_ref()) {
            described["description"] = text.as_str().into();
        }
        if let Some(text) = namespaces().find_map(|one| one.instructions.as_ref()) {
            described["instructions"] = text.as_str().into();
        }
        described["tools"] = tools.iter().map(|tool| tool.name()).collect();
        Some(described)
    }

    fn item(&self, at: usize) -> Value {
        let tool = &self.tools[at];
        json!({ "name": tool.name(), "description": describe(&self.ids[at], tool) })
    }
}

/// Returns the places of tools by name and by identifier. Names come first: `tools["a_b"]` is the
/// tool of that name, also if it is the second one with the identifier `a_b`.
fn places(tools: &[CallableTool], ids: &[String]) -> HashMap<String, usize> {
    let mut places = HashMap::new();
    for (at, tool) in tools.iter().enumerate() {
        places.insert(tool.name().to_owned(), at);
    }
    for (at, id) in ids.iter().enumerate() {
        places.entry(id.clone()).or_insert(at);
    }
    places
}

/// Returns true for a name or alias of a namespace, also in the form of an identifier.
fn is_named(namespace: &Namespace, name: &str) -> bool {
    let names = std::iter::once(&namespace.name).chain(&namespace.aliases);
    let mut ids = names.map(|name| identifier(name));
    namespace.is_named(name) || ids.any(|id| id == identifier(name))
}

/// Returns the identifiers of tools. A tool whose name is an identifier has it; of others with the
/// same one, later ones get a number.
pub(super) fn identifiers(tools: &[CallableTool]) -> Vec<String> {
    let mut taken: BTreeSet<String> = tools.iter().map(|tool| tool.name().to_owned()).collect();
    let unique = |tool: &CallableTool| {
        let plain = identifier(tool.name());
        if plain == tool.name() {
            return plain;
        }
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut candidates = std::iter::once(plain.clone()).chain(numbered);
        let id = candidates.find(|id| taken.insert(id.clone()));
        id.unwrap_or(plain)
    };
    tools.iter().map(unique).collect()
}

/// Returns the description of a tool with its guidelines and its declaration.
fn describe(id: &str, tool: &CallableTool) -> String {
    let declared = tool.tool.declaration();
    let mut text = declared.description.clone();
    for (at, guideline) in tool.tool.prompt_guidelines().iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{gap}\n- {guideline}");
    }
    let declaration = declaration(id, &declared.parameters, tool.output_schema.as_ref());
    let _ = write!(
        text,
        "\n\ncodemode tool declaration:\n```ts\ndeclare const tools: {{ {declaration} }};\n```"
    );
    text
}
