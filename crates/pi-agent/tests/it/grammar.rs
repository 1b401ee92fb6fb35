//! Every run is well formed and ends, at any timing of steering, follow-ups and aborts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{Agent, ExecutionMode, FnTool, QueueMode, SteeringDelivery};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{Message, StopReason};
use proptest::prelude::*;

use crate::env::{TestEnv, after, echo, failing, named, stuck};

/// Checks the events of a run against the grammar of `AgentEvent`.
fn check(entries: &[String]) -> Result<(), String> {
    let mut parser = Parser::default();
    for (at, entry) in entries.iter().enumerate() {
        parser.step(entry).map_err(|why| format!("{why} at {at}: {}", entries.join(" ")))?;
    }
    match parser.state {
        State::Outside => Ok(()),
        state => Err(format!("ends in {state:?}: {}", entries.join(" "))),
    }
}

#[derive(Debug, Default, Clone, PartialEq)]
enum State {
    #[default]
    Outside,
    Run,
    Turn,
    Message(String),
}

#[derive(Default)]
struct Parser {
    state: State,
    executing: Vec<String>,
    results: usize,
    messages: usize,
}

impl Parser {
    fn step(&mut self, entry: &str) -> Result<(), String> {
        let inside =
            entry.split_once('(').map(|(_, rest)| rest.trim_end_matches(')')).unwrap_or_default();
        let kind = entry.split('(').next().unwrap_or_default();
        let id = inside.split(',').next().unwrap_or_default().to_owned();
        let fits = match (kind, self.state.clone()) {
            ("AS", State::Outside) => {
                self.messages = 0;
                self.state = State::Run;
                true
            }
            ("TS", State::Run) => {
                self.results = 0;
                self.state = State::Turn;
                true
            }
            ("MS", State::Turn) => {
                self.state = State::Message(inside.to_owned());
                true
            }
            ("MU", State::Message(name)) => name == "a",
            ("ME", State::Message(name)) => {
                self.state = State::Turn;
                self.messages += 1;
                self.results += usize::from(name.starts_with("t:"));
                inside == name || (name == "a" && inside.starts_with("a:"))
            }
            ("XS", State::Turn) => {
                self.executing.push(id);
                true
            }
            ("XU", State::Turn) => self.executing.contains(&id),
            ("XE", State::Turn) => {
                let at = self.executing.iter().position(|open| *open == id);
                at.map(|at| self.executing.remove(at)).is_some()
            }
            ("TE", State::Turn) => {
                self.state = State::Run;
                self.executing.is_empty() && inside == self.results.to_string()
            }
            ("AE", State::Run) => {
                self.state = State::Outside;
                inside == self.messages.to_string()
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("{entry} does not fit")) }
    }
}

#[derive(Debug, Clone)]
enum Action {
    Steer,
    FollowUp,
    Abort,
}

fn reply() -> impl Strategy<Value = Reply> {
    let tool =
        prop::sample::select(vec!["echo", "slow", "fast", "fails", "panics", "stuck", "nope"]);
    let calls = prop::collection::vec(tool, 0..4);
    (calls, 0..6_u8, 1..4_usize).prop_map(|(calls, ending, chunk)| {
        let mut reply = Reply::new().thinking("hm").text("text").chunks_of(chunk);
        for (index, tool) in calls.iter().enumerate() {
            reply = reply.raw_tool_call(format!("c{index}"), *tool, "{}");
        }
        match ending {
            0 => reply.fail("boom"),
            1 => reply.stop_reason(StopReason::Length),
            2 => reply.wait_between(Duration::from_millis(3)),
            _ => reply,
        }
    })
}

fn tools() -> Vec<FnTool> {
    let panics = named("panics", |_| panic!("on purpose"));
    vec![echo(), after("slow", 30), after("fast", 2), failing("no"), panics, stuck()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_run_is_well_formed_and_ends(
        replies in prop::collection::vec(reply(), 1..6),
        actions in prop::collection::vec((0..60_usize, prop_oneof![Just(Action::Steer), Just(Action::FollowUp), Just(Action::Abort)]), 0..6),
        sequential in any::<bool>(),
        after_tool in any::<bool>(),
        all in any::<bool>(),
        time_limit in 20..200_u64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let entries = runtime.block_on(async {
            let env = TestEnv::new(tools(), replies, |settings| {
                if sequential {
                    settings.tool_execution = ExecutionMode::Sequential;
                }
                if after_tool {
                    settings.steering_delivery = SteeringDelivery::AfterTool;
                }
                // The stuck tool ends only with the run.
                settings.limits.wall_time = Some(Duration::from_millis(time_limit));
            });
            let mode = if all { QueueMode::All } else { QueueMode::OneAtATime };
            env.agent.set_queue_modes(mode, mode);
            perform(&env.agent, actions);
            let done = tokio::time::timeout(Duration::from_secs(60), env.agent.prompt("u")).await;
            assert!(done.is_ok(), "did not end: {}", env.log.line());
            assert!(!env.agent.is_running());
            env.log.entries()
        });
        prop_assert_eq!(check(&entries), Ok(()));
    }
}

/// Performs each action after the given number of events.
fn perform(agent: &Agent, actions: Vec<(usize, Action)>) {
    let (target, count) = (agent.clone(), Arc::new(Mutex::new(0_usize)));
    agent
        .subscribe(move |_, _| {
            let now = {
                let mut count = count.lock().unwrap();
                *count += 1;
                *count
            };
            for (_, action) in actions.iter().filter(|(when, _)| *when == now) {
                match action {
                    Action::Steer => drop(target.steer(Message::user("s"))),
                    Action::FollowUp => drop(target.follow_up(Message::user("f"))),
                    Action::Abort => target.abort(),
                }
            }
        })
        .forever();
}

#[test]
fn the_grammar_rejects_malformed_runs() {
    let good = [
        "AS", "TS", "MS(u)", "ME(u)", "MS(a)", "MU", "ME(a)", "XS(1)", "XE(1,ok)", "MS(t:1)",
        "ME(t:1)", "TE(1)", "AE(3)",
    ];
    let good: Vec<String> = good.iter().map(|entry| (*entry).to_owned()).collect();
    assert_eq!(check(&good), Ok(()));
    for leave_out in 0..good.len() {
        let mut bad = good.clone();
        let removed = bad.remove(leave_out);
        assert!(removed == "MU" || check(&bad).is_err(), "without {removed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_run_concurrently() {
    let mut runs = Vec::new();
    for _ in 0..200 {
        let faux = Faux::responding(|request| {
            let turn = request.context.messages.len();
            let reply = Reply::new().text("streaming along").chunks_of(1);
            if turn < 8 { reply.raw_tool_call(format!("c{turn}"), "echo", "{}") } else { reply }
        });
        let mut settings = pi_agent::RunSettings::new(Arc::new(Faux::model()));
        settings.tools = crate::env::shared(vec![echo()]);
        let agent = Agent::new(Arc::new(faux), settings);
        runs.push(tokio::spawn(async move { agent.prompt("go").await }));
    }
    for run in runs {
        assert_eq!(run.await.unwrap(), Ok(pi_agent::Outcome::Completed));
    }
}
