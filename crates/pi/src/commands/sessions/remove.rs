//! `pi sessions rm`: removes sessions for good, with the checkpoints of their files.
//!
//! Asks a person first. Without one, only `--yes` removes anything: a script must say so.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use pi_coding_agent::checkpoint_directory;
use pi_session::{OpenOptions, Session, SessionInfo};

use super::store::{Store, title};
use super::{Done, Failure, success};
use crate::commands::export::open;
use crate::exit::{note, print};
use crate::flags::parse::Given;

pub(in crate::commands) fn remove(given: &Given) -> Done {
    let mut store = Store::open(given)?;
    let mut sessions = Vec::new();
    // All of them are found before any is removed.
    for word in &given.words {
        let path = store.find(word)?;
        open(&path)?;
        sessions.push(SessionInfo::read(&path)?);
    }
    if !given.has("yes") && !confirmed(&sessions)? {
        note("nothing was removed");
        return Ok(success());
    }
    let agent = &store.environment.agent_directory;
    for session in &sessions {
        remove_one(&session.path)?;
        remove_checkpoints(&checkpoint_directory(agent, &session.id))?;
        print(&format!("removed {}\n", session.path.display()));
    }
    Ok(success())
}

fn confirmed(sessions: &[SessionInfo]) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::Usage(
            "nobody is there to ask; add --yes to remove for good".to_owned(),
        ));
    }
    for session in sessions {
        note(&format!("{} {}", session.id, title(session, 60)));
    }
    // If nobody can see the question, no answer comes, and nothing is removed.
    let _ = write!(std::io::stderr(), "Remove {} for good? [y/N] ", plural(sessions.len()));
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn plural(count: usize) -> String {
    if count == 1 { "this session".to_owned() } else { format!("these {count} sessions") }
}

/// Removes a session that no process is writing.
fn remove_one(path: &Path) -> Result<(), Failure> {
    let lock = Session::open(path, &OpenOptions::append())?;
    std::fs::remove_file(path).map_err(|error| cannot_remove(path, &error))?;
    drop(lock);
    Ok(())
}

fn remove_checkpoints(directory: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot_remove(directory, &error))
        }
        _ => Ok(()),
    }
}

fn cannot_remove(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("cannot remove {}: {error}", path.display()))
}
