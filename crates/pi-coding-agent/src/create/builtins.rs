//! Built-in extensions: parts of the program that other crates implement.

use std::sync::Arc;

use pi_config::{Settings, SettingsScope, SettingsStore};
use pi_models::ModelRegistry;

use super::AgentOptions;
use crate::Diagnostic;
use crate::extension::{Extension, Registry};
use crate::guard::Guard;

/// A built-in extension, which each session has an instance of.
#[derive(Clone)]
pub struct BuiltinExtension {
    path: &'static str,
    open: Open,
}

#[derive(Clone)]
enum Open {
    /// An extension that the user can leave out.
    Optional(Arc<dyn Fn(&Settings) -> Arc<dyn Extension> + Send + Sync>),
    /// A part of the session.
    Part(Arc<dyn Fn(&mut SessionSurroundings<'_>) -> Option<Arc<dyn Extension>> + Send + Sync>),
}

/// The surroundings of a session that is being created, for its parts that other crates implement.
#[non_exhaustive]
pub struct SessionSurroundings<'a> {
    /// Options of the session.
    pub options: &'a AgentOptions,
    /// Guard of the session.
    pub guard: &'a Arc<Guard>,
    /// Models and credentials.
    pub models: &'a ModelRegistry,
    /// Registrations of the extensions that are loaded.
    pub registry: &'a Registry,
    /// Returns true if the project is trusted now. The decision may change with a reload.
    pub is_trusted: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Collects problems in the user's files.
    pub diagnostics: &'a mut Vec<Diagnostic>,
}

impl BuiltinExtension {
    /// Names the extension `builtin:name`. `open` makes the instance of one session, with the
    /// settings in force.
    pub fn new(
        path: &'static str,
        open: impl Fn(&Settings) -> Arc<dyn Extension> + Send + Sync + 'static,
    ) -> Self {
        Self { path, open: Open::Optional(Arc::new(open)) }
    }

    /// Names a part of every session `builtin:name`, which a reload keeps and which may register
    /// tools at any time. `open` makes the instance of one session; `None` leaves it out.
    pub fn of_session(
        path: &'static str,
        open: impl Fn(&mut SessionSurroundings<'_>) -> Option<Arc<dyn Extension>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { path, open: Open::Part(Arc::new(open)) }
    }

    /// Returns true unless the options or the settings leave the extension out. An entry of the
    /// project goes before one of the user, as the last entry of a list goes before the others.
    fn is_enabled(&self, options: &AgentOptions, settings: &SettingsStore) -> bool {
        if options.resources.extensions.iter().any(|path| path == self.path) {
            return true;
        }
        if options.resources.no_extensions {
            return false;
        }
        let decided = |scope: SettingsScope| {
            let settings: Settings = settings.scope(scope);
            let entries = settings.extensions.unwrap_or_default();
            entries.iter().rev().find_map(|entry| match entry.split_at_checked(1)? {
                ("+", path) if path == self.path => Some(true),
                ("-" | "!", path) if path == self.path => Some(false),
                _ => None,
            })
        };
        let decision = decided(SettingsScope::Project).or_else(|| decided(SettingsScope::User));
        decision.unwrap_or(true)
    }
}

/// Opens the built-in extensions that are enabled.
pub(super) fn open_builtins(
    options: &AgentOptions,
    settings: &SettingsStore,
) -> Vec<Arc<dyn Extension>> {
    let enabled =
        options.extensions.builtins.iter().filter(|one| one.is_enabled(options, settings));
    let open = |one: &BuiltinExtension| match &one.open {
        Open::Optional(open) => Some(open(settings.settings())),
        Open::Part(_) => None,
    };
    enabled.filter_map(open).collect()
}

/// Opens the built-in extensions that are parts of the session.
pub(super) fn open_parts(surroundings: &mut SessionSurroundings<'_>) -> Vec<Arc<dyn Extension>> {
    let builtins = surroundings.options.extensions.builtins.iter();
    let open = |one: &BuiltinExtension| match &one.open {
        Open::Part(open) => open(surroundings),
        Open::Optional(_) => None,
    };
    builtins.filter_map(open).collect()
}

pi_protocol::debug_fields!(SessionSurroundings<'_>);

impl std::fmt::Debug for BuiltinExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BuiltinExtension").field(&self.path).finish()
    }
}
