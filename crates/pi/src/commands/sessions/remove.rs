//! `pi sessions rm`: removes sessions and their checkpoints permanently.
//!
//! Asks for confirmation on a terminal. Without a terminal, `--yes` is required.

use std::fs::remove_file;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

use pi_host::export::open;
use pi_host::sessions::{self, remove_unused_contents, title};
use pi_session::SessionInfo;

use super::{CommandResult, Failure, plain, success};
use crate::exit::{note, print};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn remove(args: &CommandArgs) -> CommandResult {
    let mut store = super::open(args)?;
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
        sessions::remove(session, &store.project.environment().agent_directory, |path| {
            remove_file(path)
        })?;
        print(&format!("removed {}\n", session.path.display()));
    }
    remove_unused_contents(&store.project.environment().agent_directory)?;
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
