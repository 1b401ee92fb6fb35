//! The cost of sessions: opening a long one, listing and searching many, the tree, appending.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pi_protocol::Message;
use pi_session::{ListOptions, OpenOptions, Session, SessionError, SessionIndex};

use crate::Outcome;
use crate::clock::{allocations, best, children, median, typical};
use crate::home::complete;
use crate::session_file::{self, Prose, RARE};
use crate::table::{Table, budget, micros, millis, size, time};

/// Budget for listing thousands of sessions, in milliseconds.
const LIST_BUDGET: f64 = 30.0;

type Measured = Result<Table, Box<dyn std::error::Error>>;

pub(crate) fn tables(quick: bool) -> Outcome {
    let scale = if quick { 10 } else { 1 };
    let mut tree = tree(100_000 / scale)?;
    tree.note(appending(2_000)?);
    Ok(vec![long(40_000 / scale)?, many(5_000 / scale)?, tree])
}

/// Measures opening a long session to continue it.
fn long(messages: usize) -> Measured {
    let directory = tempfile::tempdir()?;
    let columns = ["what", "size", "ids", "peak", "context", "peak", "`wc -l`"];
    let title = format!("A session of {messages} messages, opened to be continued");
    let mut table = Table::new(title, &columns);
    for (what, compacted) in [("one branch", false), ("the last tenth after a compaction", true)] {
        let path = directory.path().join(format!("{compacted}.jsonl"));
        session_file::conversation(&path, directory.path(), messages, compacted)?;
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
        let [ids_time, all_time] = best([&mut || drop(ids()), &mut || drop(all())]);
        let wc = typical(10, children, || {
            complete(Command::new("wc").arg("-l").arg(&path).stdout(Stdio::null()))
        })?;
        table.row([
            what.to_owned(),
            size(std::fs::metadata(&path)?.len()),
            time(ids_time),
            size(allocations(|| drop(ids())).peak),
            time(all_time),
            size(allocations(|| drop(all())).peak),
            time(wc),
        ]);
    }
    Ok(table)
}

/// Measures listing and searching many sessions.
fn many(sessions: usize) -> Measured {
    let (root, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    session_file::collection(root.path(), sessions)?;
    let options = ListOptions::default();
    let open = || SessionIndex::new(root.path(), Some(cache.path().join("index")));
    let cold = || {
        // The index may be deleted at any time.
        let _ = std::fs::remove_dir_all(cache.path().join("index"));
        drop(open().list(&options));
    };
    let [cold_time] = best([&mut || cold()]);
    let cold_peak = allocations(cold).peak;
    // Files that were written just now are checked more closely.
    std::thread::sleep(Duration::from_millis(2100));
    let listed = open().list(&options).sessions;
    let grown = listed.first().map(|session| session.path.clone()).unwrap_or_default();
    let mut session = Session::open(&grown, &OpenOptions::append())?;
    let mut kept = open();
    let [warm, again] =
        best([&mut || drop(open().list(&options)), &mut || drop(kept.list(&options))]);
    let [update] = best([&mut || {
        let _ = session.append_message(Message::user("one more"));
        drop(open().list(&options));
    }]);
    let warm_peak = allocations(|| drop(open().list(&options))).peak;
    let stored = |name: &str| {
        let path = cache.path().join("index").join(name);
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    };
    let title = format!("{} sessions, listed and searched", listed.len());
    let mut table = Table::new(title, &["what", "CPU", "peak", "budget"]);
    let mut row = |what: &str, took: Duration, peak: Option<u64>, limit: String| {
        table.row([what.to_owned(), time(took), peak.map(size).unwrap_or_default(), limit]);
    };
    row("list, no index", cold_time, Some(cold_peak), String::new());
    let limit = budget(millis(warm) > LIST_BUDGET, format!("{LIST_BUDGET} ms"));
    row("list, nothing changed", warm, Some(warm_peak), limit);
    row("list again, same process", again, None, String::new());
    row("append a message, list", update, None, String::new());
    for query in [RARE, "日本", "kenshu barolo"] {
        let search = |limit| open().search(query, &ListOptions::default().limit(limit));
        let hits = search(usize::MAX).hits.len();
        let [took] = best([&mut || drop(search(50))]);
        row(&format!("search {query}: {hits} hits, 50 shown"), took, None, String::new());
    }
    table.note(format!(
        "The index: {} of text, {} of catalog",
        size(stored("text")),
        size(stored("catalog"))
    ));
    Ok(table)
}

/// Measures writing a deep tree as JSON.
fn tree(entries: usize) -> Measured {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("chain.jsonl");
    session_file::chain(&path, entries)?;
    // Opened each time: a session that was checked once is not checked again.
    let write = || {
        let mut session = Session::open(&path, &OpenOptions::read())?;
        session.tree()?.write_json(&mut io::sink())
    };
    write()?;
    let [took] = best([&mut || drop(write())]);
    let peak = allocations(|| drop(write())).peak;
    let mut table = Table::new("Trees and appending", &[]);
    table.note(format!(
        "A chain of {entries} entries, opened and written as a tree in JSON: {}, {} at most",
        time(took),
        size(peak)
    ));
    Ok(table)
}

/// Measures appending messages to a session on disk.
fn appending(messages: u32) -> Result<String, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let mut session =
        Session::open(directory.path().join("session.jsonl"), &OpenOptions::append())?;
    let text = Prose::new().text(1000);
    session.append_message(Message::user(text.as_str()))?;
    let mut each = Vec::new();
    let [took] = best([&mut || {
        for _ in 0..messages {
            let start = Instant::now();
            let _ = session.append_message(Message::user(text.as_str()));
            each.push(start.elapsed());
        }
    }]);
    Ok(format!(
        "Append 1 KB: {:.1} µs CPU; {:.0} µs wall (median)",
        micros(took) / f64::from(messages.max(1)),
        median(each).map(micros).unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_complete() {
        assert!(long(100).unwrap().to_string().contains("\n| one branch "));
        let many = many(10).unwrap().to_string();
        assert!(many.starts_with("10 sessions, ") && many.contains("line: 1 hits"), "{many}");
        assert!(tree(50).unwrap().to_string().contains("50 entries"));
        assert!(appending(20).unwrap().starts_with("Append 1 KB"));
    }
}
