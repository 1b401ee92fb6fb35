//! Extension files of the user and the project, opened and loaded.
//!
//! Those of the user are loaded before the project is trusted, since they may answer that question;
//! those of the project after it. Each is loaded once, and all are called in load order.

use std::sync::Arc;

use pi_config::resources::{Resources, SourceInfo};

use super::trust::{AskedTrust, ask_trust};
use super::{AgentOptions, CreateError};
use crate::Diagnostic;
use crate::extension::{Extension, ExtensionFailure, Extensions, FlagKind, FlagValue, Registry};

/// Opens an extension file for a session with these options. The file is read when the extension is
/// loaded.
pub type OpenExtension =
    Arc<dyn Fn(&SourceInfo, &AgentOptions) -> Arc<dyn Extension> + Send + Sync>;

/// Extensions that are loaded for a session to be built.
#[derive(Default)]
pub(crate) struct LoadedExtensions {
    pub(crate) extensions: Extensions,
    pub(crate) failures: Vec<ExtensionFailure>,
    /// Files that were tried.
    files: Vec<SourceInfo>,
}

impl LoadedExtensions {
    /// Loads the extensions of the program and of the user, and asks them whether the project is
    /// trusted. Loads nothing if that is not a question. Returns the problems of the answers.
    pub(super) async fn before_trust(options: &mut AgentOptions) -> (Self, Vec<Diagnostic>) {
        if !options.project.is_trust_open() {
            return (Self::default(), Vec::new());
        }
        let mut untrusted = options.project.clone();
        untrusted.set_approval(Some(false));
        let files = Resources::extensions_of(&untrusted, &options.resources);
        let mut loaded = Self::default();
        loaded.load(options, &files).await;
        let AskedTrust { trusted, problems } = ask_trust(options, &loaded.extensions).await;
        options.project.set_extension_decision(trusted);
        (loaded, problems)
    }

    /// Loads the extensions that are not loaded yet.
    pub(super) async fn load(&mut self, options: &AgentOptions, files: &[SourceInfo]) {
        let mut order = Vec::new();
        for extension in &options.extensions.own {
            order.push(extension.path().to_owned());
            if !self.extensions.contains(extension) {
                self.failures.extend(self.extensions.add(Arc::clone(extension)).await);
            }
        }
        let Some(open) = &options.extensions.open else { return };
        for file in files {
            order.push(file.path.to_string_lossy().into_owned());
            if !self.files.contains(file) {
                self.failures.extend(self.extensions.add(open(file, options)).await);
                self.files.push(file.clone());
            }
        }
        self.extensions.registry().sort(&order);
    }
}

/// Gives the flags of extensions their values.
pub(super) fn set_flags(options: &AgentOptions, registry: &Registry) -> Result<(), CreateError> {
    let known = registry.flags();
    for (name, value) in &options.extensions.flags {
        let Some((flag, _)) = known.iter().find(|(flag, _)| flag.name == *name) else {
            return Err(CreateError::UnknownFlag(name.clone()));
        };
        let value = match (flag.kind, value) {
            // The word after a switch is a message.
            (FlagKind::Boolean, _) => FlagValue::Boolean(true),
            (FlagKind::String, Some(value)) => FlagValue::String(value.clone()),
            (FlagKind::String, None) => return Err(CreateError::FlagValue(name.clone())),
        };
        registry.set_flag(name, value);
    }
    Ok(())
}

/// Opens all extensions anew, for a reload.
pub(super) fn open_all(options: &AgentOptions, files: &[SourceInfo]) -> Vec<Arc<dyn Extension>> {
    let mut all = options.extensions.own.clone();
    if let Some(open) = &options.extensions.open {
        all.extend(files.iter().map(|file| open(file, options)));
    }
    all
}
