//! `/import path`: continues with a copy of a session file.

use std::path::PathBuf;

use pi_session::Session;

use super::export::unquoted;
use super::resume;
use crate::app::App;
use crate::panels::question::Question;

pub(super) fn run(app: &mut App, argument: &str) {
    let path = unquoted(argument);
    if path.is_empty() {
        return app.warning("Name the session file to import: /import PATH");
    }
    let cwd = app.session.workspace().cwd().to_owned();
    let source = app.environment.expand(path, &cwd);
    if pi_session::read_header(&source).is_none() {
        return app.error(format!("{} is not a session file", source.display()));
    }
    let answers = vec![(true, "Import and switch to it"), (false, "Stay in this session")];
    let details = format!(
        "File: {}\nA copy is made; the file itself and this session stay as they are.",
        source.display()
    );
    let question =
        Question::with_answers("Import a session?", &details, answers, false, &app.keymap)
            .permitting(|is_wanted| *is_wanted);
    app.panels.open_then(question, move |app, is_wanted| {
        if is_wanted {
            import(app, source.clone());
        } else {
            app.status("Nothing was imported");
        }
    });
}

fn import(app: &mut App, source: PathBuf) {
    let agent = app.environment.agent_directory.clone();
    let (directory, cwd) =
        app.session.with_log(|log| (log.directory().map(PathBuf::from), log.cwd().to_owned()));
    let directory = directory.unwrap_or_else(|| pi_session::session_directory(&agent, &cwd));
    let copy = move || {
        std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        Session::import(&source, &directory).map_err(|error| error.to_string())
    };
    app.tasks.spawn_blocking(copy, |app, copied| match copied {
        Ok(path) => resume::open(app, path),
        Err(error) => app.error(format!("cannot import the session: {error}")),
    });
}
