//! The registry: everything that extensions and programs add to a session.
//!
//! Tools, commands, flags, shortcuts, providers with their models, renderers, completions, and the
//! questions that an extension answers. A registry may change at any time; each change makes a new
//! [`Registry::generation`], and a session reads the registry once per turn. Everything belongs to
//! an owner, so that a reload or a failed load removes all of it.

mod commands;
mod flags;
mod items;
mod loadout;
mod mcp_servers;
mod replace;
mod tool_wait;
mod virtual_models;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_protocol::Provider;
use serde_json::Value;

pub use commands::{ArgumentCompleter, Command, CommandHandler, NamedCommand, command_handler};
pub use flags::{Flag, FlagKind, FlagValue};
pub use items::{
    Completion, CompletionProvider, CompletionRequest, RenderRequest, RenderTarget, Rendered,
    RenderedTool, Renderer, Shortcut, Suggestion, Suggestions, ToolRegistration,
};
pub use loadout::{CallableTool, Loadout, LoadoutChange, Namespace, PrepareLoadout};
pub use mcp_servers::McpRegistration;
use mcp_servers::ObserveServers;
pub use pi_config::Exposure;
pub use pi_models::{
    ProviderRegistration, Route, RouteReason, RouteRequest, Router, VIRTUAL_API, VirtualModel,
};
pub use tool_wait::{ToolWait, WaitForTools};

use super::{Extension, QuestionKind};

/// Everything that extensions and programs add to a session. Clones share one registry.
#[derive(Clone, Default)]
pub struct Registry(Arc<Mutex<Contents>>);

/// A registration with the path of the extension that made it.
#[derive(Clone)]
struct Owned<T> {
    owner: Arc<str>,
    item: T,
}

#[derive(Default)]
struct Contents {
    generation: u64,
    extensions: Vec<Arc<dyn Extension>>,
    tools: Vec<Owned<ToolRegistration>>,
    tool_waits: Vec<Owned<WaitForTools>>,
    mcp_servers: Vec<Owned<McpRegistration>>,
    on_mcp_servers: Option<ObserveServers>,
    commands: Vec<Owned<Command>>,
    flags: Vec<Owned<Flag>>,
    flag_values: Vec<(String, FlagValue)>,
    shortcuts: Vec<Owned<Shortcut>>,
    providers: Vec<Owned<ProviderRegistration>>,
    virtual_models: Vec<Owned<VirtualModel>>,
    renderers: Vec<Owned<(RenderTarget, Renderer)>>,
    completions: Vec<Owned<CompletionProvider>>,
    answers: BTreeSet<(Arc<str>, QuestionKind)>,
    progress: BTreeSet<Arc<str>>,
    unlimited: BTreeSet<Arc<str>>,
    /// Extensions that withhold answers until they are complete.
    withholding: BTreeSet<Arc<str>>,
    /// Extensions that withhold the results of tools until they are complete.
    withholding_results: BTreeSet<Arc<str>>,
}

/// A registration that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Another extension has registered a tool of this name.
    #[error("Tool \"{name}\" conflicts with {owner}")]
    ToolConflict {
        /// Name of the tool.
        name: String,
        /// Path of the extension that has it.
        owner: String,
    },
    /// The schema of a tool's parameters is not an object.
    #[error(
        "Tool \"{name}\" registered by extension \"{owner}\" must define an object parameter schema."
    )]
    ToolSchema {
        /// Name of the tool.
        name: String,
        /// Path of the extension.
        owner: String,
    },
    /// The configuration of an MCP server is invalid.
    #[error("Invalid MCP server registered by extension \"{owner}\": server \"{name}\"{problem}")]
    McpServer {
        /// Name of the server.
        name: String,
        /// Path of the extension.
        owner: String,
        /// Problem of the configuration, after the place in it.
        problem: String,
    },
    /// Another extension has registered an MCP server of this name.
    #[error("MCP server \"{name}\" conflicts with {owner}")]
    McpConflict {
        /// Name of the server.
        name: String,
        /// Path of the extension that has it.
        owner: String,
    },
    /// A command has no name.
    #[error("a command needs a name")]
    UnnamedCommand,
    /// Another extension has registered a flag of this name.
    #[error("Flag \"{name}\" conflicts with {owner}")]
    FlagConflict {
        /// Name of the flag.
        name: String,
        /// Path of the extension that has it.
        owner: String,
    },
    /// The default of a flag has another type than the flag.
    #[error("Invalid default for flag \"{name}\": expected {expected}, got {found}")]
    FlagDefault {
        /// Name of the flag.
        name: String,
        /// Type of the flag.
        expected: &'static str,
        /// Type of the default.
        found: &'static str,
    },
    /// The configuration of a provider is invalid.
    #[error("Invalid provider \"{name}\": {problem}")]
    Provider {
        /// Id of the provider.
        name: String,
        /// Problem of the configuration.
        problem: String,
    },
}

impl Registry {
    /// Returns a number that changes with every registration.
    pub fn generation(&self) -> u64 {
        self.contents().generation
    }

    /// Returns true if no extension is loaded and nothing is registered.
    pub fn is_empty(&self) -> bool {
        let contents = self.contents();
        contents.extensions.is_empty() && contents.tools.is_empty() && contents.commands.is_empty()
    }

    /// Registers a tool. A tool with the name of a built-in one replaces it.
    pub fn register_tool(&self, owner: &str, tool: ToolRegistration) -> Result<(), RegistryError> {
        let declaration = tool.tool.declaration();
        let name = declaration.name.clone();
        if !declaration.parameters.is_object() {
            return Err(RegistryError::ToolSchema { name, owner: owner.to_owned() });
        }
        let mut contents = self.contents();
        let same = |other: &Owned<ToolRegistration>| other.item.tool.declaration().name == name;
        match contents.tools.iter().position(same) {
            Some(at) if *contents.tools[at].owner == *owner => contents.tools[at].item = tool,
            Some(at) => {
                let owner = contents.tools[at].owner.to_string();
                return Err(RegistryError::ToolConflict { name, owner });
            }
            None => contents.tools.push(Owned::new(owner, tool)),
        }
        contents.changed();
        Ok(())
    }

    /// Removes a tool; returns true if the owner had registered it.
    pub fn unregister_tool(&self, owner: &str, name: &str) -> bool {
        let mut contents = self.contents();
        let before = contents.tools.len();
        contents
            .tools
            .retain(|tool| *tool.owner != *owner || tool.item.tool.declaration().name != name);
        let removed = contents.tools.len() != before;
        if removed {
            contents.changed();
        }
        removed
    }

    /// Returns true if a tool of this name is registered.
    pub fn has_tool(&self, name: &str) -> bool {
        self.contents().tools.iter().any(|tool| tool.item.tool.declaration().name == name)
    }

    /// Returns the registered tool of this name.
    pub(crate) fn find_tool(&self, name: &str) -> Option<ToolRegistration> {
        let contents = self.contents();
        let found = contents.tools.iter().find(|tool| tool.item.tool.declaration().name == name)?;
        Some(found.item.clone())
    }

    /// Returns the registered tools in order.
    pub fn tools(&self) -> Vec<ToolRegistration> {
        self.contents().tools.iter().map(|tool| tool.item.clone()).collect()
    }

    /// Returns the origin of a loaded extension, by its path.
    pub fn source_info(&self, owner: &str) -> Option<Value> {
        let contents = self.contents();
        let found = contents.extensions.iter().find(|extension| extension.path() == owner)?;
        Some(found.source_info())
    }

    /// Returns the registered tools with the paths of their extensions, in order.
    pub fn owned_tools(&self) -> Vec<(String, ToolRegistration)> {
        let contents = self.contents();
        contents.tools.iter().map(|tool| (tool.owner.to_string(), tool.item.clone())).collect()
    }

    /// Registers a keyboard shortcut. The last registration of a key wins.
    pub fn register_shortcut(&self, owner: &str, shortcut: Shortcut) {
        let mut contents = self.contents();
        let same =
            |other: &Owned<Shortcut>| *other.owner == *owner && other.item.key == shortcut.key;
        contents.shortcuts.retain(|other| !same(other));
        contents.shortcuts.push(Owned::new(owner, shortcut));
        contents.changed();
    }

    /// Returns the keyboard shortcuts, one per key.
    pub fn shortcuts(&self) -> Vec<Shortcut> {
        let all = &self.contents().shortcuts;
        let is_last =
            |at: usize, key: &str| all.iter().skip(at + 1).all(|other| other.item.key != key);
        let last = all.iter().enumerate().filter(|(at, one)| is_last(*at, &one.item.key));
        last.map(|(_, shortcut)| shortcut.item.clone()).collect()
    }

    /// Returns the keys of all shortcuts with the paths of their extensions, in the order of
    /// registration. Several may have the same key.
    pub fn shortcut_owners(&self) -> Vec<(String, String)> {
        let contents = self.contents();
        let shortcuts = contents.shortcuts.iter();
        shortcuts.map(|one| (one.item.key.clone(), one.owner.to_string())).collect()
    }

    /// Returns the shortcut of a key, and the path of its extension.
    pub(super) fn find_shortcut(&self, key: &str) -> Option<(String, Shortcut)> {
        let contents = self.contents();
        let found = contents.shortcuts.iter().rfind(|shortcut| shortcut.item.key == key)?;
        Some((found.owner.to_string(), found.item.clone()))
    }

    /// Registers a provider, or changes one of the same id.
    pub fn register_provider(
        &self,
        owner: &str,
        provider: ProviderRegistration,
    ) -> Result<(), RegistryError> {
        provider
            .check()
            .map_err(|problem| RegistryError::Provider { name: provider.id.clone(), problem })?;
        let mut contents = self.contents();
        contents.providers.retain(|other| other.item.id != provider.id);
        contents.providers.push(Owned::new(owner, provider));
        contents.changed();
        Ok(())
    }

    /// Removes a provider, which restores a built-in one of the same id.
    pub fn unregister_provider(&self, id: &str) -> bool {
        let mut contents = self.contents();
        let before = contents.providers.len();
        contents.providers.retain(|provider| provider.item.id != id);
        let removed = contents.providers.len() != before;
        if removed {
            contents.changed();
        }
        removed
    }

    /// Returns the registered providers.
    pub fn providers(&self) -> Vec<ProviderRegistration> {
        self.contents().providers.iter().map(|provider| provider.item.clone()).collect()
    }

    /// Returns the implementation that answers the requests of a provider.
    pub(crate) fn stream_of(&self, provider: &str) -> Option<Arc<dyn Provider>> {
        let contents = self.contents();
        let found = contents.providers.iter().find(|other| other.item.id == provider)?;
        found.item.stream.clone()
    }

    /// Returns the paths of the loaded extensions in order.
    pub fn extension_paths(&self) -> Vec<String> {
        self.contents().extensions.iter().map(|one| one.path().to_owned()).collect()
    }

    /// Returns the loaded extensions in order.
    pub(crate) fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        self.contents().extensions.clone()
    }

    /// Sorts extensions and what they registered by the order of their paths. Others come last.
    pub(crate) fn sort(&self, order: &[String]) {
        let rank = |path: &str| order.iter().position(|other| other == path).unwrap_or(order.len());
        let mut contents = self.contents();
        contents.extensions.sort_by_key(|one| rank(one.path()));
        contents.tools.sort_by_key(|item| rank(&item.owner));
        contents.commands.sort_by_key(|item| rank(&item.owner));
        contents.flags.sort_by_key(|item| rank(&item.owner));
        contents.providers.sort_by_key(|item| rank(&item.owner));
        contents.virtual_models.sort_by_key(|item| rank(&item.owner));
        contents.renderers.sort_by_key(|item| rank(&item.owner));
        contents.completions.sort_by_key(|item| rank(&item.owner));
        contents.changed();
    }

    /// Returns true if an extension is loaded.
    pub fn has_extensions(&self) -> bool {
        !self.contents().extensions.is_empty()
    }

    /// Registers a renderer.
    pub fn register_renderer(&self, owner: &str, target: RenderTarget, renderer: Renderer) {
        let mut contents = self.contents();
        contents.renderers.push(Owned::new(owner, (target, renderer)));
        contents.changed();
    }

    /// Returns the renderers of a target in the order in which they are tried.
    pub fn renderers(&self, target: &RenderTarget) -> Vec<Renderer> {
        let contents = self.contents();
        let matching = contents.renderers.iter().filter(|renderer| renderer.item.0 == *target);
        matching.map(|renderer| Arc::clone(&renderer.item.1)).collect()
    }

    /// Returns true if a renderer for this target exists.
    pub fn has_renderer(&self, target: &RenderTarget) -> bool {
        self.contents().renderers.iter().any(|renderer| renderer.item.0 == *target)
    }

    /// Registers a source of completions for the editor.
    pub fn register_completions(&self, owner: &str, provider: CompletionProvider) {
        let mut contents = self.contents();
        contents.completions.push(Owned::new(owner, provider));
        contents.changed();
    }

    /// Returns the sources of completions for the editor.
    pub fn completions(&self) -> Vec<CompletionProvider> {
        self.contents().completions.iter().map(|provider| Arc::clone(&provider.item)).collect()
    }

    /// Adds a question that an extension answers.
    pub(super) fn subscribe(&self, owner: &str, kind: QuestionKind) {
        self.contents().answers.insert((owner.into(), kind));
    }

    /// Sends progress events to an extension.
    pub(super) fn subscribe_progress(&self, owner: &str) {
        self.contents().progress.insert(owner.into());
    }

    /// Lifts the time limit of an extension.
    pub(super) fn lift_time_limit(&self, owner: &str) {
        self.contents().unlimited.insert(owner.into());
    }

    /// Withholds answers until they are complete.
    pub(super) fn withhold_answers(&self, owner: &str) {
        self.contents().withholding.insert(owner.into());
    }

    /// Returns true if answers are withheld until they are complete.
    pub(crate) fn withholds_answers(&self) -> bool {
        !self.contents().withholding.is_empty()
    }

    /// Withholds the results of tools until they are complete.
    pub(super) fn withhold_results(&self, owner: &str) {
        self.contents().withholding_results.insert(owner.into());
    }

    /// Returns true if the results of tools are withheld until they are complete.
    pub(crate) fn withholds_results(&self) -> bool {
        !self.contents().withholding_results.is_empty()
    }

    pub(super) fn is_unlimited(&self, owner: &str) -> bool {
        self.contents().unlimited.contains(owner)
    }

    /// Returns the extensions that answer a question, in load order.
    pub(super) fn answering(&self, kind: QuestionKind) -> Vec<Arc<dyn Extension>> {
        let contents = self.contents();
        if !contents.answers.iter().any(|(_, other)| *other == kind) {
            return Vec::new();
        }
        let answers = |extension: &&Arc<dyn Extension>| {
            contents.answers.contains(&(extension.path().into(), kind))
        };
        contents.extensions.iter().filter(answers).cloned().collect()
    }

    /// Returns the extensions that receive an event, in load order.
    pub(super) fn receiving(&self, is_progress: bool) -> Vec<Arc<dyn Extension>> {
        let contents = self.contents();
        if !is_progress {
            return contents.extensions.clone();
        }
        if contents.progress.is_empty() {
            return Vec::new();
        }
        let wants = |extension: &&Arc<dyn Extension>| contents.progress.contains(extension.path());
        contents.extensions.iter().filter(wants).cloned().collect()
    }

    /// Returns true if an extension answers this question.
    pub fn is_answered(&self, kind: QuestionKind) -> bool {
        self.contents().answers.iter().any(|(_, other)| *other == kind)
    }

    /// Returns true if an extension receives progress events.
    pub fn wants_progress(&self) -> bool {
        !self.contents().progress.is_empty()
    }

    pub(super) fn add_extension(&self, extension: Arc<dyn Extension>) {
        let mut contents = self.contents();
        contents.extensions.push(extension);
        contents.changed();
    }

    /// Removes everything that an owner registered.
    pub fn remove_owner(&self, owner: &str) {
        let mut contents = self.contents();
        contents.extensions.retain(|extension| extension.path() != owner);
        contents.tools.retain(|item| *item.owner != *owner);
        contents.tool_waits.retain(|item| *item.owner != *owner);
        contents.mcp_servers.retain(|item| *item.owner != *owner);
        contents.commands.retain(|item| *item.owner != *owner);
        contents.flags.retain(|item| *item.owner != *owner);
        contents.shortcuts.retain(|item| *item.owner != *owner);
        contents.providers.retain(|item| *item.owner != *owner);
        contents.virtual_models.retain(|item| *item.owner != *owner);
        contents.renderers.retain(|item| *item.owner != *owner);
        contents.completions.retain(|item| *item.owner != *owner);
        contents.answers.retain(|(item, _)| **item != *owner);
        contents.progress.retain(|item| **item != *owner);
        contents.unlimited.retain(|item| **item != *owner);
        contents.withholding.retain(|item| **item != *owner);
        contents.withholding_results.retain(|item| **item != *owner);
        contents.changed();
    }

    /// Takes over everything of another registry; flag values stay.
    pub(super) fn replace_with(&self, other: &Self) {
        let new = std::mem::take(&mut *other.contents());
        let mut contents = self.contents();
        let generation = contents.generation.max(new.generation);
        let flag_values = std::mem::take(&mut contents.flag_values);
        *contents = Contents { generation, flag_values, ..new };
        contents.changed();
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        lock(&self.0)
    }
}

impl Contents {
    fn changed(&mut self) {
        self.generation += 1;
    }
}

impl<T> Owned<T> {
    fn new(owner: &str, item: T) -> Self {
        Self { owner: owner.into(), item }
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let contents = self.contents();
        let paths: Vec<&str> = contents.extensions.iter().map(|one| one.path()).collect();
        f.debug_struct("Registry")
            .field("generation", &contents.generation)
            .field("extensions", &paths)
            .finish_non_exhaustive()
    }
}
