//! The cost of the agent loop: a scripted model, a trivial tool, transcripts of several lengths.

use std::sync::Arc;

use pi_agent::{Agent, AgentMessage, FnTool, Limits, RunSettings, ToolError};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{Message, Tool, Usage};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::Outcome;
use crate::clock::{allocations, best};
use crate::table::{Table, budget, micros};

/// Budget for a turn of the loop, in microseconds.
const TURN_BUDGET: f64 = 50.0;

pub(crate) fn tables(quick: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let lengths: &[usize] = if quick { &[0, 1_000] } else { &[0, 1_000, 10_000, 100_000] };
    let columns = ["messages before", "µs/turn", "allocations", "budget"];
    let mut table = Table::new("The agent loop, one request and one tool call per turn", &columns);
    for length in lengths {
        let (micros, allocations) = turns(&runtime, *length);
        let limit = budget(micros > TURN_BUDGET, format!("{TURN_BUDGET} µs"));
        table.row([length.to_string(), format!("{micros:.1}"), format!("{allocations:.1}"), limit]);
    }
    let calls = if quick { 250 } else { 1_000 };
    let (micros, scaling) = side_by_side(&runtime, calls);
    table
        .note(format!("{calls} parallel calls in one turn: {micros:.1} µs each, 4x: {scaling:.2}"));
    let most = if quick { 1_000 } else { 10_000 };
    let [quarter, whole] = [most / 4, most].map(|turns| run_memory(&runtime, turns) as f64 / 1e6);
    table.note(format!(
        "Memory of a run: {quarter:.1} MB after {} turns, {whole:.1} MB after {most} ({:.2}x); of an \
         idle agent: {} bytes",
        most / 4,
        whole / quarter,
        idle_agent()
    ));
    Ok(vec![table])
}

fn tool() -> FnTool {
    let declaration = Tool::new("noop", "Does nothing.", json!({"type": "object"}));
    FnTool::new(declaration, |_| async { Ok::<_, ToolError>(String::new()) })
}

fn agent(faux: Faux, turns: u32) -> Agent {
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = vec![Arc::new(tool())];
    settings.limits = Limits::default().turns(turns);
    Agent::new(Arc::new(faux), settings)
}

/// Creates a model that always calls the tool. Its usage is fixed, since an estimate would read the
/// whole transcript each time.
fn caller() -> Faux {
    Faux::responding(|_| Reply::new().raw_tool_call("c", "noop", "{}").usage(Usage::default()))
}

/// Returns microseconds and allocations per turn after `length` messages.
fn turns(runtime: &Runtime, length: usize) -> (f64, f64) {
    const TURNS: u32 = 500;
    let before: Vec<AgentMessage> =
        (0..length).map(|number| Message::user(number.to_string()).into()).collect();
    let run = |turns: u32| {
        let agent = agent(caller(), turns);
        agent.set_messages(before.iter().cloned());
        let mut ended = runtime.block_on(agent.prompt("go"));
        std::hint::black_box(&mut ended);
    };
    // The cost of the setup grows with the transcript; it is measured separately and subtracted.
    let [setup, whole] = best([&mut || run(1), &mut || run(1 + TURNS)]);
    let [setup_allocations, whole_allocations] =
        [1, 1 + TURNS].map(|turns| allocations(|| run(turns)).count);
    let per_turn = |whole: f64, setup: f64| (whole - setup) / f64::from(TURNS);
    (
        per_turn(micros(whole), micros(setup)),
        per_turn(whole_allocations as f64, setup_allocations as f64),
    )
}

/// Returns microseconds per call, and the ratio for four times as many calls.
fn side_by_side(runtime: &Runtime, calls: usize) -> (f64, f64) {
    let run = |calls: usize| {
        let faux = Faux::new();
        let reply = (0..calls).fold(Reply::new(), |reply, number| {
            reply.raw_tool_call(format!("c{number}"), "noop", "{}")
        });
        faux.push(reply.usage(Usage::default()));
        faux.push(Reply::new().text("done").usage(Usage::default()));
        let mut ended = runtime.block_on(agent(faux, 9).prompt("go"));
        std::hint::black_box(&mut ended);
    };
    let [one, four] = best([&mut || run(calls), &mut || run(4 * calls)]);
    let (one, four) = (one.as_secs_f64(), four.as_secs_f64());
    (one * 1e6 / calls as f64, four / one)
}

/// Returns the peak memory of a run of `turns` turns, transcript included.
fn run_memory(runtime: &Runtime, turns: u32) -> u64 {
    allocations(|| drop(runtime.block_on(agent(caller(), turns).prompt("go")))).peak
}

fn idle_agent() -> u64 {
    const AGENTS: u64 = 100;
    let faux = caller();
    allocations(|| {
        let agents: Vec<Agent> = (0..AGENTS).map(|_| agent(faux.clone(), 1)).collect();
        std::hint::black_box(&agents);
    })
    .peak
        / AGENTS
}
