//! Extensions that misbehave: each costs itself and nothing else.

use std::time::Duration;

use pi_ai::faux::Reply;
use pi_extensions::Limits;
use serde_json::json;

use crate::trial::{Setup, Trial};

/// A well-behaved extension beside the hostile one.
const GOOD: &str = r#"
    export default (pi) => {
        pi.registerTool({ name: "good", description: "", parameters: { type: "object", properties: {} },
            execute: async () => ({ content: [{ type: "text", text: "still here" }] }) });
    }
"#;

fn limits() -> Limits {
    Limits { memory: 64 << 20, slice: Duration::from_millis(200), ..Limits::default() }
}

/// Starts a session with a hostile extension that registers the tool `bad` with this body.
async fn start(body: &str) -> Trial {
    let hostile = format!(
        r#"export default (pi) => {{
            pi.registerTool({{ name: "bad", description: "", parameters: {{ type: "object", properties: {{}} }},
                async execute() {{ {body} }} }});
        }}"#
    );
    let mut setup =
        Setup::new().extension("project/hostile.ts", &hostile).extension("project/good.ts", GOOD);
    setup.limits = limits();
    setup.start().await
}

async fn is_alive(trial: &Trial) {
    assert_eq!(trial.tool_text("good", json!({})).await, "still here");
}

#[tokio::test]
async fn loops_are_stopped_and_attributed() {
    for (name, body) in [
        ("at once", "while (true) {}"),
        ("after a pause", "await null; while (true) {}"),
        ("after a timer", "await new Promise((done) => setTimeout(done, 1)); for (;;) {}"),
        ("inside try", "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }"),
        ("in a pattern", "/(a+)+$/.test('a'.repeat(40) + 'b'); return {};"),
        ("in a callback", "[1].forEach(() => { while (true) {} })"),
        ("in a getter", "return { get content() { while (true) {} } }"),
        ("in microtasks", "const again = () => Promise.resolve().then(again); await again();"),
        ("in a generator", "function* all() { while (true) yield 1; } for (const _ of all()) {}"),
        ("in sort", "[...Array(9).keys()].sort(() => { while (true) {} })"),
        ("in a proxy", "const p = new Proxy({}, { get() { while (true) {} } }); p.x;"),
    ] {
        let trial = start(body).await;
        let error = trial.call_tool("bad", json!({})).await.expect_err(name);
        assert!(error.contains("ran for too long without a pause"), "{name}: {error}");
        is_alive(&trial).await;
        let reports = trial.reports.lock().unwrap().clone();
        let culprit = reports.first().and_then(|report| report.extension.clone());
        let culprit = culprit.unwrap_or_else(|| panic!("{name}: {reports:?}"));
        assert!(culprit.ends_with("hostile.ts"), "{name}: {reports:?}");
    }
}

#[tokio::test]
async fn a_loop_in_a_timer_or_an_event_does_not_stop_the_session() {
    let hostile = r#"
        export default (pi) => {
            setTimeout(() => { while (true) {} }, 0);
            pi.on("agent_start", () => { while (true) {} });
            pi.on("turn_start", async () => { await null; while (true) {} });
        }
    "#;
    let mut setup =
        Setup::new().extension("project/hostile.ts", hostile).extension("project/good.ts", GOOD);
    setup.limits = limits();
    let trial = setup.start().await;
    trial.model.push(Reply::new().text("fine"));
    assert_eq!(trial.runtime.session().prompt_text("hello").await.unwrap(), "fine");
    is_alive(&trial).await;
}

#[tokio::test]
async fn a_loop_in_prepare_arguments_leaves_the_session_its_thread() {
    let hostile = r#"
        export default (pi) => {
            pi.registerTool({ name: "bad", description: "", parameters: { type: "object", properties: {} },
                prepareArguments() { while (true) {} }, execute: async () => ({ content: [] }) });
        }
    "#;
    let mut setup = Setup::new().extension("project/hostile.ts", hostile);
    setup.limits = limits();
    let trial = setup.start().await;
    trial.model.push(Reply::new().tool_call("bad", &json!({})));
    trial.model.push(Reply::new().text("fine"));
    // Counts how often this thread runs while the handler loops.
    let ticking = async {
        let mut ticks = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            ticks += 1;
            if trial.model.requests().len() == 2 {
                return ticks;
            }
        }
    };
    let session = trial.runtime.session();
    let (answer, ticks) = tokio::join!(session.prompt_text("go"), ticking);
    assert_eq!(answer.unwrap(), "fine");
    assert!(ticks > 5, "the session stood still: {ticks}");
    let sent = serde_json::to_string(&trial.model.requests()[1].context.messages).unwrap();
    assert!(sent.contains("ran for too long"), "{sent}");
}

#[tokio::test]
async fn a_loop_while_loading_is_a_failed_load() {
    for text in
        ["while (true) {} export default () => {}", "export default () => { while (true) {} }"]
    {
        let mut setup =
            Setup::new().extension("project/hostile.ts", text).extension("project/good.ts", GOOD);
        setup.limits = limits();
        let trial = setup.start().await;
        let problems = trial.problems().join("\n");
        assert!(problems.contains("hostile.ts"), "{problems}");
        assert!(problems.contains("ran for too long"), "{problems}");
        is_alive(&trial).await;
    }
}

#[tokio::test]
async fn memory_is_limited() {
    for (name, body) in [
        ("strings", "let s = 'x'; while (true) s += s;"),
        ("arrays", "const a = []; while (true) a.push(new Array(1000).fill(0));"),
        ("buffers", "const a = []; while (true) a.push(new ArrayBuffer(1 << 20));"),
        ("repeat", "return 'x'.repeat(2 ** 29).split('');"),
        ("maps", "const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });"),
        ("closures", "let f = () => 0; while (true) { const g = f; f = () => g(); }"),
        ("result", "return { content: [{ type: 'text', text: 'x'.repeat(60 << 20) }] };"),
    ] {
        let trial = start(body).await;
        let outcome = trial.call_tool("bad", json!({})).await;
        if let Err(error) = &outcome {
            let expected =
                ["out of memory", "ran for too long", "string too long", "Invalid string length"];
            assert!(expected.iter().any(|text| error.contains(text)), "{name}: {error}");
        }
        is_alive(&trial).await;
    }
}

#[tokio::test]
async fn recursion_ends_in_an_error() {
    for body in [
        "const f = () => f(); f();",
        "const a = []; a[0] = a; JSON.stringify(a);",
        "let deep = []; for (let i = 0; i < 1e5; i++) deep = [deep]; return { content: deep };",
        "return JSON.parse('['.repeat(1e6));",
        "class A { get x() { return this.x; } } new A().x;",
        "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x;",
        "const e = new Error('m'); e.cause = e; throw e;",
    ] {
        let trial = start(body).await;
        trial.call_tool("bad", json!({})).await.expect_err(body);
        is_alive(&trial).await;
    }
}

#[tokio::test]
async fn thrown_values_of_any_kind_become_messages() {
    for (body, expected) in [
        ("throw new Error('plain');", "plain"),
        ("throw 'text';", "text"),
        ("throw undefined;", "undefined"),
        ("throw null;", "null (a script threw it, or the engine is out of memory)"),
        ("throw 42;", "42"),
        ("throw Symbol('s');", "Symbol(s)"),
        ("throw { message: 7 };", "[object Object]"),
        ("throw { get message() { throw 1; } };", ""),
        ("throw { get message() { while (true) {} } };", ""),
        ("throw Object.create(null);", ""),
        ("return Promise.reject(new TypeError('later'));", "later"),
    ] {
        let trial = start(body).await;
        let error = trial.call_tool("bad", json!({})).await.expect_err(body);
        assert!(error.contains(expected), "{body}: {error}");
        is_alive(&trial).await;
    }
}

#[tokio::test]
async fn changed_prototypes_do_not_reach_the_session() {
    let hostile = r#"
        Object.prototype.polluted = "yes";
        Object.prototype.toJSON = undefined;
        Array.prototype.map = () => { throw new Error("no map"); };
        Promise.prototype.catch = undefined;
        Function.prototype.call = () => { throw new Error("no call"); };
        export default (pi) => { pi.on("agent_start", () => { Map.prototype.get = () => undefined; }); };
    "#;
    let setup = Setup::new().extension("project/hostile.ts", hostile);
    let trial = setup.start().await;
    trial.model.push(Reply::new().text("fine"));
    assert_eq!(trial.runtime.session().prompt_text("hello").await.unwrap(), "fine");
    let sent = serde_json::to_string(&trial.model.requests()[0].context).unwrap();
    assert!(!sent.contains("polluted"), "{sent}");
}

#[tokio::test]
async fn native_functions_cannot_be_reached_by_name() {
    let trial = start(
        r#"
        const found = [];
        for (const name of ["native:session", "native:modules", "pi:main", "pi:loader", "pi:extensions"]) {
            try { require(name); found.push(name); } catch {}
            try { await import(name); found.push(name); } catch {}
        }
        try { found.push(typeof Function("return require")()); } catch {}
        try { found.push(typeof (0, eval)("native")); } catch {}
        return { content: [{ type: "text", text: JSON.stringify(found) }] };
        "#,
    )
    .await;
    let found = trial.tool_text("bad", json!({})).await;
    assert_eq!(found, "[]");
}
