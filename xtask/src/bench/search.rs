//! The cost of searching: `grep` and `find` in a tree of many files, compared with `rg` and `fd`.
//!
//! CPU time of all threads, since both sides use several. The programs get the options that the
//! TypeScript pi passes, their output is read, and `rg` is stopped at the same match. The further
//! work of the TypeScript pi is not counted: it reads files again for lines of context.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{AgentTool, FnTool, Invocation, ToolError, Updates};
use pi_protocol::CancelToken;
use pi_tools::{Host, Workspace, find, grep};
use serde_json::{Value, json};

use super::process::{Whose, cpu_of};

/// Budget of a tool relative to the other program.
const BUDGET: f64 = 1.2;

/// Errors while measuring.
#[derive(Debug, thiserror::Error)]
pub(super) enum SearchError {
    #[error("cannot write the data: {0}")]
    Data(#[from] io::Error),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("this system does not report the CPU time of a process")]
    NoClock,
}

/// Measures everything and prints the table.
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
    let tools = [grep(Arc::clone(&workspace)), find(workspace)];
    let fd = ["fdfind", "fd"].into_iter().find(|name| runs_here(name));
    let mut lines = vec![
        format!("Searching {files} files; CPU time of all threads, ms:\n"),
        format!("{:<32} {:>8} {:>8} {:>8}", "", "pi", "rg, fd", "times"),
    ];
    for case in cases() {
        let tool = &tools[usize::from(case.tool == Tool::Find)];
        let ours = cpu_of(runs, Whose::Own, || run(&runtime, tool, &case.arguments))?;
        let beside = match case.tool {
            Tool::Grep => runs_here("rg").then_some(("rg", &RG[..])),
            Tool::Find => fd.map(|fd| (fd, &FD[..])),
        };
        let theirs = match beside {
            Some((program, usual)) => cpu_of(runs, Whose::Children, || {
                let mut command = Command::new(program);
                command.args(usual).args(case.beside).arg(root);
                Ok::<_, SearchError>(case.run_beside(&mut command)?)
            })?,
            None => None,
        };
        lines.push(row(case.what, ours.ok_or(SearchError::NoClock)?, theirs));
    }
    Ok(lines)
}

/// Arguments that the TypeScript pi passes to `rg` and `fd`.
const RG: [&str; 5] = ["--no-config", "--json", "--line-number", "--color=never", "--hidden"];
const FD: [&str; 5] = ["--glob", "--color=never", "--hidden", "--max-results", "1000"];
/// Number of matches after which both programs stop searching.
const LIMIT: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Grep,
    Find,
}

/// A search with a tool, and the same search with the other program.
#[derive(Debug)]
struct Case {
    what: &'static str,
    tool: Tool,
    arguments: Value,
    beside: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    let case = |tool| move |what, arguments, beside| Case { what, tool, arguments, beside };
    let (grep, find) = (case(Tool::Grep), case(Tool::Find));
    vec![
        grep("grep, no match", json!({ "pattern": "nowhere" }), &["--", "nowhere"]),
        grep("grep, rare literal", json!({ "pattern": "needle" }), &["--", "needle"]),
        grep(
            "grep, rare regex",
            json!({ "pattern": "n\\w+le h[a-f]re" }),
            &["--", "n\\w+le h[a-f]re"],
        ),
        grep(
            "grep, capitals do not matter",
            json!({ "pattern": "NEEDLE", "ignoreCase": true }),
            &["--ignore-case", "--", "NEEDLE"],
        ),
        grep(
            "grep, a tenth by glob",
            json!({ "pattern": "needle", "glob": "*7.rs" }),
            &["--glob", "*7.rs", "--", "needle"],
        ),
        grep(
            "grep, rare with context",
            json!({ "pattern": "needle", "context": 3 }),
            &["--context", "3", "--", "needle"],
        ),
        grep("grep, common, to the limit", json!({ "pattern": "words" }), &["--", "words"]),
        find("find, no match", json!({ "pattern": "*.none" }), &["--", "*.none"]),
        find("find, rare name", json!({ "pattern": "*77.rs" }), &["--", "*77.rs"]),
        find(
            "find, rare path",
            json!({ "pattern": "part7/**/*77.rs" }),
            &["--full-path", "--", "**/part7/**/*77.rs"],
        ),
        find("find, all, to the limit", json!({ "pattern": "*" }), &["--", "*"]),
    ]
}

impl Case {
    /// Runs the other program, and stops it at the last match that the TypeScript pi shows.
    fn run_beside(&self, command: &mut Command) -> io::Result<()> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let is_match = |line: &io::Result<Vec<u8>>| {
            line.as_ref().is_ok_and(|line| line.starts_with(b"{\"type\":\"match\""))
        };
        if output.split(b'\n').filter(is_match).nth(LIMIT - 1).is_some() {
            child.kill()?;
        }
        // Without a match, rg exits with an error, which is not one here.
        child.wait().map(drop)
    }
}

fn row(what: &str, ours: Duration, theirs: Option<Duration>) -> String {
    let ours = ours.as_secs_f64() * 1e3;
    let Some(theirs) = theirs.map(|theirs| theirs.as_secs_f64() * 1e3) else {
        return format!("{what:<32} {ours:>8.0} {:>8} {:>8}", "-", "-");
    };
    let times = ours / theirs.max(1.0);
    let mark = if times > BUDGET { "  over budget" } else { "" };
    format!("{what:<32} {ours:>8.0} {theirs:>8.0} {times:>8.2}{mark}")
}

fn run(
    runtime: &tokio::runtime::Runtime,
    tool: &FnTool,
    arguments: &Value,
) -> Result<(), SearchError> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let (cancel, updates) = (CancelToken::new(), Updates::new(|_| {}));
    let invocation = Invocation::new("", arguments, cancel, updates);
    Ok(runtime.block_on(tool.execute(invocation)).map(drop)?)
}

fn runs_here(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Writes small sources, a hundred in each directory, some of them ignored.
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
    fn the_table_is_complete() {
        let lines = table(300, 1).unwrap().join("\n");
        assert!(
            lines.starts_with("Searching 300 files") && lines.contains("\nfind, all, "),
            "{lines}"
        );
    }

    #[test]
    fn rows_over_budget_are_marked() {
        let millis = Duration::from_millis;
        assert!(row("x", millis(130), Some(millis(100))).ends_with("1.30  over budget"));
        assert!(row("x", millis(110), Some(millis(100))).ends_with("1.10"));
        assert!(row("x", millis(110), None).ends_with('-'));
    }
}
