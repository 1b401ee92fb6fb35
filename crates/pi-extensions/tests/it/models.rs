//! Requests to models from an extension: a real server, streams, aborts, errors.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::trial::Setup;

/// Answers each request with the same chunks of an OpenAI-compatible stream; returns the port.
async fn serve(chunks: &'static [&'static str], is_endless: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 65536];
                let _ = socket.read(&mut request).await;
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                let _ = socket.write_all(head.as_bytes()).await;
                for chunk in chunks {
                    let _ = socket.write_all(format!("data: {chunk}\n\n").as_bytes()).await;
                }
                if is_endless {
                    let _ = socket.read(&mut request).await;
                }
            });
        }
    });
    port
}

const ANSWER: &[&str] = &[
    r#"{"id":"r1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}"#,
    r#"{"id":"r1","choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
    r#"{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"path\":"}}]}}]}"#,
    r#"{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" \"src\"}"}}]}}]}"#,
    r#"{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#,
    "[DONE]",
];

/// Runs the body of a function of an extension with `model` in scope, and returns its value.
async fn run(port: u16, body: &str) -> Value {
    let text = format!(
        r#"
        import {{ complete, stream, streamSimple, getApiProvider, registerApiProvider, createAssistantMessageEventStream }} from "@mariozechner/pi-ai";
        import {{ openAICompletionsApi }} from "@earendil-works/pi-ai/compat";
        const model: any = {{ id: "m", name: "M", api: "openai-completions", provider: "local", baseUrl: "http://127.0.0.1:{port}/v1",
            reasoning: false, input: ["text"], cost: {{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }}, contextWindow: 1000, maxTokens: 100 }};
        const context = {{ systemPrompt: "Be brief.", messages: [{{ role: "user", content: "hi", timestamp: 1 }}] }};
        const options = {{ apiKey: "key" }};
        async function body() {{ {body} }}
        export default (pi: any) => pi.registerTool({{ name: "t", description: "", parameters: {{ type: "object" }},
            execute: async () => ({{ content: [{{ type: "text", text: JSON.stringify(await body()) }}] }}) }});
        "#
    );
    let trial = Setup::new().extension("project/ext.ts", &text).start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    serde_json::from_str(&trial.tool_text("t", json!({})).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_the_events_of_pi() {
    let port = serve(ANSWER, false).await;
    let value = run(
        port,
        r#"
        const events: any[] = [];
        const s = stream(model, context, options);
        for await (const e of s) events.push([e.type, e.delta ?? e.content ?? e.toolCall?.arguments ?? null]);
        const message = await s.result();
        return { events, text: message.content[0].text, call: message.content[1].arguments, reason: message.stopReason, usage: message.usage.totalTokens, cost: message.usage.cost.total > 0 };
        "#,
    )
    .await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_failures_and_aborts_are_messages() {
    let port = serve(ANSWER, false).await;
    let value = run(port, "const m = await complete(model, context, options); return [m.role, m.provider, m.model, m.content[0].text];").await;
    assert_eq!(value, json!(["assistant", "local", "m", "Hello"]));
    let value = run(port, r#"const m = await openAICompletionsApi().streamSimple(model, context, options).result(); return m.content[0].text;"#).await;
    assert_eq!(value, json!("Hello"));
    // A port on which no server listens.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let value = run(closed, "const m = await complete(model, context, options); return [m.stopReason, typeof m.errorMessage, m.content];").await;
    assert_eq!(value, json!(["error", "string", []]));
    let value = run(port, r#"const m = await complete({ ...model, provider: "anthropic", api: "anthropic-messages" }, context, {}); return [m.stopReason, m.errorMessage];"#).await;
    assert_eq!(value[0], "error");
    assert!(
        value[1].as_str().unwrap().starts_with("No API key for provider: anthropic"),
        "{value}"
    );
    let endless = serve(&ANSWER[..2], true).await;
    let value = run(
        endless,
        r#"
        const controller = new AbortController();
        const s = streamSimple(model, context, { ...options, signal: controller.signal });
        const types: string[] = [];
        for await (const e of s) { types.push(e.type); if (e.type === "text_delta") controller.abort(); }
        const m = await s.result();
        return [types.at(-1), m.stopReason, m.content[0].text.startsWith("Hel")];
        "#,
    )
    .await;
    assert_eq!(value, json!(["error", "aborted", true]));
}

#[tokio::test(flavor = "multi_thread")]
async fn apis_can_be_registered() {
    let value = run(
        1,
        r#"
        registerApiProvider({ api: "own", stream: own, streamSimple: own }, "test");
        function own(model: any) {
            const s = createAssistantMessageEventStream();
            const message: any = { role: "assistant", content: [{ type: "text", text: "own " + model.id }], stopReason: "stop" };
            s.push({ type: "done", reason: "stop", message });
            return s;
        }
        const m = await complete({ ...model, api: "own" }, context, options);
        let unknown; try { stream({ ...model, api: "nope" }, context, options); } catch (e: any) { unknown = e.message; }
        return [m.content[0].text, typeof getApiProvider("own"), unknown];
        "#,
    )
    .await;
    assert_eq!(value, json!(["own m", "object", "No API provider registered for api: nope"]));
}
