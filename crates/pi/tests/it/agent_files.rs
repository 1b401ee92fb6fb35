//! Files of other agents, editors and shells in the workspace, in runs that no one watches.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::guard::{bash, model, results};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;
use crate::trusted_files::{add_settings, run, rungs};

const PLANT: &str = "mkdir -p .claude && echo '{\"hooks\":{}}' > .claude/settings.json";

/// A project with some of these files, and a model that changes them and others.
fn setup() -> (TestEnv, Server) {
    let env = TestEnv::new();
    let write = |name: &str| json!({ "path": name, "content": "x" });
    let server = model(
        &env,
        &[
            bash("echo x >> .vscode/tasks.json"),
            bash("mv .vscode old && mkdir .vscode && echo x > .vscode/tasks.json"),
            ("write", write(".vscode/new.json")),
            ("write", write(".mcp.json")),
            bash(PLANT),
            bash("ls -a; mkdir -p .claude.disabled-by-pi/x; touch .envrc"),
            bash(PLANT),
            bash("rm .codex; mkdir .codex; echo x > .codex/config.toml"),
            bash("echo x > conf/config.toml"),
            bash("echo x > AGENTS.md; mkdir -p src/.cargo; echo x > .cargo/config.toml"),
        ],
    );
    for (name, text) in [
        (".vscode/tasks.json", "{}"),
        (".cargo/config.toml", ""),
        ("AGENTS.md", "Be brief.\n"),
        ("conf/config.toml", "model = 1\n"),
    ] {
        let path = env.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    symlink("conf", env.project().join(".codex")).unwrap();
    (env, server)
}

fn read(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.project().join(name)).unwrap_or_default()
}

#[test]
fn nothing_is_planted_for_other_programs() {
    for alone in rungs().iter().copied() {
        let (env, server) = setup();
        let output = run(&env, &["--profile", "unattended"], alone);
        assert!(output.status.success(), "{output:?}");
        let results = results(&server);
        let about = format!("Landlock alone: {alone}, {results:#?}");
        assert_eq!(read(&env, ".vscode/tasks.json"), "{}", "{about}");
        for result in &results[2..4] {
            assert!(result.contains("guard.protectAgentFiles to false"), "{about}");
        }
        for name in [".mcp.json", ".vscode/new.json", ".envrc", ".claude", ".codex/config.toml"] {
            let found = fs::symlink_metadata(env.project().join(name)).is_ok();
            // The link still leads to the file that was there.
            assert!(!found || alone && name.starts_with(".codex"), "{name}: {about}");
        }
        assert_eq!(read(&env, "conf/config.toml"), "model = 1\n", "{about}");
        if !alone {
            // Alone, Landlock lets nothing be created there.
            for (at, new) in [(4, ".claude.disabled-by-pi"), (6, ".claude.disabled-by-pi-2")] {
                let note = format!(".claude was renamed to {}", env.project().join(new).display());
                assert!(results[at].contains(&note), "{about}");
                assert!(results[at].contains("guard.protectAgentFiles to false"), "{about}");
                assert!(read(&env, &format!("{new}/settings.json")).contains("hooks"), "{about}");
            }
            assert!(results[7].contains(".codex was renamed to"), "{about}");
        }
        // What agents are asked to change.
        assert_eq!(read(&env, "AGENTS.md"), "x\n", "{about}");
        assert_eq!(read(&env, ".cargo/config.toml"), "x\n", "{about}");
    }
}

#[test]
fn the_files_are_written_if_the_user_permits_it() {
    let settings = json!({ "guard": { "protectAgentFiles": false } });
    for (profile, settings) in [("explore", json!({})), ("unattended", settings)] {
        if rungs().is_empty() && profile == "unattended" {
            continue;
        }
        let (env, server) = setup();
        add_settings(&env, &settings);
        let output = run(&env, &["--profile", profile], false);
        assert!(output.status.success(), "{output:?}");
        for name in [".mcp.json", ".vscode/new.json", ".claude/settings.json", ".codex/config.toml"]
        {
            assert!(
                !read(&env, name).is_empty() || rungs() == [true],
                "{name}: {:#?}",
                results(&server)
            );
        }
    }
}
