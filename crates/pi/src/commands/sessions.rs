//! `pi sessions`: lists, searches, shows, exports, forks and removes sessions.

mod fork;
mod list;
mod remove;
mod search;
mod show;
mod store;

use std::path::PathBuf;

use super::export::{Format, default_name, redacted, to_file, to_stdout};
use super::{CommandResult, Failure, plain, success};
use crate::exit::print;
use crate::flags::parse::CommandArgs;

pub(super) use fork::fork;
pub(super) use list::list;
pub(super) use remove::remove;
pub(super) use search::search;
pub(super) use show::show;
pub(super) use store::{Store, shared_directory};

/// Runs `pi sessions export SESSION [FILE]`.
pub(super) fn export(args: &CommandArgs) -> CommandResult {
    let mut store = Store::open(args)?;
    let source = store.find(args.word(0).unwrap_or_default())?;
    let target = args.word(1);
    let extension = || {
        let target = PathBuf::from(target.filter(|target| *target != "-")?);
        Format::named(target.extension()?.to_str()?)
    };
    let format = args.value("format").and_then(Format::named).or_else(extension);
    let format = format.unwrap_or(Format::Html);
    let mut session = super::export::open(&source)?;
    if !args.has("unmasked") {
        session = redacted(session)?;
    }
    if target == Some("-") {
        return to_stdout(&mut session, format);
    }
    let target = target.map_or_else(|| default_name(&source, format), PathBuf::from);
    let path = store.environment.expand(&target.to_string_lossy(), &store.environment.cwd);
    to_file(&mut session, format, &path, args.has("force"))?;
    Ok(print(&format!("{}\n", target.display())))
}
