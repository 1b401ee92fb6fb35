//! `pi sessions`: finding, reading, copying and removing conversations.

mod fork;
mod list;
mod remove;
mod search;
mod show;
mod store;

use std::path::PathBuf;

use super::export::{Format, default_name, masked, to_file, to_stdout};
use super::{Done, Failure, plain, success};
use crate::exit::print;
use crate::flags::parse::Given;

pub(super) use fork::fork;
pub(super) use list::list;
pub(super) use remove::remove;
pub(super) use search::search;
pub(super) use show::show;
pub(super) use store::{Store, chosen};

/// `pi sessions export SESSION [FILE]`.
pub(super) fn export(given: &Given) -> Done {
    let mut store = Store::open(given)?;
    let source = store.find(given.word(0).unwrap_or_default())?;
    let target = given.word(1);
    let extension = || {
        let target = PathBuf::from(target.filter(|target| *target != "-")?);
        Format::named(target.extension()?.to_str()?)
    };
    let format = given.value("format").and_then(Format::named).or_else(extension);
    let format = format.unwrap_or(Format::Html);
    let mut session = super::export::open(&source)?;
    if !given.has("unmasked") {
        session = masked(session)?;
    }
    if target == Some("-") {
        return to_stdout(&mut session, format);
    }
    let target = target.map_or_else(|| default_name(&source, format), PathBuf::from);
    let path = store.environment.expand(&target.to_string_lossy(), &store.environment.cwd);
    to_file(&mut session, format, &path, given.has("force"))?;
    Ok(print(&format!("{}\n", target.display())))
}
