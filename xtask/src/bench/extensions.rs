//! What extensions cost: the start of RPC mode with 0, 1 and 50 of them, and a call of a handler.
//!
//! Runs the release build, or the program in `PI_BENCH_BINARY`. `PI_BENCH_PEER` is the command of the
//! TypeScript pi, which is measured in the same run.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::modes;
use super::process::{Whose, cpu_of, peak_memory_of};

/// Numbers of extensions, with the budget in milliseconds over none.
const COUNTS: &[(usize, Option<u64>)] = &[(0, None), (1, Some(3)), (50, Some(60))];

/// A small extension: one tool, one command, two handlers.
const EXTENSION: &str = r#"
import { Type } from "typebox";

export default function (pi) {
	pi.registerTool({
		name: "tool_NUMBER",
		description: "Adds two numbers",
		parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
		async execute(_id, { a, b }) {
			return { content: [{ type: "text", text: String(a + b) }] };
		},
	});
	pi.registerCommand("noop_NUMBER", { description: "Does nothing", handler: async () => {} });
	pi.on("session_start", () => {});
	pi.on("tool_call", () => undefined);
}
"#;

/// Measures everything and prints a table for each program.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(quick: bool) {
    if let Err(error) = measure(quick) {
        println!("\nextensions: not measured: {error}");
    }
}

#[allow(clippy::print_stdout)]
fn measure(quick: bool) -> io::Result<()> {
    let variable = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let pi = match variable("PI_BENCH_BINARY") {
        Some(path) => path,
        None => modes::build()?.to_string_lossy().into_owned(),
    };
    println!("\nExtensions; CPU time of a start of RPC mode, and what one more call costs\n");
    print_program("pi", &[pi], quick)?;
    match variable("PI_BENCH_PEER") {
        Some(command) => {
            let program: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            print_program("TypeScript pi", &program, quick)
        }
        None => {
            println!("\nTypeScript pi: not installed (PI_BENCH_PEER is not set).");
            Ok(())
        }
    }
}

#[allow(clippy::print_stdout)]
fn print_program(name: &str, program: &[String], quick: bool) -> io::Result<()> {
    println!("{name}\n\n| extensions | start | over none | peak memory |\n|---|---|---|---|");
    let mut none = Duration::ZERO;
    for (count, budget) in COUNTS {
        let directory = tempfile::tempdir()?;
        configure(directory.path(), *count)?;
        let start = || -> io::Result<()> {
            let mut child = command(program, directory.path()).stdin(Stdio::null()).spawn()?;
            child.wait().map(drop)
        };
        let cpu = cpu_of(if quick { 2 } else { 10 }, Whose::Children, start)?.unwrap_or_default();
        if *count == 0 {
            none = cpu;
        }
        let over = cpu.saturating_sub(none);
        let mark = if budget.is_some_and(|budget| over > Duration::from_millis(budget)) {
            " (over budget)"
        } else {
            ""
        };
        let memory = memory(program, directory.path())?;
        let (cpu, over) = (cpu.as_secs_f64() * 1e3, over.as_secs_f64() * 1e3);
        println!("| {count} | {cpu:.1} ms | {over:.1} ms{mark} | {memory:.1} MB |");
    }
    let calls = if quick { 200 } else { 5_000 };
    let directory = tempfile::tempdir()?;
    configure(directory.path(), 1)?;
    let state = r#"{"id":"x","type":"get_state"}"#;
    let command = r#"{"id":"x","type":"prompt","message":"/noop_0"}"#;
    let idle = cpu_of(1, Whose::Children, || converse(program, directory.path(), state, calls))?;
    let busy = cpu_of(1, Whose::Children, || converse(program, directory.path(), command, calls))?;
    let one =
        |time: Option<Duration>| time.unwrap_or_default().as_secs_f64() * 1e6 / f64::from(calls);
    println!(
        "\nA command of an extension over RPC: {:.0} µs; `get_state`: {:.0} µs\n",
        one(busy),
        one(idle)
    );
    Ok(())
}

/// Writes the settings of a user with extensions.
fn configure(home: &Path, count: usize) -> io::Result<()> {
    let agent = home.join(".pi/agent");
    fs::create_dir_all(agent.join("extensions"))?;
    fs::create_dir_all(home.join("project"))?;
    let models = r#"{"providers":{"fake":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"k","models":[{"id":"fake-1"}]}}}"#;
    fs::write(agent.join("models.json"), models)?;
    fs::write(
        agent.join("settings.json"),
        r#"{"defaultProvider":"fake","defaultModel":"fake-1"}"#,
    )?;
    for number in 0..count {
        let text = EXTENSION.replace("NUMBER", &number.to_string());
        fs::write(agent.join(format!("extensions/ext_{number}.ts")), text)?;
    }
    Ok(())
}

fn command(program: &[String], home: &Path) -> Command {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).args(["--mode", "rpc", "--no-session"]);
    command.env_clear().env("HOME", home).env("PI_OFFLINE", "1");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(home.join("project")).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Returns the peak memory of a program that has started, in megabytes.
fn memory(program: &[String], home: &Path) -> io::Result<f64> {
    let mut child = command(program, home).stdin(Stdio::piped()).spawn()?;
    exchange(&mut child, r#"{"id":"x","type":"get_state"}"#, 1)?;
    let peak = peak_memory_of(&child.id().to_string()).unwrap_or_default();
    child.kill()?;
    child.wait()?;
    Ok(peak)
}

/// Sends a request again and again and waits for each answer.
fn converse(program: &[String], home: &Path, request: &str, times: u32) -> io::Result<()> {
    let mut child = command(program, home).stdin(Stdio::piped()).spawn()?;
    exchange(&mut child, request, times)?;
    child.kill()?;
    child.wait().map(drop)
}

fn exchange(child: &mut Child, request: &str, times: u32) -> io::Result<()> {
    let (stdin, stdout) = (child.stdin.as_mut(), child.stdout.take());
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
        return Err(io::Error::other("no pipes"));
    };
    let mut lines = BufReader::new(stdout).lines();
    for _ in 0..times {
        writeln!(stdin, "{request}")?;
        loop {
            let line = lines.next().ok_or_else(|| io::Error::other("the program ended"))??;
            if line.contains(r#""id":"x""#) {
                break;
            }
        }
    }
    Ok(())
}
