//! The commands that need no agent, one file each.

mod auth;
mod credentials;
mod doctor;
pub(crate) mod export;
mod failure;
pub(crate) mod plain;
mod policy;
mod sandbox;
mod sessions;
mod undo;

use std::process::ExitCode;

use crate::exit::{Exit, print};
use crate::flags::parse::Given;
use crate::flags::{completions, man, markdown};

use failure::Failure;

/// Runs a command.
pub(crate) fn run(given: &Given) -> ExitCode {
    let result = match given.path.as_slice() {
        ["demo"] => return crate::modes::demo::run(given),
        ["completions"] => {
            return print(&given.word(0).and_then(completions::script).unwrap_or_default());
        }
        ["man"] if given.has("markdown") => return print(&markdown::page()),
        ["man"] => return print(&man::page()),
        ["sessions", "list"] => sessions::list(given),
        ["sessions", "search"] => sessions::search(given),
        ["sessions", "show"] => sessions::show(given),
        ["sessions", "export"] => sessions::export(given),
        ["sessions", "fork"] => sessions::fork(given),
        ["sessions", "rm"] => sessions::remove(given),
        ["undo"] => undo::run(given),
        ["auth", "check"] => auth::check(given),
        ["auth", "print-api-key"] => auth::api_key(given),
        ["auth", "print-bearer-token"] => auth::bearer_token(given),
        ["auth", "list"] => auth::list(given),
        ["auth", "set"] => auth::set(given),
        ["auth", "remove"] => auth::remove(given),
        ["policy", "check"] => policy::check(given),
        ["policy", "test"] => policy::test(given),
        ["policy", "replay"] => policy::replay(given),
        ["sandbox"] => sandbox::run(given),
        ["doctor"] => doctor::run(given),
        path => Err(Failure::Failed(format!("`pi {}` does nothing yet", path.join(" ")))),
    };
    result.unwrap_or_else(|failure| failure.report())
}

/// What a command returns: it may be done with less than was asked for.
type Done = Result<ExitCode, Failure>;

fn success() -> ExitCode {
    Exit::Success.into()
}
