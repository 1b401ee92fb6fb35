//! `pi sessions fork`: copies a session into a new one.

use pi_host::export::open;
use pi_session::{ForkPosition, NewSession, Session};
use serde_json::json;

use super::{CommandResult, Failure};
use crate::exit::print;
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn fork(args: &CommandArgs) -> CommandResult {
    let mut store = super::open(args)?;
    let path = store.find(args.word(0).unwrap_or_default())?;
    let source = open(&path)?;
    let fork = match args.value("at") {
        Some(entry) => source.fork(entry, ForkPosition::At)?.session,
        None => {
            let new =
                NewSession::new(&store.project.environment().cwd).directory(store.directory());
            Session::fork_from(&source, new)?
        }
    };
    let file = match fork.path() {
        Some(file) if fork.is_saved() => file,
        _ => {
            let path = path.display();
            return Err(Failure::failed(format!("{path} contains no messages to continue from")));
        }
    };
    if args.has("json") {
        return Ok(print(&format!("{}\n", json!({ "id": fork.id(), "path": file }))));
    }
    Ok(print(&format!("{}\n{}\n", fork.id(), file.display())))
}
