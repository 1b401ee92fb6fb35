//! Agent specs through the binary: `--agent`, `pi agents`, sub-agents in `pi run`.

use std::fs;

use serde_json::{Value, json};

use super::{commands, configure, run_file, runs};
use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

const LEAD: &str = "name: lead\ndescription: Delegates\nsystem_prompt: You lead.\ntools: [read]\n\
                    subagents: {worker: {path: ./worker.md, description: Works}}\n";
const WORKER: &str = "---\nname: worker\ntools: Bash\n---\nYou work.\n";

/// A project with specs and a scripted model.
fn env(replies: Vec<Reply>) -> (TestEnv, Server) {
    let env = TestEnv::new();
    let server = Server::start(replies).unwrap();
    configure(&env, &server);
    let agents = env.agent().join("agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("lead.yaml"), LEAD).unwrap();
    fs::write(agents.join("worker.md"), WORKER).unwrap();
    (env, server)
}

fn task(id: &str) -> Reply {
    let args = json!({"agent": "worker", "prompt": "Write the file."});
    let (id, name) = (id.to_owned(), "task".to_owned());
    Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
}

fn text(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

fn messages(request: &Value) -> String {
    request["messages"].to_string()
}

#[test]
fn an_installed_agent_delegates_in_print_mode() {
    let replies = vec![task("t1"), text("The worker is done."), text("All done.")];
    let (env, server) = env(replies);
    let out = env.out(&["-p", "--agent", "lead", "Go"]);
    assert_eq!(out, "All done.\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(messages(&requests[0]).contains("You lead."));
    assert!(messages(&requests[1]).contains("You work."));
    assert!(!messages(&requests[1]).contains("You lead."));
    assert!(messages(&requests[2]).contains("The worker is done."));
}

#[test]
fn invalid_specs_are_usage_errors_with_their_line() {
    let (env, server) = env(vec![]);
    fs::write(env.project().join("bad.yaml"), "name: bad\ntolls: [read]\n").unwrap();
    for arguments in [
        &["-p", "--agent", "./bad.yaml", "Go"][..],
        &["agents", "check", "./bad.yaml"],
        &["run", "Go", "--agent", "./bad.yaml"],
    ] {
        let (code, stderr) = env.failure(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        let expected = "bad.yaml:2:1: tolls: unknown field; did you mean `tools`?";
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn agents_are_listed_shown_and_checked() {
    let (env, _server) = env(vec![]);
    let list = env.out(&["agents"]);
    assert!(list.starts_with("lead                  Delegates\nworker"), "{list}");
    let spec: Value = serde_json::from_str(&env.out(&["agents", "show", "worker"])).unwrap();
    assert_eq!(spec["tools"], json!(["bash"]));
    assert_eq!(env.out(&["agents", "check", "lead"]).lines().count(), 2);
}

#[test]
fn a_run_converges_through_a_sub_agent() {
    let replies = vec![
        task("t1"),
        commands(&[("c1", "echo done > result.txt")]),
        text("Written."),
        text("The file is there."),
    ];
    let (env, server) = env(replies);
    // Without a sandbox, a person has to accept the result.
    let run = ["run", "Go", "--agent", "lead", "--profile", "explore"];
    let check = ["--check", "grep -q done result.txt", "--accept-review"];
    let (code, stderr) = env.failure(&[&run[..], &check[..]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(server.requests().len(), 4);
    let report = run_file(&env, "report.json");
    assert_eq!(report["outcome"], "converged");
    assert_eq!(report["limits"]["spent"]["turns"], 4, "requests of the sub-agent count: {report}");
}

#[test]
fn a_sub_agent_that_needs_approval_suspends_the_run() {
    let replies = vec![
        task("t1"),
        commands(&[("c1", "echo once | tee -a log")]),
        text("Written."),
        text("Done."),
    ];
    let (env, server) = env(replies);
    let rules = env.agent().join("ask.toml");
    fs::write(&rules, "[[command]]\nprefix = [\"tee\"]\ndecision = \"ask\"\n").unwrap();
    let rules = rules.display().to_string();
    let options = ["run", "Go", "--agent", "lead", "--profile", "explore", "--approval", "defer"];
    let (code, stderr) = env.failure(&[&options[..], &["--rules", &rules]].concat());
    assert_eq!(code, Some(15), "{stderr}");
    assert!(!env.project().join("log").exists());
    let run = runs(&env)[0].file_name().unwrap().to_str().unwrap().to_owned();
    let (code, stderr) = env.failure(&["run", "--resume", &run, "--approve", "1"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(fs::read_to_string(env.project().join("log")).unwrap(), "once\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 4, "no request is repeated");
    assert!(messages(&requests[3]).contains("Written."));
}
