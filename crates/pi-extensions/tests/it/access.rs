//! Extensions with fewer rights than the user, and their attempts to have more.

use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_agent::BoxFuture;
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver};
use pi_coding_agent::{AgentOptions, Environment, load_guard};
use pi_extensions::{Access, Rights};
use serde_json::{Value, json};

use crate::trial::Setup;

/// An extension whose tool `attempt` runs JavaScript and returns its value, or the code of its error.
const ATTEMPT: &str = r#"
import * as fs from "node:fs";
import * as fsp from "node:fs/promises";
import * as child from "node:child_process";
export default function (pi: any) {
    pi.registerTool({
        name: "attempt", label: "attempt", description: "", parameters: { type: "object", properties: { code: { type: "string" } } },
        async execute(_id: string, { code }: { code: string }) {
            const run = new Function("fs", "fsp", "child", "pi", "require", `return (async () => { ${code} })()`);
            let text;
            try { text = JSON.stringify((await run(fs, fsp, child, pi, require)) ?? null); }
            catch (error: any) { text = JSON.stringify("THROWS " + (error.code ?? error.message)); }
            return { content: [{ type: "text", text }] };
        },
    });
}
"#;

/// Returns a setup with an extension that has rights, and a file outside of them.
fn limited(rights: &Value) -> Setup {
    let mut setup = Setup::new()
        .file("outside/secret", "secret")
        .file("project/inside/open", "open")
        .variable("API_KEY", &"hidden")
        .extension("project/ext/index.ts", ATTEMPT);
    let (cwd, package) = (setup.path("project"), setup.path("project/ext"));
    setup.access = Access::limited(Rights::from_json(rights, &package, &cwd, None).unwrap());
    setup
}

async fn attempt(trial: &crate::trial::Trial, code: &str) -> Value {
    let text = trial.tool_text("attempt", json!({ "code": code })).await;
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_outside_of_the_rights_are_refused_under_every_name() {
    let setup = limited(&json!({
        "read": ["inside"], "write": ["inside"], "run": false, "net": false, "env": ["PATH"],
    }));
    let root = setup.path("").display().to_string().trim_end_matches('/').to_owned();
    std::os::unix::fs::symlink(setup.path("outside"), setup.path("project/inside/link")).unwrap();
    std::os::unix::fs::symlink(setup.path("outside/new"), setup.path("project/inside/dangling"))
        .unwrap();
    let trial = setup.start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let denied = json!("THROWS ERR_ACCESS_DENIED");
    let allowed = [
        ("return fs.readFileSync('inside/open', 'utf8')", json!("open")),
        ("return (await fsp.readFile('inside/../inside/open')).toString()", json!("open")),
        (
            "fs.writeFileSync('inside/new', 'x'); return fs.readdirSync('inside').includes('new')",
            json!(true),
        ),
        ("return typeof fs.readFileSync(__filename)", json!("THROWS __filename is not defined")),
    ];
    for (code, expected) in allowed {
        assert_eq!(attempt(&trial, code).await, expected, "{code}");
    }
    let secret = format!("{root}/outside/secret");
    let attempts = [
        format!("return fs.readFileSync('{secret}', 'utf8')"),
        format!("return await fsp.readFile('{secret}', 'utf8')"),
        format!(
            "return await new Promise((ok, no) => fs.readFile('{secret}', 'utf8', (e, t) => e ? no(e) : ok(t)))"
        ),
        "return fs.readFileSync('../outside/secret', 'utf8')".to_owned(),
        "return fs.readFileSync('inside/../../outside/secret', 'utf8')".to_owned(),
        "return fs.readFileSync('inside/link/secret', 'utf8')".to_owned(),
        "return fs.readFileSync('inside/link/../outside/secret', 'utf8')".to_owned(),
        format!("return fs.readFileSync(new URL('file://{secret}'), 'utf8')"),
        format!("return fs.readFileSync(Buffer.from('{secret}'), 'utf8')"),
        format!("return fs.readFileSync('/proc/self/root{secret}', 'utf8')"),
        format!("return fs.readFileSync('/proc/self/cwd/../../{secret}', 'utf8')"),
        "return fs.readFileSync('/proc/self/environ', 'utf8')".to_owned(),
        "return fs.readFileSync('/proc/thread-self/environ', 'utf8')".to_owned(),
        format!("return fs.openSync('{secret}', 'r')"),
        format!("return (await fsp.open('{secret}')).fd"),
        format!("return fs.statSync('{secret}').size"),
        format!("return fs.readdirSync('{root}/outside')"),
        format!("return fs.realpathSync('{secret}')"),
        format!("fs.copyFileSync('{secret}', 'inside/copy')"),
        format!("fs.linkSync('{secret}', 'inside/hard')"),
        format!("fs.renameSync('{secret}', 'inside/moved')"),
        "fs.writeFileSync('inside/link/new', 'x')".to_owned(),
        "fs.writeFileSync('inside/dangling', 'x')".to_owned(),
        format!("fs.rmSync('{root}/outside', {{ recursive: true }})"),
        format!(
            "fs.symlinkSync('{root}/outside', 'inside/own'); return fs.readFileSync('inside/own/secret', 'utf8')"
        ),
        format!("process.chdir('{root}/outside'); return fs.readFileSync('secret', 'utf8')"),
        format!("fs.watch('{root}/outside')"),
        format!("return require('{root}/outside/secret')"),
    ];
    for code in attempts {
        let got = attempt(&trial, &code).await;
        let refused = got == denied || got == json!("THROWS MODULE_NOT_FOUND");
        assert!(refused, "{code}: {got}");
    }
    assert_eq!(attempt(&trial, &format!("return fs.existsSync('{secret}')")).await, json!(false));
    assert_eq!(attempt(&trial, "return process.env.API_KEY").await, Value::Null);
    assert_eq!(attempt(&trial, "return Object.keys(process.env)").await, json!(["PATH"]));
    let kept = std::fs::read_to_string(Path::new(&secret)).unwrap();
    assert_eq!(kept, "secret");
    assert!(!Path::new(&root).join("outside/new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_and_hosts_outside_of_the_rights_are_refused() {
    let setup = limited(&json!({ "run": ["true"], "net": ["example.com"] }));
    let evil = setup.path("project/evil");
    let setup = setup.file("project/evil/true", "#!/bin/sh\necho evil > evil/ran\n");
    std::fs::set_permissions(
        evil.join("true"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let trial = setup.start().await;
    let denied = json!("THROWS ERR_ACCESS_DENIED");
    let attempts = [
        "return child.execSync('echo hi').toString()",
        "child.execFileSync('sh', ['-c', 'true'])",
        "return await new Promise((ok, no) => child.spawn('sh', ['-c', 'true']).on('error', no).on('close', ok))",
        "return await new Promise((ok, no) => child.exec('true', (e) => e ? no(e) : ok(1)))",
        "process.kill(process.ppid, 'SIGTERM')",
        "process.umask(0)",
    ];
    for code in attempts {
        assert_eq!(attempt(&trial, code).await, denied, "{code}");
    }
    let ran = "return child.spawnSync('true', { env: { PATH: process.cwd() + '/evil' } }).status";
    assert_eq!(attempt(&trial, ran).await, json!(0));
    assert!(!evil.join("ran").exists());
    let exec = "const r = await pi.exec('sh', ['-c', 'echo hi']); return [r.code, r.stdout]";
    assert_eq!(attempt(&trial, exec).await, json!([1, ""]));
}

#[tokio::test(flavor = "multi_thread")]
async fn native_functions_cannot_be_reached() {
    let trial = limited(&json!({ "run": false })).start().await;
    let attempts = [
        "return require('native:fs')",
        "return require('native:child')",
        "return require('pi:loader')",
        "return require('pi:child')",
        "return await import('native:fs')",
        "return process.binding('fs')",
        "return process.getBuiltinModule('pi:loader') ?? (() => { throw new Error('none') })()",
        "return Function('return require')()('native:child')",
        "return fs.constructor.constructor('return natives')()",
        "return (async () => {}).constructor('return natives')()",
    ];
    for code in attempts {
        let got = attempt(&trial, code).await;
        assert!(got.as_str().is_some_and(|text| text.starts_with("THROWS")), "{code}: {got}");
    }
}

/// Approves what a test names, and remembers what it was asked.
#[derive(Default)]
struct ScriptedApprover {
    approves: Vec<&'static str>,
    asked: Mutex<Vec<String>>,
}

impl Approver for ScriptedApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.asked.lock().unwrap().push(request.what.clone());
        let approved = self.approves.iter().any(|part| request.what.contains(part));
        Box::pin(async move {
            if approved { ApprovalDecision::Once } else { ApprovalDecision::Deny { reason: None } }
        })
    }
}

/// Returns a setup under the profile `careful`, with the guard that the program would load.
fn careful(approver: &Arc<ScriptedApprover>) -> Setup {
    let mut setup = Setup::new()
        .file("outside/secret", "secret")
        .file("project/open", "open")
        .variable("API_KEY", &"sk-1234567890abcdef1234567890abcdef")
        .extension("project/ext/index.ts", ATTEMPT);
    let mut settings = serde_json::Map::new();
    settings.insert("guard".to_owned(), json!({ "profile": "careful", "sandbox": "off" }));
    let environment = Environment::new(setup.path("project"), setup.path("home/agent"));
    let mut options = AgentOptions::new(environment);
    options.project.set_overrides(settings.clone());
    setup.access = Access::guarded(Arc::new(load_guard(&options).unwrap()));
    let approver = Arc::clone(approver);
    setup.change = Box::new(move |options| {
        options.project.set_overrides(settings);
        options.guard.approver = Some(approver);
    });
    setup
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guard_of_the_session_decides_about_extensions() {
    let approver =
        Arc::new(ScriptedApprover { approves: vec!["approved"], ..ScriptedApprover::default() });
    let trial = careful(&approver).start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let denied = json!("THROWS ERR_ACCESS_DENIED");
    let cases = [
        ("return fs.readFileSync('open', 'utf8')", json!("open")),
        ("return (await fsp.readFile('open')).toString()", json!("open")),
        ("return process.env.API_KEY", Value::Null),
        ("return fs.readFileSync('/proc/self/environ', 'utf8')", denied.clone()),
        ("return child.execSync('touch denied').toString()", denied.clone()),
        ("return child.spawnSync('touch', ['denied']).error.code", json!("ERR_ACCESS_DENIED")),
        ("const r = await pi.exec('touch', ['denied']); return r.code", json!(1)),
        ("return child.spawnSync('touch', ['approved']).status", json!(0)),
        ("const r = await pi.exec('touch', ['approved2']); return r.code", json!(0)),
        ("process.kill(process.ppid, 'SIGTERM')", denied.clone()),
    ];
    for (code, expected) in cases {
        assert_eq!(attempt(&trial, code).await, expected, "{code}");
    }
    let project = trial.root.path().join("project");
    assert!(!project.join("denied").exists());
    assert!(project.join("approved").exists());
    assert!(project.join("approved2").exists());
    let asked = approver.asked.lock().unwrap().join("\n");
    assert!(asked.contains("touch denied"), "{asked}");
}

/// A server acts with the rights of the user: an extension cannot get more rights through one.
#[tokio::test(flavor = "multi_thread")]
async fn servers_of_limited_extensions_are_limited() {
    let setup = limited(&json!({
        "read": true, "write": false, "run": ["node"], "net": ["good.example"], "env": false,
    }));
    let trial = setup.start().await;
    let register = |config: Value| {
        let mut config = config;
        config["enabled"] = false.into();
        format!("pi.registerMcpServer('m', {config}); return 'registered'")
    };
    let good = "https://good.example/mcp";
    for config in [json!({"command": "node", "env": {"A": "cash$$"}}), json!({"url": good})] {
        let code = register(config);
        assert_eq!(attempt(&trial, &code).await, "registered", "{code}");
    }
    for config in [
        json!({"command": "sh"}),
        json!({"command": "/usr/bin/node"}),
        json!({"url": "https://evil.example/mcp"}),
        json!({"url": "https://good.example.evil.example"}),
        json!({"url": "https://evil.example/mcp", "command": "node"}),
        json!({"command": "node", "env": {"A": "${API_KEY}"}}),
        json!({"command": "node", "env": {"A": "$API_KEY"}}),
        json!({"command": "node", "env": {"PATH": "/evil"}}),
        json!({"url": good, "headers": {"X": "!cat secret"}}),
        json!({"url": good, "headers": {"X": "Bearer ${API_KEY}"}}),
        json!({"url": good, "oauth": {"clientId": "x", "clientSecret": "!cat secret"}}),
    ] {
        let code = register(config);
        assert_eq!(attempt(&trial, &code).await, "THROWS ERR_ACCESS_DENIED", "{code}");
    }
}

/// The token of a login and the approval of calls are decisions of the user, also for extensions with
/// all rights.
#[tokio::test(flavor = "multi_thread")]
async fn servers_of_extensions_have_no_tokens_and_no_approvals() {
    let mut setup = limited(&json!({}));
    setup.access = Access::trusted();
    let trial = setup.start().await;
    for (config, expected) in [
        (json!({"command": "x", "env": {"A": "${API_KEY}"}, "approval": "ask"}), "registered"),
        (json!({"url": "https://a.example", "auth": {"provider": "anthropic"}}), "auth"),
        (json!({"command": "x", "approval": "allow"}), "allow"),
        (json!({"command": "x", "toolApproval": {"t": "allow"}}), "allow"),
    ] {
        let mut config = config;
        config["enabled"] = false.into();
        let code = format!("pi.registerMcpServer('m', {config}); return 'registered'");
        let answer = attempt(&trial, &code).await.to_string();
        assert!(answer.contains(expected), "{config}: {answer}");
    }
}
