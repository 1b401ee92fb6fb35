//! Whatever happens when, a run is well formed and settles.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{Agent, ExecutionMode, FnTool, QueueMode, SteeringDelivery};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{Message, StopReason};
use proptest::prelude::*;

use crate::stage::{Stage, after, echo, failing, named, stuck};

/// Checks a run, event by event, against the grammar of `AgentEvent`.
fn check(entries: &[String]) -> Result<(), String> {
    let mut walker = Walker::default();
    for (at, entry) in entries.iter().enumerate() {
        walker.step(entry).map_err(|why| format!("{why} at {at}: {}", entries.join(" ")))?;
    }
    match walker.place {
        Place::Outside => Ok(()),
        place => Err(format!("ends in {place:?}: {}", entries.join(" "))),
    }
}

#[derive(Debug, Default, Clone, PartialEq)]
enum Place {
    #[default]
    Outside,
    Run,
    Turn,
    Message(String),
}

#[derive(Default)]
struct Walker {
    place: Place,
    executing: Vec<String>,
    results: usize,
    messages: usize,
}

impl Walker {
    fn step(&mut self, entry: &str) -> Result<(), String> {
        let inside =
            entry.split_once('(').map(|(_, rest)| rest.trim_end_matches(')')).unwrap_or_default();
        let kind = entry.split('(').next().unwrap_or_default();
        let id = inside.split(',').next().unwrap_or_default().to_owned();
        let fits = match (kind, self.place.clone()) {
            ("AS", Place::Outside) => {
                self.messages = 0;
                self.place = Place::Run;
                true
            }
            ("TS", Place::Run) => {
                self.results = 0;
                self.place = Place::Turn;
                true
            }
            ("MS", Place::Turn) => {
                self.place = Place::Message(inside.to_owned());
                true
            }
            ("MU", Place::Message(who)) => who == "a",
            ("ME", Place::Message(who)) => {
                self.place = Place::Turn;
                self.messages += 1;
                self.results += usize::from(who.starts_with("t:"));
                inside == who || (who == "a" && inside.starts_with("a:"))
            }
            ("XS", Place::Turn) => {
                self.executing.push(id);
                true
            }
            ("XU", Place::Turn) => self.executing.contains(&id),
            ("XE", Place::Turn) => {
                let at = self.executing.iter().position(|open| *open == id);
                at.map(|at| self.executing.remove(at)).is_some()
            }
            ("TE", Place::Turn) => {
                self.place = Place::Run;
                self.executing.is_empty() && inside == self.results.to_string()
            }
            ("AE", Place::Run) => {
                self.place = Place::Outside;
                inside == self.messages.to_string()
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("{entry} does not fit")) }
    }
}

#[derive(Debug, Clone)]
enum Act {
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
    fn every_run_is_well_formed_and_settles(
        replies in prop::collection::vec(reply(), 1..6),
        acts in prop::collection::vec((0..60_usize, prop_oneof![Just(Act::Steer), Just(Act::FollowUp), Just(Act::Abort)]), 0..6),
        sequential in any::<bool>(),
        after_tool in any::<bool>(),
        all in any::<bool>(),
        patience in 20..200_u64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let entries = runtime.block_on(async {
            let stage = Stage::new(tools(), replies, |settings| {
                if sequential {
                    settings.tool_execution = ExecutionMode::Sequential;
                }
                if after_tool {
                    settings.steering_delivery = SteeringDelivery::AfterTool;
                }
                // A tool that is stuck ends with the run.
                settings.limits.wall_time = Some(Duration::from_millis(patience));
            });
            let mode = if all { QueueMode::All } else { QueueMode::OneAtATime };
            stage.agent.set_queue_modes(mode, mode);
            play(&stage.agent, acts);
            let done = tokio::time::timeout(Duration::from_secs(60), stage.agent.prompt("u")).await;
            assert!(done.is_ok(), "did not settle: {}", stage.log.line());
            assert!(!stage.agent.is_running());
            stage.log.entries()
        });
        prop_assert_eq!(check(&entries), Ok(()));
    }
}

/// Does each act when so many events have been heard.
fn play(agent: &Agent, acts: Vec<(usize, Act)>) {
    let (actor, heard) = (agent.clone(), Arc::new(Mutex::new(0_usize)));
    agent
        .subscribe(move |_, _| {
            let now = {
                let mut heard = heard.lock().unwrap();
                *heard += 1;
                *heard
            };
            for (_, act) in acts.iter().filter(|(when, _)| *when == now) {
                match act {
                    Act::Steer => drop(actor.steer(Message::user("s"))),
                    Act::FollowUp => drop(actor.follow_up(Message::user("f"))),
                    Act::Abort => actor.abort(),
                }
            }
        })
        .forever();
}

#[test]
fn the_grammar_refuses_what_is_malformed() {
    let good = [
        "AS", "TS", "MS(u)", "ME(u)", "MS(a)", "MU", "ME(a)", "XS(1)", "XE(1,ok)", "MS(t:1)",
        "ME(t:1)", "TE(1)", "AE(3)",
    ];
    let good: Vec<String> = good.iter().map(|entry| (*entry).to_owned()).collect();
    assert_eq!(check(&good), Ok(()));
    for leave_out in 0..good.len() {
        let mut bad = good.clone();
        let gone = bad.remove(leave_out);
        assert!(gone == "MU" || check(&bad).is_err(), "without {gone}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_at_once() {
    let mut runs = Vec::new();
    for _ in 0..200 {
        let faux = Faux::responding(|request| {
            let turn = request.context.messages.len();
            let reply = Reply::new().text("streaming along").chunks_of(1);
            if turn < 8 { reply.raw_tool_call(format!("c{turn}"), "echo", "{}") } else { reply }
        });
        let mut settings = pi_agent::RunSettings::new(Arc::new(Faux::model()));
        settings.tools = crate::stage::shared(vec![echo()]);
        let agent = Agent::new(Arc::new(faux), settings);
        runs.push(tokio::spawn(async move { agent.prompt("go").await }));
    }
    for run in runs {
        assert_eq!(run.await.unwrap(), Ok(pi_agent::Outcome::Completed));
    }
}
