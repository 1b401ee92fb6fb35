//! `pi sessions list`: prints a table of sessions.

use std::io::{BufWriter, Write as _};

use pi_base::text;
use pi_host::sessions::{message_count, title, to_json};
use serde_json::Value;

use super::{CommandResult, Failure, list_readable, plain, success};
use crate::exit::{hint, note};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn list(args: &CommandArgs) -> CommandResult {
    let limit = limit(args)?;
    let mut store = super::open(args)?;
    let all = args.has("all");
    let mut sessions = list_readable(&mut store, all);
    sessions.truncate(limit);
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = sessions.iter().map(to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else if sessions.is_empty() {
        note(if all { "no sessions found" } else { "no sessions of this directory found" });
        if !all {
            hint("list the sessions of all directories with --all");
        }
    } else {
        let short = store.short_ids();
        let ids: Vec<String> = sessions.iter().map(|session| short.of(&session.id)).collect();
        let width = ids.iter().map(|id| id.chars().count()).max().unwrap_or_default();
        writeln!(out, "{:width$}  {:16}  {:>8}  SESSION", "ID", "MODIFIED", "MESSAGES")?;
        for (session, id) in sessions.iter().zip(&ids) {
            let cwd =
                if all { format!("{}: ", text::one_line(&session.cwd)) } else { String::new() };
            let date = plain::date(session.modified);
            let count = message_count(session);
            writeln!(out, "{id:width$}  {date:16}  {count:>8}  {cwd}{}", title(session, 60))?;
        }
    }
    out.flush()?;
    Ok(success())
}

/// Parses `--limit`.
pub(super) fn limit(args: &CommandArgs) -> Result<usize, Failure> {
    let Some(limit) = args.value("limit") else { return Ok(usize::MAX) };
    let wrong =
        |_| Failure::usage(format!("--limit: invalid value \"{limit}\": expected a number"));
    limit.parse().map_err(wrong)
}
