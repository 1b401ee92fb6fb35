//! The prompts of the user over all sessions: `history.jsonl` in the agent directory, for the arrow
//! keys of the editor and for the search.
//!
//! The file is the user's only (0600) and has a largest size. Without a session file (`--no-session`)
//! or with the setting `promptHistory` off, nothing is added to it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_base::text::one_line;
use pi_protocol::now_ms;
use serde_json::{Value, json};

use crate::app::App;
use crate::panels::history::{HistoryPanel, Prompt};

/// Size of the file at which the older half of it is removed.
const MOST_BYTES: u64 = 1024 * 1024;
/// Size of the longest prompt that is kept.
const LONGEST: usize = 16 * 1024;
/// Bytes at the end of the file that are read at the start.
const RECENT: u64 = 64 * 1024;
/// Prompts that the arrow keys reach.
const REACHED: usize = 100;
/// Time to wait for another process that writes the file.
const PATIENCE: Duration = Duration::from_millis(500);

/// Reads a line of the file.
fn parse(line: &str) -> Option<Prompt> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = value["text"].as_str()?.to_owned();
    let cwd = value["cwd"].as_str().map(PathBuf::from).unwrap_or_default();
    Some(Prompt { text, cwd })
}

/// Returns the line of the file for a prompt.
fn line(prompt: &Prompt) -> String {
    let cwd = prompt.cwd.to_string_lossy();
    json!({ "text": prompt.text, "cwd": cwd, "time": now_ms() }).to_string()
}

/// The prompts that are known, oldest first.
#[derive(Debug, Default)]
pub(crate) struct PromptHistory {
    prompts: Vec<Prompt>,
    /// The problem with the file was reported.
    is_reported: bool,
}

fn file(app: &App) -> PathBuf {
    app.environment.agent_directory.join("history.jsonl")
}

/// Reads the end of the file, which is all that the arrow keys reach.
pub(crate) fn load(app: &mut App) {
    app.history.prompts = stored(app, RECENT);
    show(app);
}

/// Reads at most the last bytes of the file.
fn stored(app: &mut App, most: u64) -> Vec<Prompt> {
    if !app.preferences.prompt_history {
        return Vec::new();
    }
    read(&file(app), most).unwrap_or_else(|error| {
        report(app, &format!("the prompt history cannot be read: {error}"));
        Vec::new()
    })
}

/// Gives the editor the prompts of the session, and before them those of earlier sessions.
pub(crate) fn show(app: &mut App) {
    let own = app.transcript.prompts();
    let mut earlier: Vec<String> = Vec::new();
    for prompt in app.history.prompts.iter().rev() {
        if earlier.len() >= REACHED {
            break;
        }
        if !own.contains(&prompt.text) && !earlier.contains(&prompt.text) {
            earlier.push(prompt.text.clone());
        }
    }
    earlier.reverse();
    earlier.extend(own);
    app.editor.set_history(&earlier);
}

/// Adds a text that the user submits.
pub(crate) fn add(app: &mut App, text: &str) {
    app.editor.add_history(text);
    let text = text.trim();
    let is_repeated = app.history.prompts.last().is_some_and(|last| last.text == text);
    if text.is_empty() || text.len() > LONGEST || is_repeated {
        return;
    }
    let text = app.session.redacted(text).into_owned();
    let cwd = app.session.workspace().cwd().to_owned();
    let prompt = Prompt { text, cwd };
    app.history.prompts.push(prompt.clone());
    if !app.preferences.prompt_history || app.session.file().is_none() {
        return;
    }
    let path = file(app);
    app.tasks.spawn_blocking(
        move || append(&path, &prompt),
        |app, result| {
            if let Err(error) = result {
                report(app, &format!("the prompt history cannot be written: {error}"));
            }
        },
    );
}

/// Reports a problem with the file once.
fn report(app: &mut App, problem: &str) {
    if !std::mem::replace(&mut app.history.is_reported, true) {
        app.warning(problem);
    }
}

/// Opens the search. The chosen prompt replaces the text of the editor.
pub(crate) fn search(app: &mut App) -> bool {
    // In the normal mode of vim the key repeats what was taken back.
    if app.editor.vim_mode().is_some_and(|mode| mode != pi_tui::vim::VimMode::Insert) {
        return false;
    }
    // Other processes may have added some.
    let stored = stored(app, MOST_BYTES);
    let mut prompts: Vec<Prompt> = Vec::new();
    let mut seen = HashSet::new();
    let is_stored: HashSet<&str> = stored.iter().map(|prompt| prompt.text.as_str()).collect();
    let own = app.history.prompts.iter().filter(|one| !is_stored.contains(one.text.as_str()));
    for prompt in own.rev().chain(stored.iter().rev()) {
        if seen.insert(prompt.text.as_str()) {
            prompts.push(prompt.clone());
        }
    }
    let draft = app.editor.text();
    let home = app.environment.home.clone();
    let panel = HistoryPanel::new(prompts, &one_line(draft.trim()), home, &app.keymap);
    app.panels.open_then(panel, |app, text: String| app.editor.set_text(&text));
    true
}

/// Reads the prompts of the last bytes of the file. Lines that are no prompts, such as one that
/// another process is writing or one that is cut, are passed over.
fn read(path: &Path, most: u64) -> io::Result<Vec<Prompt>> {
    let mut options = File::options();
    let Some(mut file) = pi_fs::if_exists(pi_fs::open_regular(options.read(true), path))? else {
        return Ok(Vec::new());
    };
    let size = file.metadata()?.len();
    file.seek(io::SeekFrom::Start(size.saturating_sub(most)))?;
    let mut text = Vec::new();
    io::Read::take(&mut file, most).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(parse).collect())
}

/// Appends a prompt, and removes the older half of a file that is too large.
fn append(path: &Path, prompt: &Prompt) -> io::Result<()> {
    let mut options = pi_fs::private_file();
    let mut file = pi_fs::open_regular(options.create(true).read(true).append(true), path)?;
    if !pi_fs::try_lock_where_supported(&file, PATIENCE)? {
        return Err(io::Error::other("another process holds it"));
    }
    let line = line(prompt) + "\n";
    let size = file.metadata()?.len();
    if size + line.len() as u64 <= MOST_BYTES {
        return file.write_all(line.as_bytes());
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let from = text.len() / 2;
    let newer = text.get(from..).unwrap_or_default();
    let start = newer.iter().position(|byte| *byte == b'\n').map_or(newer.len(), |at| at + 1);
    let mut kept = newer.get(start..).unwrap_or_default().to_vec();
    kept.extend(line.bytes());
    // In place: the lock is on this file.
    file.set_len(0)?;
    file.write_all(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> Prompt {
        Prompt { text: text.to_owned(), cwd: PathBuf::from("/p") }
    }

    #[test]
    fn prompts_come_back_and_the_file_is_private_and_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.jsonl");
        assert_eq!(read(&path, MOST_BYTES).unwrap(), []);
        append(&path, &prompt("one\ntwo")).unwrap();
        append(&path, &prompt("three")).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"te").unwrap();
        assert_eq!(read(&path, MOST_BYTES).unwrap(), [prompt("one\ntwo"), prompt("three")]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let long = "x".repeat(LONGEST);
        for _ in 0..100 {
            append(&path, &prompt(&long)).unwrap();
        }
        append(&path, &prompt("last")).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() <= MOST_BYTES);
        let prompts = read(&path, MOST_BYTES).unwrap();
        assert_eq!(prompts.last(), Some(&prompt("last")));
        assert_eq!(read(&path, 100).unwrap(), [prompt("last")]);
        assert!(prompts.len() > 20, "{} prompts are left", prompts.len());
    }
}
