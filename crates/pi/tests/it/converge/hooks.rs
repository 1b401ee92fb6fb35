//! Hooks of the settings: every position and every decision, in the binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::commands;
use crate::bad_input::{Finished, ServerEnv};
use crate::scenarios::format::{Part, Reply};

/// Returns an environment with these hooks in the user's settings.
fn hooked(replies: Vec<Reply>, hooks: &Value) -> ServerEnv {
    let env = ServerEnv::new(replies);
    let settings = json!({
        "defaultProvider": "mock", "defaultModel": "m1", "retry": { "enabled": false },
        "hooks": hooks,
    });
    env.write("settings.json", settings.to_string());
    env
}

fn text(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

/// A model that runs a command and then answers.
fn model() -> Vec<Reply> {
    vec![commands(&[("call_1", "echo ran")]), text("An answer.")]
}

/// One hook at an event.
fn one(event: &str, command: &str) -> Value {
    json!({ event: [{ "hooks": [{ "type": "command", "command": command, "name": "check" }] }] })
}

fn one_with(event: &str, command: &str, more: &Value) -> Value {
    let mut hooks = one(event, command);
    for (name, value) in more.as_object().unwrap() {
        hooks[event][0]["hooks"][0][name] = value.clone();
    }
    hooks
}

/// Returns the last message of a request, as text.
fn last_message(env: &ServerEnv, request: usize) -> String {
    let requests = env.server.requests();
    let messages = requests[request]["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].to_string()
}

#[track_caller]
fn assert_contains(text: &str, expected: &str, about: &str) {
    assert!(text.contains(expected), "{about}: {expected:?} is missing: {text}");
}

#[test]
fn hooks_before_a_tool_decide() {
    let json = |answer: Value| format!("echo '{answer}'");
    let cases: Vec<(Value, &str, &str)> = vec![
        // (hooks, expected in the result that the model reads, expected on stderr)
        (one("beforeTool", "echo 'no network' >&2; exit 2"), "check blocked it: no network", ""),
        (one("PreToolUse", "exit 2"), "the hook gave no reason", ""),
        (
            one("beforeTool", &json(json!({ "decision": "deny", "reason": "Not today." }))),
            "check blocked it: Not today. Do not",
            "",
        ),
        (
            one("beforeTool", &json(json!({ "decision": "ask", "reason": "Look first." }))),
            "no one can approve it",
            "",
        ),
        (one("beforeTool", &json(json!({ "decision": "allow" }))), "ran", ""),
        (one("beforeTool", "true"), "ran", ""),
        (
            one("beforeTool", &json(json!({ "updatedInput": { "command": "echo other" } }))),
            "other",
            "",
        ),
        (
            one("beforeTool", &json(json!({ "updatedInput": { "cmd": [] } }))),
            "ran",
            "invalid updatedInput",
        ),
        (
            one("beforeTool", &json(json!({ "additionalContext": "It is Monday." }))),
            "It is Monday.",
            "",
        ),
        (
            one("beforeTool", "echo broken >&2; exit 1"),
            "ran",
            "check: it exited with code 1: broken",
        ),
        (one("beforeTool", "echo fine"), "ran", "its output is not a JSON object: fine"),
        (one("beforeTool", "echo '{'"), "ran", "its output is invalid JSON"),
        (
            one("beforeTool", "head -c 2000000 /dev/zero | tr '\\0' x; sleep 1000"),
            "ran",
            "it wrote more than 1024 KiB",
        ),
        (
            one_with("beforeTool", "sleep 1000", &json!({ "timeout": 0.3 })),
            "ran",
            "it took longer than 0.3 s",
        ),
        (
            one_with("beforeTool", "exit 1", &json!({ "onFailure": "refuse" })),
            "check blocked it: the hook failed",
            "it exited with code 1",
        ),
        (one("beforeTool", "/no/such/program"), "ran", "it exited with code 127"),
    ];
    for (hooks, expected, reported) in cases {
        let env = hooked(model(), &hooks);
        let result = env.run(&["-p", "Go"]);
        assert_eq!(result.code, Some(0), "{hooks}: {result:?}");
        assert_contains(&last_message(&env, 1), expected, &hooks.to_string());
        assert_contains(&result.stderr, reported, &hooks.to_string());
    }
}

#[test]
fn a_failing_gate_refuses_where_the_profile_restricts() {
    for command in ["exit 1", "echo '{'", "echo fine", "sleep 1000"] {
        let hooks = one_with("beforeTool", command, &json!({ "timeout": 0.3 }));
        let env = hooked(model(), &hooks);
        let result = env.run(&["--profile", "unattended", "-p", "Go"]);
        assert_eq!(result.code, Some(0), "{result:?}");
        assert_contains(&last_message(&env, 1), "check blocked it: the hook failed", command);
    }
    let env = hooked(vec![], &one("beforePrompt", "exit 1"));
    env.run(&["--profile", "unattended", "-p", "Go"])
        .assert_failed(16, &["the prompt was blocked by hook check: the hook failed"]);
    // A failure after the fact is only reported.
    let env = hooked(model(), &one("afterTool", "exit 1"));
    let result = env.run(&["--profile", "unattended", "-p", "Go"]);
    assert_eq!((result.code, result.stdout.as_str()), (Some(0), "An answer.\n"), "{result:?}");
    assert_contains(&last_message(&env, 1), "ran", "afterTool");
}

#[test]
fn an_allowing_hook_does_not_override_the_policy() {
    let env = hooked(model(), &one("beforeTool", "echo '{\"decision\": \"allow\"}'"));
    env.write(
        "rules/no.toml",
        "[[command]]\nprefix = [\"echo\"]\ndecision = \"forbid\"\njustification = \"No echo.\"\n",
    );
    let result = env.run(&["-p", "Go"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_contains(&last_message(&env, 1), "No echo.", "policy");
}

#[test]
fn hooks_after_a_tool_change_its_result() {
    let cases = [
        (json!({ "updatedOutput": "replaced" }), "replaced", 0),
        (json!({ "additionalContext": "Mind the gap." }), "Mind the gap.", 0),
        (
            json!({ "decision": "block", "reason": "Run the linter." }),
            "[Hook check: Run the linter.]",
            0,
        ),
        (json!({ "continue": false, "stopReason": "Enough." }), "", 16),
    ];
    for (answer, expected, code) in cases {
        let env = hooked(model(), &one("PostToolUse", &format!("echo '{answer}'")));
        let result = env.run(&["-p", "Go"]);
        assert_eq!(result.code, Some(code), "{answer}: {result:?}");
        if code == 16 {
            assert_eq!(env.server.requests().len(), 1);
            assert_contains(&result.stderr, "the run was stopped by hook check: Enough.", "stop");
        } else {
            assert_contains(&last_message(&env, 1), expected, &answer.to_string());
        }
    }
}

#[test]
fn hooks_before_a_prompt_decide() {
    let env = hooked(vec![], &one("beforePrompt", "echo 'Not on Sunday.' >&2; exit 2"));
    let blocked = "the prompt was blocked by hook check: Not on Sunday.";
    env.run(&["-p", "Go"]).assert_failed(16, &[blocked]);
    let stop = one("UserPromptSubmit", "echo '{\"continue\": false, \"stopReason\": \"No.\"}'");
    let env = hooked(vec![], &stop);
    env.run(&["-p", "Go"]).assert_failed(16, &["the prompt was blocked by hook check: No."]);
    assert!(env.server.requests().is_empty());

    let env = hooked(vec![text("An answer.")], &one("beforePrompt", "echo 'It is Monday.'"));
    env.run(&["-p", "Go"]).assert_answered(&[]);
    let messages = env.server.requests()[0]["messages"].to_string();
    assert_contains(&messages, "It is Monday.", "context");
    let rewrite = one("beforePrompt", "echo '{\"updatedInput\": \"Say hello.\"}'");
    let env = hooked(vec![text("An answer.")], &rewrite);
    let result = env.run(&["-p", "Go away"]);
    assert_eq!((result.code, result.stdout.as_str()), (Some(0), "An answer.\n"), "{result:?}");
    let messages = env.server.requests()[0]["messages"].to_string();
    assert_contains(&messages, "Say hello.", "rewrite");
    assert!(!messages.contains("Go away"));
}

#[test]
fn a_stop_hook_makes_the_agent_continue_for_a_while() {
    let once = "grep -q '\"stop_hook_active\":true' || { echo 'Run the tests.' >&2; exit 2; }";
    let env = hooked(vec![text("Done."), text("An answer.")], &one("stop", once));
    let result = env.run(&["-p", "Go"]);
    assert_eq!((result.code, result.stdout.as_str()), (Some(0), "An answer.\n"), "{result:?}");
    assert_contains(&last_message(&env, 1), "Run the tests.", "continuation");

    let always = one("Stop", "echo 'Never done.' >&2; exit 2");
    let answers = || vec![text("An answer."); 20];
    let env = hooked(answers(), &always);
    let result = env.run(&["-p", "Go"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_contains(&result.stderr, "has made the agent continue 5 times", "bound");
    assert_eq!(env.server.requests().len(), 6);
    // Where no one watches, an agent that may not stop has not succeeded.
    let env = hooked(answers(), &always);
    env.run(&["--profile", "unattended", "-p", "Go"])
        .assert_failed(16, &["the run was stopped by hook check: Never done."]);

    let env =
        hooked(answers(), &one("stop", "echo '{\"continue\": false, \"stopReason\": \"Bye.\"}'"));
    env.run(&["-p", "Go"]).assert_failed(16, &["the run was stopped by hook check: Bye."]);
}

#[test]
fn hooks_see_the_session_from_its_start_to_its_end() {
    let log = "echo \"$PI_HOOK_EVENT $PI_SESSION_ID\" >> events; cat >> input";
    let mut hooks = json!({});
    for event in ["sessionStart", "beforePrompt", "beforeTool", "afterTool", "stop", "sessionEnd"] {
        hooks[event] = one(event, log)[event].clone();
    }
    hooks["SessionStart"] = json!([{ "matcher": "startup",
        "hooks": [{ "command": "echo 'The build is green.'" }] }]);
    let env = hooked(model(), &hooks);
    let result = env.run(&["-p", "Go"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let events = fs::read_to_string(env.project().join("events")).unwrap();
    let names: Vec<&str> = events.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        names,
        ["sessionStart", "beforePrompt", "beforeTool", "afterTool", "stop", "sessionEnd"]
    );
    assert!(events.lines().all(|line| line.split(' ').nth(1).is_some_and(|id| id.len() > 20)));
    let messages = env.server.requests()[0]["messages"].to_string();
    assert_contains(&messages, "The build is green.", "session start");
    let input = fs::read_to_string(env.project().join("input")).unwrap();
    let inputs = serde_json::Deserializer::from_str(&input).into_iter::<Value>();
    let inputs: Vec<Value> = inputs.map(Result::unwrap).collect();
    let call = &inputs[2];
    assert_eq!(call["event"], "beforeTool");
    assert_eq!(call["hook_event_name"], "beforeTool");
    assert_eq!(call["tool_name"], "bash");
    assert_eq!(call["tool_input"], json!({ "command": "echo ran" }));
    assert_eq!(call["cwd"], json!(env.project()));
    assert_eq!(call["session_file"], json!(env.sessions()[0]));
    assert_contains(&inputs[3]["tool_response"].to_string(), "ran", "output");
    assert_eq!(inputs[1]["prompt"], "Go");
    assert_eq!(inputs[4]["last_assistant_message"], "An answer.");
}

#[test]
fn a_hook_that_stops_at_the_start_lets_no_prompt_pass() {
    let env =
        hooked(vec![], &one("sessionStart", "echo '{\"continue\": false, \"reason\": \"No.\"}'"));
    env.run(&["-p", "Go"]).assert_failed(16, &["the prompt was blocked by hook check: No."]);
}

#[test]
fn a_hook_keeps_a_session_from_being_compacted() {
    let full = Part::Finish(vec![json!("stop"), json!(99_000), json!(10)]);
    let full = Reply::Parts(vec![Part::Text("An answer.".to_owned()), full]);
    let replies = || {
        vec![text("First."), full.clone(), text("A summary."), text("Another."), text("A third.")]
    };
    let blocked = one("PreCompact", "echo 'Keep everything.' >&2; exit 2");
    let mut other = blocked.clone();
    other["PreCompact"][0]["matcher"] = json!("manual");
    for (hooks, is_compacted) in [(blocked, false), (other, true)] {
        let env = hooked(replies(), &hooks);
        let settings = fs::read_to_string(env.file("settings.json")).unwrap();
        let mut settings: Value = serde_json::from_str(&settings).unwrap();
        settings["compaction"] = json!({ "keepRecentTokens": 1 });
        env.write("settings.json", settings.to_string());
        let result = env.run(&["-p", "One", "Two"]);
        assert_eq!(result.code, Some(0), "{result:?}");
        assert_eq!(env.server.requests().len() > 2, is_compacted, "{hooks}: {result:?}");
    }
}

#[test]
fn matchers_select_tools_and_hooks_run_in_order() {
    let hooks = json!({ "beforeTool": [
        { "matcher": "read|write", "hooks": [{ "command": "exit 2" }] },
        { "matcher": "Ba*", "hooks": [
            { "command": "echo '{\"updatedInput\": {\"command\": \"echo first\"}}'" },
            { "command": "grep -q 'echo first' || exit 2; echo '{\"additionalContext\": \"second\"}'" },
        ] },
        { "matcher": "^b.sh$", "hooks": [{ "command": "echo third >> ran" }] },
    ] });
    let env = hooked(model(), &hooks);
    let result = env.run(&["-p", "Go"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let message = last_message(&env, 1);
    assert_contains(&message, "first", "rewrite");
    assert_contains(&message, "second", "chain");
    assert_eq!(fs::read_to_string(env.project().join("ran")).unwrap(), "third\n");
}

#[test]
fn parallel_calls_have_hooks_of_their_own() {
    let calls = [("call_1", "echo one"), ("call_2", "echo two"), ("call_3", "echo three")];
    let hook = "case $(cat) in *two*) echo two >&2; exit 2;; *three*) \
        echo '{\"additionalContext\": \"context of three\"}';; esac";
    let env = hooked(vec![commands(&calls), text("An answer.")], &one("beforeTool", hook));
    let result = env.run(&["-p", "Go"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let messages = env.server.requests()[1]["messages"].clone();
    let results: Vec<String> = messages
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .take(3)
        .rev()
        .map(|message| message["content"].to_string())
        .collect();
    assert_contains(&results[0], "one", "first");
    assert!(!results[0].contains("context of three"));
    assert_contains(&results[1], "blocked it: two", "second");
    assert_contains(&results[2], "context of three", "third");
}

#[test]
fn nothing_that_a_hook_started_outlives_it() {
    let cases = [
        // The hook ends, and what it left in the background does not.
        ("sleep 1000 & echo $! > pid; exit 0", "ran"),
        ("setsid sh -c 'echo $$ > pid; exec sleep 1000' & sleep 1000", "ran"),
    ];
    for (command, expected) in cases {
        let hooks = one_with("beforeTool", command, &json!({ "timeout": 2 }));
        let env = hooked(model(), &hooks);
        let result = env.run(&["-p", "Go"]);
        assert_eq!(result.code, Some(0), "{result:?}");
        assert_contains(&last_message(&env, 1), expected, command);
        let pid = fs::read_to_string(env.project().join("pid")).unwrap();
        assert!(!is_running(pid.trim()), "{command}");
    }
}

/// Returns true if a process sleeps; its number may belong to another one by now.
fn is_running(pid: &str) -> bool {
    let command = fs::read_to_string(Path::new("/proc").join(pid).join("cmdline"));
    command.is_ok_and(|command| command.starts_with("sleep"))
}

#[test]
fn an_interrupt_ends_the_hook() {
    let env = hooked(model(), &one("beforeTool", "echo $$ > pid; echo > started; exec sleep 1000"));
    let fifo = env.project().join("started");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut child = env.command(&["-p", "Go"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    // Opened for reading until the hook writes.
    fs::read(&fifo).unwrap();
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let pid = fs::read_to_string(env.project().join("pid")).unwrap();
    assert!(!is_running(pid.trim()));
}

#[test]
fn hooks_of_an_untrusted_project_do_not_run() {
    let env = hooked(vec![text("An answer."); 3], &one("beforePrompt", "echo user >> ran"));
    fs::create_dir_all(env.project().join(".pi")).unwrap();
    let project = json!({ "hooks": one("beforePrompt", "echo project >> ran") });
    fs::write(env.project().join(".pi/settings.json"), project.to_string()).unwrap();
    let ran = || fs::read_to_string(env.project().join("ran")).unwrap_or_default();

    let result = env.run(&["-p", "Go"]);
    result.assert_answered(&["the hooks of", "do not run, because the project is not trusted"]);
    assert_eq!(ran(), "user\n");
    // Where restrictions count, they are not left out.
    let refused = env.run(&["--profile", "unattended", "-p", "Go"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    env.run(&["--approve", "-p", "Go"]).assert_answered(&[]);
    assert_eq!(ran(), "user\nuser\nproject\n");
}

#[test]
fn hooks_that_cannot_be_understood_stop_everything() {
    let cases = [
        (one("beforeTools", "true"), "unknown event"),
        (json!({ "stop": [{ "hooks": [{ "command": " " }] }] }), "a hook needs a command"),
        (json!({ "stop": [{ "matcher": "bash", "hooks": [] }] }), "has no matcher"),
        (json!({ "stop": [{ "hooks": [{ "command": "true", "timout": 1 }] }] }), "unknown field"),
        (json!({ "stop": [{ "hooks": [{ "type": "prompt", "command": "x" }] }] }), "prompt"),
        (json!({ "beforeTool": [{ "matcher": "(", "hooks": [] }] }), "invalid pattern"),
        (one_with("stop", "true", &json!({ "timeout": 0 })), "the timeout 0"),
        (json!([]), "hooks"),
    ];
    for (hooks, expected) in cases {
        let env = hooked(vec![], &hooks);
        env.run(&["-p", "Go"]).assert_failed(6, &[expected]);
    }
}

#[test]
fn hooks_see_what_extensions_changed() {
    let env = hooked(model(), &one("beforeTool", "cat > input"));
    let extension = "export default pi => pi.on('tool_call', event => { \
        event.input.command = 'echo changed'; });";
    let file = env.write("extensions/change.ts", extension);
    let result = env.run(&["-p", "Go"]);
    assert_eq!(result.code, Some(0), "{}: {result:?}", file.display());
    let input = fs::read_to_string(env.project().join("input")).unwrap();
    assert_contains(&input, "echo changed", "order");
    assert_contains(&last_message(&env, 1), "changed", "result");
}

#[test]
fn interventions_are_events_and_entries() {
    let env = hooked(model(), &one("beforeTool", "echo No. >&2; exit 2"));
    let Finished { code, stdout, .. } = env.run(&["--mode", "json", "Go"]);
    assert_eq!(code, Some(0));
    let event = stdout.lines().find(|line| line.contains("\"type\":\"guardrail\"")).unwrap();
    let event: Value = serde_json::from_str(event).unwrap();
    let expected = json!({ "type": "guardrail", "source": "hook", "name": "check",
        "position": "beforeTool", "action": "block", "reason": "No.", "toolCallId": "call_1" });
    assert_eq!(event, expected);
    let session = fs::read_to_string(&env.sessions()[0]).unwrap();
    assert_contains(&session, "\"customType\":\"guardrail\"", "entry");
}

#[test]
fn notifications_reach_hooks() {
    use std::io::Write as _;
    let env = hooked(
        vec![text("An answer.")],
        &json!({ "Notification": [{ "matcher": "idle",
        "hooks": [{ "command": "cat > waiting" }] }] }),
    );
    let fifo = env.project().join("waiting");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut command = env.command(&["--mode", "rpc"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"type\":\"prompt\",\"message\":\"Go\"}\n").unwrap();
    let input = fs::read_to_string(&fifo).unwrap();
    assert_contains(&input, "\"notification_type\":\"idle\"", "notification");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn hooks_run_at_the_start_and_the_end_of_a_run() {
    let hooks = json!({
        "runStart": [{ "hooks": [{ "command": "echo 'Use tabs.'" }] }],
        "runEnd": [{ "hooks": [{ "command": "cat > end" }] }],
    });
    let env = hooked(vec![text("Done.")], &hooks);
    let result = env.run(&["run", "Go", "--check", "true"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let messages = env.server.requests()[0]["messages"].to_string();
    assert_contains(&messages, "Use tabs.", "run start");
    let end: Value =
        serde_json::from_str(&fs::read_to_string(env.project().join("end")).unwrap()).unwrap();
    assert_eq!(end["outcome"], "converged");
    assert_eq!(end["goal"], "Go");

    let env = hooked(vec![], &one("runStart", "echo 'The branch is frozen.' >&2; exit 2"));
    let result = env.run(&["run", "Go", "--check", "true"]);
    assert_eq!(result.code, Some(16), "{result:?}");
    assert_contains(&result.stderr, "The branch is frozen.", "refusal");
    let env = hooked(vec![], &one("runStart", "exit 1"));
    assert_eq!(env.run(&["run", "Go", "--check", "true"]).code, Some(16), "a failing gate");
}

#[test]
fn hooks_are_listed_and_tested_without_an_agent() {
    let hooks = json!({ "PreToolUse": [{ "matcher": "bash", "hooks": [
        { "command": "grep -q push && { echo 'No pushing.' >&2; exit 2; }; true", "name": "pushes" },
    ] }], "stop": [{ "hooks": [{ "command": "./missing.sh", "timeout": 5 }] }] });
    let env = hooked(vec![], &hooks);
    let list = env.out(&["hooks"]);
    assert_contains(&list, "beforeTool (bash): grep -q push", "list");
    assert_contains(&list, "stop: ./missing.sh  [user, at most 5 s]", "list");
    let json: Value = serde_json::from_str(&env.out(&["hooks", "list", "--json"])).unwrap();
    assert_eq!(json["hooks"][0]["name"], "pushes");
    let (code, _) = env.failure(&["doctor"]);
    assert_eq!(code, Some(1), "a missing script is an error");

    let input = |command: &str| {
        let input = json!({ "tool_name": "bash", "tool_input": { "command": command } });
        fs::write(env.project().join("call.json"), input.to_string()).unwrap();
        let output = env.pi(&["hooks", "test", "beforeTool", "--input", "call.json"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, shown) = input("git push");
    assert_eq!(code, Some(16), "{shown}");
    assert_contains(&shown, "decision: block by pushes: No pushing.", "test");
    let (code, shown) = input("git status");
    assert_eq!(code, Some(0), "{shown}");
    assert_contains(&shown, "decision: none; the event passes", "test");
    let (code, _) = env.failure(&["hooks", "test", "stop"]);
    assert_eq!(code, Some(1), "the hook fails");
    let (code, stderr) = env.failure(&["hooks", "test", "beforeTools"]);
    assert_eq!(code, Some(2), "{stderr}");
}
