//! The event bus between extensions.

use serde_json::json;

use crate::probe::Probe;
use crate::trial::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn values_are_passed_as_they_are() {
    let setup = Setup::new()
        .extension(
            "project/a.ts",
            r#"
            export default function (pi: any) {
                pi.events.on("ping", (value: any) => { value.seen.push("a"); value.reply("from a"); });
                pi.events.on("ping", () => { throw new Error("listener failed"); });
                const off = pi.events.on("ping", (value: any) => value.seen.push("never"));
                off();
            }
            "#,
        )
        .extension(
            "project/b.ts",
            r#"
            export default function (pi: any) {
                pi.events.on("ping", (value: any) => value.seen.push("b"));
                pi.registerCommand("ping", { handler: async () => {
                    const replies: string[] = [];
                    const value = { seen: [] as string[], reply: (text: string) => replies.push(text) };
                    const gave = pi.events.emit("ping", value);
                    pi.events.emit("unheard", 1);
                    pi.appendEntry("say", { seen: value.seen, replies, gave: gave ?? null });
                } });
            }
            "#,
        );
    let probe = Probe::of(setup).await;
    let expected = json!({ "seen": ["a", "b"], "replies": ["from a"], "gave": null });
    assert_eq!(probe.ask("/ping").await, expected);
    probe.trial.runtime.new_session(None).await.unwrap();
    // The subscriptions of the old session are gone.
    assert_eq!(probe.ask("/ping").await, expected);
}
