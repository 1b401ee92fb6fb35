//! Messages and entries of extensions, idle and during a run.

use pi_ai::faux::Reply;
use serde_json::json;

use crate::probe::Probe;

const MESSAGES: &str = r#"
export default function (pi: any) {
    const note = (content: any) => ({ customType: "note", content, display: true, details: { d: 1 } });
    const send: any = {
        plain: () => pi.sendMessage(note("plain")),
        steer: () => pi.sendMessage(note("steered"), { deliverAs: "steer" }),
        followUp: () => pi.sendMessage(note("followed"), { deliverAs: "followUp" }),
        nextTurn: () => pi.sendMessage(note("next"), { deliverAs: "nextTurn" }),
        noTrigger: () => pi.sendMessage(note("quiet"), { triggerTurn: false }),
        trigger: () => pi.sendMessage(note([{ type: "text", text: "go" }]), { triggerTurn: true }),
        userBare: () => pi.sendUserMessage("bare"),
        userCommand: () => pi.sendUserMessage("/m entry"),
        userExpand: () => pi.sendUserMessage("/m entry", { expandPromptTemplates: true }),
        userSteer: () => pi.sendUserMessage("user steer", { deliverAs: "steer" }),
        userFollow: () => pi.sendUserMessage([{ type: "text", text: "user" }, { type: "text", text: "follow" }], { deliverAs: "followUp" }),
        entry: () => pi.appendEntry("during", { a: 1, f: () => 1 }),
        bad: () => { pi.sendMessage(undefined); pi.sendUserMessage(undefined); },
    };
    pi.registerTool({ name: "send", description: "d", parameters: { type: "object", properties: { how: { type: "string" } } },
        async execute(_i: string, p: any, _s: any, _u: any, ctx: any) {
            send[p.how]();
            return { content: [{ type: "text", text: `sent idle=${ctx.isIdle()}` }] };
        } });
    pi.registerCommand("m", { handler: async (how: string) => send[how]() });
    pi.registerCommand("name", { handler: async (_a: string, ctx: any) => {
        pi.setSessionName("  my name \n x ");
        const leaf = ctx.sessionManager.getLeafId();
        pi.setLabel(leaf, "lbl");
        const label = ctx.sessionManager.getLabel(leaf);
        pi.setLabel(leaf, undefined);
        let error;
        try { pi.setLabel("nope", "x"); } catch (e: any) { error = e.message; }
        pi.appendEntry("say", [pi.getSessionName(), label, ctx.sessionManager.getLabel(leaf) ?? null, error]);
    } });
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn messages_without_a_run() {
    let probe = Probe::start(MESSAGES).await;
    assert_eq!(probe.prompt("/m plain").await, ["custom plain"]);
    probe.trial.model.push(Reply::new().text("answer"));
    let table: &[(&str, &[&str])] = &[
        ("trigger", &["custom go", "assistant answer", "settled false"]),
        ("userCommand", &["user /m entry", "assistant answer", "settled false"]),
        ("userFollow", &["user user\nfollow", "assistant answer", "settled false"]),
    ];
    for (how, expected) in table {
        if probe.trial.model.pending() == 0 {
            probe.trial.model.push(Reply::new().text("answer"));
        }
        let mut lines = probe.prompt(&format!("/m {how}")).await;
        if !lines.iter().any(|line| line.starts_with("settled")) {
            lines.extend(probe.until("settled").await);
        }
        assert_eq!(lines, *expected, "{how}");
    }
    let mut lines = probe.prompt("/m userExpand").await;
    if lines.is_empty() {
        lines = probe.until("entry during").await;
    }
    assert_eq!(lines, ["entry during {\"a\":1}"]);
    probe.prompt("/m nextTurn").await;
    probe.trial.model.push(Reply::new().text("answer"));
    let lines = probe.prompt("hello").await;
    assert_eq!(lines, ["user hello", "custom next", "assistant answer", "settled false"]);
    let lines = probe.prompt("/m bad").await;
    let lines = if lines.len() < 2 {
        [lines, probe.until("send_user_message").await].concat()
    } else {
        lines
    };
    assert!(lines[0].starts_with("error <runtime> send_message: "), "{lines:?}");
    assert!(lines[1].starts_with("error <runtime> send_user_message: "), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_during_a_run() {
    let probe = Probe::start(MESSAGES).await;
    let table: &[(&str, &[&str])] = &[
        (
            "plain",
            &["toolResult sent idle=false", "custom plain", "assistant end", "settled false"],
        ),
        (
            "steer",
            &["toolResult sent idle=false", "custom steered", "assistant end", "settled false"],
        ),
        (
            "followUp",
            &[
                "toolResult sent idle=false",
                "assistant end",
                "custom followed",
                "assistant more",
                "settled false",
            ],
        ),
        (
            "noTrigger",
            &["toolResult sent idle=false", "custom quiet", "assistant end", "settled false"],
        ),
        (
            "userSteer",
            &[
                "queue [\"user steer\"] []",
                "toolResult sent idle=false",
                "queue [] []",
                "user user steer",
                "assistant end",
                "settled false",
            ],
        ),
        (
            "userFollow",
            &[
                "queue [] [\"user\\nfollow\"]",
                "toolResult sent idle=false",
                "assistant end",
                "queue [] []",
                "user user\nfollow",
                "assistant more",
                "settled false",
            ],
        ),
        (
            "userBare",
            &[
                "error <runtime> send_user_message: Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.",
                "toolResult sent idle=false",
                "assistant end",
                "settled false",
            ],
        ),
        (
            "entry",
            &[
                "entry during {\"a\":1}",
                "toolResult sent idle=false",
                "assistant end",
                "settled false",
            ],
        ),
    ];
    for (how, expected) in table {
        let model = &probe.trial.model;
        model.push(Reply::new().tool_call("send", &json!({ "how": how })));
        model.push(Reply::new().text("end"));
        if expected.contains(&"assistant more") {
            model.push(Reply::new().text("more"));
        }
        let lines = probe.prompt("go").await;
        assert_eq!(lines[..2], ["user go", "assistant <send>"], "{how}");
        assert_eq!(lines[2..], **expected, "{how}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_labels() {
    let probe = Probe::start(MESSAGES).await;
    assert_eq!(
        probe.ask("/name").await,
        json!(["my name   x", "lbl", null, "Entry nope not found"])
    );
}
