//! Virtual models: what a router receives, what it picks, and what the session records.

use serde_json::{Value, json};

use crate::probe::Probe;
use crate::trial::Setup;

const ROUTER: &str = r#"
export default function (pi: any) {
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const model = (id: string, reasoning: boolean) => ({ id, name: id, reasoning, input: ["text"], cost, contextWindow: 1000, maxTokens: 100 });
    const seen: any[] = [];
    pi.registerProvider("own", { baseUrl: "http://own.invalid", apiKey: "k", api: "own-api", models: [model("own-1", true), model("own-2", false)],
        async *streamSimple(model: any, context: any, options: any) {
            const last = JSON.stringify(context.messages.at(-1));
            const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { ...cost, total: 0 } };
            const message: any = { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage, stopReason: "stop", timestamp: Date.now() };
            if (last.includes("overloaded") && model.id === "own-1") {
                yield { type: "error", reason: "error", error: { ...message, stopReason: "error", errorMessage: "503: overloaded" } };
                return;
            }
            if (last.includes("call")) {
                message.content.push({ type: "toolCall", id: "c1", name: "probe", arguments: {} });
                yield { type: "done", reason: "toolUse", message: { ...message, stopReason: "toolUse" } };
                return;
            }
            message.content.push({ type: "text", text: model.id + " " + (options.reasoning ?? "off") });
            yield { type: "done", reason: "stop", message };
        } });
    pi.registerTool({ name: "probe", description: "p", parameters: { type: "object", properties: {} }, async execute() { return { content: [{ type: "text", text: "probed" }] }; } });
    const pair = (one: any) => one && [one.model.provider + "/" + one.model.id, one.thinkingLevel ?? null];
    pi.registerVirtualModel({ provider: "router", id: "auto", name: "Auto", thinkingLevels: ["low", "high"], contextWindow: 77,
        async route(request: any, ctx: any) {
            const { reason, thinkingLevel, state, previous, failed, messages, signal } = request;
            seen.push({ reason, thinkingLevel, state, previous: pair(previous), failed: failed && [...pair(failed), failed.message.errorMessage],
                roles: messages.map((one: any) => one.role).join(" "), aborted: signal.aborted, selected: ctx.model.id + " " + request.model.api });
            const last = JSON.stringify(messages.at(-1));
            if (last.includes("broken")) throw new Error("router broke");
            if (last.includes("itself")) return { model: request.model, thinkingLevel: "low" };
            if (last.includes("locked")) return { model: ctx.modelRegistry.find("anthropic", "claude-sonnet-4-5"), thinkingLevel: "low" };
            if (last.includes("nothing")) return {};
            const id = reason === "user" ? "own-1" : "own-2";
            const next = last.includes("keep") ? state : { turns: (state?.turns ?? 0) + 1 };
            return { model: ctx.modelRegistry.find("own", id), thinkingLevel: "high", state: next };
        } });
    pi.registerCommand("p", { handler: async (args: string, ctx: any) => {
        const say = (value: any) => pi.appendEntry("say", value ?? null);
        if (args === "seen") say(seen.splice(0));
        if (args === "model") say([ctx.model, ctx.thinkingLevel, ctx.getContextUsage()?.contextWindow ?? null]);
        if (args === "available") say(ctx.modelRegistry.getAvailable().filter((one: any) => one.provider === "router").map((one: any) => one.id));
        if (args === "direct") say((await ctx.modelRegistry.complete(ctx.model, { messages: [{ role: "user", content: "hi", timestamp: 1 }] })).content[0].text);
        if (args === "remove") { pi.unregisterVirtualModel("router", "auto"); say(ctx.modelRegistry.find("router", "auto") ?? null); }
        if (args === "invalid") { const errors: string[] = []; for (const bad of [{}, { provider: "x", id: "", route() {} }, { provider: "x", id: "y", thinkingLevels: ["huge"], route() {} }]) try { pi.registerVirtualModel(bad); errors.push("registered"); } catch (e: any) { errors.push(e.message); } say(errors); }
    } });
}
"#;

async fn start() -> Probe {
    let mut setup = Setup::new()
        .extension("project/ext.ts", ROUTER)
        .file("home/agent/settings.json", r#"{"retry":{"baseDelayMs":1,"maxRetries":1}}"#);
    setup.change = Box::new(|options| {
        options.model.custom = None;
        options.model.requested = Some("router/auto:high".to_owned());
    });
    Probe::of(setup).await
}

/// Returns the answers in the log: provider, model and level, or the error.
fn answers(probe: &Probe) -> Vec<Value> {
    let session = probe.trial.runtime.session();
    session.with_log(|log| {
        let entries = log.entries().map(|entry| serde_json::to_value(entry.unwrap()).unwrap());
        let messages = entries.filter(|entry| entry["message"]["role"] == "assistant");
        messages
            .map(|entry| {
                let message = &entry["message"];
                json!([
                    message["provider"],
                    message["model"],
                    message["thinkingLevel"],
                    message["errorMessage"]
                ])
            })
            .collect()
    })
}

/// Returns the states of the router in the log.
fn states(probe: &Probe) -> Vec<Value> {
    let session = probe.trial.runtime.session();
    session.with_log(|log| {
        let entries = log.entries().map(|entry| serde_json::to_value(entry.unwrap()).unwrap());
        let states = entries.filter(|entry| entry["customType"] == "pi.virtual-model-state");
        states.map(|entry| entry["data"].clone()).collect()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_goes_to_the_model_that_the_router_picks() {
    let probe = start().await;
    let before = probe.ask("/p model").await;
    assert_eq!((&before[0]["api"], &before[1]), (&json!("pi-virtual"), &json!("high")));
    assert_eq!(before[0]["thinkingLevelMap"]["medium"], Value::Null);
    assert_eq!(before[2], 77, "the limits of the virtual model until a model has answered");
    let lines = probe.prompt("call").await;
    let said: Vec<&String> = lines.iter().filter(|line| line.starts_with("assistant")).collect();
    assert_eq!(said, ["assistant <probe>", "assistant own-2 off"]);
    let expected = [
        json!(["own", "own-1", "high", null]),
        // The level is clamped to what the model offers.
        json!(["own", "own-2", "off", null]),
    ];
    assert_eq!(answers(&probe), expected);
    let state = |turns: u64| json!({ "provider": "router", "modelId": "auto", "state": { "turns": turns } });
    assert_eq!(states(&probe), [state(1), state(2)]);
    let seen = probe.ask("/p seen").await;
    let first = json!({ "reason": "user", "thinkingLevel": "high", "roles": "system user",
        "aborted": false, "selected": "auto pi-virtual" });
    assert_eq!(seen[0], first);
    let second = json!({ "reason": "continuation", "thinkingLevel": "high", "state": { "turns": 1 },
        "previous": ["own/own-1", "high"], "roles": "system user assistant toolResult",
        "aborted": false, "selected": "auto pi-virtual" });
    assert_eq!(seen[1], second);
    // A state that is returned unchanged is not stored again.
    probe.prompt("keep").await;
    assert_eq!(states(&probe).len(), 2);
    assert_eq!(probe.ask("/p model").await[2], 1000, "the limits of the model that answered");
    let session = probe.trial.runtime.session();
    let (routed, level) = session.routed_model().unwrap();
    assert_eq!((routed.id.as_str(), level.as_str()), ("own-1", "high"));
    assert_eq!(session.model().unwrap().id, "auto");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_names_the_failed_request() {
    let probe = start().await;
    let lines = probe.prompt("overloaded").await;
    assert!(lines.contains(&"assistant own-2 off".to_owned()), "{lines:?}");
    let seen = probe.ask("/p seen").await;
    assert_eq!(seen[1]["reason"], "retry");
    assert_eq!(seen[1]["failed"], json!(["own/own-1", "high", "503: overloaded"]));
    assert_eq!(seen[1]["roles"], "system user", "the failed answer is left out");
    // Requests outside of a run have no state.
    assert_eq!(probe.ask("/p direct").await, "own-2 off");
    let seen = probe.ask("/p seen").await;
    assert_eq!((&seen[0]["reason"], &seen[0]["state"]), (&json!("direct"), &Value::Null));
    assert_eq!(states(&probe).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_that_cannot_be_used_is_an_error() {
    let probe = start().await;
    for (prompt, expected) in [
        ("broken", "router broke"),
        (
            "itself",
            "Virtual model router/auto routed to router/auto, which is not a physical model.",
        ),
        (
            "locked",
            "Virtual model router/auto routed to anthropic/claude-sonnet-4-5, which has no credentials.",
        ),
        ("nothing", "route() of virtual model router/auto returned no model"),
    ] {
        probe.prompt(prompt).await;
        let last = answers(&probe).pop().unwrap();
        assert_eq!(
            (&last[0], &last[1], &last[3]),
            (&json!("router"), &json!("auto"), &json!(expected))
        );
    }
    assert_eq!(states(&probe).len(), 0);
    let errors = probe.ask("/p invalid").await;
    assert_eq!(errors[0], "A virtual model must define route().");
    assert_eq!(errors[1], "A virtual model must define \"id\".");
    assert!(errors[2].as_str().unwrap().contains("huge"), "{errors}");
    assert_eq!(probe.ask("/p available").await, json!(["auto"]));
    assert_eq!(probe.ask("/p remove").await, Value::Null);
    let session = probe.trial.runtime.session();
    assert!(session.prompt("hello", Default::default()).await.is_err());
}
