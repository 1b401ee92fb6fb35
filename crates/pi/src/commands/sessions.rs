//! `pi sessions`: lists, searches, shows, exports, forks, renames and removes sessions.

mod fork;
mod list;
mod prune;
mod remove;
mod rename;
mod search;
mod show;
mod store;

use std::path::{Path, PathBuf};

use super::export::{Format, default_name, redacted, to_file, to_stdout};
use super::{CommandResult, Failure, plain, success};
use crate::exit::print;
use crate::flags::parse::CommandArgs;

pub(super) use fork::fork;
pub(super) use list::list;
pub(super) use prune::prune;
pub(super) use remove::remove;
pub(crate) use remove::remove_session;
pub(super) use rename::rename;
pub(super) use search::search;
pub(super) use show::show;
pub(crate) use store::shared_directory;
pub(super) use store::{ShortIds, Store, title};

/// Runs `pi sessions export SESSION [FILE]`.
pub(super) fn export(args: &CommandArgs) -> CommandResult {
    let mut store = Store::open(args)?;
    let source = store.find(args.word(0).unwrap_or_default())?;
    let target = args.word(1);
    let format = match args.value("format").and_then(Format::named) {
        Some(format) => format,
        None => format_of(target)?,
    };
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

/// Returns the format that the extension of the output file names; HTML without an extension.
pub(crate) fn format_of(target: Option<&str>) -> Result<Format, Failure> {
    let file = target.filter(|target| *target != "-").map(Path::new);
    let Some(extension) = file.and_then(Path::extension) else { return Ok(Format::Html) };
    let extension = extension.to_string_lossy();
    Format::named(&extension).ok_or_else(|| {
        Failure::usage(format!("unknown format \".{extension}\": expected .html, .md or .jsonl"))
            .hint("choose the format of other files with --format: html, markdown, jsonl or atif")
    })
}
