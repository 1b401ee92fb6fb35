//! What extensions cost: the start of RPC mode with 0, 1 and 50 of them, a call of a handler, and an
//! answer whose deltas a handler receives.
//!
//! Runs the release build, or the program in `PI_BENCH_BINARY`. `PI_BENCH_PEER` is the command of the
//! TypeScript pi, which is measured in the same run.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Outcome;
use crate::clock::{children, typical};
use crate::home::{Home, programs};
use crate::process::Usage;
use crate::program::{Bench, request};
use crate::table::{Table, budget, megabytes, micros, millis, time};

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

/// Handlers of `message_update`, as the bodies of functions.
const LISTENERS: &[(&str, Option<&str>)] =
    &[("none", None), ("reads the delta", Some("event.assistantMessageEvent.delta?.length"))];

/// The growth of the cost of an answer of four times the length.
const GROWTH: f64 = 4.5;

pub(crate) fn tables(quick: bool) -> Outcome {
    let programs = programs()?;
    let mut tables = programs
        .iter()
        .map(|(name, program)| table(name, program, quick))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(pi) = programs.first().and_then(|(_, program)| program.first()) {
        tables.push(streaming(pi, quick)?);
    }
    Ok(tables)
}

/// Measures an answer whose deltas an extension receives.
fn streaming(pi: &str, quick: bool) -> io::Result<Table> {
    let (chunks, runs) = if quick { (2_000, 2) } else { (20_000, 5) };
    let (short, long) = (format!("{chunks} chunks"), format!("{} chunks", chunks * 4));
    let columns = ["handler of `message_update`", &short, &long, "growth", "budget"];
    let mut table = Table::new("pi: an answer with an extension that listens", &columns);
    for (name, body) in LISTENERS {
        let bench = Bench::create()?;
        let extensions = bench.home.agent().join("extensions");
        fs::create_dir_all(&extensions)?;
        if let Some(body) = body {
            let text =
                format!("export default (pi) => pi.on('message_update', (event) => {body});");
            fs::write(extensions.join("listener.ts"), text)?;
        }
        let cost = |chunks| typical(runs, children, || bench.print(pi, chunks));
        let (start, short, long) = (cost(1)?, cost(chunks)?, cost(chunks * 4)?);
        let growth = millis(long.saturating_sub(start)) / millis(short.saturating_sub(start));
        let limit = budget(growth > GROWTH, format!("{GROWTH}"));
        let growth = format!("{growth:.1}");
        table.row([(*name).to_owned(), time(short), time(long), growth, limit]);
    }
    Ok(table)
}

fn table(name: &str, program: &[String], quick: bool) -> Result<Table, Box<dyn std::error::Error>> {
    let title = format!("{name}: extensions, and a start of RPC mode with them");
    let mut table = Table::new(title, &["extensions", "start", "over none", "memory", "budget"]);
    let mut none = Duration::ZERO;
    for (count, limit) in COUNTS {
        let directory = tempfile::tempdir()?;
        let home = home(directory.path(), *count)?;
        let runs = if quick { 2 } else { 10 };
        let start = || command(program, &home).stdin(Stdio::null()).status().map(drop);
        let cpu = typical(runs, children, start)?;
        if *count == 0 {
            none = cpu;
        }
        let over = cpu.saturating_sub(none);
        let limit =
            limit.map(|limit| budget(over > Duration::from_millis(limit), format!("{limit} ms")));
        let memory = converse(program, &home, &json!({"id": "x", "type": "get_state"}), 1)?;
        table.row([
            count.to_string(),
            time(cpu),
            format!("{:.1} ms", millis(over)),
            megabytes(memory),
            limit.unwrap_or_default(),
        ]);
    }
    let calls = if quick { 200 } else { 5_000 };
    let directory = tempfile::tempdir()?;
    let home = home(directory.path(), 1)?;
    let one = |request: Value| -> io::Result<f64> {
        let talk = || converse(program, &home, &request, calls).map(drop);
        Ok(micros(typical(1, children, talk)?) / f64::from(calls))
    };
    let idle = one(json!({"id": "x", "type": "get_state"}))?;
    let busy = one(json!({"id": "x", "type": "prompt", "message": "/noop_0"}))?;
    table.note(format!(
        "A command of an extension over RPC: {busy:.0} µs; `get_state`: {idle:.0} µs"
    ));
    Ok(table)
}

/// Creates a home with extensions.
fn home(root: &std::path::Path, count: usize) -> io::Result<Home> {
    // No model is called.
    let home = Home::create(root, 9)?;
    fs::create_dir_all(home.agent().join("extensions"))?;
    for number in 0..count {
        let text = EXTENSION.replace("NUMBER", &number.to_string());
        fs::write(home.agent().join(format!("extensions/ext_{number}.ts")), text)?;
    }
    Ok(home)
}

fn command(program: &[String], home: &Home) -> Command {
    let mut command = home.command(&program[0]);
    command.args(&program[1..]).args(["--mode", "rpc", "--no-session"]).stderr(Stdio::null());
    command
}

/// Sends a request again and again, waits for each response, and returns the peak memory.
fn converse(
    program: &[String],
    home: &Home,
    message: &Value,
    times: u32,
) -> io::Result<Option<f64>> {
    let mut command = command(program, home);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let answered = request(&mut child, message, times);
    let peak = Usage::of(child.id()).peak();
    child.kill()?;
    child.wait()?;
    answered.map(|()| peak)
}
