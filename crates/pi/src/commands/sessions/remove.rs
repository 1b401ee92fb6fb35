//! `pi sessions rm`: removes sessions and their checkpoints permanently.
//!
//! Asks for confirmation on a terminal. Without a terminal, `--yes` is required.

use std::fs::remove_file;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use pi_coding_agent::{checkpoint_directory, checkpoints_directory};
use pi_session::{OpenOptions, Session, SessionInfo};
use pi_tools::checkpoint::{self, Limits};

use super::store::{Store, title};
use super::{CommandResult, Failure, plain, success};
use crate::commands::export::open;
use crate::exit::{note, print};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn remove(args: &CommandArgs) -> CommandResult {
    let mut store = Store::open(args)?;
    let mut sessions = Vec::new();
    // Resolves all sessions before it removes any.
    for word in &args.words {
        let path = store.find(word)?;
        open(&path)?;
        sessions.push(SessionInfo::read(&path)?);
    }
    if !args.has("yes") && !confirmed(&sessions)? {
        note("nothing was removed");
        return Ok(success());
    }
    for session in &sessions {
        remove_session(session, &store.environment.agent_directory, |path| remove_file(path))?;
        print(&format!("removed {}\n", session.path.display()));
    }
    remove_unused_contents(&store.environment.agent_directory)?;
    Ok(success())
}

/// Asks the user whether the sessions are to be removed.
pub(super) fn confirmed(sessions: &[SessionInfo]) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::usage("cannot ask for confirmation without a terminal")
            .hint("add --yes to remove permanently"));
    }
    for session in sessions {
        let date = plain::date(session.modified);
        note(&format!("{} {date} {}", session.id, title(session, 60)));
    }
    // If the question cannot be shown, no answer follows, and nothing is removed.
    let _ = write!(std::io::stderr(), "Remove {} permanently? [y/N] ", plural(sessions.len()));
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn plural(count: usize) -> String {
    if count == 1 { "this session".to_owned() } else { format!("these {count} sessions") }
}

/// Removes a session with its checkpoints, unless another process has it open. `remove` removes its
/// file.
pub(crate) fn remove_session(
    session: &SessionInfo,
    agent: &Path,
    remove: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let path = &session.path;
    let lock = Session::open(path, &OpenOptions::append())?;
    remove(path).map_err(|error| cannot_remove(path, &error))?;
    drop(lock);
    let checkpoints = checkpoint_directory(agent, &session.id);
    match std::fs::remove_dir_all(&checkpoints) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot_remove(&checkpoints, &error))
        }
        _ => Ok(()),
    }
}

/// Removes contents of checkpoints that no session needs any more. While another process takes a
/// checkpoint, that is left to a later removal.
pub(super) fn remove_unused_contents(agent: &Path) -> Result<(), Failure> {
    let checkpoints = checkpoints_directory(agent);
    // The checkpoints of other sessions stay, at any age and size.
    let mut limits = Limits::default();
    (limits.store_bytes, limits.age) = (u64::MAX, Duration::MAX);
    checkpoint::prune(&checkpoints, &limits, SystemTime::now())?;
    Ok(())
}

fn cannot_remove(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot remove {}: {error}", path.display()))
}
