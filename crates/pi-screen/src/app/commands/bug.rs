//! `/bug [text]`: writes a report about a problem to a file. Nothing is sent.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pi_guard::secrets::Secrets;
use pi_host::export::{Format, open, redacted, to_file};

use crate::app::App;
use crate::panels::entry::Entry;
use crate::panels::question::Question;

pub(super) fn run(app: &mut App, description: &str) {
    if !description.is_empty() {
        return ask_for_session(app, description.to_owned());
    }
    let question = Entry::new("What went wrong? (may be empty)", &app.keymap);
    app.panels.open_then(question, ask_for_session);
}

fn ask_for_session(app: &mut App, description: String) {
    let session = app.session.file().filter(|file| file.exists());
    let Some(session) = session else { return write(app, &description, None) };
    let answers = vec![
        (Some(false), "Without the session"),
        (Some(true), "With a copy of the session (known secrets are redacted)"),
        (None, "No report"),
    ];
    let details = "The report goes to a file on this machine and has the version, the system, the \
                   terminal, the model and your settings without secrets.";
    let question =
        Question::with_answers("Write a bug report?", details, answers, None, &app.keymap);
    app.panels.open_then(question, move |app, answer| match answer {
        None => app.status("No report was written"),
        Some(with_session) => {
            write(app, &description, with_session.then(|| session.clone()));
        }
    });
}

fn write(app: &mut App, description: &str, session: Option<PathBuf>) {
    let report = report(app, description);
    let directory = app.environment.agent_directory.join("reports");
    let time = jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S").to_string();
    let secrets = app.program.secrets;
    let write = move || save(&directory, &time, &report, session.as_deref(), secrets);
    app.tasks.spawn_blocking(write, |app, written| match written {
        Ok(files) => app.status(format!("Bug report written to: {}", files.join(", "))),
        Err(error) => app.error(format!("cannot write the report: {error}")),
    });
}

fn save(
    directory: &Path,
    time: &str,
    report: &str,
    session: Option<&Path>,
    secrets: fn() -> &'static Secrets,
) -> Result<Vec<String>, String> {
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let file = directory.join(format!("bug-{time}.md"));
    std::fs::write(&file, report).map_err(|error| error.to_string())?;
    let mut files = vec![file.display().to_string()];
    if let Some(session) = session {
        let target = directory.join(format!("bug-{time}.jsonl"));
        open(session)
            .and_then(|session| redacted(session, secrets()))
            .and_then(|mut copy| to_file(&mut copy, Format::Jsonl, &target, false))
            .map_err(|error| error.to_string())?;
        files.push(target.display().to_string());
    }
    Ok(files)
}

/// Returns the text of the report, without secrets.
fn report(app: &App, description: &str) -> String {
    let mut text = format!("# Bug report\n\n{}\n\n## Environment\n\n", description.trim());
    let size = app.display.size();
    let variable = |name: &str| app.environment.variable(name).unwrap_or("–").to_owned();
    let model = app.session.model();
    let model = model.map_or("–".to_owned(), |model| format!("{}/{}", model.provider, model.id));
    let facts = [
        ("Version", env!("CARGO_PKG_VERSION").to_owned()),
        ("System", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("Model", model),
        ("TERM", variable("TERM")),
        ("TERM_PROGRAM", variable("TERM_PROGRAM")),
        ("COLORTERM", variable("COLORTERM")),
        ("Size", format!("{} × {}", size.columns, size.rows)),
        ("Mode", if app.display.is_fullscreen() { "fullscreen" } else { "regular" }.to_owned()),
        ("Session", app.session.id()),
    ];
    for (name, value) in facts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {name}: {value}");
    }
    let path = app.environment.agent_directory.join("settings.json");
    let settings = std::fs::read_to_string(path).unwrap_or_default();
    let _ = write!(text, "\n## Settings\n\n```json\n{}\n```\n", settings.trim());
    (app.program.secrets)().redact(&text).into_owned()
}
