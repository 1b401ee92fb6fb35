//! The terminal toolkit and the components of the coding agent, beside what pi 1.5.0 answers.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::kit::{compare, compare_in};
use crate::trial::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn kit() {
    compare("tui.ts", "tui", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exports() {
    compare("hostmods.ts", "exports_tui", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text() {
    compare_in("tui", "text.ts", "text", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys() {
    compare_in("tui", "keys.ts", "keys", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn colors() {
    compare_in("tui", "colors.ts", "colors", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn components() {
    compare_in("tui", "components.ts", "components", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn editor() {
    compare_in("tui", "editor.ts", "editor", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn markdown() {
    compare_in("tui", "markdown.ts", "markdown", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages() {
    compare_in("tui", "messages.ts", "messages", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn themes() {
    compare_in("tui", "themes.ts", "themes", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn completion() {
    compare_in("tui", "completion.ts", "completion", &[]).await;
}

/// Renders a text with every component; the result names the lines that are too wide and the
/// components that throw.
const HOSTILE: &str = r#"
import * as T from "@earendil-works/pi-tui";
import { getMarkdownTheme, getSelectListTheme, UserMessageComponent, CustomEditor } from "@earendil-works/pi-coding-agent";

const tui: any = { requestRender() {}, terminal: { rows: 24, columns: 80 } };
const plain = (text: string) => text;
const parts: Record<string, (text: string) => any> = {
    text: (text) => new T.Text(text, 1, 0),
    truncated: (text) => new T.TruncatedText(text, 1, 0),
    box: (text) => { const box = new T.Box(1, 1); box.addChild(new T.Text(text, 0, 0)); return box; },
    markdown: (text) => new T.Markdown(text, 1, 0, getMarkdownTheme()),
    user: (text) => new UserMessageComponent(text),
    select: (text) => new T.SelectList([{ value: text, label: text, description: text }], 5, getSelectListTheme()),
    input: (text) => { const input = new T.Input(); input.handleInput(text); return input; },
    editor: (text) => {
        const editor = new CustomEditor(tui, { borderColor: plain, selectList: getSelectListTheme() }, T.getKeybindings() as any);
        editor.setText(text);
        for (const key of ["\x1b[A", "\x1b[D", "x", "\x7f", "\x17", "\x1f"]) editor.handleInput(key);
        return editor;
    },
};

export default function (pi: any) {
    pi.registerTool({
        name: "hostile", label: "", description: "", parameters: { type: "object" },
        async execute(_id: string, params: any) {
            const problems: string[] = [];
            for (const text of params.texts) {
                for (const width of [4, 7, 20, 61]) {
                    const name = JSON.stringify(text) + " at " + width;
                    if (T.visibleWidth(T.truncateToWidth(text, width)) > width) problems.push("truncate " + name);
                    if (T.visibleWidth(T.sliceByColumn(text, 1, width, true)) > width) problems.push("slice " + name);
                    if (T.wrapTextWithAnsi(text, width).some((line) => T.visibleWidth(line) > width)) problems.push("wrap " + name);
                    T.parseKey(text);
                    for (const [part, make] of Object.entries(parts)) {
                        try {
                            const wide = make(text).render(width).find((line: string) => T.visibleWidth(line) > width);
                            if (wide !== undefined) problems.push(part + " " + name + " " + JSON.stringify(wide));
                        } catch (error: any) {
                            problems.push(part + " " + name + " " + error.stack);
                        }
                    }
                }
            }
            return { content: [{ type: "text", text: problems.slice(0, 20).join("\n") }] };
        },
    });
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn editors_are_bounded() {
    let code = r#"
        import { Editor } from "@earendil-works/pi-tui";
        const theme: any = { borderColor: (text: string) => text, selectList: {} };
        const make = () => new Editor({ requestRender() {} } as any, theme);
        const attempt = (run: () => void) => { try { run(); return "done"; } catch (error: any) { return error.name; } };
        export default function (pi: any) {
            pi.registerTool({
                name: "bounded", label: "", description: "", parameters: { type: "object" },
                async execute() {
                    const kept: any[] = [];
                    const many = attempt(() => { for (let n = 0; n < 2000; n++) kept.push(make()); });
                    const long = attempt(() => kept[0].setText("x".repeat(5 << 20)));
                    const usual = attempt(() => kept[0].setText("x".repeat(100)));
                    return { content: [{ type: "text", text: [many, long, usual].join() }] };
                },
            });
        }
    "#;
    let trial = Setup::new().extension("project/bounded.ts", code).start().await;
    let result = trial.tool_text("bounded", json!({})).await;
    assert_eq!(result, "RangeError,RangeError,done");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_fits_its_width() {
    let trial = Setup::new().extension("project/hostile.ts", HOSTILE).start().await;
    let words = "[a-c ]{0,9}|\\PC{0,12}|[#*_`~>|\\[\\]()!-]{1,6}|[漢字👩\u{200d}👧🇩🇪e\u{301}\u{200b}]{0,6}|\u{1b}\\[[0-9;]{0,6}[mKAJ]|\u{1b}\\]8;;http://x\u{7}|\n|\n\n|\t|1\\. |- |\\| a \\| b \\|\n\\|-\\|-\\|\n";
    let strategy = proptest::collection::vec(words, 0..14).prop_map(|words| words.concat());
    let mut runner = TestRunner::deterministic();
    let texts: Vec<String> =
        (0..120).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    for texts in texts.chunks(10) {
        let problems = trial.tool_text("hostile", json!({ "texts": texts })).await;
        assert_eq!(problems, "");
    }
}
