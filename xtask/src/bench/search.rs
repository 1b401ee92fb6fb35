//! What searching costs: `grep` and `find` in a tree of many files, beside `rg` and `fd`.
//!
//! CPU time of all threads, since both sides use several, in the ticks that the system counts it
//! in; so of several runs together.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{AgentTool, FnTool, Invocation, ToolError, Updates};
use pi_protocol::CancelToken;
use pi_tools::{Host, Workspace, find, grep};
use serde_json::{Value, json};

/// How much more than the program beside it a tool may take.
const BUDGET: f64 = 1.2;
/// The system's unit of CPU time.
const TICK: Duration = Duration::from_millis(10);

/// What went wrong on the way to a number.
#[derive(Debug, thiserror::Error)]
pub(super) enum SearchError {
    #[error("cannot write the data: {0}")]
    Data(#[from] io::Error),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("this system does not tell the CPU time of a process")]
    NoClock,
}

/// Measures everything and prints it.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(quick: bool) {
    let (files, runs) = if quick { (10_000, 3) } else { (100_000, 5) };
    match table(files, runs) {
        Ok(lines) => println!("\n{}", lines.join("\n")),
        Err(error) => println!("\nSearching was not measured: {error}"),
    }
    println!("\nBudget: {BUDGET} times what rg and fd take.");
}

fn table(files: usize, runs: u32) -> Result<Vec<String>, SearchError> {
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    write_tree(root, files)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let workspace = Arc::new(Workspace::new(Arc::new(Host::default()), root.to_owned(), None));
    let (grep, find) = (grep(Arc::clone(&workspace)), find(workspace));
    let rg = ["rg", "--no-config", "--json", "--line-number", "--color=never", "--hidden", "--"];
    let fd = ["--glob", "--color=never", "--hidden", "--max-results", "1000", "--"];
    let rg = |pattern| rg.into_iter().chain([pattern]).collect::<Vec<_>>();
    let fd = |pattern| {
        let name = ["fdfind", "fd"].into_iter().find(|name| runs_here(name)).unwrap_or("fd");
        [name].into_iter().chain(fd).chain([pattern]).collect::<Vec<_>>()
    };
    let cases = [
        ("grep, no match", &grep, json!({ "pattern": "nowhere" }), Some(rg("nowhere"))),
        (
            "grep, a few matches",
            &grep,
            json!({ "pattern": "needle \\w+" }),
            Some(rg("needle \\w+")),
        ),
        // rg is stopped from outside at the limit; there is nothing to compare with.
        ("grep, many matches", &grep, json!({ "pattern": "words" }), None),
        ("find, no match", &find, json!({ "pattern": "*.none" }), Some(fd("*.none"))),
        ("find, a few matches", &find, json!({ "pattern": "*77.rs" }), Some(fd("*77.rs"))),
        ("find, all", &find, json!({ "pattern": "*" }), None),
    ];
    let mut lines = vec![
        format!("Searching {files} files; CPU time of all threads, ms:\n"),
        format!("{:<24} {:>8} {:>8} {:>8}", "", "pi", "rg, fd", "times"),
    ];
    for (what, tool, arguments, beside) in cases {
        let ours = cpu_of(runs, Whose::Own, || run(&runtime, tool, &arguments))?;
        let theirs = match beside {
            Some(command) if runs_here(command[0]) => Some(cpu_of(runs, Whose::Children, || {
                // No match is a failure to rg, but not to us.
                quiet(&command).arg(root).status()?;
                Ok(())
            })?),
            _ => None,
        };
        lines.push(row(what, ours, theirs));
    }
    Ok(lines)
}

fn row(what: &str, ours: Duration, theirs: Option<Duration>) -> String {
    let ours = ours.as_secs_f64() * 1e3;
    let Some(theirs) = theirs.map(|theirs| theirs.as_secs_f64() * 1e3) else {
        return format!("{what:<24} {ours:>8.0} {:>8} {:>8}", "-", "-");
    };
    let times = ours / theirs.max(1.0);
    let mark = if times > BUDGET { "  over budget" } else { "" };
    format!("{what:<24} {ours:>8.0} {theirs:>8.0} {times:>8.2}{mark}")
}

fn run(
    runtime: &tokio::runtime::Runtime,
    tool: &FnTool,
    arguments: &Value,
) -> Result<(), SearchError> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let (cancel, updates) = (CancelToken::new(), Updates::new(|_| {}));
    let invocation = Invocation { id: String::new(), arguments, cancel, updates };
    Ok(runtime.block_on(tool.execute(invocation)).map(drop)?)
}

fn quiet(command: &[&str]) -> Command {
    let mut process = Command::new(command[0]);
    process.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    process
}

fn runs_here(program: &str) -> bool {
    quiet(&[program, "--version"]).status().is_ok_and(|status| status.success())
}

/// Whose CPU time counts.
#[derive(Debug, Clone, Copy)]
enum Whose {
    Own,
    Children,
}

/// What one run takes, after one that nobody counts.
fn cpu_of(
    runs: u32,
    whose: Whose,
    mut work: impl FnMut() -> Result<(), SearchError>,
) -> Result<Duration, SearchError> {
    work()?;
    let before = on_cpu(whose).ok_or(SearchError::NoClock)?;
    for _ in 0..runs {
        work()?;
    }
    let after = on_cpu(whose).ok_or(SearchError::NoClock)?;
    Ok(after.saturating_sub(before) / runs)
}

fn on_cpu(whose: Whose) -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may contain anything: this process in two fields, its children in
    // the two that follow.
    let skip = match whose {
        Whose::Own => 11,
        Whose::Children => 13,
    };
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(skip);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()? + ticks()?))
}

/// Small sources, a hundred to a directory, some of them ignored.
fn write_tree(root: &Path, files: usize) -> io::Result<()> {
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "target/\n*.log\n!keep.log\n/build\n")?;
    let text = "fn some() -> Words {\n    // and more words about it\n    body()\n}\n".repeat(20);
    for number in 0..files {
        let directory = root.join(format!("part{}/module{}", number / 2000, number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&directory)?;
        }
        let needle = if number % 5000 == 77 { "needle here\n" } else { "" };
        fs::write(directory.join(format!("file{number}.rs")), format!("{text}{needle}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_made() {
        let lines = table(300, 1).unwrap().join("\n");
        assert!(
            lines.starts_with("Searching 300 files") && lines.contains("\nfind, all "),
            "{lines}"
        );
    }

    #[test]
    fn what_takes_too_long_is_marked() {
        let millis = Duration::from_millis;
        assert!(row("x", millis(130), Some(millis(100))).ends_with("1.30  over budget"));
        assert!(row("x", millis(110), Some(millis(100))).ends_with("1.10"));
        assert!(row("x", millis(110), None).ends_with('-'));
    }
}
