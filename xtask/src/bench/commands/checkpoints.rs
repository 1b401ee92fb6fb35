//! The cost of a checkpoint of many files, with and without changes.

use std::path::Path;
use std::time::Duration;

use pi_tools::checkpoint::{Checkpoints, Limits};

use super::super::clock::{Clock, allocations};
use super::{CommandsError, Lines, millis};

/// Budget for a checkpoint without changes, in milliseconds.
pub(super) const BUDGET: f64 = 100.0;
/// One file of this many changes between two checkpoints.
const ONE_OF: usize = 100;

pub(super) fn table(clock: Clock, files: usize) -> Lines {
    let directory = tempfile::tempdir()?;
    let (root, store) = (directory.path().join("work"), directory.path().join("store"));
    write_files(&root, files, 1, 0)?;
    let take = || Checkpoints::open(&store, &root, Limits::default())?.take("bench");
    let mut first = Ok(0);
    let cold = clock.time_once(&mut || first = take());
    first?;
    let mut lines = vec![
        format!("A checkpoint of {files} files, opened anew each time; {}, ms:\n", clock.name()),
        format!("{:<36} {:>8} {:>9}", "", "ms", "peak, MB"),
        row("the first", cold, None, ""),
    ];
    let [warm] = clock.time([&mut || drop(take())]);
    let peak = allocations(|| drop(take())).peak;
    let mark = if millis(warm) > BUDGET { "  over budget" } else { "" };
    lines.push(row("nothing has changed", warm, Some(peak), mark));
    let mut open = Checkpoints::open(&store, &root, Limits::default())?;
    let [again] = clock.time([&mut || drop(open.take("bench"))]);
    lines.push(row("nothing has changed, same process", again, None, ""));
    let mut best = Duration::MAX;
    for version in 1..=5 {
        write_files(&root, files, ONE_OF, version)?;
        best = best.min(clock.time_once(&mut || drop(take())));
    }
    lines.push(row(&format!("one of {ONE_OF} has changed"), best, None, ""));
    Ok(lines)
}

fn row(what: &str, time: Duration, peak: Option<u64>, mark: &str) -> String {
    let peak = peak.map_or("-".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e6));
    format!("{what:<36} {:>8.1} {peak:>9}{mark}", millis(time))
}

/// Writes every `one_of`-th of the small sources. A file that changed just now is read again, since
/// another change could go unnoticed; so the shortest time of several runs is that of old files.
fn write_files(
    root: &Path,
    files: usize,
    one_of: usize,
    version: usize,
) -> Result<(), CommandsError> {
    for number in (0..files).step_by(one_of) {
        let directory = root.join(format!("part{}/module{}", number / 2000, number / 100));
        std::fs::create_dir_all(&directory)?;
        let path = directory.join(format!("file{number}.rs"));
        let text = format!("// {number}, {version}\nfn some() -> Words {{}}\n");
        std::fs::write(path, text.repeat(30))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete() {
        let lines = table(Clock::Wall, 200).unwrap().join("\n");
        assert!(lines.contains("\none of 100 has changed "), "{lines}");
    }
}
