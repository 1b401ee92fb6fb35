//! `pi sessions search`: finds sessions by their text.

use std::io::{BufWriter, Write as _};

use pi_base::text;
use pi_host::sessions::{title, to_json};
use pi_session::{ListOptions, SearchHit};
use serde_json::{Value, json};

use super::list::limit;
use super::{CommandResult, plain, report_unreadable};
use crate::exit::{Exit, hint, note};
use crate::flags::parse::CommandArgs;

/// Runs the search. As with grep, the exit code is 1 if nothing was found.
pub(in crate::commands) fn search(args: &CommandArgs) -> CommandResult {
    let limit = limit(args)?;
    let mut store = super::open(args)?;
    let cwd = (!args.has("all")).then(|| store.project.environment().cwd.clone());
    let mut options = ListOptions::default().limit(limit);
    options.cwd = cwd;
    let terms: Vec<String> = args.words.iter().map(|word| term(word)).collect();
    let found = store.index.search(&terms.join(" "), &options);
    report_unreadable(&found.problems);
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = found.hits.iter().map(hit_to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else {
        let short = store.short_ids();
        for hit in &found.hits {
            let id = short.of(&hit.session.id);
            let date = plain::date(hit.session.modified);
            writeln!(out, "{id}  {date}  {}", title(&hit.session, 60))?;
            let snippet = text::line(&hit.snippet.text, 200);
            writeln!(out, "    {}: {snippet}", hit.kind.as_str())?;
        }
    }
    out.flush()?;
    if found.hits.is_empty() {
        note("nothing found");
        if !args.has("all") {
            hint("search the sessions of all directories with --all");
        }
        return Ok(Exit::Failed.into());
    }
    Ok(Exit::Completed.into())
}

/// Quotes an argument that contains spaces, so that it is searched as a phrase.
fn term(word: &str) -> String {
    let is_phrase = word.contains(char::is_whitespace) && !word.contains('"');
    if is_phrase { format!("\"{word}\"") } else { word.to_owned() }
}

fn hit_to_json(hit: &SearchHit) -> Value {
    let matches: Vec<_> =
        hit.snippet.matches.iter().map(|range| [range.start, range.end]).collect();
    json!({
        "session": to_json(&hit.session),
        "entryId": hit.entry_id,
        "kind": hit.kind.as_str(),
        "snippet": hit.snippet.text,
        "matches": matches,
    })
}
