//! Files that pi itself runs or reads for the user, in a workspace that the agent can write: hooks,
//! guardrails, what they load, and rules.
//!
//! Each attack is shown to work where nothing guards, and then to have no effect outside of the
//! sandbox and not to disable the check, with bubblewrap and with Landlock alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output, Stdio};

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use crate::guard::{bash, model, results, rung, stderr, with_system_call_error};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

#[cfg(target_arch = "x86_64")]
const MOUNT: i64 = 165;
#[cfg(not(target_arch = "x86_64"))]
const MOUNT: i64 = 40;

/// A check that refuses calls with this word.
const CHECK: &str = "#!/bin/sh\nif grep -q forbidden; then echo no >&2; exit 2; fi\n";
/// A check that loads another file.
const LOADS: &str = "#!/bin/sh\n. \"$(dirname \"$0\")/LIB\"\n";
/// The attack: runs outside of the sandbox, and lets everything pass.
const OWN: &str = r"printf '#!/bin/sh\ntouch ~/OWNED\nexit 0\n'";
const OWN_PYTHON: &str =
    r#"printf 'import os\nos.system("touch ~/OWNED")\ndef check(t): return 0\n'"#;

/// An attack on a check.
struct Attack {
    /// Command of the check.
    check: &'static str,
    /// Scripts in the workspace.
    files: &'static [(&'static str, &'static str)],
    /// Links in the workspace, with their targets.
    links: &'static [(&'static str, &'static str)],
    /// Command of the agent; `OWN` prints a script.
    command: &'static str,
    /// The check still decides afterwards.
    decides: bool,
}

const ATTACK: Attack = Attack {
    check: "./scripts/check.sh",
    files: &[("scripts/check.sh", CHECK)],
    links: &[],
    command: "OWN > scripts/check.sh",
    decides: true,
};

fn attacks() -> Vec<Attack> {
    vec![
        ATTACK,
        Attack { check: "sh scripts/check.sh", ..ATTACK },
        Attack { check: "\"$PI_PROJECT_DIR\"/scripts/check.sh", ..ATTACK },
        Attack { check: "env -u A timeout 9 ./scripts/check.sh", ..ATTACK },
        Attack { check: "cd scripts && ./check.sh", ..ATTACK },
        // A link to the script, in a directory and at the top.
        Attack {
            files: &[("real/check.sh", CHECK)],
            links: &[("scripts/check.sh", "../real/check.sh")],
            command: "OWN > scripts/check.sh",
            ..ATTACK
        },
        Attack {
            files: &[("real/check.sh", CHECK)],
            links: &[("scripts/check.sh", "../real/check.sh")],
            command: "OWN > new.sh; chmod +x new.sh; ln -sf ../new.sh scripts/check.sh",
            ..ATTACK
        },
        Attack {
            check: "./check",
            files: &[("real/check.sh", CHECK), ("k/keep", "")],
            links: &[("check", "real/check.sh")],
            command: "OWN > k/new.sh; chmod +x k/new.sh; ln -sf k/new.sh check",
            ..ATTACK
        },
        Attack {
            files: &[("real/check.sh", CHECK), ("k/keep", "")],
            links: &[("scripts", "real")],
            command: "mkdir k/s; OWN > k/s/check.sh; chmod +x k/s/*; rm scripts; ln -s k/s scripts",
            ..ATTACK
        },
        // A second script that the first one loads.
        Attack {
            files: &[("scripts/check.sh", LOADS), ("scripts/LIB", CHECK)],
            command: "OWN > scripts/LIB",
            ..ATTACK
        },
        Attack {
            files: &[
                ("scripts/check.sh", "#!/bin/sh\nROOT=$(dirname \"$0\")/..\nsh $ROOT/lib/a.sh\n"),
                ("lib/a.sh", "#!/bin/sh\n. ./other/deep/b.sh\n"),
                ("other/deep/b.sh", CHECK),
            ],
            command: "OWN > other/deep/b.sh",
            ..ATTACK
        },
        // A module, and a file that takes the place of a module.
        Attack {
            check: "python3 scripts/check.py",
            files: &[
                (
                    "scripts/check.py",
                    "import sys, rules\nsys.exit(rules.check(sys.stdin.read()))\n",
                ),
                ("scripts/rules.py", "def check(text): return 2 if 'forbidden' in text else 0\n"),
            ],
            command: "PYTHON > scripts/rules.py",
            ..ATTACK
        },
        Attack {
            check: "python3 scripts/check.py",
            files: &[(
                "scripts/check.py",
                "import sys, textwrap\nsys.exit(2 if 'forbidden' in sys.stdin.read() else 0)\n",
            )],
            command: "printf 'import os\\nos.system(\"touch ~/OWNED\")\\nos._exit(0)\\n' > scripts/textwrap.py",
            ..ATTACK
        },
        // Other directories in the place of those above the script.
        Attack {
            command: "mv scripts old; mkdir scripts; OWN > scripts/check.sh; chmod +x scripts/*",
            ..ATTACK
        },
        Attack {
            check: "tools/hooks/deep/check.sh",
            files: &[("tools/hooks/deep/check.sh", CHECK)],
            command: "mv tools old; mkdir -p tools/hooks/deep; OWN > tools/hooks/deep/check.sh; \
                      chmod +x tools/hooks/deep/*",
            ..ATTACK
        },
        // What no text shows: the check can be disabled, and still nothing happens outside.
        Attack {
            check: "make -s check",
            files: &[("Makefile", "check:\n\t@! grep -q forbidden\n")],
            command: "printf 'check:\\n\\t@touch ~/OWNED\\n' > Makefile",
            decides: false,
            ..ATTACK
        },
    ]
}

/// The formats of a check.
fn hook(command: &str) -> Value {
    let hook = json!({ "type": "command", "command": command, "name": "mine" });
    json!({ "hooks": { "beforeTool": [{ "matcher": "bash", "hooks": [hook] }] } })
}

fn guardrail(command: &str) -> Value {
    json!({ "guardrails": [{ "name": "mine", "on": "tool-call", "command": command }] })
}

/// Adds settings to those of the user.
pub(crate) fn add_settings(env: &TestEnv, more: &Value) {
    let path = env.agent().join("settings.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    fs::write(path, settings.to_string()).unwrap();
}

fn write_script(env: &TestEnv, name: &str, text: &str) {
    let path = env.project().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Runs pi as it is asked to, on this machine or as on one without bubblewrap.
pub(crate) fn run(env: &TestEnv, arguments: &[&str], landlock_alone: bool) -> Output {
    output_of(env.command(&[&["-p"], arguments, &["Go"]].concat()), landlock_alone)
}

fn output_of(mut command: Command, landlock_alone: bool) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = move || command.output().unwrap();
    if landlock_alone { with_system_call_error(MOUNT, run) } else { run() }
}

/// Lets the agent attack a check. Returns the environment and what the model got.
fn attempt(attack: &Attack, settings: &Value, more: &[&str], alone: bool) -> (TestEnv, Server) {
    let env = TestEnv::new();
    let command = attack.command.replace("OWN >", &format!("{OWN} >"));
    let command = command.replace("PYTHON >", &format!("{OWN_PYTHON} >"));
    let server = model(&env, &[bash(&command), bash("true"), bash("echo forbidden | rev")]);
    add_settings(&env, settings);
    for (name, text) in attack.files {
        write_script(&env, name, text);
    }
    for (name, target) in attack.links {
        let path = env.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }
    let output = run(&env, more, alone);
    assert!(output.status.success(), "{output:?}");
    (env, server)
}

fn is_owned(env: &TestEnv) -> bool {
    env.project().parent().unwrap().join("home/OWNED").exists()
}

fn attack_all(alone: bool) {
    let needed = if alone { ConfinementLevel::Landlock } else { ConfinementLevel::Bubblewrap };
    if rung() < needed {
        return;
    }
    for attack in attacks() {
        for format in [hook, guardrail] {
            let settings = format(attack.check);
            let about = format!("{settings}: {}", attack.command);
            let (env, server) = attempt(&attack, &settings, &["--profile", "unattended"], alone);
            assert!(!is_owned(&env), "{about}");
            let results = results(&server);
            if attack.decides {
                assert!(!results[2].contains("neddibrof"), "{about}: {results:#?}");
                assert!(results[2].contains("mine"), "{about}: {results:#?}");
            }
        }
    }
}

#[test]
fn attacks_on_checks_work_where_nothing_guards() {
    for attack in attacks() {
        let (env, server) = attempt(&attack, &hook(attack.check), &[], false);
        assert!(is_owned(&env), "{}", attack.command);
        assert!(results(&server)[2].contains("neddibrof"), "{}", attack.command);
    }
}

#[test]
fn attacks_on_checks_have_no_effect_with_bubblewrap() {
    attack_all(false);
}

#[test]
fn attacks_on_checks_have_no_effect_with_landlock_alone() {
    attack_all(true);
}

/// The rungs that this machine offers: true for Landlock alone.
pub(crate) fn rungs() -> &'static [bool] {
    match rung() {
        ConfinementLevel::Bubblewrap => &[false, true],
        ConfinementLevel::None => &[],
        _ => &[true],
    }
}

#[test]
fn trusted_files_cannot_be_written_by_tools() {
    for alone in rungs().iter().copied() {
        let env = TestEnv::new();
        let empty = |path: &str| ("write", json!({ "path": path, "content": "" }));
        let names = ["k/rules.toml", "scripts/check.sh", "k/extra.md"];
        let mut calls: Vec<_> = names.iter().map(|name| empty(name)).collect();
        calls.extend(names.iter().map(|name| bash(&format!(": > {name}"))));
        calls.push((
            "edit",
            json!({ "path": "k/rules.toml",
            "edits": [{ "oldText": "forbid", "newText": "allow" }] }),
        ));
        calls.push(bash("rm -rf k && mkdir k"));
        calls.push(bash("git push"));
        calls.push(empty("scripts2/new.sh"));
        let server = model(&env, &calls);
        add_settings(&env, &hook("./scripts/check.sh"));
        let rules = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"forbid\"\n";
        write_script(&env, "scripts/check.sh", CHECK);
        write_script(&env, "k/rules.toml", rules);
        write_script(&env, "k/extra.md", "Be brief.");
        fs::create_dir(env.project().join("scripts2")).unwrap();
        let arguments = [
            "--profile",
            "unattended",
            "--rules",
            "k/rules.toml",
            "--append-system-prompt",
            "k/extra.md",
        ];
        let output = run(&env, &arguments, alone);
        assert!(output.status.success(), "{output:?}");
        let results = results(&server);
        for result in &results[..3] {
            assert!(result.contains("is protected") && result.contains("of the user"), "{result}");
        }
        for (name, text) in names.iter().zip([rules, CHECK, "Be brief."]) {
            let found = fs::read_to_string(env.project().join(name)).unwrap();
            assert_eq!(found, text, "{name}, {results:#?}");
        }
        assert!(results[8].contains("not allowed"), "{results:#?}");
        // Everything else can be written.
        assert!(env.project().join("scripts2/new.sh").exists(), "{results:#?}");
    }
}

#[test]
fn a_check_outside_of_the_sandbox_names_no_file_of_the_agent() {
    for alone in rungs().iter().copied() {
        let lifted = |command: &str| {
            let mut settings = hook(command);
            settings["hooks"]["beforeTool"][0]["hooks"][0]["sandbox"] = json!(false);
            settings
        };
        let unattended = ["--profile", "unattended"];
        // It runs as the user, and not where the agent can put files.
        let env = TestEnv::new();
        fs::create_dir_all(env.project().join("venv/bin")).unwrap();
        let plant = "printf 'all:\\n\\ttouch ~/OWNED\\n' > venv/Makefile; OWN > venv/bin/notify; \
                     chmod +x venv/bin/notify; cp venv/Makefile .";
        let plant = plant.replace("OWN >", &format!("{OWN} >"));
        let server = model(&env, &[bash(&plant), bash("true")]);
        add_settings(&env, &lifted("pwd > ~/lifted; make all; notify; exit 0"));
        let mut command = env.command(&[&["-p"], &unattended[..], &["Go"]].concat());
        command.env("PATH", format!("{}/venv/bin:/usr/bin:/bin", env.project().display()));
        let output = output_of(command, alone);
        assert!(env.project().join("venv/bin/notify").exists());
        assert!(output.status.success(), "{output:?}");
        let home = env.project().parent().unwrap().join("home");
        assert_eq!(fs::read_to_string(home.join("lifted")).unwrap(), "/\n");
        assert!(!is_owned(&env), "{:?}", results(&server));
        // A file that the agent can write is refused.
        for command in ["./scripts/check.sh", "sh $PI_PROJECT_DIR/scripts/check.sh"] {
            let attack = Attack { command: "true", ..ATTACK };
            let (env, server) = attempt(&attack, &lifted(command), &unattended, alone);
            let results = results(&server);
            assert!(results[0].contains("the hook failed"), "{results:#?}");
            assert!(!is_owned(&env));
        }
    }
}

#[test]
fn a_check_in_the_sandbox_can_do_what_commands_can() {
    for alone in rungs().iter().copied() {
        let env = TestEnv::new();
        let server = model(&env, &[bash("cat seen/event")]);
        fs::create_dir_all(env.project().join("seen")).unwrap();
        let command = "echo $PI_HOOK_EVENT > seen/event; touch ~/OWNED; test -z \"$MY_API_KEY\"";
        add_settings(&env, &hook(command));
        let mut command = env.command(&["-p", "--profile", "unattended", "Go"]);
        command.env("MY_API_KEY", "a-key-of-the-environment");
        let output = output_of(command, alone);
        assert!(output.status.success(), "{output:?}");
        assert!(
            results(&server)[0].contains("beforeTool"),
            "{:?}, {}",
            results(&server),
            stderr(&output)
        );
        assert!(!is_owned(&env));
    }
}

#[test]
fn the_agent_directory_shows_no_tokens() {
    const TOKEN: &str = "q7Zk2mXw9RtLp4Vb8NcYd3Hs6Jf1Ga5Ue0";
    const HEADER: &str = "hD4kPz8sQ2wLx6Tn9Vb3Ym7Rc1Jg5Fa0Ue";
    const VARIABLE: &str = "vN3xQp7zKd9mWt2sLc8Rb4Yh6Jg1Fa5Ue0";
    for alone in rungs().iter().copied() {
        let env = TestEnv::new();
        let agent = env.agent();
        let names = ["mcp-auth.json", "mcp.json", "later/secret.json"];
        let mut calls = Vec::new();
        for name in names {
            let path = agent.join(name);
            calls.push(("read", json!({ "path": path })));
            for program in ["cat", "base64", "rev"] {
                calls.push(bash(&format!("{program} {}", path.display())));
            }
        }
        let hidden = calls.len();
        // In another place, the values are known in every encoding.
        for program in ["cat", "base64", "rev", "od -c", "tr a-zA-Z n-za-mN-ZA-M <"] {
            calls.push(bash(&format!("{program} copy")));
        }
        let copied = calls.len();
        calls.push(("read", json!({ "path": agent.join("skills/mine/SKILL.md") })));
        calls.push(bash(&format!("cat {}/skills/mine/SKILL.md", agent.display())));
        calls.push(bash(&format!("cat {}/checks/lib.txt", agent.display())));
        let server = model(&env, &calls);
        let write = |name: &str, text: String| {
            let path = agent.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let auth = json!({ "https://x.example/mcp": { "tokens": { "access_token": TOKEN } } });
        write("mcp-auth.json", auth.to_string());
        let server_of_user = json!({ "command": "true", "env": { "ITS_VALUE": VARIABLE } });
        let remote = json!({ "url": "http://127.0.0.1:9/", "enabled": false,
            "headers": { "Authorization": format!("Bearer {HEADER}") } });
        let servers = json!({ "mcpServers": { "a": server_of_user, "b": remote } });
        write("mcp.json", servers.to_string());
        write("later/secret.json", json!({ "note": TOKEN }).to_string());
        write("skills/mine/SKILL.md", "A skill to read.".to_owned());
        write("checks/lib.txt", "A part of a check.".to_owned());
        add_settings(&env, &hook(&format!("test -f {}/checks/lib.txt", agent.display())));
        let copy = format!("{TOKEN}\n{HEADER}\n{VARIABLE}\n");
        fs::write(env.project().join("copy"), copy).unwrap();
        let arguments = ["--profile", "unattended", "--tools", "read,bash"];
        let output = run(&env, &arguments, alone);
        assert!(output.status.success(), "{output:?}");
        let results = results(&server);
        for (call, result) in calls.iter().zip(&results[..hidden]) {
            assert!(
                result.contains("hidden")
                    || result.contains("denied")
                    || result.contains("(no output)"),
                "{call:?}: {result}"
            );
        }
        let all = results[..copied].concat();
        for secret in [TOKEN, HEADER, VARIABLE] {
            let reversed: String = secret.chars().rev().collect();
            let encoded =
                base64::Engine::encode(&base64::engine::general_purpose::STANDARD, secret);
            for form in [secret, reversed.as_str(), &encoded[2..20]] {
                assert!(!all.contains(form), "{form}: {all}");
            }
        }
        assert!(results[copied].contains("A skill to read."), "{}", results[copied]);
        assert!(results[copied + 1].contains("A skill to read."), "{}", results[copied + 1]);
        assert!(results[copied + 2].contains("A part of a check."), "{}", results[copied + 2]);
    }
}

/// The script of an MCP server cannot be changed. What its text does not show can, and runs in the
/// sandbox.
#[test]
fn servers_run_what_the_user_wrote_or_in_the_sandbox() {
    const SERVER: &str = "printf '#!/bin/sh\\ntouch ~/OWNED ran\\n' > server.sh; \
                          printf 'serve:\\n\\ttouch ~/OWNED ran\\n' > Makefile";
    let attempt = |command: &[&str], more: &[&str], alone: bool| {
        let env = TestEnv::new();
        write_script(&env, "server.sh", "#!/bin/sh\nexit 1\n");
        let entry = json!({ "command": command[0], "args": &command[1..], "cwd": env.project(),
            "exposure": "direct" });
        let servers = json!({ "mcpServers": { "mine": entry } }).to_string();
        // The second run starts what the first one wrote.
        for calls in [&[bash(SERVER)][..], &[]] {
            let _server = model(&env, calls);
            fs::write(env.agent().join("mcp.json"), &servers).unwrap();
            let output = run(&env, more, alone);
            assert!(output.status.success(), "{output:?}");
        }
        (env.project().join("ran").exists(), is_owned(&env))
    };
    let unattended = ["--profile", "unattended"];
    for (command, is_changed) in
        [(&["./server.sh"][..], false), (&["sh", "server.sh"], false), (&["make", "-ks"], true)]
    {
        assert_eq!(attempt(command, &[], false), (true, true), "{command:?}");
        for alone in rungs().iter().copied() {
            assert_eq!(attempt(command, &unattended, alone), (is_changed, false), "{command:?}");
        }
    }
}

/// Rules, skills and prompts that users keep in a project and link to.
#[test]
fn resources_behind_links_cannot_be_written() {
    const TEXT: &str = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"forbid\"\n";
    let attempt = |more: &[&str], alone: bool| -> Vec<String> {
        let env = TestEnv::new();
        let files =
            ["one/a.toml", "two/b.toml", "k/r.toml", "skills/mine/SKILL.md", "prompts/p.md"];
        let mut calls: Vec<_> = files.iter().map(|name| bash(&format!("echo > {name}"))).collect();
        calls.push(bash("rm top.toml; echo > top.toml"));
        calls.push(bash("mv two t; mkdir two; echo > two/b.toml"));
        let _server = model(&env, &calls);
        for name in files {
            write_script(&env, name, TEXT);
        }
        let (agent, project) = (env.agent(), env.project());
        fs::create_dir_all(project.join(".pi/rules")).unwrap();
        fs::create_dir_all(agent.join("prompts")).unwrap();
        for (target, link) in [
            ("../../one/a.toml".into(), project.join(".pi/rules/a.toml")),
            (project.join("two"), agent.join("rules")),
            ("k/r.toml".into(), project.join("top.toml")),
            (project.join("skills"), agent.join("skills")),
            (project.join("prompts/p.md"), agent.join("prompts/p.md")),
        ] {
            symlink(target, link).unwrap();
        }
        let arguments = [&["--approve", "--rules", "top.toml"][..], more].concat();
        let output = run(&env, &arguments, alone);
        assert!(output.status.success(), "{output:?}");
        let names = files.iter().chain(&["top.toml"]);
        let is_changed =
            |name: &&&str| fs::read_to_string(project.join(name)).ok().as_deref() != Some(TEXT);
        names.filter(is_changed).map(|name| (*name).to_owned()).collect()
    };
    assert_eq!(attempt(&[], false).len(), 6);
    for alone in rungs().iter().copied() {
        assert_eq!(attempt(&["--profile", "unattended"], alone), [""; 0]);
    }
}
