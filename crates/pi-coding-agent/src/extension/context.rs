//! The surroundings of an extension: what it registers with, and what it can reach.

use std::any::Any;
use std::sync::Arc;

use super::registry::{
    Command, CompletionProvider, Flag, FlagValue, ProviderRegistration, Registry, RegistryError,
    RenderTarget, Renderer, Shortcut, ToolRegistration, VirtualModel,
};
use super::ui::{DialogCounter, EmitEvent, ExtensionUi, Ui};
use super::{QuestionKind, RunMode};

/// The registrations of one extension.
#[derive(Debug, Clone)]
pub struct ExtensionApi {
    owner: Arc<str>,
    registry: Registry,
}

impl ExtensionApi {
    pub(super) fn new(owner: &str, registry: &Registry) -> Self {
        Self { owner: owner.into(), registry: registry.clone() }
    }

    /// Returns the path of the extension.
    pub fn path(&self) -> &str {
        &self.owner
    }

    /// Declares that the extension answers a question.
    pub fn answer(&self, kind: QuestionKind) {
        self.registry.subscribe(&self.owner, kind);
    }

    /// Declares that the extension receives events of progress: deltas and reports of tools.
    pub fn receive_progress(&self) {
        self.registry.subscribe_progress(&self.owner);
    }

    /// Lifts the time limit for the answers of this extension. For work that is bounded but may
    /// take long.
    pub fn lift_time_limit(&self) {
        self.registry.lift_time_limit(&self.owner);
    }

    /// Withholds answers until they are complete: no event shows a part of one.
    pub fn withhold_answers(&self) {
        self.registry.withhold_answers(&self.owner);
    }

    /// Withholds the results of tools until they are complete: no event shows a part of one.
    pub fn withhold_results(&self) {
        self.registry.withhold_results(&self.owner);
    }

    /// Registers a tool.
    pub fn register_tool(&self, tool: ToolRegistration) -> Result<(), RegistryError> {
        self.registry.register_tool(&self.owner, tool)
    }

    /// Registers a slash command.
    pub fn register_command(&self, command: Command) -> Result<(), RegistryError> {
        self.registry.register_command(&self.owner, command)
    }

    /// Registers a command-line flag.
    pub fn register_flag(&self, flag: Flag) -> Result<(), RegistryError> {
        self.registry.register_flag(&self.owner, flag)
    }

    /// Returns the value of a flag of this extension.
    pub fn flag(&self, name: &str) -> Option<FlagValue> {
        self.registry.flag(&self.owner, name)
    }

    /// Registers a keyboard shortcut.
    pub fn register_shortcut(&self, shortcut: Shortcut) {
        self.registry.register_shortcut(&self.owner, shortcut);
    }

    /// Registers a provider, or changes one of the same id.
    pub fn register_provider(&self, provider: ProviderRegistration) -> Result<(), RegistryError> {
        self.registry.register_provider(&self.owner, provider)
    }

    /// Registers a virtual model, or replaces one of the same provider and id.
    pub fn register_virtual_model(&self, model: VirtualModel) {
        self.registry.register_virtual_model(&self.owner, model);
    }

    /// Registers a renderer.
    pub fn register_renderer(&self, target: RenderTarget, renderer: Renderer) {
        self.registry.register_renderer(&self.owner, target, renderer);
    }

    /// Registers a source of completions for the editor.
    pub fn register_completions(&self, provider: CompletionProvider) {
        self.registry.register_completions(&self.owner, provider);
    }

    /// Returns the registry of the session.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

/// The surroundings of one call into an extension.
#[derive(Clone)]
pub struct ExtensionContext {
    surroundings: Arc<Surroundings>,
    api: ExtensionApi,
    ui: ExtensionUi,
}

/// What extensions reach from their context. This module sits below sessions and their runtime, so
/// each of them adds its own handle here, and the method that returns it to [`ExtensionContext`].
#[derive(Clone, Default)]
pub struct Handles(Vec<Arc<dyn Any + Send + Sync>>);

impl Handles {
    /// Adds a handle.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, handle: T) -> Self {
        self.0.push(Arc::new(handle));
        self
    }

    fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|handle| handle.downcast_ref())
    }
}

impl std::fmt::Debug for Handles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Handles").field(&self.0.len()).finish()
    }
}

struct Surroundings {
    handles: Handles,
    interface: Arc<dyn Ui>,
    dialogs: DialogCounter,
    mode: RunMode,
}

impl ExtensionContext {
    /// Creates a context. `emit` sends the events about dialogs to the session.
    pub(crate) fn new(
        handles: Handles,
        emit: Option<EmitEvent>,
        registry: &Registry,
        interface: Arc<dyn Ui>,
        mode: RunMode,
    ) -> Self {
        let dialogs = DialogCounter::default();
        let ui = ExtensionUi::new(Arc::clone(&interface), dialogs.clone(), emit);
        let surroundings = Surroundings { handles, interface, dialogs, mode };
        let api = ExtensionApi::new("", registry);
        Self { surroundings: Arc::new(surroundings), api, ui }
    }

    /// Returns the same context as another extension sees it, with a count of dialogs of its own.
    pub(super) fn for_extension(&self, path: &str) -> Self {
        let api = ExtensionApi { owner: path.into(), registry: self.api.registry.clone() };
        Self { surroundings: Arc::clone(&self.surroundings), api, ui: self.ui.clone() }
    }

    /// Returns the handle of this type, if there is one.
    pub(crate) fn handle<T: Any>(&self) -> Option<&T> {
        self.surroundings.handles.get()
    }

    /// Returns the registrations of this extension, which may change at any time.
    pub fn api(&self) -> &ExtensionApi {
        &self.api
    }

    /// Returns the user interface.
    pub fn ui(&self) -> &ExtensionUi {
        &self.ui
    }

    /// Returns the mode in which the program runs.
    pub fn mode(&self) -> RunMode {
        self.surroundings.mode
    }

    pub(super) fn dialogs(&self) -> &DialogCounter {
        &self.surroundings.dialogs
    }

    pub(crate) fn interface(&self) -> &Arc<dyn Ui> {
        &self.surroundings.interface
    }
}

pi_protocol::debug_fields!(ExtensionContext, api);
