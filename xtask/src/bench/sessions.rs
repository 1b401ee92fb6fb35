//! The cost of sessions: opening a long one, listing and searching many, the tree, appending.

mod data;

pub(super) use data::Prose;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pi_protocol::Message;
use pi_session::{ListOptions, OpenOptions, SearchOptions, Session, SessionError, SessionIndex};

use super::clock::{Clock, allocations};
use super::process::{Whose, on_cpu};

/// Budget for listing thousands of sessions, in milliseconds.
const LIST_BUDGET: f64 = 30.0;

/// Errors while measuring.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error("cannot write the data: {0}")]
    Data(#[from] io::Error),
    #[error("{0}")]
    Session(#[from] SessionError),
}

/// Measures everything and prints each table when it is known.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(clock: Clock, quick: bool) {
    let scale = if quick { 10 } else { 1 };
    let parts = [long(clock, 40_000 / scale), many(clock, 5_000 / scale)];
    let parts = parts.into_iter().chain([tree(clock, 100_000 / scale), appending(clock, 2_000)]);
    for part in parts {
        match part {
            Ok(lines) => println!("\n{}", lines.join("\n")),
            Err(error) => println!("\nSessions were not measured: {error}"),
        }
    }
    println!("\nBudget: {LIST_BUDGET} ms for a list of 5,000 that has not changed.");
}

type Lines = Result<Vec<String>, SessionsError>;

/// Measures opening a long session to continue it.
fn long(clock: Clock, messages: usize) -> Lines {
    let directory = tempfile::tempdir()?;
    let mut lines = vec![
        format!("A session of {messages} messages, opened to be continued:\n"),
        format!(
            "{:<36} {:>8} {:>8} {:>9} {:>8} {:>9} {:>8}",
            "", "MB", "ids, ms", "peak, MB", "all, ms", "peak, MB", "wc, ms"
        ),
    ];
    for (what, compacted) in [("one branch", false), ("the last tenth after a compaction", true)] {
        let path = directory.path().join(format!("{compacted}.jsonl"));
        data::long_session(&path, messages, compacted)?;
        let ids = || {
            let session = Session::open(&path, &OpenOptions::append())?;
            Ok::<_, SessionError>(session.context_ids()?.len())
        };
        let all = || {
            let mut session = Session::open(&path, &OpenOptions::append())?;
            session.context_ids()?;
            Ok::<_, SessionError>(session.context()?.messages.len())
        };
        // Errors are returned from the first run only.
        let (count, _) = (ids()?, all()?);
        debug_assert!(count >= messages / 10);
        let [ids_time, all_time] = clock.time([&mut || drop(ids()), &mut || drop(all())]);
        let ids_peak = allocations(|| drop(ids())).peak;
        let all_peak = allocations(|| drop(all())).peak;
        let wc = match count_lines(&path) {
            Some(time) => format!("{:.1}", millis(time)),
            None => "-".to_owned(),
        };
        lines.push(format!(
            "{what:<36} {:>8.1} {:>8.1} {:>9.1} {:>8.1} {:>9.1} {wc:>8}",
            megabytes(std::fs::metadata(&path)?.len()),
            millis(ids_time),
            megabytes(ids_peak),
            millis(all_time),
            megabytes(all_peak),
        ));
    }
    Ok(lines)
}

/// Returns the CPU time of `wc -l`. The system reports it in ticks, so it is a mean of many runs.
fn count_lines(path: &Path) -> Option<Duration> {
    const RUNS: u32 = 20;
    let before = on_cpu(Whose::Children)?;
    for _ in 0..RUNS {
        let status = Command::new("wc").arg("-l").arg(path).stdout(Stdio::null()).status().ok()?;
        status.success().then_some(())?;
    }
    Some((on_cpu(Whose::Children)? - before) / RUNS)
}

/// Measures listing and searching many sessions.
fn many(clock: Clock, sessions: usize) -> Lines {
    let (root, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    data::collection(root.path(), sessions)?;
    let options = ListOptions::default();
    let open = || SessionIndex::new(root.path(), Some(cache.path().join("index")));
    let cold = || {
        // The index may be deleted at any time.
        let _ = std::fs::remove_dir_all(cache.path().join("index"));
        drop(open().list(&options));
    };
    let [cold_time] = clock.time([&mut || cold()]);
    let cold_peak = allocations(cold).peak;
    // Files that were written just now are checked more closely.
    std::thread::sleep(Duration::from_millis(2100));
    let listed = open().list(&options).sessions;
    let grown = listed.first().map(|session| session.path.clone()).unwrap_or_default();
    let mut session = Session::open(&grown, &OpenOptions::append())?;
    let mut kept = open();
    let [warm, again] =
        clock.time([&mut || drop(open().list(&options)), &mut || drop(kept.list(&options))]);
    let [update] = clock.time([&mut || {
        let _ = session.append_message(Message::user("one more"));
        drop(open().list(&options));
    }]);
    let warm_peak = allocations(|| drop(open().list(&options))).peak;
    let size = |name: &str| {
        let path: PathBuf = cache.path().join("index").join(name);
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    };
    let mark = if millis(warm) > LIST_BUDGET { "  over budget: time" } else { "" };
    let row = |what: &str, time: Duration| format!("{what:<36} {:>9.1}", millis(time));
    let mut lines = vec![
        format!("{} sessions, listed and searched:\n", listed.len()),
        format!("{:<36} {:>9} {:>9}", "", "ms", "peak, MB"),
        format!("{} {:>9.1}", row("list, no index", cold_time), megabytes(cold_peak)),
        format!("{} {:>9.1}{mark}", row("list, nothing changed", warm), megabytes(warm_peak)),
        row("list again, same process", again),
        row("append a message, list", update),
    ];
    for query in [data::RARE, "日本", "kenshu barolo"] {
        let search = |limit| open().search(query, &SearchOptions::default().limit(limit));
        let hits = search(usize::MAX).hits.len();
        let [time] = clock.time([&mut || drop(search(50))]);
        lines.push(row(&format!("search {query}: {hits} hits, 50 shown"), time));
    }
    lines.push(format!(
        "The index: {:.1} MB of text, {:.1} MB of catalog",
        megabytes(size("text")),
        megabytes(size("catalog"))
    ));
    Ok(lines)
}

/// Measures writing a deep tree as JSON.
fn tree(clock: Clock, entries: usize) -> Lines {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("chain.jsonl");
    data::chain(&path, entries)?;
    // Opened each time: a session that was checked once is not checked again.
    let write = || {
        let mut session = Session::open(&path, &OpenOptions::read())?;
        session.tree()?.write_json(&mut io::sink())
    };
    write()?;
    let [time] = clock.time([&mut || drop(write())]);
    let peak = allocations(|| drop(write())).peak;
    Ok(vec![format!(
        "A chain of {entries} entries, opened and written as a tree in JSON: {:.1} ms, {:.1} MB at most",
        millis(time),
        megabytes(peak)
    )])
}

/// Measures appending messages to a session on disk.
fn appending(clock: Clock, messages: u32) -> Lines {
    let directory = tempfile::tempdir()?;
    let mut session =
        Session::open(directory.path().join("session.jsonl"), &OpenOptions::append())?;
    let text = data::Prose::new().text(1000);
    session.append_message(Message::user(text.as_str()))?;
    let mut each = Vec::new();
    let mut append = || {
        for _ in 0..messages {
            let start = Instant::now();
            let _ = session.append_message(Message::user(text.as_str()));
            each.push(start.elapsed());
        }
    };
    let [time] = clock.time([&mut append]);
    each.sort_unstable();
    let at = |share: usize| each.get(each.len() * share / 100).copied().unwrap_or_default();
    Ok(vec![format!(
        "Append 1 KB: {:.1} us CPU; {:.0} us wall (median), {:.0} us (99 of 100)",
        time.as_secs_f64() * 1e6 / f64::from(messages.max(1)),
        at(50).as_secs_f64() * 1e6,
        at(99).as_secs_f64() * 1e6,
    )])
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_complete() {
        let lines = |lines: Lines| lines.unwrap().join("\n");
        assert!(lines(long(Clock::Wall, 100)).contains("\none branch "));
        let many = lines(many(Clock::Wall, 10));
        assert!(many.starts_with("10 sessions, ") && many.contains("line: 1 hits"), "{many}");
        assert!(lines(tree(Clock::Wall, 50)).contains("50 entries"));
        assert!(lines(appending(Clock::Wall, 20)).starts_with("Append 1 KB"));
    }
}
