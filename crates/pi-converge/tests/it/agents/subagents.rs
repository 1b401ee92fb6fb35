//! Sub-agents: own context, shared budget and approvals, validated results, structured failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_agent::{Budget, Limit, Limits, Outcome};
use pi_ai::faux::Reply;
use pi_coding_agent::session::SessionEvent;
use serde_json::{Value, json};

use super::{AgentEnv, Seen, results, task};

const LEAD: &str = "name: lead\nsystem_prompt: You lead.\ntools: [read]\n\
                    subagents: {worker: {path: ./worker.yaml, description: Works}}\n";

/// An environment with a lead and a worker with these fields.
fn env(worker: &str) -> AgentEnv {
    let env = AgentEnv::new();
    env.write("specs/lead.yaml", LEAD);
    env.write(
        "specs/worker.yaml",
        &format!("system_prompt: You work.\ntools: [read, bash]\n{worker}"),
    );
    env
}

fn is_lead(seen: &Seen) -> bool {
    seen.system.contains("You lead.")
}

/// The lead starts one worker and reports its result.
fn lead(seen: &Seen) -> Reply {
    match seen.turn() {
        0 => Reply::new().tool_call("task", &task("worker", "Count the files.")),
        _ => Reply::new().text(format!("Result: {}", seen.last())),
    }
}

fn error_of(result: &str) -> Value {
    serde_json::from_str::<Value>(result).unwrap()["error"].clone()
}

#[tokio::test]
async fn a_sub_agent_works_in_its_own_context() {
    let env = env("");
    let started = env
        .start("lead.yaml", env.options(), |seen| match is_lead(seen) {
            true => lead(seen),
            false => Reply::new().text("There are 3 files."),
        })
        .await;
    assert_eq!(started.prompt("How many files? Be quick.").await, Outcome::Completed);
    let answer = started.session().last_assistant_text();
    assert_eq!(answer.as_deref(), Some("Result: There are 3 files."));
    let seen = started.seen();
    let worker = &seen[1];
    assert!(worker.system.contains("You work."), "{}", worker.system);
    assert_eq!(worker.transcript(), "user: Count the files.\n", "nothing of the parent");
    assert_eq!(worker.tools, ["read", "bash"]);
    assert_eq!(seen[0].tools, ["read", "task"]);
    // The session of the sub-agent names its parent, and lies where the user does not find it.
    let parent = started.session().file().unwrap();
    let files: Vec<_> = std::fs::read_dir(parent.with_extension("")).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    let text = std::fs::read_to_string(files[0].path()).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["parentSession"], json!(parent));
    let siblings = std::fs::read_dir(parent.parent().unwrap()).unwrap().flatten();
    assert_eq!(siblings.filter(|entry| entry.path().is_file()).count(), 1);
}

/// Waits until two sub-agents have come this far.
const MEET: &str = "touch $$.here; for i in $(seq 500); do \
                    [ $(ls *.here | wc -l) -ge 2 ] && exit 0; sleep 0.02; done; exit 1";

#[tokio::test]
async fn sub_agents_run_in_parallel_up_to_a_limit() {
    let env = env("");
    env.write("specs/lead.yaml", &format!("{LEAD}max_parallel: 2\n"));
    let (active, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (Arc::clone(&active), Arc::clone(&most));
    let started = env
        .start("lead.yaml", env.options(), move |seen| {
            if is_lead(seen) {
                return match seen.turn() {
                    0 => (0..5).fold(Reply::new(), |reply, at| {
                        reply.tool_call("task", &task("worker", &format!("Part {at}")))
                    }),
                    _ => Reply::new().text("Done."),
                };
            }
            if seen.turn() == 0 {
                let now = counted.fetch_add(1, Ordering::SeqCst) + 1;
                highest.fetch_max(now, Ordering::SeqCst);
                return Reply::new().tool_call("bash", &json!({ "command": MEET }));
            }
            counted.fetch_sub(1, Ordering::SeqCst);
            let met = if seen.last().contains("exit") { "alone" } else { "together" };
            Reply::new().text(format!("{met}: {}", seen.messages[0].1))
        })
        .await;
    assert_eq!(started.prompt("Work.").await, Outcome::Completed);
    let results = results(&started.session());
    let expected: Vec<String> = (0..5).map(|at| format!("together: Part {at}")).collect();
    assert_eq!(results, expected);
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn sub_agents_nest_down_to_a_depth() {
    let env = AgentEnv::new();
    env.write(
        "specs/a.yaml",
        "max_depth: 2\nsubagents: {a: {path: ./a.yaml, description: Again}}\n",
    );
    let started = env
        .start("a.yaml", env.options(), |seen| {
            let has_task = seen.tools.iter().any(|tool| tool == "task");
            match (seen.turn(), has_task) {
                (0, true) => Reply::new().tool_call("task", &task("a", "Go deeper.")),
                (_, true) => Reply::new().text(format!("({})", seen.last())),
                (_, false) => Reply::new().text("bottom"),
            }
        })
        .await;
    assert_eq!(started.prompt("Start.").await, Outcome::Completed);
    assert_eq!(started.session().last_assistant_text().as_deref(), Some("((bottom))"));
    let depth = |seen: &Seen| seen.tools.iter().any(|tool| tool == "task");
    assert_eq!(started.seen().iter().filter(|seen| !depth(seen)).count(), 1);
}

#[tokio::test]
async fn a_limit_of_a_sub_agent_ends_only_the_sub_agent() {
    let env = env("limits: {turns: 2}\n");
    let mut options = env.options();
    let budget = Budget::new(Limits::default().turns(50));
    options.budget = Some(budget.clone());
    let started = env
        .start("lead.yaml", options, |seen| match is_lead(seen) {
            true => lead(seen),
            false => Reply::new()
                .tool_call("bash", &json!({ "command": format!("echo {}", seen.turn()) })),
        })
        .await;
    assert_eq!(started.prompt("Go.").await, Outcome::Completed);
    let error = error_of(&results(&started.session())[0]);
    assert_eq!((error["kind"].as_str(), error["limit"].as_str()), (Some("limit"), Some("turns")));
    let spent = budget.spent();
    assert_eq!(spent.turns, 4, "two of each");
    assert_eq!(spent.tool_calls, 3, "two of the worker and the one that started it");
    let requests = started.model.requests();
    assert_eq!(requests.len(), 4);
}

#[tokio::test]
async fn tokens_and_cost_of_sub_agents_count_once() {
    let env = env("");
    let mut options = env.options();
    let budget = Budget::new(Limits::default());
    options.budget = Some(budget.clone());
    let usage = |total: u64| {
        let mut usage = pi_protocol::Usage::default();
        (usage.input, usage.total_tokens) = (total, total);
        usage.cost.total = total as f64 / 1000.0;
        usage
    };
    let started = env
        .start("lead.yaml", options, move |seen| match is_lead(seen) {
            true => lead(seen).usage(usage(100)),
            false => Reply::new().text("Seven files.").usage(usage(1000)),
        })
        .await;
    assert_eq!(started.prompt("Go.").await, Outcome::Completed);
    assert_eq!(budget.spent().tokens, 1200);
    assert!((budget.spent().cost - 1.2).abs() < 1e-9);
    let totals = started.session().totals().unwrap().stats;
    assert_eq!(totals.tokens.total, 1200, "the session of the parent shows the whole");
}

#[tokio::test]
async fn an_exhausted_budget_of_the_run_ends_everything() {
    let env = env("");
    let mut options = env.options();
    options.budget = Some(Budget::new(Limits::default().turns(3)));
    let started = env
        .start("lead.yaml", options, |seen| match is_lead(seen) {
            true => lead(seen),
            false => Reply::new()
                .tool_call("bash", &json!({ "command": format!("echo {}", seen.turn()) })),
        })
        .await;
    assert_eq!(started.prompt("Go.").await, Outcome::Limit { limit: Limit::Turns });
    assert_eq!(started.model.requests().len(), 3);
}

#[tokio::test]
async fn an_empty_result_is_asked_for_again_once() {
    for (second, expected) in [("Here it is.", "Here it is."), ("  \n", "empty-result")] {
        let env = env("");
        let started = env
            .start("lead.yaml", env.options(), move |seen| match (is_lead(seen), seen.turn()) {
                (true, _) => lead(seen),
                (false, 0) => Reply::new().text("\n"),
                (false, _) => Reply::new().text(second),
            })
            .await;
        assert_eq!(started.prompt("Go.").await, Outcome::Completed);
        let result = &results(&started.session())[0];
        assert!(result.contains(expected), "{result}");
        assert_eq!(started.model.requests().len(), 4, "the lead twice, the worker twice");
    }
}

#[tokio::test]
async fn a_short_result_is_asked_for_again() {
    let env = env("output: {min_length: 20}\n");
    let started = env
        .start("lead.yaml", env.options(), |seen| match (is_lead(seen), seen.turn()) {
            (true, _) => lead(seen),
            (false, 0) => Reply::new().text("Done."),
            (false, _) => Reply::new().text("I read three files: a, b and c."),
        })
        .await;
    assert_eq!(started.prompt("Go.").await, Outcome::Completed);
    assert_eq!(results(&started.session()), ["I read three files: a, b and c."]);
    assert!(started.seen()[2].last().contains("at least 20 characters"));
}

#[tokio::test]
async fn a_result_has_to_match_the_schema_of_the_spec() {
    let schema = "output: {schema: {type: object, required: [count], properties: {count: {type: integer}}}}\n";
    for (second, expected) in
        [(json!({"count": 3}), "{\"count\":3}"), (json!({"count": "x"}), "invalid-result")]
    {
        let env = env(schema);
        let started = env
            .start("lead.yaml", env.options(), move |seen| match (is_lead(seen), seen.turn()) {
                (true, _) => lead(seen),
                (false, 0) => Reply::new().text("There are three."),
                (false, _) => Reply::new().tool_call("submit_result", &second),
            })
            .await;
        assert_eq!(started.prompt("Go.").await, Outcome::Completed);
        let result = &results(&started.session())[0];
        assert!(result.contains(expected), "{result}");
    }
}

#[tokio::test]
async fn failures_are_structured() {
    let cases: &[(&str, Reply, &str)] = &[
        ("", Reply::new().fail("400 invalid request: no such thing"), "provider"),
        ("output: {schema: {type: nonsense}}\n", Reply::new(), "configuration"),
    ];
    for (worker, reply, kind) in cases {
        let (env, reply) = (env(worker), reply.clone());
        let started = env
            .start("lead.yaml", env.options(), move |seen| match is_lead(seen) {
                true => lead(seen),
                false => reply.clone(),
            })
            .await;
        assert_eq!(started.prompt("Go.").await, Outcome::Completed);
        let error = error_of(&results(&started.session())[0]);
        assert_eq!(error["kind"], *kind, "{error}");
        assert_eq!(error["agent"], "worker");
    }
}

#[tokio::test]
async fn an_abort_reaches_the_sub_agent() {
    let env = env("");
    let started = env
        .start("lead.yaml", env.options(), |seen| match is_lead(seen) {
            true => lead(seen),
            false => Reply::new().text("Thinking about it").hang(),
        })
        .await;
    let session = started.session();
    let (sender, mut reached) = tokio::sync::mpsc::unbounded_channel();
    let _subscription = session.subscribe(move |event| {
        if matches!(event, SessionEvent::ToolExecutionUpdate { .. }) {
            let _ = sender.send(());
        }
    });
    let aborting = session.clone();
    let (outcome, ()) = tokio::join!(started.prompt("Go."), async {
        reached.recv().await.unwrap();
        aborting.abort().await;
    });
    assert_eq!(outcome, Outcome::Aborted);
    let texts = std::fs::read_dir(session.file().unwrap().with_extension("")).unwrap();
    let text = std::fs::read_to_string(texts.flatten().next().unwrap().path()).unwrap();
    assert!(text.contains("\"stopReason\":\"aborted\""), "the sub-agent records its abort: {text}");
}

#[tokio::test]
async fn selections_of_the_user_apply_to_sub_agents() {
    let env = env("");
    let mut options = env.options();
    options.tools.selection.exclude = vec!["bash".to_owned()];
    let started = env
        .start("lead.yaml", options, |seen| match is_lead(seen) {
            true => lead(seen),
            false => Reply::new().text("Nothing."),
        })
        .await;
    assert_eq!(started.prompt("Go.").await, Outcome::Completed);
    assert_eq!(started.seen()[1].tools, ["read"]);
}
