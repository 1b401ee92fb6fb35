//! The cost of MCP servers: a start with servers that are not used, and a search among their tools.

use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{FnTool, Invocation, ToolOutput};
use pi_coding_agent::extension::{CallableTool, Exposure, ToolRegistration};
use pi_coding_agent::tool_search::ToolIndex;
use pi_protocol::Tool;
use serde_json::{Map, Value, json};

use super::clock::Clock;
use super::modes::{self, TestEnv};

const SERVERS: usize = 30;
const TOOLS: usize = 1_000;

const QUERIES: [&str; 6] = [
    "create an invoice",
    "list the open issues of a repository",
    "mcp__server_3__update_customer_7",
    "send message channel",
    "the weather in a city on a day",
    "delete",
];

/// Budgets in milliseconds: of the start over one without servers, and of a search.
const START: f64 = 1.0;
const SEARCH: f64 = 2.0;

/// Measures everything and prints the tables.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(clock: Clock, quick: bool) {
    println!("\nMCP servers; CPU time\n\n| what | CPU | budget |\n|---|---|---|");
    let runs = if quick { 20 } else { 200 };
    match starts(runs) {
        Ok((without, with)) => {
            println!("| `-p hi` without servers | {without:.2} ms | |");
            let over = with - without;
            let mark = if over > START { ", over budget" } else { "" };
            let what = format!("`-p hi`, {SERVERS} servers that are not used");
            println!("| {what} | {with:.2} ms ({over:+.2}) | {START} ms more{mark} |");
        }
        Err(error) => println!("| starts | not measured: {error} | |"),
    }
    let tools = tools();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let [built] = clock.time([&mut || drop(black_box(ToolIndex::new(&tools)))]);
    println!("| index of {TOOLS} tools | {:.2} ms | |", millis(built));
    let index = ToolIndex::new(&tools);
    for query in QUERIES {
        let [took] = clock.time([&mut || drop(black_box(index.search(query, 8, |_| true)))]);
        let (took, found) = (millis(took), index.search(query, 8, |_| true).tools.len());
        let mark = if took > SEARCH { ", over budget" } else { "" };
        println!("| search `{query}`, {found} found | {took:.3} ms | {SEARCH} ms{mark} |");
    }
}

/// Returns the CPU time of a prompt without servers and with many, in milliseconds. Both are measured
/// in turns, since the machine may become slower or faster meanwhile.
fn starts(runs: u32) -> io::Result<(f64, f64)> {
    let pi = match std::env::var_os("PI_BENCH_BINARY") {
        Some(path) => PathBuf::from(path),
        None => modes::build()?,
    };
    let port = modes::start_model()?;
    let directory = tempfile::tempdir()?;
    let env = |name: &str| TestEnv::create(&directory.path().join(name), port, 0);
    let (without, with) = (env("without")?, env("with")?);
    std::fs::write(with.agent().join("mcp.json"), configuration().to_string())?;
    let prompt = |env: &TestEnv| {
        let mut command = env.command(&pi);
        command.args(["-p", "--model", "mock/m1", "hi"]);
        command
    };
    const ROUNDS: u32 = 5;
    let mut sums = [0.0, 0.0];
    for _ in 0..ROUNDS {
        sums[0] += modes::cpu(runs / ROUNDS, &mut prompt(&without))?;
        sums[1] += modes::cpu(runs / ROUNDS, &mut prompt(&with))?;
    }
    Ok((sums[0] / f64::from(ROUNDS), sums[1] / f64::from(ROUNDS)))
}

/// Returns an `mcp.json` with servers of both kinds.
fn configuration() -> Value {
    let servers = (0..SERVERS).map(|number| {
        let server = match number % 2 {
            0 => json!({
                "command": "npx", "args": ["-y", "@example/server", "--port", "0"],
                "env": {"TOKEN": "${TOKEN}"}, "description": "A server for the bench.",
            }),
            _ => json!({
                "url": format!("https://server-{number}.example/mcp"),
                "headers": {"Authorization": "Bearer ${TOKEN}"}, "exposure": "deferred",
            }),
        };
        (format!("server-{number}"), server)
    });
    json!({ "mcpServers": Map::from_iter(servers) })
}

/// Returns tools of several servers, with descriptions and parameters of the usual length.
fn tools() -> Vec<CallableTool> {
    const VERBS: [&str; 8] =
        ["create", "list", "update", "delete", "search", "send", "export", "get"];
    const NOUNS: [&str; 9] = [
        "invoice",
        "issue",
        "customer",
        "message",
        "repository",
        "forecast",
        "file",
        "channel",
        "event",
    ];
    let tool = |number: usize| {
        let (verb, noun) = (VERBS[number % VERBS.len()], NOUNS[number % NOUNS.len()]);
        let server = format!("mcp__server_{}", number % SERVERS);
        let name = format!("{server}__{verb}_{noun}_{number}");
        let description = format!(
            "Lets you {verb} a {noun} of the workspace. Returns the {noun} with its id, its state \
             and the time of the last change. Fails if the {noun} is locked by another user."
        );
        let field = |text: &str| json!({"type": "string", "description": text});
        let parameters = json!({"type": "object", "required": ["id"], "properties": {
            "id": field("Identifier, as the list returns it"),
            "fields": {"type": "array", "items": {"type": "string"}, "description": "Fields to return"},
            "reason": field("Why the change is made, for the log of the workspace"),
        }});
        let tool = FnTool::new(Tool::new(name, description, parameters), |_: Invocation| async {
            Ok(ToolOutput::text(""))
        });
        let registration =
            ToolRegistration::new(Arc::new(tool)).exposure(Exposure::Deferred).namespace(server);
        CallableTool::new(Arc::clone(&registration.tool), Some(&registration))
    };
    (0..TOOLS).map(tool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queries_find_tools() {
        let (tools, servers) = (tools(), configuration());
        assert_eq!(tools.len(), TOOLS);
        assert_eq!(servers["mcpServers"].as_object().unwrap().len(), SERVERS);
        let index = ToolIndex::new(&tools);
        for query in ["create an invoice", "send message channel"] {
            assert!(!index.search(query, 8, |_| true).tools.is_empty(), "{query}");
        }
    }
}
