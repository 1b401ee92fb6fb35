//! `/export [path]`: writes the session to a file, as a page or as JSON lines. Secrets are redacted.

use std::path::{Path, PathBuf};

use pi_host::export::{ExportError, Format, default_name, open, redacted, to_file};

use crate::app::App;

pub(super) fn run(app: &mut App, argument: &str) {
    let Some(source) = saved_file(app) else { return };
    let (target, cwd) = (unquoted(argument).to_owned(), app.session.workspace().cwd().to_owned());
    let (environment, secrets) = (app.environment.clone(), app.program.secrets);
    let export = move || -> Result<PathBuf, ExportError> {
        let format = Format::of_file(Path::new(&target))?;
        let target = match target.as_str() {
            "" => cwd.join(default_name(&source, format)),
            target => environment.expand(target, &cwd),
        };
        to_file(&mut redacted(open(&source)?, secrets())?, format, &target, true)?;
        Ok(target)
    };
    app.tasks.spawn_blocking(export, |app, result| match result {
        Ok(path) => app.status(format!("Session exported to: {}", path.display())),
        Err(error) => app.error(error.to_string()),
    });
}

/// Returns the file of the session; says so if there is none.
pub(super) fn saved_file(app: &mut App) -> Option<PathBuf> {
    let file = app.session.file().filter(|file| file.exists());
    if file.is_none() {
        app.warning("The session is not saved yet: there is no message, or it is kept in memory");
    }
    file
}

/// Returns a path without quotation marks around it.
pub(super) fn unquoted(text: &str) -> &str {
    let quoted = |mark: char| text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}
