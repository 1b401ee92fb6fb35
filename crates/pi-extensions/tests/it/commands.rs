//! Commands, shortcuts and flags of extensions, and what is refused at registration.

use pi_coding_agent::extension::{Completion, FlagValue};
use serde_json::json;

use crate::probe::Probe;
use crate::trial::Setup;

const COMMANDS: &str = r#"
export default function (pi: any) {
    const attempts: any = {};
    const attempt = (name: string, f: any) => { try { attempts[name] = f() ?? null; } catch (e: any) { attempts[name] = "ERR " + e.message; } };
    const P = { type: "object" };
    attempt("noSchema", () => pi.registerTool({ name: "x", description: "d", execute() {} }));
    attempt("noName", () => pi.registerCommand("", { handler() {} }));
    attempt("noHandler", () => pi.registerCommand("a", {}));
    attempt("noOptions", () => pi.registerCommand("b"));
    attempt("flag", () => pi.registerFlag("f", { type: "boolean", default: "x" }));
    attempt("provider", () => pi.registerProvider("p"));
    attempt("providerApi", () => pi.registerProvider("p", { baseUrl: "http://x", models: [{ id: "a" }] }));
    attempt("streamApi", () => pi.registerProvider("p", { streamSimple() {} }));
    attempt("mcp", () => pi.registerMcpServer("m", {}));
    attempt("send", () => pi.sendMessage({ customType: "a", content: "b" }));
    attempt("tools", () => pi.getAllTools());
    attempt("settings", () => pi.getSettings());
    pi.registerFlag("word", { type: "string", default: "none", description: "A word" });
    pi.registerFlag("on", { type: "boolean" });
    attempt("flagWhileLoading", () => [pi.getFlag("word"), pi.getFlag("on") ?? null, pi.getFlag("zzz") ?? null]);
    pi.registerCommand("say", { description: "Says", handler: async (args: string, ctx: any) => {
        pi.appendEntry("say", { args, attempts, word: pi.getFlag("word"), mode: ctx.mode, hasUI: ctx.hasUI, keys: Object.keys(ctx), api: Object.keys(pi), commands: pi.getCommands() });
    }, getArgumentCompletions: async (prefix: string) => ["one", "other"].filter((one) => one.startsWith(prefix)).map((value) => ({ value, label: value.toUpperCase(), description: "d" })) });
    pi.registerCommand("throw", { handler: async (args: string) => { throw new Error("command failed " + args); } });
    pi.registerShortcut("ctrl+shift+x", { description: "S", handler: async (ctx: any) => pi.appendEntry("say", "pressed " + ctx.mode) });
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_with_their_arguments() {
    let probe = Probe::start(COMMANDS).await;
    let said = probe.ask("/say  a b ").await;
    assert_eq!(said["args"], " a b ");
    assert_eq!(said["mode"], "rpc");
    assert_eq!(said["hasUI"], true);
    let command = &said["commands"][0];
    assert_eq!((&command["name"], &command["source"]), (&json!("say"), &json!("extension")));
    assert_eq!(command["sourceInfo"]["source"], "cli");
    insta::assert_snapshot!("members", format!("ctx: {}\npi: {}", said["keys"], said["api"]));
    let lines = probe.prompt("/throw z").await;
    assert_eq!(lines, ["error command:throw command: command failed z"]);
    let registry = probe.trial.runtime.registry();
    let complete = registry.find_command("say").unwrap().command.completer.unwrap();
    let completion = |value: &str| Completion {
        value: value.to_owned(),
        label: value.to_uppercase(),
        description: Some("d".to_owned()),
    };
    assert_eq!(complete("on".to_owned()).await, [completion("one")]);
    let session = probe.trial.runtime.session();
    let ran = session.extensions().run_shortcut("ctrl+shift+x", session.extension_context()).await;
    assert!(ran.unwrap().is_ok());
    assert_eq!(probe.until("say").await, ["say \"pressed rpc\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_registrations_are_refused() {
    let probe = Probe::start(COMMANDS).await;
    let said = probe.ask("/say").await;
    let root = probe.trial.root.path().canonicalize().unwrap();
    let mut text = serde_json::to_string_pretty(&said["attempts"]).unwrap();
    for path in [root.as_path(), probe.trial.root.path()] {
        text = text.replace(&path.display().to_string(), "ROOT");
    }
    insta::assert_snapshot!("refused", text);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_registered_and_announced() {
    let extension = r#"
        export default function (pi: any) {
            const names = (servers: any) => servers.map((server: any) => server.name);
            pi.registerMcpServer("early", { command: "x", enabled: false });
            pi.on("mcp_servers_change", (event: any) => {
                pi.appendEntry("say", [names(event.servers), names(pi.getMcpServers())]);
            });
            pi.registerCommand("late", { handler: async () => {
                pi.registerMcpServer("late", { url: "http://x", enabled: false });
            } });
            pi.registerCommand("less", { handler: async () => pi.unregisterMcpServer("early") });
        }
        "#;
    let mut setup = Setup::new().extension("project/ext.ts", extension);
    setup.change = Box::new(|options| options.extensions.builtins.push(pi_mcp_host::builtin()));
    let probe = Probe::of(setup).await;
    let servers = || {
        let states = pi_mcp_host::servers_of(&probe.trial.runtime.session()).unwrap().states();
        states.into_iter().map(|server| server.name).collect::<Vec<_>>()
    };
    assert_eq!(servers(), ["early"]);
    let said = async |command: &str| {
        let mut lines = probe.prompt(command).await;
        let is_said = |line: &String| line.starts_with("say ");
        if !lines.iter().any(is_said) {
            lines = probe.until("say ").await;
        }
        lines.into_iter().find(is_said).unwrap()
    };
    let both = r#"["early","late"]"#;
    assert_eq!(said("/late").await, format!("say [{both},{both}]"));
    assert_eq!(servers(), ["early", "late"]);
    assert_eq!(said("/less").await, r#"say [["late"],["late"]]"#);
    assert_eq!(servers(), ["late"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_have_values() {
    let probe = Probe::start(COMMANDS).await;
    assert_eq!(probe.ask("/say").await["word"], "none");
    probe.trial.runtime.registry().set_flag("word", FlagValue::String("given".to_owned()));
    assert_eq!(probe.ask("/say").await["word"], "given");
}
