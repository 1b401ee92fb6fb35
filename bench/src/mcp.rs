//! The cost of MCP servers: a start with servers that are not used, and a search among their tools.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{FnTool, Invocation, ToolOutput};
use pi_coding_agent::extension::{CallableTool, Exposure, ToolRegistration};
use pi_coding_agent::tool_search::ToolIndex;
use pi_protocol::Tool;
use serde_json::{Map, Value, json};

use crate::Outcome;
use crate::clock::{best, children, median};
use crate::home::binary;
use crate::program::Bench;
use crate::table::{Table, budget, millis};

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

pub(crate) fn tables(quick: bool) -> Outcome {
    let mut table = Table::new("MCP servers; CPU time", &["what", "CPU", "budget"]);
    let mut row =
        |what: &str, took: String, limit: String| table.row([what.to_owned(), took, limit]);
    let (without, with) = starts(if quick { 20 } else { 100 })?;
    row("`-p hi` without servers", format!("{:.2} ms", millis(without)), String::new());
    let over = millis(with) - millis(without);
    let what = format!("`-p hi`, {SERVERS} servers that are not used");
    let limit = budget(over > START, format!("{START} ms more"));
    row(&what, format!("{:.2} ms ({over:+.2})", millis(with)), limit);
    let tools = tools();
    let [built] = best([&mut || drop(black_box(ToolIndex::new(&tools)))]);
    row(&format!("index of {TOOLS} tools"), format!("{:.2} ms", millis(built)), String::new());
    let index = ToolIndex::new(&tools);
    for query in QUERIES {
        let [took] = best([&mut || drop(black_box(index.search(query, 8, |_| true)))]);
        let found = index.search(query, 8, |_| true).tools.len();
        let limit = budget(millis(took) > SEARCH, format!("{SEARCH} ms"));
        row(&format!("search `{query}`, {found} found"), format!("{:.3} ms", millis(took)), limit);
    }
    Ok(vec![table])
}

/// Returns the CPU time of a prompt without servers and with many. Both are measured in turns, since
/// the machine may become slower or faster meanwhile.
fn starts(runs: usize) -> io::Result<(Duration, Duration)> {
    let pi = binary()?;
    let benches = [Bench::create()?, Bench::create()?];
    std::fs::write(benches[1].home.agent().join("mcp.json"), configuration().to_string())?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        for (bench, times) in benches.iter().zip(&mut times) {
            let before = children();
            bench.print(&pi, 1)?;
            times.push(children().saturating_sub(before));
        }
    }
    let [without, with] = times.map(|times| median(times).unwrap_or_default());
    Ok((without, with))
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
