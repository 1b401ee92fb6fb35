//! Sub-agents: an agent that delegates with the tool `task`, in print mode and in `pi run`.
//!
//! The situation is that of the sub-agent; the agent above it answers `All done.` afterwards. Not
//! here: several sub-agents at once, whose requests have no order; replacement of a session, which a
//! sub-agent cannot do. The prompt of a sub-agent is a text, so a command is not run.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::Step;
use super::situations::{
    EXTENSION, Ending, Situation, all, call, guardrail, hang, hook, looping, text,
};
use super::structured::{SCHEMA, structured};
use super::{Row, check};
use crate::scenarios::format::Reply;

const LEAD: &str = "name: lead\ndescription: Delegates\nsystem_prompt: You lead.\ntools: [read]\n\
                    subagents: {worker: {path: ./worker.yaml, description: Works}}\n";
const WORKER: &str = "name: worker\nsystem_prompt: You work.\ntools: [read]\n";

#[test]
fn sub_agents() {
    let mut rows = Vec::new();
    for situation in situations() {
        rows.push(row(situation, &["-p", "--agent", "lead", "Lead on"]));
    }
    for name in ["success", "failure", "abort-waiting", "limit-turns", "stopped-guardrail"] {
        let situation = situations().into_iter().find(|situation| situation.name == name).unwrap();
        let arguments = ["run", "Lead on", "--agent", "lead", "--profile", "explore"];
        rows.push(row(situation, &arguments).variant("run"));
    }
    check("sub-agent", rows);
}

fn row(situation: Situation, arguments: &[&str]) -> Row {
    let steps = match situation.ending {
        Ending::AbortWaiting => vec![Step::Requests(2), Step::Signal(Signal::INT)],
        _ => vec![],
    };
    Row::new(situation, arguments, steps)
}

/// Returns a situation of a sub-agent whose spec has more lines.
fn worker(name: &'static str, replies: Vec<Reply>, spec: &str) -> Situation {
    delegated(name, "worker", "Go", replies, spec)
}

fn delegated(
    name: &'static str,
    agent: &str,
    prompt: &str,
    mut replies: Vec<Reply>,
    spec: &str,
) -> Situation {
    replies.insert(0, call("task_1", "task", json!({ "agent": agent, "prompt": prompt })));
    replies.push(text("All done."));
    Situation::new(name, replies)
        .file("agents/lead.yaml", LEAD)
        .file("agents/worker.yaml", &format!("{WORKER}{spec}"))
}

fn situations() -> Vec<Situation> {
    let schema = format!("output: {{schema: {SCHEMA}, repairs: 1}}\n");
    let answer = || vec![text("An answer.")];
    let blocking = r#"grep -q '"prompt":"Go"' && { echo 'Not on Sunday.' >&2; exit 2; }; true"#;
    let limits = |limits: Value| json!({ "limits": limits });
    let mut situations: Vec<Situation> = Vec::new();
    for situation in all() {
        let same =
            ["success", "empty", "truncated", "failure", "failure-key", "failure-tool", "retried"];
        if same.contains(&situation.name) {
            situations.push(worker(situation.name, situation.replies, ""));
        }
    }
    for situation in structured() {
        let replies = situation.replies.into_iter().take(2).collect();
        situations.push(worker(situation.name, replies, &schema));
    }
    situations.extend([
        worker("abort-waiting", vec![hang()], "").ending(Ending::AbortWaiting),
        worker("limit-turns", looping().split_off(18), "limits: {turns: 1}\n"),
        worker("limit-tokens", looping().split_off(18), "limits: {tokens: 5}\n"),
        worker("limit-of-parent", looping(), "").settings(limits(json!({ "maxTurns": 3 }))),
        worker("repetition", looping().split_off(9), ""),
        worker("refused-hook", vec![], "").settings(hook("beforePrompt", blocking)),
        worker("refused-guardrail", vec![], "").settings(guardrail("input", "block", "Go")),
        worker("stopped-guardrail", answer(), "").settings(guardrail("output", "stop", "answer")),
        worker("no-model", vec![], "model: mock/none\n"),
        delegated("unknown", "stranger", "Go", vec![], ""),
        delegated("command", "worker", "/local one", answer(), "")
            .file("extensions/commands.ts", EXTENSION),
    ]);
    situations
}
