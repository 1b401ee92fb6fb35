//! `pi sessions show`: what a session is, then what was said.

use std::io::{BufWriter, Write};
use std::path::Path;

use pi_session::{EffectsResolver, MarkdownOptions, Session, SessionInfo, ToolDetail};
use serde_json::{Value, json};

use super::plain::{Plain, date};
use super::store::{Store, to_json};
use super::{Done, Failure, success};
use crate::commands::export::{masked, open};
use crate::flags::parse::Given;
use crate::secrets;

/// Lines of a tool's result that are shown if nothing else is asked for.
const BRIEF: usize = 5;

pub(in crate::commands) fn show(given: &Given) -> Done {
    let mut store = Store::open(given)?;
    let path = store.find(given.word(0).unwrap_or_default())?;
    let mut session = masked(open(&path)?)?;
    let info = SessionInfo::read(&path)?;
    session.verify()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if given.has("json") {
        let mut facts = facts(&session, &info)?;
        secrets::own().redact_json(&mut facts);
        serde_json::to_writer_pretty(&mut out, &facts)?;
        writeln!(out)?;
    } else {
        let mut out = Plain::new(&mut out);
        describe(&session, &info, &path, &mut out)?;
        let tools = match given.value("tools") {
            Some("none") => ToolDetail::None,
            Some("full") => ToolDetail::Full,
            _ => ToolDetail::Lines(BRIEF),
        };
        let options = MarkdownOptions::default()
            .tools(tools)
            .thinking(given.has("thinking"))
            .effects(EffectsResolver::new(pi_tools::toolset::effects_of));
        session.export_markdown(&options, &mut out)?;
    }
    out.flush()?;
    Ok(success())
}

fn facts(session: &Session, info: &SessionInfo) -> Result<Value, Failure> {
    let mut entries = Vec::new();
    for id in session.branch_ids(None)? {
        // A damaged line is counted among the problems.
        if let Ok(entry) = session.raw_entry(id)
            && let Ok(entry) = serde_json::from_str::<Value>(&entry)
        {
            entries.push(entry);
        }
    }
    let mut facts = to_json(info);
    facts["stats"] = serde_json::to_value(session.stats()?)?;
    facts["entryCount"] = json!(session.len());
    facts["problems"] = problems(session).into_iter().collect();
    facts["branch"] = Value::Array(entries);
    Ok(facts)
}

fn problems(session: &Session) -> Vec<Value> {
    let problems = session.damaged_lines().iter();
    problems.map(|problem| json!({ "offset": problem.offset, "reason": problem.reason })).collect()
}

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
    writeln!(out, "modified  {} UTC", date(info.modified))?;
    writeln!(
        out,
        "size      {} messages, {} entries on all branches, {} bytes",
        info.message_count,
        session.len(),
        info.size
    )?;
    writeln!(out, "tokens    {} for ${:.4}", stats.tokens.total, stats.cost)?;
    for problem in session.damaged_lines() {
        writeln!(out, "damaged   at byte {}: {}", problem.offset, problem.reason)?;
    }
    writeln!(out)?;
    Ok(())
}
