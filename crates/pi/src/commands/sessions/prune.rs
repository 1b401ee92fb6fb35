//! `pi sessions prune`: removes old sessions and their checkpoints permanently.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use pi_base::text;
use pi_config::checkpoints::{checkpoint_directory, checkpoints_directory};
use pi_host::sessions::{self, remove_unused_contents, title};
use pi_session::{SessionInfo, is_locked};
use pi_tools::checkpoint;

use super::remove::confirmed;
use super::{CommandResult, Failure, list_readable, plain, success};
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;

/// The sessions to keep.
struct Limits {
    /// Sessions that were modified before this time are removed, in milliseconds since the epoch.
    before: i64,
    /// Number of the latest sessions of each directory that are kept.
    keep: usize,
}

pub(in crate::commands) fn prune(args: &CommandArgs) -> CommandResult {
    let limits = limits(args)?;
    let mut store = super::open(args)?;
    let listed = list_readable(&mut store, args.has("all"));
    let (old, used): (Vec<_>, Vec<_>) =
        select(listed, &limits).into_iter().partition(|session| !is_locked(&session.path));
    for session in &used {
        note(&format!("skipped: {} is open in another pi", session.path.display()));
    }
    let dry_run = args.has("dry-run");
    if old.is_empty() {
        note("there are no sessions to remove");
        return Ok(success());
    }
    if !dry_run && !args.has("yes") && !confirmed(&old)? {
        note("nothing was removed");
        return Ok(success());
    }
    let agent = store.project.environment().agent_directory.clone();
    let mut out = std::io::stdout().lock();
    let checkpoints = checkpoints_directory(&agent);
    let before = usage(&checkpoints)?;
    let (mut removed, mut bytes, mut failed) = (0_usize, 0, false);
    for session in &old {
        let mut size = session.size;
        if dry_run {
            size += size_of(&checkpoint_directory(&agent, &session.id));
        }
        if !dry_run
            && let Err(error) = sessions::remove(session, &agent, |path| std::fs::remove_file(path))
        {
            Failure::from(error).report();
            failed = true;
            continue;
        }
        let verb = if dry_run { "would remove" } else { "removed" };
        let id = text::one_line(&session.id);
        let date = plain::date(session.modified);
        writeln!(out, "{verb} {id}  {date}  {}", title(session, 60))?;
        (removed, bytes) = (removed + 1, bytes + size);
    }
    let count = if removed == 1 { "1 session".to_owned() } else { format!("{removed} sessions") };
    if !dry_run {
        remove_unused_contents(&agent)?;
        bytes += before.saturating_sub(usage(&checkpoints)?);
    }
    // Contents that other sessions need too are not freed, and others are not counted here.
    let verb = if dry_run { "would free at least" } else { "freed" };
    writeln!(out, "{count}, {verb} {}", plain::size(bytes))?;
    Ok(if failed { Exit::Failed } else { Exit::Completed }.into())
}

fn limits(args: &CommandArgs) -> Result<Limits, Failure> {
    let invalid = |flag: &str, value: &str, expected: &str| {
        Failure::usage(format!("--{flag}: invalid value \"{value}\": expected {expected}"))
    };
    let (age, keep) = (args.value("older-than"), args.value("keep"));
    if age.is_none() && keep.is_none() {
        return Err(Failure::usage("which sessions are to be removed?")
            .hint("give --older-than 90d, --keep 20 or both"));
    }
    let before = match age {
        Some(text) => {
            let age = milliseconds(text);
            let age = age.ok_or_else(|| {
                invalid("older-than", text, "a number with h, d or w, such as 90d")
            })?;
            jiff::Timestamp::now().as_millisecond().saturating_sub(age)
        }
        None => i64::MAX,
    };
    let keep = match keep {
        Some(text) => text.parse().map_err(|_| invalid("keep", text, "a number"))?,
        None => 0,
    };
    Ok(Limits { before, keep })
}

/// Parses an age such as `90d` into milliseconds.
fn milliseconds(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(hours * 3_600_000)
}

/// Returns the sessions to remove. `sessions` are sorted, newest first.
fn select(sessions: Vec<SessionInfo>, limits: &Limits) -> Vec<SessionInfo> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let is_old = |session: &SessionInfo| {
        let count = counts.entry(session.cwd.clone()).or_default();
        *count += 1;
        *count > limits.keep && session.modified < limits.before
    };
    sessions.into_iter().filter(is_old).collect()
}

/// Returns the size of the checkpoints of all sessions, in bytes.
fn usage(checkpoints: &Path) -> Result<u64, Failure> {
    if !checkpoints.is_dir() {
        return Ok(0);
    }
    Ok(checkpoint::usage(checkpoints)?.bytes)
}

/// Returns the size of all files below a directory, in bytes.
fn size_of(directory: &Path) -> u64 {
    let mut sum = 0;
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => directories.push(entry.path()),
                Ok(metadata) => sum += metadata.len(),
                Err(_) => {}
            }
        }
    }
    sum
}
