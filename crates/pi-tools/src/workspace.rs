//! The state that the tools of one agent share: executor, working directory and settings.

mod saved;
mod settings;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_agent::ToolError;
use pi_base::lock;
use pi_protocol::CancelToken;

use crate::background::BackgroundProcesses;
use crate::executor::{Executor, PathPredicate};
use crate::image::ImageSettings;
use crate::locks::Locks;
use crate::paths;
use crate::seen::{ChangedFilePolicy, Fingerprint, Seen};
pub(crate) use saved::{LOG, SavedOutput};
pub use settings::BashSettings;

/// A working directory on an executor, with the settings of its tools.
///
/// Clones share the record of the files that the model has seen.
#[derive(Clone)]
pub struct Workspace {
    executor: Arc<dyn Executor>,
    cwd: PathBuf,
    home: Option<PathBuf>,
    changed_files: ChangedFilePolicy,
    images: Arc<Mutex<ImageSettings>>,
    variables: Arc<Mutex<BTreeMap<OsString, OsString>>>,
    pub(crate) locks: Arc<Locks>,
    pub(crate) seen: Arc<Seen>,
    bash: BashSettings,
    background: Option<Arc<BackgroundProcesses>>,
    unreadable: Option<PathPredicate>,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Workspace");
        shown.field("executor", &self.executor).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

impl Workspace {
    /// A workspace at the absolute path `cwd`. A leading `~` in paths means `home`.
    pub fn new(executor: Arc<dyn Executor>, cwd: PathBuf, home: Option<PathBuf>) -> Self {
        let changed_files = ChangedFilePolicy::default();
        let (images, locks, seen) = (Arc::default(), Arc::default(), Arc::default());
        let variables = Arc::default();
        let bash = BashSettings::default();
        Self {
            executor,
            cwd,
            home,
            changed_files,
            images,
            variables,
            locks,
            seen,
            bash,
            background: None,
            unreadable: None,
        }
    }

    /// Sets the settings of commands.
    #[must_use]
    pub fn with_bash(self, bash: BashSettings) -> Self {
        Self { bash, ..self }
    }

    /// Enables background processes: adds the parameter `background` to `bash` and enables the tool
    /// `process`. See [`BackgroundProcesses`] for the life cycle.
    #[must_use]
    pub fn with_background(self, background: Arc<BackgroundProcesses>) -> Self {
        Self { background: Some(background), ..self }
    }

    /// Replaces the executor by another one with access to the same files.
    #[must_use]
    pub fn with_executor(self, executor: Arc<dyn Executor>) -> Self {
        Self { executor, ..self }
    }

    /// Hides the content of files, tested by their real paths. `grep` skips them and reports their
    /// number; their names stay visible.
    #[must_use]
    pub fn with_unreadable(self, unreadable: PathPredicate) -> Self {
        Self { unreadable: Some(unreadable), ..self }
    }

    /// Sets the policy for files that other programs have changed since the model saw them.
    #[must_use]
    pub fn with_changed_files(self, changed_files: ChangedFilePolicy) -> Self {
        Self { changed_files, ..self }
    }

    /// Replaces the image settings. They can change during a session, with the model.
    pub fn set_image_settings(&self, images: ImageSettings) {
        *lock(&self.images) = images;
    }

    /// Sets environment variables of the model's commands in addition to those of the settings; others stay as
    /// they are.
    pub fn set_variables(&self, variables: impl IntoIterator<Item = (OsString, OsString)>) {
        lock(&self.variables).extend(variables);
    }

    /// Returns all environment variables of the model's commands.
    pub(crate) fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment = self.bash.environment.clone();
        environment.extend(lock(&self.variables).clone());
        environment
    }

    /// Returns the image settings.
    pub fn image_settings(&self) -> ImageSettings {
        lock(&self.images).clone()
    }

    /// Returns the working directory, from which relative paths are resolved.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the executor.
    pub fn executor(&self) -> &dyn Executor {
        &*self.executor
    }

    /// Returns the settings of commands.
    pub fn bash(&self) -> &BashSettings {
        &self.bash
    }

    /// Returns the background processes, if they are enabled.
    pub fn background(&self) -> Option<&Arc<BackgroundProcesses>> {
        self.background.as_ref()
    }

    /// Returns the test for files whose content is hidden.
    pub(crate) fn unreadable(&self) -> Option<&PathPredicate> {
        self.unreadable.as_ref()
    }

    /// Resolves a path that a model wrote.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.executor.map_command_path(paths::resolve(path, &self.cwd, self.home.as_deref()))
    }

    /// Returns the canonical path of a file. For a file that does not exist yet, the nearest
    /// directory above it that exists is resolved.
    pub(crate) async fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        let mut missing = None;
        for existing in path.ancestors() {
            match self.executor.canonical(existing).await {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    missing = missing.or(Some(error));
                }
                Err(error) => return Err(error),
                Ok(real) => {
                    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
                    // Joining nothing would add a separator, which makes a file a directory.
                    let is_whole = rest.as_os_str().is_empty();
                    return Ok(if is_whole { real } else { real.join(rest) });
                }
            }
        }
        Err(missing.unwrap_or_else(|| std::io::ErrorKind::NotFound.into()))
    }

    /// Returns one name for all spellings of a path that a model wrote: relative or absolute, and
    /// through links.
    pub async fn identify_file(&self, path: &str) -> PathBuf {
        let path = self.resolve(path);
        self.real_path(&path).await.unwrap_or(path)
    }

    /// Compares a file with what the model saw of it; `current` is `None` if the file is gone.
    /// Returns a note for the model, or an error that refuses the change.
    pub(crate) fn check_seen(
        &self,
        real: &Path,
        shown: &str,
        current: Option<Fingerprint>,
    ) -> Result<Option<String>, ToolError> {
        let Some(seen) = self.seen.get(real) else { return Ok(None) };
        if Some(seen) == current {
            return Ok(None);
        }
        let happened = if current.is_some() { "changed" } else { "deleted" };
        match self.changed_files {
            ChangedFilePolicy::Note => Ok(Some(format!(
                "[{shown} was {happened} outside of this session since it was last read or written.]"
            ))),
            ChangedFilePolicy::Refuse => Err(ToolError::new(format!(
                "{shown} was {happened} outside of this session since it was last read or written. Nothing was written. Read the file again before you change it."
            ))),
        }
    }
}

/// Returns an error if the run was aborted.
pub(crate) fn check_abort(cancel: &CancelToken) -> Result<(), ToolError> {
    if cancel.is_cancelled() { Err(aborted()) } else { Ok(()) }
}

/// The error of a call that was aborted.
pub(crate) fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}
