//! Sessions from extensions: the manager, the context, and commands that replace the session.

use pi_ai::faux::Reply;
use serde_json::{Value, json};

use crate::probe::Probe;

const SESSIONS: &str = r#"
export default function (pi: any) {
    const say = (value: any) => pi.appendEntry("say", value);
    pi.registerCommand("s", { handler: async (what: string, ctx: any) => {
        const sm = ctx.sessionManager;
        const attempt = async (f: any) => { try { return await f(); } catch (e: any) { return "ERR " + e.message; } };
        const user = () => sm.getEntries().find((e: any) => e.type === "message" && e.message.role === "user");
        if (what === "manager") say({
            cwd: sm.getCwd() === ctx.cwd, header: Object.keys(sm.getHeader()).sort(), id: sm.getSessionId().length, tree: sm.getTree().length,
            context: sm.buildContextEntries().map((e: any) => e.type), projection: Object.keys(sm.buildSessionProjection()).sort(),
            roles: sm.buildSessionProjection().messages.map((m: any) => m.role), leaf: sm.getLeafEntry().type,
            unknown: [sm.getEntry("nope") === undefined, sm.getLabel("x") === undefined, sm.getBranch("nope").length],
            children: sm.getChildren(sm.getEntries()[0].id).length, sameObject: sm === ctx.sessionManager,
        });
        if (what === "write") {
            const id = sm.appendCustomMessageEntry("note", "for the model", true, { d: 1 });
            sm.appendCustomEntry("state", { n: 1 });
            sm.appendLabelChange(id, "here");
            say([sm.getEntry(id).customType, sm.getLabel(id), sm.buildSessionProjection().messages.at(-1).content]);
        }
        if (what === "context") say({ usage: ctx.getContextUsage(), prompt: ctx.getSystemPrompt().length > 100, options: Object.keys(ctx.getSystemPromptOptions()).sort(),
            trusted: ctx.isProjectTrusted(), idle: ctx.isIdle(), pending: ctx.hasPendingMessages(), signal: ctx.signal === undefined, model: ctx.model.id, level: ctx.thinkingLevel, scoped: ctx.scopedModels });
        if (what === "navigate") { const result = await ctx.navigateTree(user().id, { label: "lbl" }); say([result, sm.getLeafEntry()?.type]); }
        if (what === "unknown") say([await attempt(() => ctx.navigateTree("nope")), await attempt(() => ctx.fork("nope"))]);
        if (what === "compact") await new Promise<void>((done) => ctx.compact({ onComplete: () => done(), onError: (e: any) => { say(e.message); done(); } }));
        if (what === "unsaved") say(await attempt(() => ctx.fork(sm.getLeafId())));
        if (what === "new") {
            await ctx.newSession({
                setup: async (m: any) => { m.appendCustomEntry("seed", { n: 1 }); },
                withSession: async (c: any) => { await c.sendUserMessage("kickoff"); (globalThis as any).types = c.sessionManager.getEntries().map((e: any) => e.type); },
            });
            const uses: any = { cwd: () => ctx.cwd, idle: () => ctx.isIdle(), manager: () => ctx.sessionManager, kept: () => sm.getEntries(), flag: () => pi.getFlag("x"), on: () => pi.on("x", () => {}), emit: () => pi.events.emit("x"), exec: () => pi.exec("true"), tool: () => pi.registerTool({}) };
            (globalThis as any).stale = Object.entries(uses).map(([name, use]: any) => { try { use(); return name + " works"; } catch (e: any) { return e.message.split(".")[0]; } });
        }
        if (what === "after") say([(globalThis as any).types, [...new Set((globalThis as any).stale)]]);
        if (what === "fork") await ctx.fork(user().id, { withSession: async (c: any) => { (globalThis as any).forked = c.sessionManager.getEntries().length; } });
        if (what === "forked") say((globalThis as any).forked);
        if (what === "shutdown") ctx.shutdown();
    } });
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_manager_reads_and_writes_the_log() {
    let probe = Probe::start(SESSIONS).await;
    probe.trial.model.push(Reply::new().text("answer"));
    probe.prompt("first").await;
    let said = probe.ask("/s manager").await;
    assert_eq!(
        said["header"],
        json!(["cwd", "id", "parentSession", "timestamp", "type", "version"])
    );
    assert_eq!(said["projection"], json!(["entries", "messages", "model", "thinkingLevel"]));
    assert_eq!(said["roles"], json!(["system", "user", "assistant"]));
    assert_eq!(said["unknown"], json!([true, true, 0]));
    assert_eq!(
        said["context"],
        json!(["model_change", "thinking_level_change", "message", "message", "message"])
    );
    for name in ["cwd", "sameObject"] {
        assert_eq!(said[name], true, "{name}");
    }
    assert_eq!(probe.ask("/s write").await, json!(["note", "here", "for the model"]));
    probe.trial.model.push(Reply::new().text("answer"));
    probe.prompt("second").await;
    let request = probe.trial.model.requests().pop().unwrap();
    let messages = json!(request.context.messages);
    assert!(messages.to_string().contains("for the model"), "{messages}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_context_shows_the_session() {
    let probe = Probe::start(SESSIONS).await;
    let said = probe.ask("/s context").await;
    for (name, expected) in [
        ("prompt", json!(true)),
        ("idle", json!(true)),
        ("pending", json!(false)),
        ("signal", json!(true)),
        ("scoped", json!([])),
    ] {
        assert_eq!(said[name], expected, "{name}");
    }
    assert_eq!(
        said["options"],
        json!([
            "appendSystemPrompt",
            "contextFiles",
            "customPrompt",
            "cwd",
            "forceSystemPrompt",
            "hiddenTools",
            "promptGuidelines",
            "sections",
            "selectedTools",
            "skills",
            "toolGuidelines",
            "toolSnippets"
        ])
    );
    assert_eq!(
        probe.ask("/s unknown").await,
        json!(["ERR Entry nope not found", "ERR Invalid entry ID for forking"])
    );
    assert_eq!(probe.ask("/s compact").await, json!("Nothing to compact (session too small)"));
    probe.trial.model.push(Reply::new().text("answer"));
    probe.prompt("first").await;
    assert_eq!(probe.ask("/s navigate").await, json!([{ "cancelled": false }, "label"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_replace_the_session_and_the_old_api_is_stale() {
    let probe = Probe::start(SESSIONS).await;
    probe.trial.model.push(Reply::new().text("answer"));
    let before = probe.trial.runtime.session().id();
    let lines = probe.prompt("/s new").await;
    assert!(lines.contains(&"user kickoff".to_owned()), "{lines:?}");
    assert_ne!(probe.trial.runtime.session().id(), before);
    let said = probe.ask("/s after").await;
    let types: Vec<&Value> = said[0].as_array().unwrap().iter().take(3).collect();
    assert_eq!(types, ["model_change", "thinking_level_change", "custom"]);
    assert_eq!(said[1], json!(["This extension ctx is stale after session replacement or reload"]));
    probe.prompt("/s shutdown").await;
    probe.trial.runtime.idle_after_shutdown_request().await;
}
