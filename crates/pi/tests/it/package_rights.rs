//! Rights and runtimes of packages, as the settings set them.

use std::fs;

use serde_json::{Value, json};

use crate::extension_files::{start, texts, write};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// An extension that tries what rights limit, and adds what became of it to each run.
const TRYING: &str = "import fs from 'node:fs';
    import { spawnSync } from 'node:child_process';
    const attempt = (call) => { try { return call(); } catch (e) { return `${e.code}: ${e.message}`; } };
    export default (pi) => pi.on('before_agent_start', async () => {
        const content = JSON.stringify([
            attempt(() => fs.readFileSync('in.txt', 'utf8')),
            attempt(() => fs.readFileSync('../out.txt', 'utf8')),
            attempt(() => { fs.writeFileSync('new.txt', 'x'); return 'written'; }),
            attempt(() => { const { error, stdout } = spawnSync('echo', ['hi']); if (error) throw error; return String(stdout); }),
            await pi.exec('echo', ['hi']).then((r) => r.stdout || r.stderr, (e) => e.message),
            process.env.TZ ?? null,
        ]);
        return { message: { customType: 'x', content, display: true } };
    })";

fn set_packages(env: &TestEnv, directory: &std::path::Path, packages: &Value) {
    let file = directory.join("settings.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|_| "{}".to_owned());
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    settings["packages"] = serde_json::from_str(
        &packages.to_string().replace("ROOT", env.project().parent().unwrap().to_str().unwrap()),
    )
    .unwrap();
    write(&file, &settings.to_string());
}

/// Runs a prompt. Returns what extensions added to it, and stderr.
fn run(env: &TestEnv, server: &Server, arguments: &[&str]) -> (Vec<String>, String) {
    let output = env.pi(&[arguments, &["-p", "hi"]].concat());
    assert!(output.status.success(), "{output:?}");
    let added = texts(server)[1..].iter().map(|text| env.stable(text)).collect();
    (added, env.stable(&String::from_utf8(output.stderr).unwrap()))
}

fn trying() -> (TestEnv, Server) {
    let (env, server) = start();
    write(&env.project().join("in.txt"), "inside");
    write(&env.project().join("../out.txt"), "outside");
    write(&env.project().join("../pk/extensions/main.ts"), TRYING);
    (env, server)
}

const REFUSED: &str = r#"["inside","ERR_ACCESS_DENIED: read [ROOT]/out.txt: this extension is not allowed to do that","ERR_ACCESS_DENIED: write [ROOT]/project/new.txt: this extension is not allowed to do that","ERR_ACCESS_DENIED: run echo: this extension is not allowed to do that","run echo: this extension is not allowed to do that",null]"#;
const ALLOWED: &str = r#"["inside","outside","written","hi\n","hi\n","UTC"]"#;

#[test]
fn rights_limit_the_extensions_of_a_package() {
    let (env, server) = trying();
    let rights = json!({"read": ["."], "write": [], "run": ["git"], "net": false, "env": []});
    let limited = json!({"source": "ROOT/pk", "rights": rights});
    set_packages(&env, &env.agent(), &json!([limited]));
    assert_eq!(run(&env, &server, &[]), (vec![REFUSED.to_owned()], String::new()));
    assert!(!env.project().join("new.txt").exists());
    let listed = env.stable(&env.out(&["list"]));
    assert_eq!(
        listed,
        "User packages:\n  [ROOT]/pk\n    [ROOT]/pk\n    rights: {\"read\":[\".\"],\"write\":[],\"run\":[\"git\"],\"net\":false,\"env\":[]}\n"
    );
    // A project that names the same package does not lift the limits of the user.
    set_packages(&env, &env.project().join(".pi"), &json!(["ROOT/pk"]));
    assert_eq!(run(&env, &server, &["-a"]).0, [REFUSED]);
    // It can set limits itself.
    set_packages(&env, &env.agent(), &json!(["ROOT/pk"]));
    assert_eq!(run(&env, &server, &["-na"]).0, [ALLOWED]);
    fs::remove_file(env.project().join("new.txt")).unwrap();
    set_packages(&env, &env.project().join(".pi"), &json!([limited]));
    assert_eq!(run(&env, &server, &["-a"]).0, [REFUSED]);
}

#[test]
fn a_package_with_invalid_limits_is_not_loaded() {
    let (env, server) = trying();
    for (name, value, expected) in [
        ("rights", json!({"reed": []}), "unknown field `reed`"),
        ("rights", json!("none"), "invalid rights"),
        ("rights", json!({"run": "git"}), "invalid rights"),
        ("rights", json!({"read": ["a[" ]}), "invalid pattern of files"),
        ("runtime", json!("mine"), "invalid runtime: \"mine\"; expected \"own\""),
        ("runtime", json!(true), "invalid runtime: true; expected \"own\""),
    ] {
        set_packages(&env, &env.agent(), &json!([{"source": "ROOT/pk", name: value}]));
        let (added, stderr) = run(&env, &server, &[]);
        assert_eq!(added, [""; 0], "{name} {value}");
        assert!(stderr.contains(expected), "{name} {value}: {stderr}");
    }
}

#[test]
fn a_program_of_a_limited_package_needs_the_right_to_run() {
    let (env, server) = start();
    let root = env.project().parent().unwrap().to_owned();
    write(&root.join("pk/package.json"), r#"{"pi": {"extensions": ["./p/extension.json"]}}"#);
    write(&root.join("pk/p/extension.json"), r#"{"command": ["touch", "ran"]}"#);
    let ran = || {
        let places = [root.join("pk/p/ran"), env.project().join("ran")];
        places.iter().any(|place| fs::remove_file(place).is_ok())
    };
    set_packages(&env, &env.agent(), &json!([{"source": "ROOT/pk", "rights": {"run": []}}]));
    let (_, stderr) = run(&env, &server, &[]);
    assert!(stderr.contains("run touch: this extension is not allowed to do that"), "{stderr}");
    assert!(!ran());
    set_packages(&env, &env.agent(), &json!([{"source": "ROOT/pk", "rights": {"run": ["touch"]}}]));
    run(&env, &server, &[]);
    assert!(ran());
}

#[test]
fn a_package_can_have_a_runtime_of_its_own() {
    let (env, server) = start();
    let counting = "globalThis.n = (globalThis.n ?? 0) + 1;
        const { n } = globalThis;
        export default (pi) => pi.on('before_agent_start', () => ({
            message: { customType: 'x', content: `${n} ${process.env.TZ}`, display: true } }))";
    for name in ["a", "b", "c"] {
        let directory = env.project().join("..").join(name);
        write(&directory.join("extensions/main.ts"), counting);
    }
    write(&env.project().join("../b/extensions/more.ts"), counting);
    let b = json!({"source": "ROOT/b", "runtime": "own"});
    set_packages(&env, &env.agent(), &json!(["ROOT/a", b, "ROOT/c"]));
    let (added, stderr) = run(&env, &server, &[]);
    assert_eq!(
        (added.as_slice(), stderr.as_str()),
        (&["1 UTC", "1 UTC", "2 UTC", "2 UTC"].map(str::to_owned)[..], "")
    );
}
