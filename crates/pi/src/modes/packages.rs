//! Packages before a session starts: installs those of the settings that are missing, and those of
//! `-e`.

use std::path::PathBuf;

use pi_coding_agent::{AgentOptions, Diagnostic};
use pi_config::resources::PackageLocation;
use pi_packages::{PackageError, PackageEvent, PackageManager};

/// What the start has to say about packages.
#[derive(Default)]
pub(super) struct Packages {
    problems: Vec<Diagnostic>,
    /// Places of packages that are missing and reported.
    missing: Vec<PathBuf>,
}

impl Packages {
    /// Adds the problems to those of the session. A package that could not be installed is reported
    /// once.
    pub(super) fn merge(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let is_reported =
            |one: &Diagnostic| one.path.as_ref().is_some_and(|path| self.missing.contains(path));
        let rest = diagnostics.into_iter().filter(|one| !is_reported(one));
        self.problems.iter().cloned().chain(rest).collect()
    }
}

/// Installs the packages that the settings name and that are missing, and those of `-e`. Without
/// packages this reads nothing.
pub(super) async fn prepare(
    is_offline: bool,
    options: &mut AgentOptions,
) -> Result<Packages, PackageError> {
    let settings = options.project.store().clone();
    let is_unattended = settings.settings().is_unattended();
    let environment = options.environment().clone();
    let is_offline = is_offline || environment.is_offline();
    let (sender, events) = std::sync::mpsc::channel();
    // A receiver that is gone misses nothing.
    let report = move |event| drop(sender.send(event));
    let manager = PackageManager::new(environment, settings, Box::new(report));
    let mut manager = manager.offline(is_offline);
    let mut packages = Packages::default();
    if manager.is_incomplete() {
        for missing in Box::pin(manager.ensure_installed()).await {
            let source = &missing.source;
            let message = match (missing.error, is_unattended) {
                (Some(error), _) => format!(
                    "Extension package \"{source}\": failed to install ({error}). Run \"pi remove \
                     {source}\" to remove it from settings.json."
                ),
                (None, true) => format!(
                    "Extension package \"{source}\" is not installed, and unattended runs install \
                     nothing. Run \"pi install {source}\" first."
                ),
                // The loader says so.
                (None, false) => continue,
            };
            packages.problems.push(Diagnostic::warning(None, message));
            packages.missing.push(missing.directory);
        }
    }
    add_temporary(&mut manager, options).await?;
    for event in events.try_iter() {
        if let PackageEvent::Changed(changed) = event {
            let notes = changed.notes().into_iter();
            packages.problems.extend(notes.map(|text| Diagnostic::warning(None, text)));
        }
    }
    Ok(packages)
}

/// Installs the packages of `-e` and replaces them by their files.
async fn add_temporary(
    manager: &mut PackageManager,
    options: &mut AgentOptions,
) -> Result<(), PackageError> {
    let mut extensions = Vec::new();
    for source in std::mem::take(&mut options.resources.extensions) {
        let location = PackageLocation::parse(&source)?;
        if let PackageLocation::Path(_) = location {
            extensions.push(source);
            continue;
        }
        let directory = Box::pin(manager.install_temporary(&source)).await?;
        let contents = manager.contents(&source, &directory);
        let texts = |files: Vec<PathBuf>| {
            files.into_iter().map(|file| file.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        extensions.extend(texts(contents.extensions));
        options.resources.skills.extend(texts(contents.skills));
        options.resources.prompts.extend(texts(contents.prompts));
    }
    options.resources.extensions = extensions;
    Ok(())
}
