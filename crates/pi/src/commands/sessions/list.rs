//! `pi sessions list`.

use std::io::{BufWriter, Write as _};

use serde_json::Value;

use super::store::{Store, id_length, title, to_json};
use super::{Done, Failure, plain, success};
use crate::exit::note;
use crate::flags::parse::Given;

pub(in crate::commands) fn list(given: &Given) -> Done {
    let limit = limit(given)?;
    let mut store = Store::open(given)?;
    let all = given.has("all");
    let mut sessions = store.list(all);
    sessions.truncate(limit);
    let mut out = BufWriter::new(std::io::stdout().lock());
    if given.has("json") {
        let list: Vec<Value> = sessions.iter().map(to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else if sessions.is_empty() {
        note(if all { "there are no sessions" } else { NONE_HERE });
    } else {
        let width = id_length(sessions.iter());
        writeln!(out, "{:width$}  {:16}  {:>8}  SESSION", "ID", "MODIFIED (UTC)", "MESSAGES")?;
        for session in &sessions {
            let id = plain::id(&session.id, width);
            let place = if all {
                format!("{}: ", plain::line(&session.cwd, usize::MAX))
            } else {
                String::new()
            };
            let date = plain::date(session.modified);
            let count = session.message_count;
            writeln!(out, "{id:width$}  {date:16}  {count:>8}  {place}{}", title(session, 60))?;
        }
    }
    out.flush()?;
    Ok(success())
}

pub(super) const NONE_HERE: &str =
    "there are no sessions of this directory; --all shows those of others";

/// `--limit`.
pub(super) fn limit(given: &Given) -> Result<usize, Failure> {
    let Some(limit) = given.value("limit") else { return Ok(usize::MAX) };
    let wrong = |_| Failure::Usage(format!("--limit takes a number, not \"{limit}\""));
    limit.parse().map_err(wrong)
}
