//! Built-in extensions: parts of the program that other crates implement.

use std::sync::Arc;

use pi_config::{Settings, SettingsScope, SettingsStore};

use super::AgentOptions;
use crate::extension::Extension;

/// Beginning of the paths of built-in extensions.
pub(super) const BUILTIN: &str = "builtin:";

/// A built-in extension, which each session has an instance of.
#[derive(Clone)]
pub struct BuiltinExtension {
    path: &'static str,
    open: Arc<dyn Fn(&Settings) -> Arc<dyn Extension> + Send + Sync>,
}

impl BuiltinExtension {
    /// Names the extension `builtin:name`. `open` makes the instance of one session, with the
    /// settings in force.
    pub fn new(
        path: &'static str,
        open: impl Fn(&Settings) -> Arc<dyn Extension> + Send + Sync + 'static,
    ) -> Self {
        Self { path, open: Arc::new(open) }
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
    let enabled = options.builtins.iter().filter(|one| one.is_enabled(options, settings));
    enabled.map(|one| (one.open)(settings.settings())).collect()
}

impl std::fmt::Debug for BuiltinExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BuiltinExtension").field(&self.path).finish()
    }
}
