//! A caller gets at most what the command line gives.

use std::fs;

use serde_json::{Value, json};

use super::{Served, calls, model, request, says, text};
use crate::test_env::TestEnv;

#[test]
fn nothing_is_widened() {
    let env = TestEnv::new();
    let server = model(&env, vec![]);
    let outside = env.project().parent().unwrap().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(env.project().join("inside")).unwrap();
    std::os::unix::fs::symlink(&outside, env.project().join("inside/link")).unwrap();
    let foreign = "11111111-2222-4333-8444-555555555555";
    let file = env.session(foreign, &outside, "A private question");
    let mut pi = Served::start(&env, &["--model", "mock/m1", "--profile", "unattended"]);
    pi.initialize(&json!({}));
    let run = |extra: Value| {
        let mut run = json!({ "prompt": "Go." });
        for (name, value) in extra.as_object().unwrap() {
            run[name] = value.clone();
        }
        ("run", run)
    };
    let reply = |id: &str| ("reply", json!({ "sessionId": id, "prompt": "Go on." }));
    let cases = [
        (run(json!({ "profile": "explore" })), "not stricter than unattended"),
        (run(json!({ "profile": "careful" })), "not stricter than unattended"),
        (run(json!({ "profile": "none" })), "unknown profile"),
        (run(json!({ "cwd": outside })), "not a directory of this server"),
        (run(json!({ "cwd": "inside/../../outside" })), "not a directory of this server"),
        (run(json!({ "cwd": "inside/link" })), "not a directory of this server"),
        (run(json!({ "cwd": "/no/such/place" })), "/no/such/place"),
        (run(json!({ "model": "mock/m2" })), "fixed"),
        (run(json!({ "limits": { "turns": 0 } })), "positive"),
        (run(json!({ "limits": { "maxTurns": 5 } })), "unknown limit"),
        (run(json!({ "limits": 5 })), "must be an object"),
        (run(json!({ "sandbox": "off" })), "unknown argument"),
        (run(json!({ "prompt": " " })), "prompt is required"),
        (run(json!({ "output_schema": { "type": 5 } })), "output_schema"),
        (reply(foreign), "no such session"),
        (reply(file.to_str().unwrap()), "no such session"),
        (reply("../../../etc/passwd"), "no such session"),
        (reply(""), "no such session"),
    ];
    for ((tool, arguments), problem) in cases {
        let result = pi.tool(tool, &arguments);
        assert_eq!(result["isError"], true, "{arguments}");
        assert!(text(&result).contains(problem), "{arguments}: {result}");
    }
    let (listed, _) = pi.call(&request(3, "resources/list", json!({})));
    assert!(!listed.to_string().contains(foreign), "{listed}");
    for uri in [format!("pi://sessions/{foreign}"), format!("pi://sessions/{}", file.display())] {
        let (read, _) = pi.call(&request(4, "resources/read", json!({ "uri": uri })));
        assert_eq!(read["error"]["code"], -32002, "{read}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn limits_of_the_command_line_hold_for_callers() {
    let env = TestEnv::new();
    let read = || calls("read", json!({"path": "."}));
    let server = model(&env, (0..20).map(|_| read()).collect());
    let options = ["--profile", "explore", "--max-turns", "3"];
    let mut pi = Served::start(&env, &options);
    pi.initialize(&json!({}));
    for (limits, requests) in
        [(json!({}), 3), (json!({ "turns": 2 }), 5), (json!({ "turns": 900 }), 8)]
    {
        let result = pi.tool("run", &json!({ "prompt": "Go.", "limits": limits }));
        assert_eq!(result["structuredContent"]["outcome"], "limit", "{result}");
        assert_eq!(server.requests().len(), requests, "{limits}");
    }
}

#[test]
fn the_budget_of_the_command_line_is_for_all_runs() {
    let env = TestEnv::new();
    let server = model(&env, vec![says("One."), says("Two."), says("Three.")]);
    // Prices are per million tokens.
    let models = fs::read_to_string(env.agent().join("models.json")).unwrap();
    let mut models: Value = serde_json::from_str(&models).unwrap();
    models["providers"]["mock"]["models"][0]["cost"] =
        json!({ "input": 100_000, "output": 100_000, "cacheRead": 0, "cacheWrite": 0 });
    fs::write(env.agent().join("models.json"), models.to_string()).unwrap();
    let mut pi = Served::start(&env, &["--profile", "explore", "--max-total-cost", "0.01"]);
    pi.initialize(&json!({}));
    let first = pi.tool("run", &json!({ "prompt": "Go." }));
    let cost = first["structuredContent"]["usage"]["costUsd"].as_f64().unwrap();
    assert!(cost > 0.01, "{first}");
    let refused = pi.tool("run", &json!({ "prompt": "Go." }));
    assert!(text(&refused).contains("the budget of this server is used up"), "{refused}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn explore_must_be_given_on_the_command_line() {
    let env = TestEnv::new();
    let _server = model(&env, vec![says("Done.")]);
    let mut pi = Served::start(&env, &[]);
    pi.initialize(&json!({}));
    let result = pi.tool("run", &json!({ "prompt": "Go.", "profile": "explore" }));
    assert!(text(&result).contains("not stricter than careful"), "{result}");
}

#[test]
fn a_stricter_profile_holds_for_extensions_too() {
    let env = TestEnv::new();
    let _server = model(&env, vec![says("Done."), says("Done.")]);
    let extension = "import fs from 'node:fs';
        export default (pi) => pi.on('before_agent_start', () => {
            fs.writeFileSync('../outside.txt', 'x');
        })";
    let directory = env.agent().join("extensions");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("writer.ts"), extension).unwrap();
    let outside = env.project().join("../outside.txt");
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    pi.initialize(&json!({}));
    for (profile, is_written) in [("careful", false), ("explore", true)] {
        let result = pi.tool("run", &json!({ "prompt": "Go.", "profile": profile }));
        assert_eq!(result["structuredContent"]["outcome"], "completed", "{result}");
        assert_eq!(outside.exists(), is_written, "{profile}");
    }
}

#[test]
fn directories_below_those_of_the_server_can_be_chosen() {
    let env = TestEnv::new();
    let write = calls("write", json!({"path": "a.txt", "content": "x"}));
    let _server = model(&env, vec![write, says("Done.")]);
    let other = env.project().parent().unwrap().join("other/deep");
    fs::create_dir_all(&other).unwrap();
    let directory = other.parent().unwrap().to_str().unwrap().to_owned();
    let mut pi = Served::start(&env, &["--profile", "explore", "--dir", &directory]);
    pi.initialize(&json!({}));
    let refused = pi.tool("run", &json!({ "prompt": "Go.", "cwd": env.project() }));
    assert!(text(&refused).contains("not a directory of this server"), "{refused}");
    let result = pi.tool("run", &json!({ "prompt": "Go.", "cwd": other }));
    assert_eq!(result["structuredContent"]["outcome"], "completed", "{result}");
    assert!(other.join("a.txt").exists());
}

#[test]
fn a_directory_that_is_replaced_while_a_session_starts_is_refused() {
    let env = TestEnv::new();
    let server = model(&env, vec![]);
    let (work, outside) = (env.project().join("work"), env.project().join("../outside"));
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&outside).unwrap();
    let extension = format!(
        "import fs from 'node:fs';
        export default () => {{
            fs.rmdirSync({work:?});
            fs.symlinkSync({outside:?}, {work:?});
        }}"
    );
    let extensions = env.agent().join("extensions");
    fs::create_dir_all(&extensions).unwrap();
    fs::write(extensions.join("swap.ts"), extension).unwrap();
    let mut pi = Served::start(&env, &["--profile", "explore"]);
    pi.initialize(&json!({}));
    let result = pi.tool("run", &json!({ "prompt": "Go.", "cwd": "work" }));
    assert!(text(&result).contains("not a directory of this server"), "{result}");
    assert!(work.is_symlink());
    assert_eq!(server.requests().len(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt as _;

    let env = TestEnv::new();
    let _server = model(&env, vec![says("Done.")]);
    let directory = env.project().join(std::ffi::OsStr::from_bytes(b"odd-\xff"));
    fs::create_dir_all(&directory).unwrap();
    let mut pi = Served::spawn(env.command(&["mcp", "serve"]).current_dir(&directory));
    pi.initialize(&json!({}));
    let result = pi.tool("run", &json!({ "prompt": "Go." }));
    assert_eq!(
        result["structuredContent"]["cwd"].as_str().map(|cwd| cwd.ends_with("odd-\u{fffd}")),
        Some(true),
        "{result}"
    );
    let status = pi.tool("status", &json!({}));
    assert_eq!(status["structuredContent"]["runs"][0]["outcome"], "completed", "{status}");
}

#[test]
fn invalid_options_are_errors() {
    let env = TestEnv::new();
    fs::write(env.project().join("short"), "abc").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["--dir", "nowhere"], "--dir: "),
        (&["--max-runs", "0"], "--max-runs: \"0\" is not a number from 1 to 64"),
        (&["--max-total-cost", "0"], "--max-total-cost: \"0\" is not an amount"),
        (&["--token-file", "short"], "--token-file and --allow-host require --http"),
        (&["--http", "--token-file", "short"], "--token-file short: a token has 16 or more"),
        (
            &["--http", "--allow-host", "pi.example:8808"],
            "--allow-host: expected a host name without",
        ),
        (&["--http", "--allow-host", "http://pi.example"], "--allow-host: expected a host name"),
        (&["--profile", "root"], "--profile: "),
        (&["--max-turns", "x"], "--max-turns: "),
    ];
    for (options, problem) in cases {
        let (code, stderr) = env.failure(&[&["mcp", "serve"], *options].concat());
        assert!(stderr.contains(problem), "{options:?}: {stderr}");
        assert_eq!(code, Some(2), "{options:?}");
    }
}
