//! `ctx.ui` over an interface that answers by itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{
    Component, ComponentFactory, ComponentHandle, ComponentMessage, ComponentSlot, CustomOptions,
    Dialog, DialogAnswer, FooterData, RenderRequest, RenderTarget, Rendered, Ui, UiUpdate,
};
use serde_json::{Value, json};

use crate::trial::{Setup, Trial};

/// An interface that records requests. Dialogs with the title `open` are never answered.
#[derive(Default)]
struct Recorder {
    log: Mutex<Vec<String>>,
    mounted: Mutex<Vec<(ComponentSlot, Box<dyn Component>)>>,
    redraws: Mutex<usize>,
}

impl Recorder {
    fn note(&self, text: impl Into<String>) {
        self.log.lock().unwrap().push(text.into());
    }
}

impl Ui for Recorder {
    fn is_present(&self) -> bool {
        true
    }

    fn terminal_size(&self) -> Option<(usize, usize)> {
        Some((80, 24))
    }

    fn footer_data(&self) -> FooterData {
        let statuses = BTreeMap::from([("key".to_owned(), "text".to_owned())]);
        FooterData { branch: Some("main".to_owned()), statuses, available_providers: 2 }
    }

    fn dialog(
        &self,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        self.note(format!("{dialog:?} {timeout:?}"));
        Box::pin(async move {
            match dialog {
                dialog if dialog.title() == "open" => std::future::pending().await,
                Dialog::Select { options, .. } => options.last().cloned().map(DialogAnswer::Text),
                Dialog::Confirm { .. } => Some(DialogAnswer::Confirmed(true)),
                _ => Some(DialogAnswer::Text("typed".to_owned())),
            }
        })
    }

    fn update(&self, update: UiUpdate) {
        self.note(format!("{update:?}"));
    }

    fn custom(
        &self,
        factory: ComponentFactory,
        options: CustomOptions,
    ) -> BoxFuture<'_, Option<Value>> {
        Box::pin(async move {
            let (handle, mut messages) = ComponentHandle::new();
            let mut component = factory(handle);
            self.note(format!("custom {options:?} {:?}", component.render(20)));
            for key in ["a", "b", "\r"] {
                component.handle_input(key);
            }
            while let Some(message) = messages.recv().await {
                if let ComponentMessage::Done(result) = message {
                    return Some(result);
                }
            }
            None
        })
    }

    fn mount(&self, slot: ComponentSlot, factory: Option<ComponentFactory>) {
        self.note(format!("{slot:?} {}", if factory.is_some() { "set" } else { "restored" }));
        if let Some(factory) = factory {
            let (handle, messages) = ComponentHandle::new();
            std::mem::forget(messages);
            self.mounted.lock().unwrap().push((slot, factory(handle)));
        }
    }

    fn redraw_rendered(&self) {
        *self.redraws.lock().unwrap() += 1;
    }
}

/// Runs code with `ctx` and `pi` in a handler, and returns what it returned and what was requested.
async fn run(code: &str) -> (Value, Vec<String>, Arc<Recorder>, Trial) {
    let ui = Arc::new(Recorder::default());
    let interface = Arc::clone(&ui);
    let mut setup = Setup::new().extension(
        "project/ext.ts",
        &format!(
            "export default function (pi: any) {{
                let end: any;
                const ended = new Promise((resolve) => {{ end = resolve; }});
                pi.on(\"session_start\", async (_event: any, ctx: any) => {{
                    try {{ end(await (async () => {{ {code} }})()); }} catch (error: any) {{ end(\"THROWS \" + error.message); }}
                }});
                pi.registerTool({{ name: \"result\", description: \"\", parameters: {{ type: \"object\" }},
                    execute: async () => ({{ content: [{{ type: \"text\", text: JSON.stringify((await ended) ?? null) }}] }}) }});
            }}"
        ),
    );
    setup.change = Box::new(move |options| options.ui = interface);
    let trial = setup.start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let result = trial.tool_text("result", json!({})).await;
    let log = ui.log.lock().unwrap().clone();
    (serde_json::from_str(&result).unwrap(), log, ui, trial)
}

#[tokio::test(flavor = "multi_thread")]
async fn dialogs_return_what_the_user_answers() {
    let (result, log, ..) = run(r#"
        const late = new AbortController();
        const done = new AbortController();
        done.abort();
        return [
            await ctx.ui.select("Pick", ["one", "two"]),
            await ctx.ui.confirm("Sure?", "Really", { timeout: 60000 }),
            await ctx.ui.input("Name", "placeholder"),
            await ctx.ui.editor("Edit", "a\nb"),
            (await ctx.ui.select("open", ["x"], { timeout: 5 })) === undefined,
            (setTimeout(() => late.abort(), 50), await ctx.ui.confirm("open", "m", { signal: late.signal })),
            (await ctx.ui.input("open", undefined, { signal: done.signal })) === undefined,
        ];
        "#)
    .await;
    assert_eq!(result, json!(["two", true, "typed", "typed", true, false, true]));
    insta::assert_snapshot!(log.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_reach_the_interface() {
    let (_, log, ..) = run(r#"
        const ui = ctx.ui;
        ui.notify("plain");
        ui.notify("bad", "error");
        ui.setStatus("k", "text");
        ui.setStatus("k", undefined);
        ui.setWidget("w", ["l1", "l2"]);
        ui.setWidget("w", ["below"], { placement: "belowEditor" });
        ui.setWidget("w", undefined);
        ui.setTitle("title");
        ui.setEditorText("text");
        ui.pasteToEditor("pasted");
        ui.setWorkingMessage("busy");
        ui.setWorkingMessage();
        ui.setWorkingVisible(false);
        ui.setWorkingIndicator({ frames: ["-", "+"], intervalMs: 120 });
        ui.setWorkingIndicator();
        ui.setHiddenThinkingLabel("hm");
        ui.setToolsExpanded(true);
        "#)
    .await;
    insta::assert_snapshot!(log.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn state_is_that_of_the_interface() {
    let (result, ..) = run(
        r#"
        const { theme } = ctx.ui;
        const attempt = (call) => { try { return call(); } catch (error) { return error.message; } };
        return {
            text: ctx.ui.getEditorText(),
            expanded: ctx.ui.getToolsExpanded(),
            themes: ctx.ui.getAllThemes(),
            missing: ctx.ui.getTheme("none") === undefined,
            set: ctx.ui.setTheme("dark"),
            accent: theme.fg("accent", "x"),
            dim: theme.fg("dim", "x"),
            bg: theme.bg("selectedBg", "x"),
            bold: theme.bold("x"),
            style: theme.style("x", { fg: "accent", bold: true }),
            unknown: attempt(() => theme.fg("nope", "x")),
            thinking: theme.getThinkingBorderColor("high")("x"),
            bash: theme.getBashModeBorderColor()("x"),
            ansi: theme.getFgAnsi("accent"),
            mode: theme.getColorMode(),
            name: theme.name,
            appearance: theme.appearance,
        };
        "#,
    )
    .await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&result).unwrap());
}

const COMPONENT: &str = r#"
    const component = (done) => {
        let typed = "";
        return {
            focused: false,
            render: (width) => [`typed ${typed}`, "x".repeat(width)],
            handleInput(data) { if (data === "\r") done({ typed, same: done }); else typed += data; },
            dispose() { events.push("disposed"); },
        };
    };
    const events = [];
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_component_ends_with_a_value_of_its_own() {
    let code = format!(
        "{COMPONENT}
        const result = await ctx.ui.custom((tui, theme, keys, done) => component(done));
        const later = await ctx.ui.custom(async (tui, theme, keys, done) => component(done), {{ overlay: true, overlayOptions: () => ({{ width: 30 }}) }});
        const early = await ctx.ui.custom((tui, theme, keys, done) => {{ done(7); return component(done); }});
        return [result.typed, typeof result.same, later.typed, early, events];"
    );
    let (result, log, ..) = run(&code).await;
    assert_eq!(result, json!(["ab", "function", "ab", 7, ["disposed", "disposed", "disposed"]]));
    insta::assert_snapshot!(log.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_throws_is_closed() {
    let (result, ..) = run(r#"
        try {
            await ctx.ui.custom(() => ({ render() { throw new Error("no lines"); } }));
        } catch (error) {
            return error.message;
        }
        "#)
    .await;
    assert_eq!(result, json!("no lines"));
    let (result, log, ui, trial) = run(r#"
        ctx.ui.setWidget("w", () => ({ render() { throw new Error("no widget"); } }));
        "#)
    .await;
    assert_eq!(result, Value::Null);
    let (_, mut widget) = ui.mounted.lock().unwrap().pop().unwrap();
    assert_eq!(widget.render(10), Vec::<String>::new());
    assert_eq!(ui.log.lock().unwrap()[log.len()..].len(), 1, "the widget is removed");
    assert!(trial.problems()[0].starts_with("Error: no widget"), "{:?}", trial.problems());
}

/// Draws a component, and again if the machine was too busy for the first time.
fn drawn(component: &mut dyn Component, width: usize) -> Vec<String> {
    let mut lines = component.render(width);
    while component.is_late() {
        std::thread::yield_now();
        if !component.is_late() {
            lines = component.render(width);
        }
    }
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_hold_components() {
    let (_, _, ui, _trial) = run(
        r#"
        ctx.ui.setFooter((tui, theme, data) => ({ render: (width) => [
            `${data.getGitBranch()} ${[...data.getExtensionStatuses()]} ${data.getAvailableProviderCount()} ${width} ${tui.terminal.columns}`] }));
        ctx.ui.setHeader((tui, theme) => ({ render: () => [theme.fg("accent", "head")] }));
        ctx.ui.setWidget("w", () => ({ render: () => ["widget", 7, "\ud800"] }), { placement: "belowEditor" });
        ctx.ui.setHeader(undefined);
        "#,
    )
    .await;
    let mut mounted = std::mem::take(&mut *ui.mounted.lock().unwrap());
    let lines: Vec<Vec<String>> =
        mounted.iter_mut().map(|(_, component)| drawn(&mut **component, 33)).collect();
    assert_eq!(lines[0], ["main key,text 2 33 80"]);
    assert_eq!(lines[1], Vec::<String>::new(), "the header was removed");
    assert_eq!(lines[2], ["widget", "7", "\u{fffd}"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_extension_does_not_hold_the_screen() {
    let (_, _, ui, _trial) = run(r#"
        let lines = 0;
        ctx.ui.setWidget("w", () => ({
            render() { lines += 1; return [`${lines}`]; },
            handleInput() { const end = Date.now() + 300; while (Date.now() < end); },
        }));
        "#)
    .await;
    let (_, mut widget) = ui.mounted.lock().unwrap().pop().unwrap();
    let first = drawn(&mut *widget, 10);
    let count: u32 = first[0].parse().unwrap();
    widget.handle_input("x");
    let begun = std::time::Instant::now();
    assert_eq!(widget.render(10), first, "the lines of last time");
    assert!(widget.is_late());
    for _ in 0..100 {
        assert_eq!(widget.render(10), first);
    }
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    while widget.is_late() {
        tokio::task::yield_now().await;
    }
    let last = [(count + 2).to_string()];
    assert_eq!(drawn(&mut *widget, 10), last, "the late lines were drawn, and these");
    assert_eq!(*ui.redraws.lock().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn renderers_draw_messages_and_tools() {
    let ui = Arc::new(Recorder::default());
    let interface = Arc::clone(&ui);
    let mut setup = Setup::new().extension(
        "project/ext.ts",
        r#"
        const box = (...lines: string[]) => ({ render: (width: number) => [...lines, `w${width}`] });
        export default function (pi: any) {
            pi.registerMessageRenderer("card", (message: any, options: any, theme: any) =>
                message.content === "skip" ? undefined : box(`${message.content} ${options.expanded} ${options.outputPad}`));
            pi.registerEntryRenderer("data", (entry: any) => box(JSON.stringify(entry.data)));
            pi.registerMarkdownTransformer((text: string, context: any) => `${text} (${context.messageType})`);
            pi.registerTool({ name: "mine", description: "", parameters: { type: "object" },
                renderCall: (args: any, theme: any, context: any) => {
                    context.state.count = (context.state.count ?? 0) + 1;
                    return box(`call ${args.n} ${context.state.count} ${context.isPartial} ${context.lastComponent !== undefined}`);
                },
                renderResult: (result: any, options: any) => { throw new Error("no result"); },
            });
            pi.registerToolRenderer((name: string, next: any) => {
                if (name === "self") return { renderShell: "self", renderCall: () => box("self") };
                return next();
            });
        }
        "#,
    );
    setup.change = Box::new(move |options| options.ui = interface);
    let trial = setup.start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let session = trial.runtime.session();
    let registry = session.extensions().registry().clone();
    let draw = |target: RenderTarget, subject: Value| {
        let request = RenderRequest { subject, key: "k".to_owned(), width: 40, expanded: true };
        registry.renderers(&target).iter().find_map(|renderer| renderer(&request))
    };
    let message = |content: &str| {
        let message = json!({ "customType": "card", "content": content });
        let target = RenderTarget::Message("card".to_owned());
        draw(target, json!({ "message": message, "outputPad": 1 }))
    };
    let lines = |lines: &[&str]| {
        Some(Rendered::Lines(lines.iter().map(|line| (*line).to_owned()).collect()))
    };
    assert_eq!(message("hello"), lines(&["hello true 1", "w40"]));
    let entry = json!({ "entry": { "customType": "data", "data": { "x": 1 } } });
    assert_eq!(draw(RenderTarget::Entry("data".to_owned()), entry), lines(&["{\"x\":1}", "w40"]));
    let text = json!({ "markdown": "a", "messageType": "user", "isStreaming": false });
    let changed = Rendered::Text("a (user)".to_owned());
    assert_eq!(draw(RenderTarget::Markdown, text), Some(changed));
    let tool = |name: &str| {
        let subject = json!({
            "toolName": name, "toolCallId": "1", "args": { "n": 3 }, "isPartial": true,
            "result": { "content": [] }, "boxPad": 1,
        });
        match draw(RenderTarget::AnyTool, subject) {
            Some(Rendered::Tool(tool)) => Some(tool),
            _ => None,
        }
    };
    assert_eq!(tool("mine").unwrap().call.unwrap(), ["call 3 1 true false", "w38"]);
    let again = tool("mine").unwrap();
    assert_eq!(again.call.unwrap(), ["call 3 2 true true", "w38"]);
    assert_eq!(again.result, None, "a renderer that throws leaves the part to the screen");
    let own = tool("self").unwrap();
    assert!(own.is_unframed);
    assert_eq!(own.call.unwrap(), ["self", "w40"]);
    assert_eq!(tool("bash"), None);
    assert_eq!(trial.problems().len(), 1, "the error is reported once");
}
