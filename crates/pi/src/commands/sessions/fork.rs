//! `pi sessions fork`: a new session out of an old one, which stays as it is.

use pi_session::{ForkPosition, NewSession, Session};
use serde_json::json;

use super::store::Store;
use super::{Done, Failure};
use crate::commands::export::open;
use crate::exit::print;
use crate::flags::parse::Given;

pub(in crate::commands) fn fork(given: &Given) -> Done {
    let mut store = Store::open(given)?;
    let path = store.find(given.word(0).unwrap_or_default())?;
    let source = open(&path)?;
    let fork = match given.value("at") {
        Some(entry) => source.fork(entry, ForkPosition::At)?.session,
        None => {
            let directory = Some(store.directory());
            let cwd = store.environment.cwd.clone();
            Session::fork_from(&source, NewSession { cwd, directory, ..NewSession::default() })?
        }
    };
    let Some(file) = fork.path().filter(|_| fork.is_saved()) else {
        return Err(Failure::Failed(format!(
            "{} has no conversation that could be continued",
            path.display()
        )));
    };
    if given.has("json") {
        return Ok(print(&format!("{}\n", json!({ "id": fork.id(), "path": file }))));
    }
    Ok(print(&format!("{}\n{}\n", fork.id(), file.display())))
}
