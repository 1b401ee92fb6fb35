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

use crate::Outcome;
use crate::clock::{children, own, typical};
use crate::table::{Table, budget, none, time};

/// Budget of a tool relative to the other program.
const BUDGET: f64 = 1.2;

pub(crate) fn tables(quick: bool) -> Outcome {
    let (files, runs) = if quick { (10_000, 3) } else { (100_000, 5) };
    Ok(vec![table(files, runs)?])
}

fn table(files: usize, runs: usize) -> Result<Table, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    write_tree(root, files)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let workspace = Arc::new(Workspace::new(Arc::new(Host::default()), root.to_owned(), None));
    let tools = [grep(Arc::clone(&workspace)), find(workspace)];
    let fd = ["fdfind", "fd"].into_iter().find(|name| runs_here(name));
    let title = format!("Searching {files} files; CPU time of all threads");
    let mut table = Table::new(title, &["what", "pi", "rg, fd", "ratio", "budget"]);
    for case in cases() {
        let tool = &tools[usize::from(case.tool == Tool::Find)];
        let ours = typical(runs, own, || run(&runtime, tool, &case.arguments))?;
        let beside = match case.tool {
            Tool::Grep => runs_here("rg").then_some(("rg", &RG[..])),
            Tool::Find => fd.map(|fd| (fd, &FD[..])),
        };
        let theirs = match beside {
            Some((program, usual)) => Some(typical(runs, children, || {
                let mut command = Command::new(program);
                command.args(usual).args(case.beside).arg(root);
                case.run_beside(&mut command)
            })?),
            None => None,
        };
        table.row(row(case.what, ours, theirs));
    }
    Ok(table)
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

fn row(what: &str, ours: Duration, theirs: Option<Duration>) -> Vec<String> {
    let times = theirs.map(|theirs| ours.as_secs_f64() / theirs.as_secs_f64().max(1e-3));
    vec![
        what.to_owned(),
        time(ours),
        theirs.map_or_else(none, time),
        times.map_or_else(none, |times| format!("{times:.2}")),
        budget(times.is_some_and(|times| times > BUDGET), BUDGET),
    ]
}

fn run(
    runtime: &tokio::runtime::Runtime,
    tool: &FnTool,
    arguments: &Value,
) -> Result<(), ToolError> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let (cancel, updates) = (CancelToken::new(), Updates::new(|_| {}));
    let invocation = Invocation::new("", arguments, cancel, updates);
    runtime.block_on(tool.execute(invocation)).map(drop)
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
        let table = table(300, 1).unwrap().to_string();
        assert!(
            table.starts_with("Searching 300 files") && table.contains("\n| find, all, "),
            "{table}"
        );
    }

    #[test]
    fn rows_over_budget_are_marked() {
        let millis = Duration::from_millis;
        let limit = |ours, theirs| row("x", millis(ours), theirs).pop().unwrap();
        assert!(limit(130, Some(millis(100))).ends_with("**over budget**"));
        assert_eq!(limit(110, Some(millis(100))), "1.2");
        assert_eq!(limit(110, None), "1.2");
    }
}
