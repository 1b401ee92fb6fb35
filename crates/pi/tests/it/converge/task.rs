//! Task files, recipes and the options of `pi run`.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use super::{commands, configure, run_file, runs};
use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Starts a model that runs a command and says that it is done.
fn working_model(command: &str) -> Server {
    Server::start(vec![commands(&[("call1", command)]), Reply::Text("Done.".to_owned())]).unwrap()
}

fn env_with(server: &Server) -> TestEnv {
    let env = TestEnv::new();
    configure(&env, server);
    env
}

fn write(env: &TestEnv, name: &str, text: &str) {
    let path = env.project().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const TASK: &str = "\
name: greeting
goal: Write {{ word }} into out.txt.
inputs:
  files: [notes.md]
  parameters:
    word: { description: The word }
limits: { turns: 9 }
verify:
  - command: test \"$(cat out.txt)\" = {{ word }}
";

#[test]
fn a_task_file_with_parameters_converges() {
    let server = working_model("echo \"it's\" > out.txt");
    let env = env_with(&server);
    write(&env, "tasks/greet.yaml", TASK);
    write(&env, "tasks/notes.md", "Use a single line.\n");
    let output = env.pi(&["run", "tasks/greet.yaml", "--param", "word=it's", "--max-turns", "7"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let contract = run_file(&env, "contract.json");
    assert_eq!(contract["goal"], "Write it's into out.txt.");
    assert_eq!(contract["limits"]["turns"], 7);
    let sent = server.requests()[0].to_string();
    assert!(sent.contains("Write it's into out.txt."), "{sent}");
    assert!(sent.contains("Use a single line."), "{sent}");
}

#[test]
fn a_task_from_stdin_and_a_recipe_run() {
    let server = working_model("echo hello > out.txt");
    let env = env_with(&server);
    let mut child = env
        .command(&["run", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let task = b"{\"goal\": \"Greet\", \"verify\": [{\"command\": \"test -s out.txt\"}]}";
    child.stdin.take().unwrap().write_all(task).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let server = working_model("echo hello > out.txt");
    let env = env_with(&server);
    write(
        &env,
        "recipe.yaml",
        "title: Greet\ndescription: Writes a greeting\nprompt: Write {{ word }}\nauthor: {contact: me}\n\
         parameters:\n- {key: word, input_type: string, requirement: optional, default: hello}\n\
         retry: {max_retries: 1, checks: [{type: shell, command: 'grep -q {{ word }} out.txt'}]}\n",
    );
    let output = env.pi(&["run", "recipe.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let errors = text(&output.stderr);
    assert!(errors.contains("warning: recipe fields without effect: author"), "{errors}");
}

#[test]
fn mistakes_end_before_anything_starts() {
    let server = Server::start(Vec::new()).unwrap();
    let env = env_with(&server);
    write(&env, "bad.yaml", "goal: x\nlimts: {}\nverify:\n  - comand: true\n");
    write(&env, "broken.json", "{\"goal\": }");
    let cases: &[(&[&str], &str)] = &[
        (
            &["run", "bad.yaml"],
            "pi: bad.yaml:2:1: limts: unknown field; did you mean `limits`?\n\
             pi: bad.yaml:4:5: verify[0].comand: unknown field; did you mean `command`?\n",
        ),
        (&["run", "broken.json"], "pi: broken.json:1:10: invalid JSON: expected value\n"),
        (
            &["run", "none.yaml"],
            "pi: cannot read the task file none.yaml: No such file or directory (os error 2)\n",
        ),
        (&["run"], "pi: the task is missing: give a task file or a goal\n"),
        (
            &["run", "x", "--max-turns", "many", "--timeout", "soon"],
            "pi: --max-turns: expected a whole number\n\
             pi: --timeout: invalid value \"soon\": expected a duration: seconds, or a text such as \
             90s, 30m or 1h30m\n",
        ),
        (
            &["run", "x", "--expect-exit", "1", "--param", "word"],
            "pi: --expect-exit changes the --check before it; there is none\n\
             pi: --param: \"word\" has no equals sign; expected NAME=VALUE\n",
        ),
        (
            &["run", "x", "--set", "limits.turms=5"],
            "pi: --set limits.turms: unknown field; did you mean `turns`?\n",
        ),
        (
            &["run", "x", "--json-schema", "{"],
            "pi: --json-schema: invalid JSON: EOF while parsing an object at line 1 column 1\n",
        ),
    ];
    for (arguments, message) in cases {
        assert_eq!(env.failure(arguments), (Some(2), (*message).to_owned()), "{arguments:?}");
    }
    assert!(runs(&env).is_empty());
    assert!(server.requests().is_empty());
}

#[test]
fn every_field_is_an_option() {
    let server = working_model("true");
    let env = env_with(&server);
    let arguments = [
        "run",
        "x",
        "--explain",
        "--format",
        "json",
        "--name",
        "n",
        "--check",
        "make",
        "--expect-exit",
        "1",
        "--expect-output",
        "a+",
        "--reject-output",
        "b+",
        "--check-timeout",
        "5m",
        "--protect",
        "tests/**",
        "--forbid",
        "*.lock",
        "--require",
        "src/*",
        "--allow",
        "src/**",
        "--exist",
        "out",
        "--max-diff-lines",
        "9",
        "--max-files",
        "2",
        "--assert",
        "/a=1",
        "--review",
        "Good?",
        "--must",
        "It works",
        "--reviewer",
        "m2",
        "--attempts",
        "2",
        "--rounds",
        "3",
        "--strategy",
        "best",
        "--on-failure",
        "patch",
        "--workspace",
        "copy",
        "--fallback",
        "m2",
        "--thinking",
        "low",
        "--tools",
        "read,bash",
        "--exclude-tools",
        "edit",
        "--profile",
        "careful",
        "--sandbox",
        "read-only",
        "--network",
        "a.org,b.org",
        "--approval",
        "defer",
        "--max-tool-calls",
        "4",
        "--max-tokens",
        "5",
        "--max-budget-usd",
        "1.5",
        "--timeout",
        "90",
        "--idle-timeout",
        "2m",
        "--max-output",
        "77",
        "--json-schema",
        "{\"type\":\"object\"}",
        "-o",
        "r.json",
        "--report",
        "report.json",
        "--junit",
        "j.xml",
        "--sarif",
        "s.sarif",
        "--summary",
        "s.md",
        "--record",
        "--set",
        "stuck.same_error=6",
    ];
    let explained: serde_json::Value = serde_json::from_str(&env.out(&arguments)).unwrap();
    let contract = env.stable(&format!("{:#}", explained["contract"]));
    insta::assert_snapshot!(contract);
    assert_eq!(explained["origins"]["/stuck/same_error"], "--set stuck.same_error");
    assert!(server.requests().is_empty());
}

#[test]
fn an_explained_task_names_origins_and_is_a_task() {
    let server = Server::start(Vec::new()).unwrap();
    let env = env_with(&server);
    write(&env, "task.yaml", "goal: Repair it\nverify:\n  - command: make test\n");
    let explained = env.out(&["run", "task.yaml", "--max-cost", "2", "--explain"]);
    for line in [
        "goal: Repair it  # task.yaml:1",
        "  cost_usd: 2.0  # --max-cost",
        "  turns: 500  # default",
        "  - command: make test  # task.yaml:3",
        "#   model: mock/m1, thinking ",
        "#   policy: profile unattended, ",
    ] {
        assert!(explained.contains(line), "{line}\n{explained}");
    }
    write(&env, "again.yaml", &explained);
    let again = env.out(&["run", "again.yaml", "--explain", "--format", "json"]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["contract"]["limits"]["cost_usd"], 2.0);
    assert!(server.requests().is_empty());
}

#[test]
fn a_dry_run_makes_the_checks_and_sends_nothing() {
    let server = Server::start(Vec::new()).unwrap();
    let env = env_with(&server);
    write(&env, "tests/a.sh", "exit 0\n");
    let good = [
        "run",
        "x",
        "--dry-run",
        "--check",
        "echo made > out.txt; test -e wanted",
        "--protect",
        "tests/*",
    ];
    let output = env.pi(&good);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(shown.contains("ok       model: mock/m1"), "{shown}");
    assert!(shown.contains("test -e wanted` fails now, as it should"), "{shown}");
    assert!(shown.ends_with("A run could start. No request was sent.\n"), "{shown}");
    assert!(!env.project().join("out.txt").exists(), "the effects of the check remain");

    let green = env.out(&["run", "x", "--dry-run", "--check", "true"]);
    assert!(green.contains("warning  verify: `true` passes before the work starts"), "{green}");

    let bad = [
        "run",
        "x",
        "--dry-run",
        "--check",
        "no-such-program --all",
        "--protect",
        "spec/**",
        "--report",
        "none/report.json",
        "--workspace",
        "worktree",
    ];
    let output = env.pi(&bad);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("problem  reports: "), "{shown}");
    assert!(shown.contains("problem  workspace: the git worktree cannot be used"), "{shown}");
    let output = env.pi(&bad[..9]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(
        shown.contains("problem  verify: `no-such-program --all` cannot be run (exit code 127)"),
        "{shown}"
    );
    assert!(shown.contains("problem  verify: the pattern spec/** protects no file"), "{shown}");

    fs::remove_file(env.agent().join("models.json")).unwrap();
    let (code, _) = env.failure(&["run", "x", "--dry-run", "--format", "json"]);
    assert_eq!(code, Some(2));
    assert!(server.requests().is_empty());
    assert!(runs(&env).is_empty());
}
