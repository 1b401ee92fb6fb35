//! What the tools of one agent share: where they work, on what, and what they know of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pi_agent::ToolError;
use pi_protocol::CancelToken;

use crate::background::BackgroundProcesses;
use crate::bash::BashSettings;
use crate::executor::{Executor, PathPredicate};
use crate::image::ImageSettings;
use crate::locks::Locks;
use crate::paths;
use crate::seen::{ChangedFilePolicy, Fingerprint, Seen};

/// A directory on an executor. Clones share what is known of its files.
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
    /// A workspace at `cwd`, which is absolute. `home` is what `~` stands for.
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

    /// Says how commands run.
    #[must_use]
    pub fn with_bash(self, bash: BashSettings) -> Self {
        Self { bash, ..self }
    }

    /// Lets `bash` leave commands running there, until the last owner of it is dropped.
    #[must_use]
    pub fn with_background(self, background: Arc<BackgroundProcesses>) -> Self {
        Self { background: Some(background), ..self }
    }

    /// The same workspace through another executor, which has the same files.
    #[must_use]
    pub fn with_executor(self, executor: Arc<dyn Executor>) -> Self {
        Self { executor, ..self }
    }

    /// Says of which files, by their real paths, the content must not be shown: `grep` passes over
    /// them and says how many there were. Their names are no secret.
    #[must_use]
    pub fn with_unreadable(self, unreadable: PathPredicate) -> Self {
        Self { unreadable: Some(unreadable), ..self }
    }

    /// Says what happens to files that changed since the model saw them.
    #[must_use]
    pub fn with_changed_files(self, changed_files: ChangedFilePolicy) -> Self {
        Self { changed_files, ..self }
    }

    /// Says what the model can do with images from now on; models change.
    pub fn set_image_settings(&self, images: ImageSettings) {
        *self.images.lock().unwrap_or_else(PoisonError::into_inner) = images;
    }

    /// Sets variables of commands, beside those of the settings; others stay as they are.
    pub fn set_variables(&self, variables: impl IntoIterator<Item = (OsString, OsString)>) {
        self.variables.lock().unwrap_or_else(PoisonError::into_inner).extend(variables);
    }

    /// All variables of commands.
    pub(crate) fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment = self.bash.environment.clone();
        environment.extend(self.variables.lock().unwrap_or_else(PoisonError::into_inner).clone());
        environment
    }

    /// What the model can do with images.
    pub(crate) fn image_settings(&self) -> ImageSettings {
        self.images.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The directory that relative paths are seen from.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Where files are.
    pub fn executor(&self) -> &dyn Executor {
        &*self.executor
    }

    /// How commands run.
    pub fn bash(&self) -> &BashSettings {
        &self.bash
    }

    /// Where commands can be left running.
    pub fn background(&self) -> Option<&Arc<BackgroundProcesses>> {
        self.background.as_ref()
    }

    /// Which files must not be shown.
    pub(crate) fn unreadable(&self) -> Option<&PathPredicate> {
        self.unreadable.as_ref()
    }

    /// The file that a path of a model means.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.executor.map_command_path(paths::resolve(path, &self.cwd, self.home.as_deref()))
    }

    /// The one name of a file that has several. One that does not exist yet is named after its
    /// directory.
    pub(crate) async fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        let missing = match self.executor.canonical(path).await {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => error,
            found => return found,
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(missing);
        };
        Ok(self.executor.canonical(parent).await?.join(name))
    }

    /// Compares a file with what the model saw of it; `current` is `None` if it is gone. The
    /// result is a note for the model, or a refusal.
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

/// An error if the run was aborted.
pub(crate) fn check_abort(cancel: &CancelToken) -> Result<(), ToolError> {
    if cancel.is_cancelled() { Err(aborted()) } else { Ok(()) }
}

/// What a call says that was aborted.
pub(crate) fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}
