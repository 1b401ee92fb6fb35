//! Providers of extensions: models, streams in JavaScript, the model registry.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pi_models::CredentialName;
use pi_protocol::{CancelToken, HookFuture};
use pi_web::oauth::{Cancelled, Interaction, LoginEvent, LoginOptions, Prompt};
use serde_json::json;

use crate::probe::Probe;
use crate::trial::Setup;

const PROVIDERS: &str = r#"
export default function (pi: any) {
    const stream = () => { const queue: any[] = []; let isDone = false; let wake: any; return {
        push(event: any) { queue.push(event); isDone ||= event.type === "done" || event.type === "error"; wake?.(); },
        async *[Symbol.asyncIterator]() { for (;;) { if (queue.length) yield queue.shift(); else if (isDone) return; else await new Promise<void>((r) => (wake = r)); } },
    }; };
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const model = (id: string) => ({ id, name: id, reasoning: false, input: ["text"], cost, contextWindow: 1000, maxTokens: 100 });
    pi.registerProvider("own", { baseUrl: "http://own.invalid", apiKey: "$OWN_KEY", api: "own-api", headers: { "x-own": "1" }, models: [model("own-1")],
        streamSimple(model: any, context: any, options: any) {
            const s = stream();
            const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { ...cost, total: 0 } };
            const m: any = { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage, stopReason: "stop", timestamp: 1 };
            const last = context.messages.at(-1);
            const text = typeof last.content === "string" ? last.content : last.content.map((c: any) => c.text ?? "").join("");
            (async () => {
                if (text.includes("throw")) return s.push({ type: "error", reason: "error", error: { ...m, stopReason: "error", errorMessage: "own failure" } });
                s.push({ type: "start", partial: m });
                if (text.includes("call")) {
                    const toolCall = { type: "toolCall", id: "t1", name: "probe", arguments: { a: 1 } };
                    m.content.push(toolCall);
                    s.push({ type: "toolcall_start", contentIndex: 0, partial: m });
                    s.push({ type: "toolcall_delta", contentIndex: 0, delta: '{"a":1}', partial: m });
                    s.push({ type: "toolcall_end", contentIndex: 0, toolCall, partial: m });
                    m.stopReason = "toolUse";
                    return s.push({ type: "done", reason: "toolUse", message: m });
                }
                if (text.includes("hang")) {
                    options.signal.addEventListener("abort", () => { (globalThis as any).aborted = true; });
                    pi.appendEntry("hanging");
                    return;
                }
                m.content.push({ type: "text", text: "" });
                s.push({ type: "text_start", contentIndex: 0, partial: m });
                for (const delta of ["own ", "answer ", options.apiKey]) { m.content[0].text += delta; s.push({ type: "text_delta", contentIndex: 0, delta, partial: m }); await null; }
                s.push({ type: "text_end", contentIndex: 0, content: m.content[0].text, partial: m });
                s.push({ type: "done", reason: "stop", message: m });
            })();
            return s;
        } });
    const login = { renewed: 0 };
    pi.registerProvider("sso", { baseUrl: "http://sso.invalid", api: "sso-api", models: [model("sso-1")],
        oauth: { name: "SSO", async login() { throw new Error("unused"); }, async refreshToken(old: any) { login.renewed += 1; return { access: old.refresh + "-new", refresh: "r2", expires: Date.now() + 1e6 }; }, getApiKey: (tokens: any) => "key-" + tokens.access },
        async *streamSimple(model: any, _context: any, options: any) {
            const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { ...cost, total: 0 } };
            yield { type: "done", reason: "stop", message: { role: "assistant", content: [{ type: "text", text: options.apiKey + " " + login.renewed }], api: model.api, provider: model.provider, model: model.id, usage, stopReason: "stop", timestamp: 1 } };
        } });
    pi.registerProvider("gate", { name: "Gate", oauth: { name: "Gate login",
        async login(callbacks: any) {
            callbacks.onAuth({ url: "https://gate.invalid/authorize", instructions: "Use the blue account" });
            callbacks.onDeviceCode({ userCode: "AB-CD", verificationUri: "https://gate.invalid/device" });
            callbacks.onProgress("waiting");
            const code = await callbacks.onPrompt({ message: "Code?" });
            if (code === "wait") await new Promise((_, reject) => { callbacks.signal.addEventListener("abort", () => { (globalThis as any).aborted = true; reject(new Error("aborted")); }); callbacks.onProgress("listening"); });
            const team = await callbacks.onSelect({ message: "Team?", options: [{ id: "red", label: "Red" }, { id: "blue", label: "Blue" }] });
            return { access: code + "-" + team, refresh: "g1", expires: 1, team };
        },
        async refreshToken(old: any) { if (old.refresh === "bad") throw new Error("no luck"); return { access: old.team + "-" + old.refresh, refresh: old.refresh + "+", expires: Date.now() + 1e7 }; },
        getApiKey: (tokens: any) => "gate-" + tokens.access } });
    pi.registerVirtualModel({ provider: "virtual", id: "router", name: "Router", route: (_request: any, ctx: any) => ({ model: ctx.modelRegistry.find("own", "own-1") }) });
    pi.registerTool({ name: "probe", description: "p", parameters: { type: "object", properties: { a: { type: "number" } } }, async execute(_i: string, p: any) { return { content: [{ type: "text", text: "probed " + p.a }] }; } });
    pi.registerCommand("p", { handler: async (args: string, ctx: any) => {
        const say = (value: any) => pi.appendEntry("say", value ?? null);
        const registry = ctx.modelRegistry;
        const [what, which] = args.split(" ");
        if (what === "list") say(registry.getAvailable().map((one: any) => one.provider + "/" + one.id));
        if (what === "use") { const [provider, id] = which.split("/"); const found = registry.find(provider, id); say([await pi.setModel(found), ctx.model.id]); }
        if (what === "complete") { const message = await registry.complete(ctx.model, { messages: [{ role: "user", content: "hi", timestamp: 1 }] }); say([message.content[0].text, message.stopReason, message.usage.totalTokens]); }
        if (what === "stream") { const events: string[] = []; const s = registry.streamSimple(ctx.model, { messages: [{ role: "user", content: "hi", timestamp: 1 }] }); for await (const event of s) events.push(event.type + ":" + (event.partial?.content[0]?.text ?? "")); say([events, (await s.result()).content[0].text]); }
        if (what === "auth") { const found = registry.find("own", "own-1"); say([await registry.getApiKeyAndHeaders(found), await registry.getApiKey(found), registry.hasConfiguredAuth(found), registry.isUsingOAuth(found), registry.getProviderDisplayName("anthropic"), registry.find("zz", "z") ?? null]); }
        if (what === "gate") { const found = registry.find("gate", "gate-1"); say([await registry.getApiKeyAndHeaders(found), registry.isUsingOAuth(found), registry.getProviderAuthStatus("gate"), registry.getProviderDisplayName("gate")]); }
        if (what === "unregister") { pi.unregisterProvider("own"); say(registry.find("own", "own-1") ?? null); }
        if (what === "aborted") say((globalThis as any).aborted);
        if (what === "classify") { try { await registry.classify(); } catch (e: any) { say(e.message); } }
        if (what === "level") { pi.setThinkingLevel(which); say([pi.getThinkingLevel(), ctx.thinkingLevel]); }
    } });
}
"#;

async fn start() -> Probe {
    let mut setup = Setup::new().extension("project/ext.ts", PROVIDERS).file(
        "home/agent/models.json",
        r#"{"providers":{"fake":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"dummy","models":[{"id":"fake-1","reasoning":true}]},"gate":{"baseUrl":"https://gate.invalid/v1","api":"openai-completions","models":[{"id":"gate-1"}]}}}"#,
    );
    setup.change = Box::new(|options| {
        options.model.custom = None;
        options.model.requested = Some("own/own-1".to_owned());
        let mut environment = options.environment().clone();
        std::sync::Arc::make_mut(&mut environment.variables)
            .insert("OWN_KEY".to_owned(), "k".to_owned());
        options.project = pi_coding_agent::Project::open(environment);
    });
    Probe::of(setup).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_streams_in_javascript() {
    let probe = start().await;
    assert_eq!(
        probe.prompt("hello").await,
        ["user hello", "assistant own answer k", "settled false"]
    );
    // The answer to the result mentions no call.
    let lines = probe.prompt("call").await;
    assert_eq!(lines[1..4], ["assistant <probe>", "toolResult probed 1", "assistant own answer k"]);
    let lines = probe.prompt("throw").await;
    assert_eq!(lines, ["user throw", "assistant ", "settled false"]);
    let session = probe.trial.runtime.session();
    let (hanging, runner) = (session.clone(), session.clone());
    let run =
        tokio::spawn(async move { runner.prompt("hang", Default::default()).await.map(drop) });
    probe.until("entry hanging").await;
    hanging.abort().await;
    run.await.unwrap().unwrap();
    assert_eq!(probe.ask("/p aborted").await, json!(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_renews_its_login() {
    let probe = start().await;
    let auth = probe.trial.root.path().join("home/agent/auth.json");
    let expired =
        r#"{"sso":{"type":"oauth","access":"old","refresh":"r1","expires":1,"account":"a"}}"#;
    std::fs::write(&auth, expired).unwrap();
    probe.ask("/p use sso/sso-1").await;
    for _ in 0..2 {
        assert_eq!(probe.prompt("hello").await[1], "assistant key-r1-new 1");
    }
    let stored: serde_json::Value = serde_json::from_slice(&std::fs::read(&auth).unwrap()).unwrap();
    assert_eq!(stored["sso"]["access"], "r1-new");
    assert_eq!(stored["sso"]["account"], "a", "fields of the login stay");
}

/// A user who answers questions with prepared texts.
#[derive(Default)]
struct PreparedUser {
    answers: Mutex<VecDeque<&'static str>>,
    shown: Mutex<Vec<String>>,
    /// Cancelled when the login says that it listens to its signal.
    cancel: CancelToken,
}

impl Interaction for PreparedUser {
    fn show(&self, event: LoginEvent) {
        if matches!(&event, LoginEvent::Progress(text) if text == "listening") {
            self.cancel.cancel();
        }
        self.shown.lock().unwrap().push(format!("{event:?}"));
    }

    fn ask(&self, prompt: Prompt) -> HookFuture<Result<String, Cancelled>> {
        self.shown.lock().unwrap().push(format!("{prompt:?}"));
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move { answer.map(str::to_owned).ok_or(Cancelled) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_signs_in_to_a_provider_of_any_format() {
    let probe = start().await;
    let session = probe.trial.runtime.session();
    let models = session.models().unwrap();
    let labels: Vec<String> =
        models.login_methods("gate").into_iter().map(|choice| choice.label).collect();
    assert_eq!(labels, ["Gate login", "API key"]);
    let sign_in = |answers: &[&'static str], cancel: &CancelToken| {
        let user = Arc::new(PreparedUser { cancel: cancel.clone(), ..Default::default() });
        user.answers.lock().unwrap().extend(answers);
        let name = CredentialName::new("gate");
        let (models, interaction, cancel) = (models.clone(), Arc::clone(&user), cancel.clone());
        async move {
            let options = LoginOptions::default();
            (models.login(&name, None, interaction, options, cancel).await, user)
        }
    };
    let (result, user) = sign_in(&["c0de", "blue"], &CancelToken::new()).await;
    result.unwrap();
    insta::assert_debug_snapshot!(user.shown.lock().unwrap());
    // The tokens have expired already, so the first request renews them.
    let expected = json!([{ "ok": true, "apiKey": "gate-blue-g1" }, true,
        { "configured": true, "source": "stored" }, "Gate"]);
    assert_eq!(probe.ask("/p gate").await, expected);
    assert_eq!(probe.ask("/p gate").await, expected, "once");
    let auth = probe.trial.root.path().join("home/agent/auth.json");
    let stored: serde_json::Value = serde_json::from_slice(&std::fs::read(&auth).unwrap()).unwrap();
    assert_eq!(
        (&stored["gate"]["refresh"], &stored["gate"]["team"]),
        (&json!("g1+"), &json!("blue"))
    );

    let expired = r#"{"gate":{"type":"oauth","access":"a","refresh":"bad","expires":1}}"#;
    std::fs::write(&auth, expired).unwrap();
    let said = probe.ask("/p gate").await;
    assert_eq!(
        said[0]["error"],
        "The login of gate could not be renewed: no luck. Retry; if that does not help, sign in again with `pi auth login gate`."
    );

    let cancelled = "the login of gate failed: the login was cancelled";
    let (result, _) = sign_in(&["c0de"], &CancelToken::new()).await;
    assert_eq!(result.unwrap_err().to_string(), cancelled);
    let (result, _) = sign_in(&["wait"], &CancelToken::new()).await;
    assert_eq!(result.unwrap_err().to_string(), cancelled);
    assert_eq!(probe.ask("/p aborted").await, json!(true));
    // Cancelled before it begins.
    let cancel = CancelToken::new();
    cancel.cancel();
    let (result, user) = sign_in(&["c0de", "blue"], &cancel).await;
    assert_eq!(result.unwrap_err().to_string(), cancelled);
    assert_eq!(*user.shown.lock().unwrap(), [""; 0]);
    assert_eq!(std::fs::read_to_string(&auth).unwrap().matches("renewing").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_selected_and_asked() {
    let probe = start().await;
    let listed = probe.ask("/p list").await;
    for model in ["own/own-1", "fake/fake-1", "virtual/router"] {
        assert!(listed.as_array().unwrap().contains(&json!(model)), "{listed}");
    }
    assert_eq!(probe.ask("/p complete").await, json!(["own answer k", "stop", 3]));
    let said = probe.ask("/p stream").await;
    assert_eq!(said[1], "own answer k");
    assert_eq!(said[0][1], "text_start:");
    assert_eq!(said[0].as_array().unwrap().last().unwrap(), "done:");
    assert_eq!(
        probe.ask("/p auth").await,
        json!([{ "ok": true, "apiKey": "k", "headers": { "x-own": "1" } }, "k", true, false, "Anthropic", null])
    );
    assert_eq!(probe.ask("/p use fake/fake-1").await, json!([true, "fake-1"]));
    assert_eq!(probe.ask("/p level high").await, json!(["high", "high"]));
    assert_eq!(probe.ask("/p level zzz").await, json!(["off", "off"]));
    assert_eq!(probe.ask("/p use virtual/router").await, json!([true, "router"]));
    assert_eq!(probe.prompt("hello").await[1], "assistant own answer k");
    assert_eq!(
        probe.ask("/p classify").await,
        json!("ctx.modelRegistry.classify is not available in this extension host")
    );
    assert_eq!(probe.ask("/p unregister").await, json!(null));
}
