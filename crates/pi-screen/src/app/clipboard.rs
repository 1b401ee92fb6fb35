//! Copying to and pasting from the clipboard. A success is reported only where it is known.

mod programs;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use pi_ai::InputKind;
use pi_coding_agent::Environment;
use pi_tui::completion::path::needs_quotes;
use pi_tui::image::{ImageInfo, dropped};
use pi_tui::terminal::clipboard::{self, Surroundings, System};
use pi_tui::terminal::sequences;

use crate::app::App;
use programs::Copied;

/// Copies the last answer.
pub(crate) fn copy_last_answer(app: &mut App) -> bool {
    match app.session.last_assistant_text() {
        Some(text) => copy(app, &text),
        None => app.flash("There is no answer to copy yet"),
    }
    true
}

/// Copies a text, and says what is known about it.
pub(crate) fn copy(app: &mut App, text: &str) {
    let attempts = clipboard::copy(surroundings(&app.environment));
    let text = text.to_owned();
    let copied = programs::copy(text.clone(), attempts);
    app.tasks.spawn(copied, move |app, copied| {
        let bytes = copied
            .wants_terminal
            .then(|| sequences::copy(&text, app.display.capabilities.multiplexer))
            .flatten();
        let was_sent = bytes.is_some();
        if let Some(bytes) = bytes {
            app.display.send(bytes);
        }
        match message(&copied, was_sent) {
            Ok(message) => app.flash(message),
            Err(message) => app.warning(message),
        }
    });
}

/// Returns what may be said about a copy.
fn message(copied: &Copied, was_sent: bool) -> Result<&'static str, &'static str> {
    match (copied.by, copied.sent_by) {
        (Some(_), _) => Ok("Copied"),
        (None, None) if was_sent => Ok("Sent to the terminal's clipboard"),
        (None, Some(_)) => Ok("Sent to the terminal's clipboard"),
        (None, None) => Err("Not copied: no clipboard program was found, and the text is too \
                             long for the terminal's clipboard"),
    }
}

/// Content of the clipboard.
enum Pasted {
    Paths(Vec<PathBuf>),
    Text(String),
    Problem(String),
}

/// Pastes a file, an image or a text of the clipboard.
pub(crate) fn paste(app: &mut App) -> bool {
    let surroundings = surroundings(&app.environment);
    let directory = app.environment.temporary();
    app.tasks.spawn(find(surroundings, directory), |app, pasted| {
        match pasted {
            Pasted::Paths(paths) => insert_files(app, &paths),
            Pasted::Text(text) => app.editor.paste(&text),
            Pasted::Problem(problem) => app.warning(problem),
        }
        app.ui.shared().editor_text = app.editor.text();
    });
    true
}

async fn find(surroundings: Surroundings, directory: PathBuf) -> Pasted {
    let mut tried = Vec::new();
    if let Some(path) = programs::read(clipboard::read_file_path(surroundings), &mut tried).await
        && let Ok(path) = String::from_utf8(path)
    {
        return Pasted::Paths(vec![PathBuf::from(path.trim())]);
    }
    if let Some(image) = programs::read(clipboard::read_image(surroundings), &mut tried).await {
        match keep_image(&image, &directory) {
            Ok(Some(path)) => return Pasted::Paths(vec![path]),
            Ok(None) => {}
            Err(error) => {
                let directory = directory.display();
                return Pasted::Problem(format!(
                    "the image of the clipboard cannot be written to {directory}: {error}"
                ));
            }
        }
    }
    if let Some(text) = programs::read(clipboard::read_text(surroundings), &mut tried).await {
        return Pasted::Text(String::from_utf8_lossy(&text).into_owned());
    }
    Pasted::Problem(not_found(surroundings, &tried))
}

/// Returns why nothing was pasted, and what works instead.
fn not_found(surroundings: Surroundings, tried: &[&str]) -> String {
    let what = match (surroundings.is_remote, tried) {
        (true, []) => "The clipboard is on the other machine, out of reach of pi".to_owned(),
        (_, []) => "There is no display whose clipboard pi could read".to_owned(),
        (_, tried) => {
            format!("Nothing to paste was found in the clipboard (tried {})", tried.join(", "))
        }
    };
    format!("{what}; use the paste key of your terminal")
}

/// Writes an image to a file that stays, because the session refers to it.
fn keep_image(image: &[u8], directory: &Path) -> std::io::Result<Option<PathBuf>> {
    let Some(info) = ImageInfo::read(image) else { return Ok(None) };
    let file = tempfile::Builder::new()
        .prefix("pi-clipboard-")
        .suffix(&format!(".{}", info.format.extension()))
        .rand_bytes(16)
        .tempfile_in(directory)?;
    std::fs::write(file.path(), image)?;
    let (_, path) = file.keep()?;
    Ok(Some(path))
}

/// Inserts files at the caret. Images are attached if the model can see them; of other files the
/// path is inserted.
pub(crate) fn insert_files(app: &mut App, paths: &[PathBuf]) {
    let model = app.session.model();
    let sees_images = model.is_some_and(|model| model.input.contains(&InputKind::Image));
    for path in paths {
        let word = word(path);
        if sees_images && dropped::is_image(path) {
            app.editor.attach_image(&word, path);
            app.attached.push(path.clone());
        } else {
            app.editor.insert(&format!("{word} "));
        }
    }
}

/// Returns the image files that were dropped on the terminal, if a paste is nothing but their paths.
pub(crate) fn dropped(app: &App, paste: &str) -> Option<Vec<PathBuf>> {
    let is_wsl = surroundings(&app.environment).system == System::Wsl;
    let paths = dropped::image_paths(paste, is_wsl)?;
    let resolved: Vec<PathBuf> = paths
        .iter()
        .map(|path| match (path.strip_prefix("~"), &app.environment.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path.clone(),
        })
        .collect();
    resolved.iter().all(|path| path.is_file()).then_some(resolved)
}

/// Returns a path as a word.
pub(crate) fn word(path: &Path) -> String {
    let path = path.to_string_lossy();
    match needs_quotes(&path) {
        true => format!("\"{path}\""),
        false => path.into_owned(),
    }
}

fn surroundings(environment: &Environment) -> Surroundings {
    let system = match std::env::consts::OS {
        "macos" => System::MacOs,
        "windows" => System::Windows,
        _ => System::Linux,
    };
    Surroundings::from_env(system, |name| environment.variable(name).map(str::to_owned))
}
