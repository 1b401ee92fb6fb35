//! Handoffs: prompt, tools and context of the other agent, and sessions that are resumed.

use pi_agent::Outcome;
use pi_ai::faux::Reply;
use pi_coding_agent::SessionSelector;
use serde_json::{Value, json};

use super::{AgentEnv, Seen, results};

/// An environment with a coder that hands over to a reviewer.
fn env(handoff: &str) -> AgentEnv {
    let env = AgentEnv::new();
    env.write(
        "specs/coder.yaml",
        &format!(
            "name: coder\nsystem_prompt: You code.\ntools: [read, bash]\nmax_handoffs: 2\n\
             handoffs: {{reviewer: {{path: ./reviewer.yaml{handoff}}}}}\n"
        ),
    );
    env.write(
        "specs/reviewer.yaml",
        "name: reviewer\ndescription: Reviews\nsystem_prompt: You review.\ntools: [read, grep]\n\
         handoffs: {coder: ./coder.yaml}\n",
    );
    env
}

fn handoff(more: Value) -> Value {
    let mut arguments = json!({ "agent": "reviewer", "message": "Review the change." });
    if let (Some(all), Value::Object(more)) = (arguments.as_object_mut(), more) {
        all.extend(more);
    }
    arguments
}

/// The coder runs a command, then hands over.
fn coder(seen: &Seen, arguments: &Value) -> Reply {
    match seen.turn() {
        0 => Reply::new().tool_call("bash", &json!({ "command": "echo evidence" })),
        1 => Reply::new().text("Handing over.").tool_call("handoff", arguments),
        _ => Reply::new().text("I code again."),
    }
}

fn is_reviewer(seen: &Seen) -> bool {
    seen.system.contains("You review.")
}

#[tokio::test]
async fn another_agent_takes_over_with_a_part_of_the_conversation() {
    let all = "user: Fix it.\nassistant: <bash>\ntoolResult: evidence\n\nassistant: Handing over.<handoff>\n";
    let cases = [
        ("", json!({}), all.to_owned()),
        (
            ", context: without-tool-results",
            json!({}),
            all.replace("evidence\n", "[Result left out at the handoff.]"),
        ),
        (
            ", context: summary",
            json!({ "summary": "A bug was fixed." }),
            "A bug was fixed.".to_owned(),
        ),
        (", context: last, last: 1", json!({}), "Earlier messages were left out.".to_owned()),
    ];
    for (fields, more, expected) in cases {
        let (env, arguments) = (env(fields), handoff(more));
        let started = env
            .start("coder.yaml", env.options(), move |seen| match is_reviewer(seen) {
                true => Reply::new().text("Approved."),
                false => coder(seen, &arguments),
            })
            .await;
        assert_eq!(started.prompt("Fix it.").await, Outcome::Completed);
        assert_eq!(started.session().last_assistant_text().as_deref(), Some("Approved."));
        let seen = started.seen();
        assert_eq!(seen.len(), 3);
        let reviewer = &seen[2];
        assert!(is_reviewer(reviewer) && !reviewer.system.contains("You code."));
        assert_eq!(reviewer.tools, ["read", "handoff", "grep"]);
        let transcript = reviewer.transcript();
        assert!(transcript.contains(&expected), "{fields}: {transcript}");
        assert!(reviewer.last().contains("You are now reviewer.\nTask: Review the change."));
        let is_filtered = fields.contains("summary") || fields.contains("last:");
        assert_eq!(transcript.contains("Fix it."), !is_filtered, "{fields}: {transcript}");
        if fields.contains("last:") {
            assert!(transcript.contains("evidence"), "a result keeps its call: {transcript}");
        }
    }
}

#[tokio::test]
async fn a_session_that_was_handed_over_is_resumed_by_the_other_agent() {
    let env = env(", context: summary");
    let arguments = handoff(json!({ "summary": "All is well." }));
    let script = move |seen: &Seen| match is_reviewer(seen) {
        true => Reply::new().text("Reviewed."),
        false => coder(seen, &arguments),
    };
    let started = env.start("coder.yaml", env.options(), script.clone()).await;
    assert_eq!(started.prompt("Fix it.").await, Outcome::Completed);
    let file = started.session().file().unwrap();
    started.runtime.shut_down().await;
    drop(started);
    let mut options = env.options();
    options.session.selector = SessionSelector::Existing(file.to_string_lossy().into_owned());
    let resumed = env.start("coder.yaml", options, script).await;
    assert_eq!(resumed.prompt("And now?").await, Outcome::Completed);
    let seen = resumed.seen();
    assert!(is_reviewer(&seen[0]), "{}", seen[0].system);
    assert_eq!(seen[0].tools, ["read", "handoff", "grep"]);
    let transcript = seen[0].transcript();
    assert!(transcript.contains("All is well.") && !transcript.contains("Fix it."), "{transcript}");
}

#[tokio::test]
async fn invalid_handoffs_are_refused_with_the_reason() {
    let cases = [
        ("", json!({ "message": " " }), "The message is empty"),
        (", context: summary", json!({}), "reads only a summary"),
        (
            ", input: {type: object, required: [files]}",
            json!({ "input": { "file": "a" } }),
            "`input` is invalid",
        ),
        (", input: {type: object}", json!({}), "`input` is required"),
    ];
    for (fields, more, expected) in cases {
        let (env, arguments) = (env(fields), handoff(more));
        let started =
            env.start("coder.yaml", env.options(), move |seen| coder(seen, &arguments)).await;
        assert_eq!(started.prompt("Fix it.").await, Outcome::Completed);
        assert_eq!(started.session().last_assistant_text().as_deref(), Some("I code again."));
        let result = &results(&started.session())[1];
        assert!(result.contains(expected), "{result}");
    }
}

#[tokio::test]
async fn the_number_of_handoffs_is_bounded() {
    let env = env("");
    let started = env
        .start("coder.yaml", env.options(), |seen| {
            let other = if is_reviewer(seen) { "coder" } else { "reviewer" };
            match seen.last().contains("limit of 2 handoffs") {
                true => Reply::new().text("I stop."),
                false => {
                    let arguments = json!({ "agent": other, "message": "Your turn." });
                    Reply::new().tool_call("handoff", &arguments)
                }
            }
        })
        .await;
    assert_eq!(started.prompt("Play.").await, Outcome::Completed);
    assert_eq!(started.session().last_assistant_text().as_deref(), Some("I stop."));
    assert_eq!(started.model.requests().len(), 4);
}
