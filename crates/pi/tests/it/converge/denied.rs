//! What checks lack because of the sandbox: named in every place where a person looks, with the
//! option that permits it.

use std::fs;
use std::path::{Path, PathBuf};

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use super::{commands, configure, run_file, runs};
use crate::guard::rung;
use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Too short to be redacted everywhere.
const PASSWORD: &str = "hunter2";

/// A directory outside of the workspace and of the temporary directory, which is private in the
/// sandbox.
fn elsewhere() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs `pi run` with these arguments. Returns the code, stdout and stderr.
fn pi_run(env: &TestEnv, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = env.command(&[&["run"], arguments].concat());
    let output = command.env("DB_PASSWORD", PASSWORD).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn an_examination_names_what_the_sandbox_denies() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = TestEnv::new();
    let server = Server::start(Vec::new()).unwrap();
    configure(&env, &server);
    let elsewhere = elsewhere();
    let directory = elsewhere.path().display().to_string();
    let write = format!("touch {directory}/cache");
    let needs_password = "[ ${#DB_PASSWORD} = 7 ]";
    let cases: &[(&str, &[&str], i32, &str)] = &[
        ("false", &[], 0, "`false` fails now, as it should"),
        (&write, &[], 2, &format!("{directory}/cache: only the workspace and the writable roots")),
        (&write, &[], 2, &format!("; add --add-dir {directory}\n")),
        (&write, &["--add-dir", &directory], 0, "passes before the work starts"),
        (needs_password, &[], 2, "the sandbox denied the variable DB_PASSWORD: "),
        (needs_password, &[], 2, "; add --check-env DB_PASSWORD\n"),
        (needs_password, &["--check-env", "DB_PASSWORD"], 0, "passes before the work starts"),
        ("true", &["--check-env", "NO_SUCH"], 2, "variables that are not set: NO_SUCH; set them"),
        ("true", &["--check-env", "A=B"], 2, "\"A=B\" is not the name of"),
        ("bash -c ': < /dev/tcp/pi.example/80'", &[], 2, "a connection: the network is off; add"),
    ];
    for (check, options, code, expected) in cases {
        let arguments = [&["Work.", "--dry-run", "--check", check], *options].concat();
        let (found, stdout, stderr) = pi_run(&env, &arguments);
        let text = format!("{stdout}{stderr}");
        assert_eq!(found, Some(*code), "{check} {options:?}: {text}");
        assert!(text.contains(expected), "{check} {options:?}: {text}");
        assert!(!text.contains(PASSWORD), "{text}");
    }
}

#[test]
fn a_run_names_what_the_sandbox_denies() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = TestEnv::new();
    let server = Server::choosing(|_, _| Reply::Text("Done.".to_owned())).unwrap();
    configure(&env, &server);
    let elsewhere = elsewhere();
    let directory = elsewhere.path().display().to_string();
    let write = format!("touch {directory}/cache");
    let (code, _, stderr) = pi_run(&env, &["Work.", "--check", &write, "--rounds", "1"]);
    assert_eq!(code, Some(10), "{stderr}");
    let sentence = format!(
        "the sandbox denied {directory}/cache: only the workspace and the writable roots can be \
         written; add --add-dir {directory}"
    );
    let warning = stderr.find(&format!("warning: {sentence}")).unwrap();
    assert!(warning < stderr.find("round 1").unwrap(), "{stderr}");
    let report = run_file(&env, "report.json");
    let denied = json!([{
        "target": format!("{directory}/cache"),
        "rule": "only the workspace and the writable roots can be written",
        "remedy": format!("--add-dir {directory}"),
    }]);
    for check in [&report["before"][0], &report["checks"][0]] {
        assert_eq!(check["denied"], denied);
        assert_eq!(check["failures"].as_array().unwrap().last().unwrap(), &sentence);
    }
    assert!(report["reason"].as_str().unwrap().contains(&sentence), "{report}");
    assert!(report["problems"].to_string().contains(&sentence), "{report}");
    // The feedback to the model.
    let requests = server.requests();
    let feedback = requests.last().unwrap()["messages"].to_string();
    assert!(feedback.contains(&sentence), "{feedback}");
    assert!(feedback.contains("You cannot change what the sandbox denies"), "{feedback}");
}

#[test]
fn variables_reach_the_checks_that_name_them_and_nothing_else() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let show = "echo \"it is <${DB_PASSWORD-unset}>\"; ";
    let fixed = "grep -q right value";
    let needs = format!("{show} {fixed} && [ ${{#DB_PASSWORD}} = 7 ]");
    let lacks = format!("{show} {fixed} && [ -z \"$DB_PASSWORD\" ]");
    let named = json!({ "command": needs, "name": "needs", "env": ["DB_PASSWORD"] });
    // The checks, the variables of all checks, and the code.
    let cases = [
        (json!([named, { "command": lacks, "name": "lacks" }]), json!([]), 0),
        (json!([{ "command": needs, "name": "needs" }]), json!(["DB_PASSWORD"]), 0),
        (json!([{ "command": needs, "name": "needs" }]), json!([]), 10),
        (json!([named]), json!(["NO_SUCH"]), 2),
    ];
    for (verify, check_env, code) in cases {
        let env = TestEnv::new();
        fs::write(env.project().join("value"), "wrong\n").unwrap();
        let call = format!("{show} echo right > value");
        let server = Server::choosing(move |_, index| match index {
            0 => commands(&[("c", &call)]),
            _ => Reply::Text("Done.".to_owned()),
        });
        let server = server.unwrap();
        configure(&env, &server);
        let task = json!({ "goal": "Repair the value.", "verify": verify, "check_env": check_env,
            "attempts": { "rounds": 0 } });
        fs::write(env.agent().join("task.json"), task.to_string()).unwrap();
        let file = env.agent().join("task.json");
        let (found, _, stderr) = pi_run(&env, &[file.to_str().unwrap()]);
        assert_eq!(found, Some(code), "{verify} {check_env}: {stderr}");
        if code == 2 {
            assert!(stderr.contains("variables that are not set: NO_SUCH"), "{stderr}");
            continue;
        }
        let requests: String = server.requests().iter().map(Value::to_string).collect();
        assert!(requests.contains("it is <unset>"), "{requests}");
        assert!(!requests.contains(PASSWORD), "{requests}");
        if code == 0 {
            let report = run_file(&env, "report.json");
            let output = report["checks"][0]["output"].as_str().unwrap();
            assert!(output.contains("it is <[masked:DB_PASSWORD]>"), "{output}");
        }
        let [run] = runs(&env).try_into().unwrap();
        let files = [files(&run), files(&run.join("checks"))].concat();
        assert!(files.iter().any(|file| file.ends_with("checks/before-1.log")), "{files:?}");
        for file in files.iter().filter(|file| file.is_file()) {
            let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
            assert!(!text.contains(PASSWORD), "{}", file.display());
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}
