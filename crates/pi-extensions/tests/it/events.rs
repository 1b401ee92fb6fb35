//! Events: their order, the names of their fields, and the state of the context, as in pi 1.5.0.

use pi_ai::faux::Reply;
use serde_json::json;

use crate::probes::{probe, prompt};
use crate::trial::Setup;

#[tokio::test]
async fn events_of_a_run_with_a_tool_are_those_of_pi() {
    let reader = r#"export default (pi) => pi.registerTool({
        name: "events", description: "", parameters: { type: "object", properties: {} },
        execute: async () => ({ content: [{ type: "text", text: globalThis.eventLog.splice(0).join("\n") }] }) })"#;
    let setup = Setup::new().existing(probe("events.ts")).extension("project/reader.ts", reader);
    let trial = setup.start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    trial.model.push(Reply::new().tool_call("probe", &json!({ "a": "x" })));
    trial.model.push(Reply::new().text("all done"));
    prompt(&trial, "one").await;
    let session = trial.runtime.session();
    session.set_name("nm").await.unwrap();
    trial.runtime.new_session(None).await.unwrap();
    insta::assert_snapshot!(trial.tool_text("events", json!({})).await);
}
