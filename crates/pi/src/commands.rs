//! The commands, one file each. Only `acp`, `demo`, `mcp serve`, `run`, `replay` and
//! `serve` run an agent.

#[cfg(feature = "converge")]
mod agents;
mod auth;
pub(crate) mod complete;
mod config;
mod doctor;
pub(crate) mod export;
#[cfg(feature = "extensions")]
mod extension;
pub(crate) mod failure;
mod hooks;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod packages;
mod policy;
mod project;
mod sandbox;
mod self_update;
#[cfg(feature = "serve")]
mod serve;
mod sessions;
mod trust;
mod undo;

use std::process::ExitCode;

use crate::exit::{Exit, print};
use crate::features::with_feature;
use crate::flags::parse::CommandArgs;
use crate::flags::{completions, man, markdown};
use crate::plain;

use failure::Failure;

/// Runs a command and returns its exit code.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let result = match args.path.as_slice() {
        ["acp"] if args.has("login") => auth::login(args),
        ["acp"] => with_feature!("acp", Ok(crate::modes::acp::run(args))),
        ["serve", "start"] if args.has("share") => with_feature!("serve", serve::share(args)),
        ["serve", "start"] => with_feature!("serve", Ok(crate::modes::serve::run(args))),
        ["serve", "token", "add"] => with_feature!("serve", serve::add(args)),
        ["serve", "token", "list"] => with_feature!("serve", serve::list(args)),
        ["serve", "token", "revoke"] => with_feature!("serve", serve::revoke(args)),
        ["demo"] => return crate::modes::demo::run(args),
        ["run"] => with_feature!("converge", Ok(crate::modes::run::run(args))),
        ["replay"] => with_feature!("converge", Ok(crate::modes::replay::run(args))),
        ["mcp", "serve"] => with_feature!("mcp-server", Ok(crate::modes::mcp_serve::run(args))),
        ["completions"] => {
            return print(&args.word(0).and_then(completions::script).unwrap_or_default());
        }
        ["man"] if args.has("markdown") => return print(&markdown::page()),
        ["man"] => return print(&man::page()),
        ["sessions", "list"] => sessions::list(args),
        ["sessions", "search"] => sessions::search(args),
        ["sessions", "show"] => sessions::show(args),
        ["sessions", "export"] => sessions::export(args),
        ["sessions", "fork"] => sessions::fork(args),
        ["sessions", "rename"] => sessions::rename(args),
        ["sessions", "rm"] => sessions::remove(args),
        ["sessions", "prune"] => sessions::prune(args),
        ["extension", "new"] => with_feature!("extensions", extension::new(args)),
        ["extension", "check"] => with_feature!("extensions", extension::check(args)),
        ["extension", "test"] => with_feature!("extensions", extension::test(args)),
        ["agents", "list"] => with_feature!("converge", agents::list(args)),
        ["agents", "show"] => with_feature!("converge", agents::show(args)),
        ["agents", "check"] => with_feature!("converge", agents::check(args)),
        ["undo"] => undo::run(args),
        ["trust", "list"] => trust::list(args),
        ["trust", "add"] => trust::add(args),
        ["trust", "remove"] => trust::remove(args),
        ["install"] => packages::install(args),
        ["remove" | "uninstall"] => packages::remove(args),
        ["update"] => packages::update(args),
        ["list"] => packages::list(args),
        ["config", "resources"] => packages::resources(args),
        ["config", "list"] => config::list(args),
        ["config", "get"] => config::get(args),
        ["config", "set"] => config::set(args),
        ["config", "unset"] => config::unset(args),
        ["config", "schema"] => config::schema(args),
        ["auth", "check"] => auth::check(args),
        ["auth", "print-api-key"] => auth::api_key(args),
        ["auth", "print-bearer-token"] => auth::bearer_token(args),
        ["auth", "list"] => auth::list(args),
        ["auth", "set"] => auth::set(args),
        ["models", "list"] => models::list(args),
        ["models", "show"] => models::show(args),
        ["models", "update"] => models::update(args),
        ["auth", "login"] => auth::login(args),
        ["auth", "logout" | "remove"] => auth::logout(args),
        ["auth", "status"] => auth::status(args),
        ["auth", "doctor"] => auth::doctor(args),
        ["mcp", "add"] => with_feature!("mcp", mcp::add(args)),
        ["mcp", "remove"] => with_feature!("mcp", mcp::remove(args)),
        ["mcp", "list"] => with_feature!("mcp", mcp::list(args)),
        ["mcp", "check"] => with_feature!("mcp", mcp::check(args)),
        ["mcp", "call"] => with_feature!("mcp", mcp::call(args)),
        ["mcp", "login"] => with_feature!("mcp", mcp::login(args)),
        ["mcp", "logout"] => with_feature!("mcp", mcp::logout(args)),
        ["hooks", "list"] => hooks::list(args),
        ["hooks", "test"] => hooks::test(args),
        ["policy", "check"] => policy::check(args),
        ["policy", "test"] => policy::test(args),
        ["policy", "replay"] => policy::replay(args),
        ["sandbox"] => sandbox::run(args),
        ["doctor"] => doctor::run(args),
        path => Err(Failure::failed(format!("`pi {}` is not implemented", path.join(" ")))),
    };
    result.unwrap_or_else(|failure| failure.report())
}

/// The exit code of a command, which may report a partial failure, or the error that ended it.
type CommandResult = Result<ExitCode, Failure>;

fn success() -> ExitCode {
    Exit::Completed.into()
}
