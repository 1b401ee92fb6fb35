//! The commands for packages, and packages at the start of a session.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::registry::{Fault, TestRegistry};
use crate::terminal::Terminal;
use crate::test_env::TestEnv;

struct PackageEnv {
    env: TestEnv,
    registry: TestRegistry,
}

impl PackageEnv {
    fn new() -> Self {
        let (env, registry) = (TestEnv::new(), TestRegistry::start());
        fs::create_dir_all(env.agent()).unwrap();
        Self { env, registry }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(arguments);
        command.env("npm_config_registry", &self.registry.url);
        command
    }

    /// Runs `pi` and returns what it printed, with paths that do not change.
    fn pi(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let mut text =
            format!("$ pi {} -> {}\n", arguments.join(" "), output.status.code().unwrap());
        for (name, bytes) in [("out", output.stdout), ("err", output.stderr)] {
            for line in String::from_utf8(bytes).unwrap().lines() {
                text.push_str(&format!("{name}: {line}\n"));
            }
        }
        self.env.stable(&text.replace(&self.registry.url, "http://registry/"))
    }

    fn settings(&self) -> Value {
        let text = fs::read(self.env.agent().join("settings.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn write_settings(&self, settings: &Value) {
        fs::write(self.env.agent().join("settings.json"), settings.to_string()).unwrap();
    }

    fn is_installed(&self, name: &str) -> bool {
        self.env.agent().join("npm/node_modules").join(name).exists()
    }

    /// Adds a model, so that a session starts without a network.
    fn add_model(&self) {
        let models = json!({"providers": {"mock": {
            "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k",
            "models": [{"id": "m1", "contextWindow": 1000, "maxTokens": 100}],
        }}});
        fs::write(self.env.agent().join("models.json"), models.to_string()).unwrap();
    }

    /// Starts a session and returns the names of its commands, and stderr.
    fn commands(&self, arguments: &[&str]) -> (Vec<String>, String) {
        let mut command =
            self.command(&[&["--mode", "rpc", "--model", "mock/m1"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"{\"type\":\"get_commands\"}\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = self.env.stable(&String::from_utf8(output.stderr).unwrap());
        let stderr = stderr.replace(&self.registry.url, "http://registry/");
        let lines = String::from_utf8(output.stdout).unwrap();
        let answers = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answer = answers.into_iter().find(|answer| answer["command"] == "get_commands");
        let answer = answer.unwrap_or_else(|| panic!("{lines}{stderr}"));
        let commands = answer["data"]["commands"].as_array().unwrap();
        let names = commands.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        (names, stderr)
    }
}

#[test]
fn the_commands_print_what_pi_prints() {
    let env = PackageEnv::new();
    env.registry.publish("left", "1.0.0", json!({}));
    env.registry.publish("@me/pk", "1.0.0", json!({"dependencies": {"left": "1"}}));
    env.registry.publish("loose", "1.0.0", json!({"scripts": {"postinstall": "false"}}));
    let mut text = String::new();
    for line in [
        &["list"][..],
        &["install", "npm:@me/pk@1.0.0"],
        &["install", "npm:loose"],
        &["list"],
        &["update", "--extensions"],
        &["install", "npm:none"],
        &["install", "nowhere"],
        &["install", "npm:../x"],
        &["remove", "npm:none"],
        &["update", "npm:none"],
    ] {
        text.push_str(&env.pi(line));
    }
    env.registry.publish("loose", "1.1.0", json!({}));
    for line in [
        &["update", "--extensions"][..],
        &["update", "npm:loose"],
        &["update", "--extension", "npm:@me/pk"],
        &["update", "--models"],
        &["install", "-l", "npm:loose"],
        &["list"],
        &["remove", "-l", "npm:loose"],
        &["list", "--approve"],
        &["remove", "-l", "-a", "npm:loose"],
        &["remove", "npm:@me/pk"],
        &["uninstall", "npm:loose"],
        &["list"],
        &["install"],
        &["install", "a", "b"],
        &["install", "--bogus", "x"],
        &["list", "x"],
    ] {
        text.push_str(&env.pi(line));
    }
    insta::assert_snapshot!(text);
    assert_eq!(env.settings(), json!({"packages": []}));
}

#[test]
fn the_list_is_available_as_json() {
    let env = PackageEnv::new();
    env.registry.publish("pk", "1.2.3", json!({}));
    env.pi(&["install", "npm:pk"]);
    let filtered = json!({"source": "git:github.com/u/r", "skills": []});
    env.write_settings(&json!({"packages": ["npm:pk", filtered]}));
    let list: Value = serde_json::from_str(&env.env.out(&["list", "--json"])).unwrap();
    let expected = json!([
        {
            "source": "npm:pk", "scope": "user", "filtered": false, "installed": true,
            "directory": env.env.agent().join("npm/node_modules/pk"), "version": "1.2.3",
            "extensions": ["extensions/main.ts"], "skills": [], "prompts": [], "themes": [],
        },
        {
            "source": "git:github.com/u/r", "scope": "user", "filtered": true, "installed": false,
            "directory": null, "version": null,
            "extensions": [], "skills": [], "prompts": [], "themes": [],
        },
    ]);
    assert_eq!(list, expected);
}

#[test]
fn a_missing_package_is_installed_at_the_start() {
    let env = PackageEnv::new();
    env.add_model();
    let package = json!({"name": "pk", "version": "1.0.0"});
    let skill = "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n";
    let archive = crate::archives::archive(&[
        crate::archives::Entry::file("package/package.json", &package.to_string()),
        crate::archives::Entry::file("package/skills/greet/SKILL.md", skill),
        crate::archives::Entry::file("package/prompts/review.md", "Review."),
    ]);
    env.registry.publish_archive(&package, archive);
    env.write_settings(&json!({"packages": ["npm:gone", "npm:pk"]}));
    let (commands, stderr) = env.commands(&["--offline"]);
    assert!(commands.is_empty() && env.registry.seen().is_empty(), "{commands:?}");
    assert!(stderr.contains("npm:pk is not installed"), "{stderr}");
    // The session itself starts only where commands can be sandboxed.
    let output = env.command(&["--profile", "unattended", "-p", "x"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("unattended runs install nothing"), "{stderr}");
    assert!(env.registry.seen().is_empty() && !env.is_installed("pk"));
    let (commands, stderr) = env.commands(&[]);
    assert_eq!(commands, ["review", "skill:greet"]);
    assert_eq!(
        stderr.lines().filter(|line| line.contains("npm:gone")).collect::<Vec<_>>(),
        [
            "pi: warning: Extension package \"npm:gone\": failed to install (gone is not in the registry \
          http://registry/). Run \"pi remove npm:gone\" to remove it from settings.json."
        ]
    );
    env.registry.seen();
    env.write_settings(&json!({"packages": ["npm:pk"]}));
    assert_eq!(env.commands(&[]).0, ["review", "skill:greet"]);
    assert_eq!(env.registry.seen(), [], "nothing is missing");
    env.write_settings(&json!({}));
    assert_eq!(env.commands(&["-e", "npm:pk"]).0, ["review", "skill:greet"], "for one run");
    assert_eq!(env.settings(), json!({}));
    let output = env.command(&["-e", "npm:none", "-p", "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("none is not in the registry"));
}

#[test]
fn two_installations_at_once_both_succeed() {
    let env = PackageEnv::new();
    let names = ["a", "b", "c", "d"];
    for name in names {
        env.registry.publish(name, "1.0.0", json!({}));
        env.registry.fail(&format!("/{name}"), Fault::Status(503));
    }
    let start = |name: &str| {
        let mut command = env.command(&["install", &format!("npm:{name}")]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let children = names.map(start);
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(names.iter().all(|name| env.is_installed(name)));
    let settings = env.settings();
    let mut packages: Vec<&str> =
        settings["packages"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    packages.sort_unstable();
    assert_eq!(packages, ["npm:a", "npm:b", "npm:c", "npm:d"]);
}

#[test]
fn resources_are_selected_on_a_screen() {
    let env = PackageEnv::new();
    env.registry.publish("pk", "1.0.0", json!({}));
    env.pi(&["install", "npm:pk"]);
    let mut terminal = Terminal::start(env.command(&["config"]));
    terminal.wait_for("Global Resources");
    terminal.wait_for("main.ts");
    terminal.type_text(" ");
    terminal.wait_for("[ ]");
    terminal.type_text("\u{1b}");
    let (status, text) = terminal.finish();
    assert!(status.success(), "{text}");
    let expected = json!([{"source": "npm:pk", "extensions": ["-extensions/main.ts"]}]);
    assert_eq!(env.settings()["packages"], expected);
}
