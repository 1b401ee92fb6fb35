//! Built-in tools that an extension creates, with operations of its own.

use serde_json::{Value, json};

use crate::trial::Setup;

/// Runs the body of a function of an extension and returns its value.
async fn run(body: &str) -> Value {
    let text = format!(
        r#"
        import * as p from "@earendil-works/pi-coding-agent";
        const bytes = (text: string) => new TextEncoder().encode(text);
        const attempt = async (f: () => Promise<unknown>) => {{ try {{ return await f(); }} catch (e: any) {{ return `THROWS ${{e.message}}`; }} }};
        async function body() {{ {body} }}
        export default (pi: any) => pi.registerTool({{ name: "t", description: "", parameters: {{ type: "object" }},
            execute: async () => ({{ content: [{{ type: "text", text: JSON.stringify(await body()) }}] }}) }});
        "#
    );
    let trial = Setup::new()
        .file("project/a.txt", "one\ntwo\n")
        .extension("project/ext.ts", &text)
        .start()
        .await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    serde_json::from_str(&trial.tool_text("t", json!({})).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_extension() {
    let value = run(
        r#"
        const log: unknown[] = [];
        const missing = Object.assign(new Error("gone"), { code: "ENOENT" });
        const read = p.createReadTool("/r", { operations: { access: async (f: string) => { if (f.endsWith("no")) throw missing; }, readFile: async (f: string) => bytes(`content of ${f}\nsecond`) } });
        const write = p.createWriteTool("/r", { operations: { mkdir: async (d: string) => { log.push(["mkdir", d]); }, writeFile: async (f: string, c: string) => { log.push(["write", f, c]); } } });
        const edit = p.createEditTool("/r", { operations: { access: async () => {}, readFile: async () => bytes("one\ntwo\n"), writeFile: async (f: string, c: string) => { log.push(["edit", f, c]); } } });
        const ls = p.createLsTool("/r", { operations: { exists: async () => true, stat: async (f: string) => ({ isDirectory: () => !f.endsWith(".txt") }), readdir: async () => ["b.txt", "a"] } });
        return {
            read: await attempt(() => read.execute("1", { path: "z", limit: 1 })),
            readMissing: await attempt(() => read.execute("1", { path: "no" })),
            write: await attempt(() => write.execute("1", { path: "a/b.txt", content: "hello" })),
            edit: await attempt(() => edit.execute("1", { path: "f.txt", edits: [{ oldText: "two", newText: "TWO" }] })),
            editOld: await attempt(() => edit.execute("1", edit.prepareArguments({ path: "f.txt", oldText: "one", newText: "1" }))),
            ls: await attempt(() => ls.execute("1", {})),
            log,
        };
        "#,
    )
    .await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_this_machine() {
    let value = run(
        r#"
        return {
            read: await attempt(() => p.createReadTool(__dirname).execute("1", { path: "a.txt" })),
            grep: await attempt(() => p.createGrepTool(__dirname).execute("1", { pattern: "tw", glob: "*.txt" })),
            find: await attempt(() => p.createFindTool(__dirname).execute("1", { pattern: "*.txt" })),
            ls: await attempt(() => p.createLsTool(__dirname).execute("1", {})),
            aborted: await attempt(() => p.createReadTool(__dirname).execute("1", { path: "a.txt" }, AbortSignal.abort())),
        };
        "#,
    )
    .await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands() {
    let value = run(
        r#"
        const remote = { exec: async (command: string, cwd: string, { onData }: any) => { onData(bytes(`${command} in ${cwd}\n`)); return { exitCode: 7 }; } };
        const broken = { exec: async () => { throw new Error("no connection"); } };
        const waiting = { exec: (_c: string, _d: string, { signal }: any) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))) };
        const controller = new AbortController();
        const updates: unknown[] = [];
        const endless = p.createBashTool("/", { operations: waiting }).execute("1", { command: "sleep" }, controller.signal, () => controller.abort());
        const clean = (r: any) => { if (r.structuredContent) r.structuredContent.wall_time_seconds = 0; return r; };
        return {
            local: clean(await p.createBashTool(__dirname).execute("1", { command: "cat a.txt; exit 3" })),
            hook: clean(await p.createBashTool("/", { commandPrefix: "X=1", spawnHook: (c: any) => ({ ...c, command: `${c.command}; echo $X $Y; pwd`, cwd: __dirname, env: { ...c.env, Y: "2" } }) }).execute("1", { command: "true" })).content[0].text.replace(__dirname, "DIR"),
            remote: clean(await p.createBashTool("/nowhere", { operations: remote }).execute("1", { command: "x" })),
            broken: await attempt(() => p.createBashTool("/", { operations: broken }).execute("1", { command: "x" })),
            aborted: await attempt(() => endless),
            timeout: await attempt(() => p.createBashTool("/").execute("1", { command: "sleep 5", timeout: 0.2 })),
        };
        "#,
    )
    .await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}
