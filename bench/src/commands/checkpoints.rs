//! The cost of a checkpoint of many files, with and without changes.

use std::path::Path;
use std::time::Duration;

use pi_tools::checkpoint::{Checkpoints, Limits};

use super::Failure;
use crate::clock::{allocations, best, once};
use crate::table::{Table, budget, millis, size, time};

/// Budget for a checkpoint without changes, in milliseconds.
const BUDGET: f64 = 100.0;
/// A file of this many changes between two checkpoints.
const ONE_OF: usize = 100;

pub(super) fn table(files: usize) -> Result<Table, Failure> {
    let directory = tempfile::tempdir()?;
    let (root, store) = (directory.path().join("work"), directory.path().join("store"));
    write_files(&root, files, 1, 0)?;
    let take = || Checkpoints::open(&store, &root, Limits::default())?.take("bench");
    let mut first = Ok(0);
    let cold = once(&mut || first = take());
    first?;
    let title = format!("A checkpoint of {files} files, opened anew each time");
    let mut table = Table::new(title, &["what", "CPU", "peak", "budget"]);
    let mut row = |what: &str, took: Duration, peak: Option<u64>, limit: String| {
        table.row([what.to_owned(), time(took), peak.map(size).unwrap_or_default(), limit]);
    };
    row("the first", cold, None, String::new());
    let [warm] = best([&mut || drop(take())]);
    let peak = allocations(|| drop(take())).peak;
    let limit = budget(millis(warm) > BUDGET, format!("{BUDGET} ms"));
    row("nothing has changed", warm, Some(peak), limit);
    let mut open = Checkpoints::open(&store, &root, Limits::default())?;
    let [again] = best([&mut || drop(open.take("bench"))]);
    row("nothing has changed, same process", again, None, String::new());
    let mut shortest = Duration::MAX;
    for version in 1..=5 {
        write_files(&root, files, ONE_OF, version)?;
        shortest = shortest.min(once(&mut || drop(take())));
    }
    row(&format!("one of {ONE_OF} has changed"), shortest, None, String::new());
    Ok(table)
}

/// Writes every `one_of`-th of the small sources. A file that changed just now is read again, since
/// another change could go unnoticed; so the shortest time of several runs is that of old files.
fn write_files(root: &Path, files: usize, one_of: usize, version: usize) -> Result<(), Failure> {
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
        let table = table(200).unwrap().to_string();
        assert!(table.contains("\n| one of 100 has changed "), "{table}");
    }
}
