//! `pi sessions show`: prints the properties and the messages of a session.

use std::io::{BufWriter, Write};
use std::path::Path;

use pi_host::export::open;
use pi_host::sessions::{message_count, to_json};
use pi_session::{EffectsResolver, MarkdownOptions, Session, SessionInfo, ToolDetail};
use serde_json::{Value, json};

use super::plain::{PlainWriter, date};
use super::{CommandResult, Failure, success};
use crate::commands::export::redacted;
use crate::flags::parse::CommandArgs;
use crate::secrets;

/// Default number of lines of a tool result.
const BRIEF: usize = 5;

pub(in crate::commands) fn show(args: &CommandArgs) -> CommandResult {
    let mut store = super::open(args)?;
    let path = store.find(args.word(0).unwrap_or_default())?;
    let mut session = redacted(open(&path)?)?;
    let info = SessionInfo::read(&path)?;
    session.verify()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let mut object = to_json_with_entries(&session, &info)?;
        secrets::own().redact_json(&mut object);
        serde_json::to_writer_pretty(&mut out, &object)?;
        writeln!(out)?;
    } else {
        let mut out = PlainWriter::new(&mut out);
        describe(&session, &info, &path, &mut out)?;
        let tools = match args.value("tools") {
            Some("none") => ToolDetail::None,
            Some("full") => ToolDetail::Full,
            _ => ToolDetail::Lines(BRIEF),
        };
        let options = MarkdownOptions::default()
            .tools(tools)
            .thinking(args.has("thinking"))
            .effects(EffectsResolver::new(pi_tools::toolset::effects_of));
        session.export_markdown(&options, &mut out)?;
    }
    out.flush()?;
    Ok(success())
}

fn to_json_with_entries(session: &Session, info: &SessionInfo) -> Result<Value, Failure> {
    let mut entries = Vec::new();
    for id in session.branch_ids(None)? {
        // Damaged lines are listed under `problems`.
        if let Ok(entry) = session.raw_entry(id)
            && let Ok(entry) = serde_json::from_str::<Value>(&entry)
        {
            entries.push(entry);
        }
    }
    let mut object = to_json(info);
    object["stats"] = serde_json::to_value(session.stats()?)?;
    object["entryCount"] = json!(session.len());
    object["problems"] = problems(session).into_iter().collect();
    object["branch"] = Value::Array(entries);
    Ok(object)
}

fn problems(session: &Session) -> Vec<Value> {
    let problems = session.damaged_lines().iter();
    problems.map(|problem| json!({ "offset": problem.offset, "reason": problem.reason })).collect()
}

/// Number of cache misses that are listed, the latest ones.
const SHOWN_MISSES: usize = 10;

fn describe(
    session: &Session,
    info: &SessionInfo,
    path: &Path,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let stats = session.stats()?;
    writeln!(out, "id        {}", info.id)?;
    writeln!(out, "file      {}", path.display())?;
    writeln!(out, "directory {}", info.cwd)?;
    if let Some(parent) = &info.parent_session {
        writeln!(out, "fork of   {parent}")?;
    }
    writeln!(out, "modified  {}", date(info.modified))?;
    writeln!(
        out,
        "size      {} messages, {} entries on all branches, {} bytes",
        message_count(info),
        session.len(),
        info.size
    )?;
    writeln!(out, "tokens    {} for ${:.4}", stats.tokens.total, stats.cost)?;
    let cache = &stats.prompt_cache;
    if !cache.is_empty() {
        write!(out, "cache     {} of {} prompts read from the cache", cache.hits, cache.requests)?;
        if cache.misses > 0 {
            let (tokens, cost) = (cache.missed_tokens, cache.missed_cost);
            write!(out, "; {} missed: {tokens} tokens, ${cost:.4}", cache.misses)?;
        }
        writeln!(out)?;
    }
    let misses = session.cache_misses();
    for miss in misses.iter().rev().take(SHOWN_MISSES).rev() {
        writeln!(out, "miss      {} tokens: {miss}", miss.missed_tokens)?;
    }
    for problem in session.damaged_lines() {
        writeln!(out, "damaged   at byte {}: {}", problem.offset, problem.reason)?;
    }
    writeln!(out)?;
    Ok(())
}
