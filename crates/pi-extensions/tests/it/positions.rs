//! Positions in errors: those of the file that the user wrote, with types around them.

use proptest::prelude::*;
use serde_json::json;

use crate::trial::Setup;

/// Pieces of TypeScript that become longer, shorter or nothing.
const PIECES: &[&str] = &[
    "interface A$ { a: string; b?: number }\n",
    "type X$ = { [k: string]: number } | null;\n",
    "enum Color$ { Red = 1, Green = \"g\" }\n",
    "const enum Flag$ { On = 1, Off }\n",
    "namespace Space$ { export const v = 7; export function f(): number { return v; } }\n",
    "class P$ { constructor(private readonly x: number, public y = 2) {} get g(): number { return this.x; } }\n",
    "abstract class Q$ { declare d: string; protected abstract n(): void; static #s = 1; }\n",
    "function over$(a: string): void; function over$(a: any) { return a; }\n",
    "const text$ = \"äöü 😀\"; const sure$ = (text$ as unknown as string)!;\n",
    "// a comment, and an empty line\n\n",
    "const long$ = [1, 2, 3].map((n: number): number => n * 2).filter(Boolean).concat([4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);\n",
    "const object$ = { a: 1, ...{ b: 2 }, [`c${1}`]: <T,>(v: T): T => v, async *gen(): AsyncGenerator<number> { yield 1; } };\n",
    "\tlet tabbed$: number | undefined = undefined;\n",
];

/// Text before a throw on the same line.
const PREFIXES: &[&str] = &[
    "",
    "\t\t",
    "const ü: string = \"😀\"; ",
    "let n: number = 1; ",
    "if (true as boolean) ",
    "/* ñ */ ",
];

/// Builds a file with functions that throw, and returns it with the position of each `new`.
fn file(choices: &[(usize, usize)]) -> (String, Vec<String>) {
    let (mut text, mut positions) = (String::new(), Vec::new());
    for (number, (piece, prefix)) in choices.iter().enumerate() {
        let piece = PIECES[piece % PIECES.len()].replace('$', &number.to_string());
        text.push_str(&piece);
        text.push_str(&format!("function f{number}(this: void, a?: number): never {{\n"));
        let line = text.matches('\n').count() + 1;
        let before = format!("{}throw ", PREFIXES[prefix % PREFIXES.len()]);
        positions.push(format!("{line}:{}", before.encode_utf16().count() + 1));
        text.push_str(&before);
        text.push_str("new Error(\"x\");\n  throw undefined;\n}\n");
    }
    let names: Vec<String> = (0..choices.len()).map(|number| format!("f{number}")).collect();
    text.push_str(&format!("const all = [{}];\n", names.join(", ")));
    text.push_str(
        r#"const places = () => all.map((f) => { try { f(); } catch (e: any) { return /ext\.ts:(\d+:\d+)/.exec(e.stack)?.[1]; } });
export default (pi: any) => pi.registerTool({ name: "t", description: "", parameters: { type: "object" },
    execute: () => ({ content: [{ type: "text", text: JSON.stringify(places()) }] }) });
"#,
    );
    (text, positions)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_throw_is_where_the_file_has_it(
        choices in proptest::collection::vec((0..100usize, 0..100usize), 1..40),
    ) {
        let (text, expected) = file(&choices);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let places = runtime.block_on(async {
            let trial = Setup::new().extension("project/ext.ts", &text).start().await;
            assert_eq!(trial.problems(), Vec::<String>::new());
            trial.tool_text("t", json!({})).await
        });
        let places: Vec<String> = serde_json::from_str(&places).unwrap();
        prop_assert_eq!(places, expected, "{}", text);
    }
}
