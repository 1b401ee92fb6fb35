//! `pi sessions rename`: names a session.

use pi_host::export::open;
use pi_session::{OpenOptions, Session};

use super::{CommandResult, Failure, success};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn rename(args: &CommandArgs) -> CommandResult {
    let name = args.word(1).unwrap_or_default();
    if name.trim().is_empty() {
        return Err(Failure::usage("the name of a session cannot be empty"));
    }
    let mut store = super::open(args)?;
    let path = store.find(args.word(0).unwrap_or_default())?;
    // Only sessions are opened for writing; other files stay as they are.
    open(&path)?;
    let mut session = Session::open(&path, &OpenOptions::append())?;
    session.append_name(name)?;
    Ok(success())
}
