//! The cost of `pi run` beyond that of its checks: a converged run makes the check twice, once before
//! and once after the agent, and watches what it opens.
//!
//! The check compiles C, as it opens many files and does little else. CPU time of all processes.

use std::fs;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::clock::{children, typical};
use crate::home::{binary, complete};
use crate::program::Bench;
use crate::table::{self, Table};

const FILES: usize = 30;
const CHECK: &str = "for file in *.c; do cc -c -o out.o $file || exit 1; done";
/// Converges, because the check passes; the answer of the model is one word.
const GOAL: &str = "CHUNKS 1";

pub(crate) fn tables(quick: bool) -> Outcome {
    let pi = binary()?;
    let runs = if quick { 3 } else { 10 };
    let bench = Bench::create()?;
    let project = &bench.home.project;
    for number in 0..FILES {
        let text =
            "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return puts(\"\"); }\n";
        fs::write(project.join(format!("{number}.c")), text)?;
    }
    let shell = |command: &str| {
        let mut shell = bench.home.command("bash");
        shell.args(["-c", command]);
        shell
    };
    let sandboxed = |command: &str| {
        let mut sandboxed = bench.home.command(&pi);
        sandboxed.args(["sandbox", "--", "bash", "-c", command]);
        sandboxed
    };
    let run = |check: &str| {
        let mut run = bench.home.command(&pi);
        run.args(["run", GOAL, "--model", "mock/m1", "--check", check]);
        run.stderr(std::process::Stdio::null());
        run
    };
    let mut table = Table::new("pi run: the cost beyond its checks", &["what", "took", "budget"]);
    let alone = typical(runs, children, || complete(&mut shell(CHECK)))?;
    let whole = typical(runs, children, || complete(&mut run(CHECK)))?;
    let more = whole.saturating_sub(alone * 2);
    table.row(["the check alone, CPU".to_owned(), table::time(alone), String::new()]);
    let what = "a converged run beyond two checks, CPU".to_owned();
    table.row([what, table::time(more), "100 ms".to_owned()]);
    // Without the start of pi and of the sandbox, which every command pays.
    let unwatched =
        best(runs, || sandboxed(CHECK))?.saturating_sub(best(runs, || sandboxed("true"))?);
    let watched = best(runs, || run(CHECK))?.saturating_sub(best(runs, || run("true"))?) / 2;
    let ratio = watched.as_secs_f64() / unwatched.as_secs_f64();
    let what = "a watched check, compared with an unwatched one (elapsed)".to_owned();
    table.row([what, format!("{ratio:.2}"), "1.15".to_owned()]);
    Ok(vec![table])
}

/// Returns the shortest time of a command, since other processes only add.
fn best(runs: usize, command: impl Fn() -> Command) -> io::Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        complete(&mut command())?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}
