//! Runs over pipes.

use std::fs;

use serde_json::{Value, json};

use super::{PATIENCE, Served, calls, model, modern, request, says, text};
use crate::scenarios::format::{Part, Reply};
use crate::test_env::TestEnv;

#[test]
fn a_run_and_a_reply_are_one_session_of_pi() {
    let env = TestEnv::new();
    let write = calls("write", json!({"path": "a.txt", "content": "hello\n"}));
    let server = model(&env, vec![write, says("Written."), says("You are welcome.")]);
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    let about = pi.initialize(&json!({}));
    assert_eq!(about["serverInfo"]["name"], "pi");
    let (tools, _) = pi.call(&request(3, "tools/list", json!({})));
    let names = tools["result"]["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["run", "reply", "status", "abort"]);

    let call = json!({
        "name": "run",
        "arguments": { "prompt": "Write a.txt, please." },
        "_meta": { "progressToken": "p" },
    });
    let (response, before) = pi.call(&request(4, "tools/call", call));
    let result = &response["result"];
    assert_eq!((text(result), &result["isError"]), ("Written.", &json!(false)));
    let run = &result["structuredContent"];
    assert_eq!(run["outcome"], "completed");
    assert_eq!(run["model"], "mock/m1");
    assert_eq!(run["files"], json!([{ "path": "a.txt", "change": "created" }]));
    assert_eq!(run["usage"]["turns"], 2);
    assert_eq!(fs::read_to_string(env.project().join("a.txt")).unwrap(), "hello\n");
    let progress: Vec<&Value> =
        before.iter().filter(|message| message["method"] == "notifications/progress").collect();
    assert_eq!(progress.len(), 1, "{before:?}");
    assert_eq!(progress[0]["params"]["message"], "write a.txt");

    let id = run["sessionId"].as_str().unwrap().to_owned();
    let reply = pi.tool("reply", &json!({ "sessionId": id, "prompt": "Thank you." }));
    assert_eq!(text(&reply), "You are welcome.");
    assert_eq!(reply["structuredContent"]["sessionId"], id);
    let last = server.requests().pop().unwrap().to_string();
    assert!(last.contains("Write a.txt, please.") && last.contains("Thank you."), "{last}");
    let listed = env.out(&["sessions", "list", "--json"]);
    assert!(listed.contains(&id), "{listed}");

    let uri = format!("pi://sessions/{id}");
    let (resources, _) = pi.call(&request(5, "resources/list", json!({})));
    assert!(resources.to_string().contains(&uri), "{resources}");
    let (read, _) = pi.call(&request(6, "resources/read", json!({ "uri": uri })));
    let content = &read["result"]["contents"][0];
    assert_eq!(content["mimeType"], "text/markdown");
    assert!(content["text"].as_str().unwrap().contains("Write a.txt, please."), "{content}");
    let report = format!("pi://runs/{}/report", run["runId"].as_str().unwrap());
    let (read, _) = pi.call(&request(7, "resources/read", json!({ "uri": report })));
    let found: Value =
        serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&found, run);
    pi.finish();
}

#[test]
fn a_result_matches_the_schema_of_the_caller() {
    let env = TestEnv::new();
    let server = model(&env, vec![says("not JSON"), says(r#"{"sum": 3}"#)]);
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    pi.initialize(&json!({}));
    let schema = json!({
        "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"],
    });
    let run = json!({ "prompt": "Add 1 and 2.", "output_schema": schema });
    let result = pi.tool("run", &run);
    assert_eq!(result["structuredContent"]["result"], json!({ "sum": 3 }));
    assert_eq!(text(&result), r#"{"sum":3}"#);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn templates_are_prompts() {
    let env = TestEnv::new();
    let _server = model(&env, vec![]);
    let prompts = env.agent().join("prompts");
    fs::create_dir_all(&prompts).unwrap();
    let template = "---\ndescription: Look at code\nargument-hint: FILE\n---\nReview $1 now.\n";
    fs::write(prompts.join("review.md"), template).unwrap();
    let mut pi = Served::start(&env, &[]);
    pi.initialize(&json!({}));
    let (listed, _) = pi.call(&request(2, "prompts/list", json!({})));
    let prompt = &listed["result"]["prompts"][0];
    assert_eq!(
        (&prompt["name"], &prompt["description"]),
        (&json!("review"), &json!("Look at code"))
    );
    let params = json!({ "name": "review", "arguments": { "arguments": "a.rs" } });
    let (got, _) = pi.call(&request(3, "prompts/get", params));
    let message = &got["result"]["messages"][0];
    assert_eq!(message["content"]["text"].as_str().unwrap().trim(), "Review a.rs now.");
    let (unknown, _) = pi.call(&request(4, "prompts/get", json!({ "name": "none" })));
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn prompts_run_no_commands() {
    let env = TestEnv::new();
    let server = model(&env, vec![says("Done."), says("Done.")]);
    let prompts = env.agent().join("prompts");
    fs::create_dir_all(&prompts).unwrap();
    fs::write(prompts.join("review.md"), "Review $1 now.\n").unwrap();
    let extension = "import fs from 'node:fs';
        export default (pi) => pi.registerCommand('wipe', {
            handler: async () => { fs.writeFileSync('wiped.txt', 'x'); },
        })";
    let extensions = env.agent().join("extensions");
    fs::create_dir_all(&extensions).unwrap();
    fs::write(extensions.join("wipe.ts"), extension).unwrap();
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    pi.initialize(&json!({}));
    for (prompt, sent) in [("/wipe all", "/wipe all"), ("/review a.rs", "Review a.rs now.")] {
        let result = pi.tool("run", &json!({ "prompt": prompt }));
        assert_eq!(text(&result), "Done.");
        let request = server.requests().pop().unwrap().to_string();
        assert!(request.contains(sent), "{request}");
    }
    assert!(!env.project().join("wiped.txt").exists());
}

#[test]
fn a_schema_that_is_too_large_starts_nothing() {
    let env = TestEnv::new();
    let server = model(&env, vec![]);
    let mut pi = Served::start(&env, &["--max-runs", "1"]);
    pi.initialize(&json!({}));
    let schema = json!({ "description": "x".repeat(300_000) });
    for _ in 0..2 {
        let refused = pi.tool("run", &json!({ "prompt": "Go.", "output_schema": schema }));
        assert!(text(&refused).contains("more than 262144 bytes"), "{refused}");
    }
    let status = pi.tool("status", &json!({}));
    assert_eq!(status["structuredContent"]["runs"], json!([]));
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_reply_keeps_the_limits_of_its_session() {
    let env = TestEnv::new();
    let read = || calls("read", json!({"path": "."}));
    let replies = vec![says("Done."), read(), read(), read(), read(), read(), says("Done.")];
    let server = model(&env, replies);
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    pi.initialize(&json!({}));
    let limits = json!({ "turns": 2 });
    let first = pi.tool("run", &json!({ "prompt": "Go.", "limits": limits }));
    let id = &first["structuredContent"]["sessionId"];
    let limited = pi.tool("reply", &json!({ "sessionId": id, "prompt": "Go on." }));
    assert_eq!(limited["structuredContent"]["outcome"], "limit", "{limited}");
    assert_eq!(server.requests().len(), 3);
    let more = json!({ "sessionId": id, "prompt": "Go on.", "limits": { "turns": 9 } });
    let done = pi.tool("reply", &more);
    assert_eq!(done["structuredContent"]["outcome"], "completed", "{done}");
}

#[test]
fn an_abort_before_the_first_prompt_counts() {
    let env = TestEnv::new();
    let server = model(&env, vec![says("Done.")]);
    // Sessions wait for the gate, if there is one.
    let extension = "import fs from 'node:fs';
        export default (pi) => pi.on('session_start', async () => {
            if (fs.existsSync('gate')) await fs.promises.readFile('gate');
        })";
    let extensions = env.agent().join("extensions");
    fs::create_dir_all(&extensions).unwrap();
    fs::write(extensions.join("gate.ts"), extension).unwrap();
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    pi.initialize(&json!({}));
    let first = pi.tool("run", &json!({ "prompt": "Go." }));
    let id = &first["structuredContent"]["sessionId"];
    let gate = env.project().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let reply = json!({ "name": "reply", "arguments": { "sessionId": id, "prompt": "More." } });
    pi.send(&request(7, "tools/call", reply));
    while pi.tool("abort", &json!({ "sessionId": id }))["isError"] == true {}
    fs::write(&gate, "open").unwrap();
    let aborted = pi.receive();
    assert_eq!(aborted["id"], 7);
    assert_eq!(aborted["result"]["structuredContent"]["outcome"], "aborted", "{aborted}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn reports_and_progress_have_no_secrets() {
    let env = TestEnv::new();
    let key = "secret-key-of-the-model";
    let path = format!("{}/{key}/file.txt", "long".repeat(45));
    let read = calls("read", json!({ "path": path }));
    let _server = model(&env, vec![read, says(&format!("The key is {key}."))]);
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    pi.initialize(&json!({}));
    let run = json!({
        "name": "run",
        "arguments": { "prompt": "Go." },
        "_meta": { "progressToken": "p" },
    });
    let (response, before) = pi.call(&request(4, "tools/call", run));
    let run = &response["result"]["structuredContent"];
    assert_eq!(run["outcome"], "completed", "{response}");
    let report = format!("pi://runs/{}/report", run["runId"].as_str().unwrap());
    let (read, _) = pi.call(&request(7, "resources/read", json!({ "uri": report })));
    assert!(read.to_string().contains("The key is"), "{read}");
    let all = format!("{response}{before:?}{read}");
    // The line of progress is cut within the key.
    assert!(!all.contains(&key[..10]), "{all}");
}

/// A rule that asks before `touch`, so that no sandbox is needed.
fn asking(env: &TestEnv) -> String {
    let file = env.project().join("rules.toml");
    let rule = "[[command]]\nprefix = [\"touch\"]\ndecision = \"ask\"\n";
    fs::write(&file, rule).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn approvals_are_asked_of_the_callers_user() {
    for (answer, exists) in [
        (json!({ "action": "accept", "content": { "decision": "once" } }), true),
        (json!({ "action": "accept", "content": { "decision": "no" } }), false),
        (json!({ "action": "decline" }), false),
    ] {
        let env = TestEnv::new();
        let rules = asking(&env);
        let touch = calls("bash", json!({"command": "touch made"}));
        let _server = model(&env, vec![touch, says("Done.")]);
        let mut pi = Served::start(&env, &["--profile", "explore", "--rules", &rules]);
        pi.initialize(&json!({ "elicitation": {} }));
        let run = json!({ "name": "run", "arguments": { "prompt": "Make it." } });
        pi.send(&request(2, "tools/call", run));
        let question = pi.receive();
        assert_eq!(question["method"], "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains("touch made"));
        pi.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        let response = pi.receive();
        assert_eq!(response["result"]["structuredContent"]["outcome"], "completed");
        assert_eq!(env.project().join("made").exists(), exists, "{answer}");
    }
}

#[test]
fn approvals_park_the_call_of_a_modern_client() {
    let env = TestEnv::new();
    let rules = asking(&env);
    let touch = |name: &str| calls("bash", json!({"command": format!("touch {name}")}));
    let _server = model(&env, vec![touch("one"), touch("two"), says("Done.")]);
    let mut pi = Served::start(&env, &["--profile", "explore", "--rules", &rules]);
    let can_ask = json!({ "elicitation": {} });
    let mut params = json!({ "name": "run", "arguments": { "prompt": "Make it." } });
    for (name, decision) in [("one", "once"), ("two", "no")] {
        let (asked, _) = pi.call(&modern(1, "tools/call", params.clone(), &can_ask));
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{asked}");
        let (key, question) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("touch {name}")), "{message}");
        let answer = json!({ "action": "accept", "content": { "decision": decision } });
        params["inputResponses"] = json!({ key: answer });
        params["requestState"] = result["requestState"].clone();
    }
    let (done, _) = pi.call(&modern(2, "tools/call", params, &can_ask));
    assert_eq!(done["result"]["structuredContent"]["outcome"], "completed", "{done}");
    assert!(env.project().join("one").exists());
    assert!(!env.project().join("two").exists());
}

#[test]
fn without_a_user_actions_that_need_approval_are_refused() {
    let env = TestEnv::new();
    let rules = asking(&env);
    let touch = calls("bash", json!({"command": "touch made"}));
    let server = model(&env, vec![touch, says("I could not.")]);
    let mut pi = Served::start(&env, &["--profile", "explore", "--rules", &rules]);
    pi.initialize(&json!({}));
    let result = pi.tool("run", &json!({ "prompt": "Make it." }));
    assert_eq!(text(&result), "I could not.");
    assert!(!env.project().join("made").exists());
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn runs_are_cancelled_and_aborted() {
    let env = TestEnv::new();
    let hang = || Reply::Parts(vec![Part::Hang]);
    let server = model(&env, vec![hang(), hang()]);
    let mut pi = Served::start(&env, &["--max-runs", "1"]);
    pi.initialize(&json!({}));
    let run = json!({ "name": "run", "arguments": { "prompt": "Never end." } });

    pi.send(&request(7, "tools/call", run.clone()));
    assert!(server.wait_for_requests(1, PATIENCE));
    let busy = pi.tool("run", &json!({ "prompt": "Another." }));
    assert!(text(&busy).contains("1 runs are in progress"), "{busy}");
    let status = pi.tool("status", &json!({}));
    let running = &status["structuredContent"]["runs"][0];
    assert_eq!(running["state"], "running");
    let id = running["sessionId"].clone();
    assert_eq!(text(&pi.tool("abort", &json!({ "sessionId": id }))), "The run is being aborted.");
    let aborted = pi.receive();
    assert_eq!(aborted["id"], 7);
    assert_eq!(aborted["result"]["structuredContent"]["outcome"], "aborted");
    assert_eq!(aborted["result"]["isError"], true);
    let nothing = pi.tool("abort", &json!({ "sessionId": id }));
    assert_eq!(nothing["isError"], true);

    pi.send(&request(8, "tools/call", run));
    assert!(server.wait_for_requests(2, PATIENCE));
    let params = json!({ "requestId": 8 });
    pi.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    loop {
        let status = pi.tool("status", &json!({}));
        let newest = &status["structuredContent"]["runs"][0];
        if newest["state"] == "ended" {
            assert_eq!(newest["outcome"], "aborted");
            break;
        }
    }
    pi.finish();
}

#[test]
fn a_long_run_is_a_task() {
    let env = TestEnv::new();
    let gated = Reply::Parts(vec![Part::Gate("go".to_owned()), Part::Text("Done.".to_owned())]);
    let server = model(&env, vec![gated]);
    let mut pi = Served::start(&env, &[]);
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let run = json!({ "name": "run", "arguments": { "prompt": "Take your time." } });
    let (created, _) = pi.call(&modern(1, "tools/call", run, &tasks));
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    let task = json!({ "taskId": created["result"]["taskId"] });
    let (state, _) = pi.call(&modern(2, "tasks/get", task.clone(), &tasks));
    assert_eq!(state["result"]["status"], "working");
    server.open("go");
    let done = loop {
        let (state, _) = pi.call(&modern(3, "tasks/get", task.clone(), &tasks));
        if state["result"]["status"] != "working" {
            break state;
        }
    };
    assert_eq!(done["result"]["status"], "completed", "{done}");
    assert_eq!(text(&done["result"]["result"]), "Done.");
}
